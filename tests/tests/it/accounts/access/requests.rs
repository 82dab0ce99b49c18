//! A request to each endpoint, as each caller makes it.

use std::sync::atomic::{AtomicU32, Ordering};

use mailwright_testkit::{OWNER, Request};
use mailwright_tests::UNKNOWN_ID;
use mailwright_tests::browser::Browser;
use serde_json::{Value, json};

use super::world::World;

/// Makes names that nothing has yet.
static NEXT: AtomicU32 = AtomicU32::new(0);

impl World {
    pub(super) fn request(&self, method: &str, path: &str, project: &str) -> Request {
        self.request_about(method, path, project, UNKNOWN_ID)
    }

    /// A request about something of the project.
    pub(super) fn request_about(&self, method: &str, path: &str, project: &str, id: &str) -> Request {
        let request = self.app.request(&method.to_uppercase(), &filled(path, project, id));
        if method == "get" { request } else { request.json(&self.body(method, path)) }
    }

    /// What an endpoint of a project takes.
    pub(in crate::accounts) fn body(&self, method: &str, path: &str) -> Value {
        let name = format!("n{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let address = format!("{name}@example.com");
        match (method, path) {
            (
                "post",
                "/v1/verify"
                | "/contacts"
                | "/projects/{id}/members"
                | "/suppressions/addresses"
                | "/erasures"
                | "/erasures/check",
            ) => {
                json!({"email": address})
            }
            ("post", "/contacts/lookup" | "/v1/verify/batch") => json!({"emails": [address]}),
            ("post", path) if path.starts_with("/contacts/bulk-") => json!({"contactIds": [UNKNOWN_ID]}),
            ("patch", "/contacts/{id}") => json!({"data": {"plan": name}}),
            ("put", "/contacts/{id}/topics") => {
                json!({"topics": [{"id": UNKNOWN_ID, "subscribed": true}]})
            }
            ("post", "/segments/preview") => {
                let filter = json!({"field": "data.plan", "operator": "exists"});
                json!({"condition": {"logic": "AND", "groups": [{"filters": [filter]}]}})
            }
            ("post", "/segments") => json!({"name": name, "type": "STATIC"}),
            ("post", "/topics")
            | (
                "patch",
                "/segments/{id}"
                | "/templates/{id}"
                | "/topics/{id}"
                | "/workflows/{id}"
                | "/workflows/{id}/steps/{stepId}",
            )
            | ("put", "/campaigns/{id}" | "/suppressions/{id}") => {
                json!({"name": name})
            }
            (_, "/segments/{id}/members" | "/suppressions/addresses/bulk") => json!({"emails": [address]}),
            ("post", "/campaigns") => {
                json!({"name": name, "subject": "s", "body": "b", "from": self.app.from(), "audienceType": "ALL"})
            }
            ("post", "/campaigns/{id}/test" | "/templates/{id}/test") => json!({"email": OWNER.0}),
            ("post", "/emails/check") => json!({"subject": "s", "body": "b", "from": self.app.from()}),
            ("post", "/templates") => {
                json!({"name": name, "subject": "s", "body": "b", "from": self.app.from()})
            }
            ("post", "/workflows") => json!({"name": name, "eventName": name}),
            ("post", "/workflows/bulk-update") => json!({"ids": [UNKNOWN_ID]}),
            ("post", "/workflows/{id}/steps" | "/workflows/{id}/transitions/{transitionId}/insert-step") => {
                json!({"type": "EXIT", "name": name, "position": {"x": 0, "y": 0}, "config": {}})
            }
            ("post", "/workflows/{id}/transitions") => {
                json!({"fromStepId": UNKNOWN_ID, "toStepId": UNKNOWN_ID})
            }
            ("post", "/workflows/{id}/executions") => json!({"contactId": UNKNOWN_ID}),
            ("post", "/workflows/{id}/enrol" | "/v1/verify/segment") => json!({"segmentId": UNKNOWN_ID}),
            ("post", "/events/track") => json!({"name": "signup", "email": address}),
            ("post", "/suppressions") => {
                json!({"name": name, "kind": "ADDRESS", "pattern": address})
            }
            ("put", "/users/@me/projects/{id}/billing-limits") => {
                json!({"workflows": null, "campaigns": null, "transactional": null, "inbound": null})
            }
            ("post", "/held/decide") => json!({"decision": "drop"}),
            ("post", "/suppressions/preview") => json!({"address": address}),
            ("post", "/domains") => json!({"domain": format!("{name}.example")}),
            _ => json!({}),
        }
    }
}

/// A path about a project and something of it.
pub(in crate::accounts) fn filled(path: &str, project: &str, id: &str) -> String {
    if path == "/activity/stream" {
        // the answer ends after a while
        return format!("{path}?seconds=1");
    }
    let names_project = path.starts_with("/projects/")
        || path.starts_with("/users/@me/projects/")
        || path.contains("{projectId}");
    let mut first = names_project;
    let filled: Vec<&str> = path
        .split('/')
        .map(|segment| match segment {
            "{field}" => "data.plan",
            "{eventName}" => "signup",
            _ if segment.starts_with('{') && std::mem::take(&mut first) => project,
            _ if segment.starts_with('{') => id,
            plain => plain,
        })
        .collect();
    filled.join("/")
}

/// A request of a caller.
pub(super) fn as_caller(world: &World, who: &str, request: Request) -> Request {
    let cookie = |browser: &Browser| request.clone().header("cookie", &browser.cookie);
    let with_project = |request: Request| request.header("x-project-id", &world.project);
    match who {
        "nobody" => request,
        "member" => with_project(cookie(&world.people[0])),
        "admin" => with_project(cookie(&world.people[1])),
        "owner" => with_project(cookie(&world.people[2])),
        "outsider" => with_project(cookie(&world.outsider)),
        "no project" => cookie(&world.people[0]),
        "forged cookie" => {
            let (signed, _) = world.people[2].cookie.rsplit_once('.').expect("a signature");
            with_project(request.header("cookie", &format!("{signed}.{}", "A".repeat(43))))
        }
        "public key" => request.bearer(&world.public),
        "secret key" => request.bearer(&world.secret),
        "foreign key" => request.bearer(&world.foreign.secret_key),
        scope => {
            let key = world.scoped.iter().find(|(name, _)| *name == scope).expect("a key of that scope");
            request.bearer(&key.1)
        }
    }
}
