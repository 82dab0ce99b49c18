//! Members are answered by the endpoints of a project as its secret key is.

use std::collections::BTreeSet;

use mailwright_testkit::{Engine, both_engines};
use serde_json::{Value, json};

use super::requests::as_caller;
use super::table::{Access, MEMBER, TABLE};
use super::world::World;

/// Endpoints that refuse what the comparison of cookie and key sends, because it takes a job, a file, a member, a
/// topic, a former version, a campaign on its way, or an enabled workflow and its parts.
const REFUSED: &[&str] = &[
    "delete /delivery/interventions/{id}",
    "delete /projects/{id}/members/{userId}",
    "delete /suppressions/addresses/{email}",
    "delete /suppressions/{id}",
    "delete /uploads/{projectId}/{file}",
    "delete /workflows/{id}/executions/{executionId}",
    "delete /workflows/{id}/steps/{stepId}",
    "delete /workflows/{id}/transitions/{transitionId}",
    "get /campaigns/{id}/heat",
    "get /campaigns/{id}/versions/{number}",
    "get /contacts/bulk/{jobId}",
    "get /contacts/import/{jobId}",
    "get /contacts/import/{jobId}/errors",
    "get /emails/{id}/attachments",
    "get /emails/{id}/attachments/{index}",
    "get /emails/{id}/raw",
    "get /mailbox/{id}/attachments/{index}",
    "get /requests/{id}",
    "get /suppressions/addresses/import/{jobId}",
    "get /suppressions/emails/{id}",
    "get /templates/{id}/versions/{number}",
    "get /v1/verify/jobs/{jobId}",
    "get /v1/verify/jobs/{jobId}/export",
    "get /v1/verify/jobs/{jobId}/results",
    "get /workflows/{id}/enrol/{jobId}",
    "get /workflows/{id}/executions/{executionId}",
    "get /workflows/{id}/migrate/{jobId}",
    "get /workflows/{id}/simulate/{jobId}",
    "get /workflows/{id}/why",
    "patch /projects/{id}/members/{userId}",
    "patch /workflows/{id}/steps/{stepId}",
    "post /campaigns/{id}/cancel",
    "post /campaigns/{id}/pause",
    "post /campaigns/{id}/resume",
    "post /campaigns/{id}/retry",
    "post /campaigns/{id}/versions/{number}/restore",
    "post /contacts/bulk/{jobId}/undo",
    "post /contacts/import",
    "post /contacts/import/preview",
    "post /delivery/interventions",
    "post /suppressions/addresses/import",
    "post /templates/{id}/versions/{number}/restore",
    "post /uploads/image",
    "post /v1/verify/file",
    "post /v1/verify/segment",
    "post /workflows/bulk-update",
    "post /workflows/{id}/enrol",
    "post /workflows/{id}/executions",
    "post /workflows/{id}/migrate",
    "post /workflows/{id}/publish",
    "post /workflows/{id}/transitions",
    "post /workflows/{id}/transitions/{transitionId}/insert-step",
    "put /contacts/{id}/topics",
    "put /suppressions/{id}",
];

both_engines! {
    async fn a_cookie_is_answered_by_every_project_endpoint_as_the_key_is(engine: Engine) {
        let world = World::new(engine).await;
        let app = &world.app;
        for n in 0..3 {
            let contact = json!({"email": format!("c{n}@example.com"), "data": {"plan": "pro"}});
            app.post("/contacts").json(&contact).send().await.assert_status(201);
        }
        app.send_to("ada@example.com").await;
        app.eventually("it is captured", async || {
            (!app.mailbox_for("ada@example.com").await.is_empty()).then_some(())
        })
        .await;
        let endpoints = TABLE.iter().filter_map(|(method, path, access)| match access {
            // what no key opens is not compared
            Access::Project((_, None)) => None,
            Access::Project(rule) | Access::Path(rule) => Some((*method, *path, *rule)),
            _ => None,
        });
        let mut refused = BTreeSet::new();
        for (method, path, rule) in endpoints {
            let callers = if rule.0 == MEMBER { &["owner", "member", "secret key"][..] } else { &["owner", "secret key"] };
            let mut answers: Vec<(u16, Value)> = Vec::new();
            let shared = world.thing(path).await;
            if path == "/requests" {
                world.log_is_stored().await;
            }
            for who in callers {
                // what is read is the same thing, and what is changed is another one for each
                let id = if method == "get" { shared.clone() } else { world.thing(path).await };
                let request = world.request_about(method, path, &world.project, &id);
                let answer = as_caller(&world, who, request).send().await;
                let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                if answer.status >= 400 {
                    refused.insert(format!("{method} {path}"));
                }
                // when a key was used, a domain looked at and a person exported goes on; of what is done, the second finds it
                // done; and a person is told of the own account as well
                let moves = path.ends_with("/attention") || path.ends_with("/keys") || path == "/contacts/{id}/export" || path == "/domains/{id}/verify" || path.starts_with("/emails");
                let told = match &body["error"] {
                    Value::Object(error) => json!([error["code"], error.get("errors")]),
                    _ if method == "get" && !moves => body,
                    _ => body.as_object().map_or(Value::Null, |body| json!(body.keys().collect::<Vec<_>>())),
                };
                answers.push((answer.status, told));
            }
            if method != "get" && path.starts_with("/campaigns/") {
                world.settle().await;
            }
            for answer in &answers {
                assert_eq!(*answer, answers[0], "{method} {path} by cookies and by key");
            }
        }
        // the others were compared on success
        let refused: Vec<&str> = refused.iter().map(String::as_str).collect();
        assert_eq!(refused, REFUSED);
    }

    async fn a_cookie_does_on_project_endpoints_what_the_key_does(engine: Engine) {
        let world = World::new(engine).await;
        let (app, member) = (&world.app, &world.people[0]);
        let contact = json!({"email": "ada@example.com", "data": {"plan": "pro"}});
        let by_cookie = member.in_project(app, &world.project, "POST", "/contacts").json(&contact);
        let made = by_cookie.send().await.assert_status(201).json();
        for path in ["/contacts", "/contacts/fields", "/events", "/templates", "/emails", "/mailbox"] {
            let cookie = member.in_project(app, &world.project, "GET", path).send().await.assert_status(200).json();
            assert_eq!(cookie, app.get(path).send().await.assert_status(200).json(), "{path}");
        }
        let event = json!({"name": "signup", "contactId": made["id"]});
        let recorded = member.in_project(app, &world.project, "POST", "/events/track").json(&event);
        recorded.send().await.assert_status(201);

        // a key wins over a cookie, and a bad header too
        let both = member.in_project(app, &world.project, "GET", "/contacts");
        let foreign = both.clone().bearer(&world.foreign.secret_key).send().await.assert_status(200).json();
        assert_eq!(foreign["total"], 0, "{foreign}");
        both.header("authorization", "Basic x").send().await.assert_error(401, "MISSING_AUTH");
    }
}
