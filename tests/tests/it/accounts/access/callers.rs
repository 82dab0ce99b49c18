//! The table held against the program: each endpoint is called by each caller, and by some while the project is disabled.

use mailwright_testkit::{Engine, both_engines};
use mailwright_tests::READS_BY_BODY;
use serde_json::json;

use super::answers::{Told, check, expected};
use super::requests::as_caller;
use super::table::{Access, TABLE};
use super::world::World;

/// What these do cannot be done twice to one project.
const DESTRUCTIVE: &[&str] = &[
    "/users/@me/projects/{id}",
    "/users/@me/projects/{id}/regenerate-keys",
    "/users/@me/projects/{id}/reset",
];

both_engines! {
    async fn every_endpoint_lets_in_whom_it_should_and_nobody_else(engine: Engine) {
        let world = World::new(engine).await;
        for (method, path, access) in TABLE {
            for (who, told) in expected(*access) {
                // it would end the session that the rest is asked with; `sessions/ending.rs` has it
                if *path == "/auth/logout" && ["outsider", "no project"].contains(&who.as_str()) {
                    continue;
                }
                let once = told == Told::In && DESTRUCTIVE.contains(path) && *method != "patch";
                let project = if once { world.another_project().await } else { world.project.clone() };
                let request = as_caller(&world, &who, world.request(method, path, &project));
                // to its own project the other's key brings nothing of this one, such as a sender
                let foreign = who == "foreign key" && *method != "get";
                let request = if foreign { request.json(&json!({})) } else { request };
                check(told, request, &format!("{method} {path} as {who}")).await;
            }
        }
    }

    async fn a_disabled_project_can_be_read_and_not_written(engine: Engine) {
        let world = World::new(engine).await;
        world.app.run(&["project", "disable", &world.project, "--reason", "Unpaid"]).await;
        for (method, path, access) in TABLE {
            let callers: &[&str] = match access {
                Access::Project((_, None)) | Access::Mine(_) => &["owner"],
                Access::Project(_) | Access::Path(_) => &["owner", "secret key"],
                Access::Send(_) => &["secret key"],
                Access::Track(_) => &["public key"],
                Access::Open | Access::User => &[],
            };
            for who in callers {
                let request = as_caller(&world, who, world.request(method, path, &world.project));
                // who does not pay is disabled, and must be able to
                let is_let_in = *method == "get" || path.ends_with("/billing-portal") || READS_BY_BODY.contains(path);
                let told = if is_let_in { Told::In } else { Told::No(403, "PROJECT_DISABLED") };
                check(told, request, &format!("{method} {path} as {who}")).await;
            }
        }
        let owner = &world.people[2];
        let refused = owner.request(&world.app, "POST", "/users/@me/projects").json(&json!({"name": "Another"}));
        refused.send().await.assert_error(403, "PROJECT_DISABLED");
        let path = format!("/projects/{}/security", world.project);
        let security = owner.request(&world.app, "GET", &path).send().await.assert_status(200).json();
        assert_eq!((&security["isDisabled"], &security["suspensions"][0]["reason"]), (&json!(true), &json!("Unpaid")));
        assert_eq!(security["suspensions"][0]["endedAt"], json!(null));

        world.app.run(&["project", "enable", &world.project]).await;
        world.app.post("/contacts").json(&json!({"email": "a@example.com"})).send().await.assert_status(201);
        let security = owner.request(&world.app, "GET", &path).send().await.assert_status(200).json();
        assert_eq!(security["isDisabled"], false);
        assert!(security["suspensions"][0]["endedAt"].is_string(), "{security}");
    }
}
