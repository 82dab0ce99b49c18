//! The API document, judged by programs that know nothing else of the service: whether it is one, and whether the service
//! does what it says.

use mailwright_testkit::python::{Effort, Requests, assert_as_documented, assert_valid_openapi};
use mailwright_testkit::{App, Engine, OWNER};
use mailwright_tests::browser::Browser;
use mailwright_tests::{members, sized, text};
use serde_json::Value;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_is_valid() {
    let app = App::start(Engine::Sqlite).await;
    let document = app.request("GET", "/openapi.json").send().await.assert_status(200).text();
    tokio::task::spawn_blocking(move || assert_valid_openapi(&document)).await.expect("the judge");
}

/// These end the session, or the account, that the others need.
const ENDINGS: [&str; 3] = ["deleteMe", "endSession", "logOut"];

/// An answer that goes on for minutes.
const LASTING: &str = "followActivity";

/// Requests at the edges of what is allowed are most of the work. What the document forbids is looked for there in every
/// run; what it allows in `make test-large`.
fn usual(requests: Requests) -> Effort {
    Effort { examples: sized(2, 10), edges: sized(requests == Requests::Forbidden, true) }
}

/// What opens an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Nothing is needed.
    Open,
    /// A key, and mostly as well a session that names the project.
    Project,
    /// A session alone.
    Session,
    /// A session alone, which it ends.
    Ending,
}

impl Access {
    fn of(operation: &Value) -> Self {
        let ways = operation["security"].as_array().map(Vec::as_slice).unwrap_or_default();
        let opens = |scheme: &str| ways.iter().any(|way| members(way).contains_key(scheme));
        if ENDINGS.contains(&text(&operation["operationId"])) {
            Self::Ending
        } else if ways.is_empty() || ways.iter().any(|way| members(way).is_empty()) {
            Self::Open
        } else if opens("secretKey") {
            Self::Project
        } else {
            Self::Session
        }
    }
}

/// A service and its operations.
struct Judged {
    app: App,
    operations: Vec<(Access, String)>,
    /// The first operation that is judged, and how many there are from one to the next.
    part: (usize, usize),
}

impl Judged {
    async fn start(engine: Engine) -> Self {
        let app = App::start(engine).await;
        let document = app.request("GET", "/openapi.json").send().await.assert_status(200).json();
        let operations = members(&document["paths"]).values().flat_map(|item| members(item).values());
        let operations = operations.filter(|it| it["operationId"] != LASTING);
        let operations = operations.map(|it| (Access::of(it), text(&it["operationId"]).to_owned())).collect();
        Self { app, operations, part: (0, 1) }
    }

    /// Judges a third of the operations alone: all of them take minutes.
    fn third(self, part: usize) -> Self {
        Self { part: (part, 3), ..self }
    }

    /// Has the operations judged that give this access, with these headers. The credential must last: answers that refuse
    /// it would be as documented, and say nothing.
    async fn judge(&self, access: Access, headers: &[(&str, &str)], requests: Requests, effort: Effort) {
        let chosen = self.operations.iter().filter(|(of, _)| *of == access);
        let (first, step) = self.part;
        let operations: Vec<String> = chosen.skip(first).step_by(step).map(|(_, id)| id.clone()).collect();
        assert!(!operations.is_empty(), "{access:?}");
        let given: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let url = self.app.base_url().to_owned();
        let judge = move || {
            let headers: Vec<_> = given.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_as_documented(&url, &headers, &operations, requests, effort);
        };
        tokio::task::spawn_blocking(judge).await.expect("the judge");
        let path = match access {
            Access::Open | Access::Ending => return,
            Access::Project => "/contacts",
            Access::Session => "/users/@me",
        };
        let mut request = self.app.request("GET", path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request.send().await.assert_status(200);
    }

    async fn by_key(&self, requests: Requests) {
        let key = format!("Bearer {}", self.app.secret_key());
        // a key does not look at the header that names a project, so it is a good one in every request
        let headers = [("Authorization", key.as_str()), ("X-Project-Id", self.app.project_id())];
        self.judge(Access::Project, &headers, requests, usual(requests)).await;
        self.judge(Access::Open, &headers[..1], requests, usual(requests)).await;
    }

    /// With the session of the project's owner; at last what ends a session, with that of somebody else.
    async fn by_session(&self, access: &[Access], requests: Requests, effort: Effort) {
        let owner = Browser::log_in(&self.app, OWNER.0, OWNER.1).await;
        let headers = [("Cookie", owner.cookie.as_str()), ("X-Project-Id", self.app.project_id())];
        for access in access {
            self.judge(*access, &headers, requests, effort).await;
        }
        let other = Browser::sign_up(&self.app, &format!("{requests:?}@example.com")).await;
        self.judge(Access::Ending, &[("Cookie", &other.cookie)], requests, effort).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_key_the_service_takes_what_the_document_allows() {
    Judged::start(Engine::Sqlite).await.by_key(Requests::Allowed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_key_the_service_refuses_what_the_document_forbids_of_a_third_of_operations() {
    Judged::start(Engine::Sqlite).await.third(0).by_key(Requests::Forbidden).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_key_the_service_refuses_what_the_document_forbids_of_another_third() {
    Judged::start(Engine::Sqlite).await.third(1).by_key(Requests::Forbidden).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_key_the_service_refuses_what_the_document_forbids_of_the_last_third() {
    Judged::start(Engine::Sqlite).await.third(2).by_key(Requests::Forbidden).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_session_the_service_does_what_the_document_says() {
    let judged = Judged::start(Engine::Sqlite).await;
    judged.by_session(&[Access::Session], Requests::Forbidden, usual(Requests::Forbidden)).await;
    judged.by_session(&[Access::Session], Requests::Allowed, usual(Requests::Allowed)).await;
}

/// On the other engine, by the owner of the project instead of its key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgresql_the_service_does_what_the_document_says() {
    let judged = Judged::start(Engine::Postgres).await;
    let access = [Access::Project, Access::Session];
    judged.by_session(&access, Requests::Allowed, usual(Requests::Allowed)).await;
}
