//! Requests whose bodies are held back until what let them in is gone.
//!
//! The endpoints are those of the API document that take a body: one that is added is asked too.

use std::collections::BTreeMap;

use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD};
use mailwright_tests::{column, until_waiting};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::access::{Access, TABLE, World, filled};

const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

/// A request that was let in and whose body is still to come.
struct Held {
    stream: TcpStream,
    body: String,
}

impl Held {
    async fn begin(app: &App, method: &str, path: &str, headers: &str, body: &str) -> Self {
        let address = app.base_url().trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).await.expect("the server accepts connections");
        let (method, length) = (method.to_uppercase(), body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nExpect: 100-continue\r\n{headers}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("the head is sent");
        // said when the body is asked for, so after the credentials were looked at (RFC 9110, 10.1.1)
        let mut answer = [0; CONTINUE.len()];
        stream.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(String::from_utf8_lossy(&answer), CONTINUE, "{method} {path}");
        Self { stream, body: body.to_owned() }
    }

    /// Sends the body; status and body of the answer.
    async fn end(mut self) -> (u16, String) {
        self.stream.write_all(self.body.as_bytes()).await.expect("the body is sent");
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).await.expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned())
    }
}

/// Endpoints that take a body and let nobody in without a credential.
async fn endpoints(app: &App) -> Vec<(&'static str, &'static str, Access)> {
    let document = app.request("GET", "/openapi.json").send().await.assert_status(200).json();
    let takes_body = |method: &str, path: &str| !document["paths"][path][method]["requestBody"].is_null();
    let found: Vec<_> = TABLE
        .iter()
        .copied()
        .filter(|(method, path, access)| !matches!(access, Access::Open) && takes_body(method, path))
        .collect();
    assert!(found.len() > 30, "{}", found.len());
    found
}

/// A body that would be taken.
fn body(world: &World, method: &str, path: &str) -> Value {
    let from = world.app.from();
    match (method, path) {
        ("post", "/v1/send") => json!({"to": "late@example.com", "from": from, "subject": "s", "body": "b"}),
        ("post", "/v1/track") => json!({"email": "late@example.com", "event": "late"}),
        ("post", "/users/@me/projects") | ("patch", "/users/@me/projects/{id}" | "/users/@me") => {
            json!({"name": "Late"})
        }
        ("post", "/projects/{id}/keys") => json!({"name": "late", "scopes": ["everything"]}),
        ("patch", "/projects/{id}/members/{userId}") => json!({"role": "ADMIN"}),
        ("post", "/users/@me/password") => {
            json!({"currentPassword": PASSWORD, "newPassword": "another password of many words"})
        }
        (_, path) if path.starts_with("/users/@me") => json!({"password": PASSWORD}),
        _ => world.body(method, path),
    }
}

/// What the owner sees of the project.
async fn seen(world: &World, owner: &Browser) -> BTreeMap<String, Value> {
    let mut seen = BTreeMap::new();
    let project = &world.project;
    for path in [
        "/contacts".to_owned(),
        "/contacts/fields".to_owned(),
        "/segments".to_owned(),
        "/templates".to_owned(),
        "/campaigns".to_owned(),
        "/emails".to_owned(),
        "/events".to_owned(),
        format!("/domains/project/{project}"),
        format!("/projects/{project}/members"),
        format!("/projects/{project}/invitations"),
        format!("/projects/{project}/audit"),
        "/users/@me/projects".to_owned(),
    ] {
        let answer = owner.in_project(&world.app, project, "GET", &path).send().await.assert_status(200);
        seen.insert(path, answer.json());
    }
    let keys = format!("/projects/{project}/keys");
    let keys = owner.request(&world.app, "GET", &keys).send().await.assert_status(200).json();
    seen.insert("keys".into(), json!(column(&keys, "id")));
    seen
}

