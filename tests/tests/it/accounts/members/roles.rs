//! What members of each role do to each other, how they leave, and how a project gets another owner.

use mailwright_testkit::{Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{UNKNOWN_ID, assert_only_keys, assert_timestamp, column, issues, text};
use serde_json::json;

use super::team::Team;

both_engines! {
    async fn members_are_listed_in_the_order_they_came(engine: Engine) {
        let team = Team::new(engine).await;
        let list = team.list().await;
        assert_eq!(column(&list, "email"), [OWNER.0, "admin@example.com", "member@example.com"]);
        assert_eq!(team.roles().await, ["OWNER", "ADMIN", "MEMBER"]);
        assert_only_keys(&list[0], &["userId", "email", "name", "role", "ownershipOffered", "createdAt"]);
        assert_timestamp(&list[0]["createdAt"]);
        team.invite(&team.owner, json!({"email": "MEMBER@example.com"})).await.assert_error(409, "CONFLICT");
        let refused = team.invite(&team.owner, json!({"email": "x", "role": "OWNER"})).await;
        let mut found = issues(&refused);
        found.sort();
        assert_eq!(found, [("email".into(), "invalid_string".into()), ("role".into(), "invalid_enum_value".into())]);
    }

    async fn administrators_manage_everybody_but_owners(engine: Engine) {
        let team = Team::new(engine).await;
        assert_eq!(team.set_role(&team.admin, &team.member, "ADMIN").await.assert_status(200).json()["role"], "ADMIN");
        assert_eq!(team.roles().await, ["OWNER", "ADMIN", "ADMIN"]);
        team.set_role(&team.admin, &team.owner, "MEMBER").await.assert_error(403, "FORBIDDEN");
        team.remove(&team.admin, &team.owner).await.assert_error(403, "FORBIDDEN");
        team.set_role(&team.admin, &team.member, "OWNER").await.assert_error(403, "FORBIDDEN");
        team.set_role(&team.admin, &team.admin, "OWNER").await.assert_error(403, "FORBIDDEN");
        team.set_role(&team.admin, &team.admin, "MEMBER").await.assert_status(200);
        team.set_role(&team.admin, &team.admin, "ADMIN").await.assert_error(403, "FORBIDDEN");
        let unknown = format!("{}/{UNKNOWN_ID}", team.path);
        team.owner.request(&team.app, "DELETE", &unknown).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
    }

    async fn members_leave_and_nothing_more(engine: Engine) {
        let team = Team::new(engine).await;
        for user in [&team.owner, &team.admin] {
            team.remove(&team.member, user).await.assert_error(403, "FORBIDDEN");
        }
        team.remove(&team.member, &team.member).await.assert_status(200);
        assert_eq!(team.roles().await, ["OWNER", "ADMIN"]);
    }

    async fn a_removed_member_is_out_at_once(engine: Engine) {
        let team = Team::new(engine).await;
        let contacts = || team.member.in_project(&team.app, team.app.project_id(), "GET", "/contacts").send();
        contacts().await.assert_status(200);
        team.remove(&team.admin, &team.member).await.assert_status(200);
        contacts().await.assert_error(403, "PROJECT_ACCESS_DENIED");
        team.member.request(&team.app, "GET", &team.path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        let mine = team.member.request(&team.app, "GET", "/users/@me/projects").send().await.assert_status(200);
        assert_eq!(mine.json(), json!([]), "the session goes on, the project is gone from it");
    }

    async fn the_last_owner_cannot_leave_and_hands_the_project_over(engine: Engine) {
        let team = Team::new(engine).await;
        team.remove(&team.owner, &team.owner).await.assert_error(403, "FORBIDDEN");
        team.set_role(&team.owner, &team.owner, "ADMIN").await.assert_error(403, "FORBIDDEN");
        let offered = team.set_role(&team.owner, &team.admin, "OWNER").await.assert_status(202).json();
        assert_eq!((&offered["role"], &offered["ownershipOffered"]), (&json!("ADMIN"), &json!(true)));
        assert_eq!(team.roles().await, ["OWNER", "ADMIN", "MEMBER"], "nobody owns what he did not take");
        let taken = team.set_role(&team.admin, &team.admin, "OWNER").await.assert_status(200).json();
        assert_eq!((&taken["role"], &taken["ownershipOffered"]), (&json!("OWNER"), &json!(false)));
        assert_eq!(team.roles().await, ["ADMIN", "OWNER", "MEMBER"], "who was the owner stays as an administrator");
        team.set_role(&team.owner, &team.member, "OWNER").await.assert_error(403, "FORBIDDEN");
        team.remove(&team.owner, &team.owner).await.assert_status(200);
        let audit = team.admin.audit(&team.app, team.app.project_id()).await;
        let actions: Vec<&str> = audit.iter().take(2).map(|entry| text(&entry["action"])).collect();
        assert_eq!(actions, ["member.removed", "ownership.transferred"]);
    }

    async fn an_offer_is_taken_by_whom_it_was_made_to_while_it_stands(engine: Engine) {
        let team = Team::new(engine).await;
        let take = |user: &Browser| {
            let request = user.request(&team.app, "PATCH", &team.of(user));
            request.json(&json!({"role": "OWNER"})).send()
        };
        take(&team.member).await.assert_error(403, "FORBIDDEN");
        team.set_role(&team.owner, &team.member, "OWNER").await.assert_status(202);
        // another offer takes its place
        team.set_role(&team.owner, &team.admin, "OWNER").await.assert_status(202);
        take(&team.member).await.assert_error(403, "FORBIDDEN");
        // and so does another role, be it the one the member has
        team.set_role(&team.owner, &team.admin, "ADMIN").await.assert_status(200);
        take(&team.admin).await.assert_error(403, "FORBIDDEN");
        // whoever offers it must be an owner still
        team.set_role(&team.owner, &team.member, "OWNER").await.assert_status(202);
        team.app.tamper("update memberships set role = 'ADMIN' where role = 'OWNER'").await;
        take(&team.member).await.assert_error(403, "FORBIDDEN");
        team.app.tamper(&format!("update memberships set role = 'OWNER' where user_id in (select id from users where email = '{}')", OWNER.0)).await;
        take(&team.member).await.assert_status(200);
        assert_eq!(team.roles().await, ["ADMIN", "ADMIN", "OWNER"]);
    }

    async fn two_owners_cannot_leave_at_the_same_moment(engine: Engine) {
        let team = Team::new(engine).await;
        for round in 0..5 {
            let name = format!("Shared {round}");
            let project = text(&team.owner.create_project(&team.app, &name).await["id"]).to_owned();
            team.owner.add_member(&team.app, &project, &team.admin, "ADMIN").await;
            // no door leads to two owners, and databases of earlier versions have projects with several
            team.app.tamper("update memberships set role = 'OWNER' where role = 'ADMIN'").await;
            let leave = |user: &Browser| {
                let path = format!("/projects/{project}/members/{}", user.id);
                user.request(&team.app, "DELETE", &path).send()
            };
            let (one, two) = tokio::join!(leave(&team.owner), leave(&team.admin));
            let mut statuses = [one.status, two.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 403], "one stays");
        }
    }

    async fn members_leave_a_disabled_project_and_begin_another(engine: Engine) {
        let team = Team::new(engine).await;
        let app = &team.app;
        app.run(&["project", "disable", app.project_id(), "--reason", "Unpaid"]).await;
        // nobody else is removed meanwhile, and the owner answers for the project
        for by in [&team.owner, &team.admin] {
            team.remove(by, &team.member).await.assert_error(403, "PROJECT_DISABLED");
        }
        app.delete(&team.of(&team.member)).send().await.assert_error(403, "PROJECT_DISABLED");
        team.set_role(&team.owner, &team.admin, "OWNER").await.assert_error(403, "PROJECT_DISABLED");
        let another = json!({"name": "Another"});
        let begin = |user: &Browser| user.request(app, "POST", "/users/@me/projects").json(&another).send();
        begin(&team.owner).await.assert_error(403, "PROJECT_DISABLED");
        begin(&team.admin).await.assert_status(201);
        team.remove(&team.member, &team.member).await.assert_status(200);
        assert_eq!(team.roles().await, ["OWNER", "ADMIN"]);
        begin(&team.member).await.assert_status(201);
        // the owner leaves as well, the data stays, and the owner answers for it as before
        let contacts = app.get("/contacts").send().await.assert_status(200).json();
        team.remove(&team.owner, &team.owner).await.assert_status(200);
        assert_eq!(app.get("/contacts").send().await.assert_status(200).json(), contacts);
        begin(&team.owner).await.assert_error(403, "PROJECT_DISABLED");
        app.run(&["project", "enable", app.project_id()]).await;
        begin(&team.owner).await.assert_status(201);
    }
}