both_engines! {
    async fn what_let_a_request_in_is_looked_at_again_when_its_body_has_come(engine: Engine) {
        let world = World::new(engine).await;
        let (app, project) = (&world.app, world.project.clone());
        let [member, admin, _] = &world.people;
        let leaver = Browser::sign_up(app, "leaver@example.com").await;
        world.people[2].add_member(app, &project, &leaver, "ADMIN").await;
        let endpoints = endpoints(app).await;
        let mut things = BTreeMap::new();
        for (_, path, _) in &endpoints {
            let id = if path.contains("{userId}") { member.id.clone() } else { world.thing(path).await };
            things.insert(*path, id);
        }
        // so that passwords are asked for
        app.tamper("update sessions set created_at = created_at - 3600000").await;
        let owner = Browser::log_in(app, OWNER.0, OWNER.1).await;

        let mut held = Vec::new();
        let of = |browser: &Browser| format!("Cookie: {}\r\nX-Project-Id: {project}", browser.cookie);
        for (method, path, access) in &endpoints {
            let target = filled(path, &project, &things[path]);
            let body = body(&world, method, path).to_string();
            let (key, person) = match access {
                Access::Project((_, scopes)) => (scopes.is_some(), Some((403, "PROJECT_ACCESS_DENIED"))),
                Access::Path(_) => (true, Some((404, "RESOURCE_NOT_FOUND"))),
                Access::Mine(_) => (false, Some((404, "RESOURCE_NOT_FOUND"))),
                Access::Send(_) | Access::Track(_) => (true, None),
                Access::User | Access::Open => (false, None),
            };
            let session = !matches!(access, Access::Send(_) | Access::Track(_));
            let mut begin = async |who: &str, headers: &str, told: (u16, &'static str)| {
                let request = Held::begin(app, method, &target, headers, &body).await;
                held.push((format!("{method} {path} of {who}"), request, told));
            };
            if key {
                begin("a replaced key", &format!("Authorization: Bearer {}", world.secret), (401, "INVALID_API_KEY")).await;
            }
            if let Some(told) = person {
                begin("a removed administrator", &of(admin), told).await;
            }
            if session {
                begin("a session that ended", &of(&leaver), (401, "UNAUTHORIZED")).await;
            }
        }
        world.settle().await;
        let remove = format!("/projects/{project}/members/{}", admin.id);
        owner.request(app, "DELETE", &remove).send().await.assert_status(200);
        leaver.request(app, "GET", "/auth/logout").send().await.assert_status(200);
        let rotate = format!("/users/@me/projects/{project}/regenerate-keys");
        owner.request(app, "POST", &rotate).send().await.assert_status(200);
        let before = seen(&world, &owner).await;
        for (what, request, (status, code)) in held {
            let (answered, body) = request.end().await;
            assert_eq!(answered, status, "{what}: {body}");
            assert!(body.contains(code), "{what}: {body}");
        }
        assert_eq!(seen(&world, &owner).await, before, "nothing was written");
        // whoever may still do what was asked for, may however slowly it comes
        let body = json!({"email": "slow@example.com"}).to_string();
        let slow = Held::begin(app, "POST", "/contacts", &of(&owner), &body).await;
        assert_eq!(slow.end().await.0, 201);
    }
}

/// PostgreSQL alone: where there is one writer, one change is done when the next looks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_was_lost_gives_no_key_to_a_request_that_waits_for_the_project() {
    let world = World::new(Engine::Postgres).await;
    let (app, project) = (&world.app, &world.project);
    let [_, admin, owner] = &world.people;
    let keys = format!("/projects/{project}/keys");
    let members = format!("/projects/{project}/members");
    let own = format!("{members}/{}", admin.id);
    let settings = format!("/users/@me/projects/{project}");
    let held = app.hold("select 1 from projects for update").await;
    let demoted = tokio::spawn(owner.request(app, "PATCH", &own).json(&json!({"role": "MEMBER"})).send());
    until_waiting(app, 1).await;
    let requests = [
        admin.request(app, "POST", &keys).json(&json!({"name": "late", "scopes": ["everything"]})),
        admin.request(app, "POST", &members).json(&json!({"email": "x@example.com", "role": "ADMIN"})),
        admin.request(app, "PATCH", &own).json(&json!({"role": "ADMIN"})),
        admin.request(app, "PATCH", &settings).json(&json!({"name": "Late"})),
    ];
    let refused = requests.map(|request| tokio::spawn(request.send()));
    until_waiting(app, 1 + refused.len()).await;
    drop(held);
    demoted.await.expect("an answer").assert_status(200);
    for refused in refused {
        refused.await.expect("an answer").assert_error(403, "FORBIDDEN");
    }
}
