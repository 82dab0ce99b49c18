//! Refusals that never reach a use case, each given to every operation that the document says refuses so.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::iter;
use mailwright_testkit::{Request, Response, Value, json};
use mailwright_tests::{READS_BY_BODY, UNKNOWN_ID, shown};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::changes::Cause;
use super::seen::{Operation, Seen};
use super::world::{World, filled};

/// Requests that are sent at once.
const AT_ONCE: usize = 16;
/// How long an answer is awaited.
const PATIENCE: Duration = Duration::from_secs(30);

/// How every operation of some is refused.
pub(crate) struct Rule {
    pub(crate) why: &'static str,
    pub(crate) status: u16,
    pub(crate) causes: &'static [Cause],
    pub(crate) applies: fn(&Operation) -> bool,
    pub(crate) request: fn(&World, &Operation) -> Request,
}

/// Who sends nothing that opens an operation, or nothing that can be read.
fn rules() -> Vec<Rule> {
    let rule = |why, status, applies, request| Rule { why, status, causes: &[], applies, request };
    let is_project_of_header =
        |it: &Operation| it.takes("secretKey") && it.takes("session") && !it.names_project();
    vec![
        rule("nobody", 401, |it| !it.is_open(), bare),
        rule(
            "an unknown key",
            401,
            |it| it.takes("secretKey"),
            |world, it| bare(world, it).bearer(&format!("sk_{}", "0".repeat(64))),
        ),
        rule(
            "a page of another site",
            403,
            |it| it.takes("session") || it.name.contains(" /auth/"),
            |world, it| {
                bare(world, it).header("cookie", &world.owner.cookie).header("sec-fetch-site", "cross-site")
            },
        ),
        rule(
            "a key that may only read",
            403,
            |it| it.takes("secretKey") && !it.takes("session"),
            |world, it| bare(world, it).bearer(world.id("read")),
        ),
        rule(
            "a key of a disabled project",
            403,
            |it| it.takes("secretKey") && !it.names_project() && !reads_by_body(it),
            |world, it| bare(world, it).bearer(world.id("banned key")),
        ),
        rule("a session without a project", 400, is_project_of_header, |world, it| {
            bare(world, it).header("cookie", &world.owner.cookie)
        }),
        rule(
            "no JSON",
            400,
            |it| it.takes_json,
            |world, it| as_caller(world, it, bare(world, it)).body("{", "application/json"),
        ),
        rule(
            "no object",
            422,
            |it| it.takes_json,
            |world, it| as_caller(world, it, bare(world, it)).json(&json!([])),
        ),
        rule(
            "no id of a campaign",
            422,
            |it| it.name.contains("/campaigns/{id}"),
            |world, it| as_caller(world, it, request(world, it, &["nobody"])).json(&body(it)),
        ),
        rule("an id that nothing has", 404, names_something, |world, it| {
            as_caller(world, it, request(world, it, &[])).json(&body(it))
        }),
        rule(
            "an id that nothing of the project has",
            404,
            |it| it.names_project() && it.name.matches('{').count() > 1,
            |world, it| as_caller(world, it, request(world, it, &[&world.project])).json(&body(it)),
        ),
        rule(
            "another host",
            421,
            |it| it.refuses_with(421),
            |world, it| bare(world, it).header("cookie", &world.owner.cookie).header("host", "other.example"),
        ),
    ]
}

/// Whether a name in the path is an id: fields and events are removed by names that nothing needs to have. Who is to be
/// erased is looked for when the password was right: `contacts.rs`.
fn names_something(operation: &Operation) -> bool {
    operation.name.contains('{')
        && !operation.name.ends_with("/erase")
        && !operation.name.contains("{field}")
        && !operation.name.contains("{eventName}")
}

pub(crate) async fn check(world: &World, seen: &mut Seen) {
    for rule in rules() {
        keep(world, seen, &rule).await;
    }
    let length = |length: usize| format!("Content-Length: {length}\r\n\r\n");
    check_raw(world, seen, "a body that is too large", 413, &length(999_999_999)).await;
    check_raw(
        world,
        seen,
        "a header that is too large",
        431,
        &format!("X-Long: {}\r\n\r\n", "x".repeat(70_000)),
    )
    .await;
    check_raw(world, seen, "a path that is too long", 414, "\r\n").await;
}

/// Bodies that do not come.
pub(crate) async fn check_slow(world: &World, seen: &mut Seen) {
    check_raw(world, seen, "a body that does not come", 408, "Content-Length: 100\r\n\r\n{").await;
}

/// Sends the requests of a rule. All have to be refused, and to leave the database as it was.
pub(crate) async fn keep(world: &World, seen: &mut Seen, rule: &Rule) {
    let applies = |it: &&Operation| it.refuses_with(rule.status) && (rule.applies)(it);
    let requests = seen.operations.iter().filter(applies);
    let requests = requests.map(|it| (it.name.clone(), (rule.request)(world, it)));
    let requests: Vec<_> = requests.map(|(name, request)| async { (name, request.send().await) }).collect();
    let answers: Vec<(String, Response)> = iter(requests).buffer_unordered(AT_ONCE).collect().await;
    assert!(!answers.is_empty(), "{} applies to nothing", rule.why);
    for (name, answer) in &answers {
        if answer.status != rule.status {
            let told = shown(answer);
            seen.fault(format!("{name}, {}: expected {}, got {told}", rule.why, rule.status));
        }
    }
    let names = answers.into_iter().map(|(name, _)| name).collect();
    seen.kept_rule(world, rule.why, rule.status, names, rule.causes).await;
}

/// The same for requests that are sent as they are: their heads end with `rest`.
async fn check_raw(world: &World, seen: &mut Seen, why: &str, status: u16, rest: &str) {
    let operations = seen.operations.iter().filter(|it| it.refuses_with(status));
    let heads = operations.map(|it| (it.name.clone(), head(world, it, status == 414)));
    let exchanges: Vec<_> = heads
        .map(|(name, head)| async move { (name, status_of(world, &format!("{head}{rest}")).await) })
        .collect();
    let answers: Vec<_> = iter(exchanges).buffer_unordered(4 * AT_ONCE).collect().await;
    for (name, answer) in &answers {
        if *answer != Some(status) {
            seen.fault(format!("{name}, {why}: expected {status}, got {answer:?}"));
        }
    }
    let names = answers.into_iter().map(|(name, _)| name).collect();
    seen.kept_rule(world, why, status, names, &[]).await;
}

/// What a request that is written by hand begins with.
fn head(world: &World, operation: &Operation, is_long: bool) -> String {
    let (method, mut path) = filled(&operation.name, &ids(world, operation));
    if is_long {
        path = format!("{path}?q={}", "x".repeat(66_000));
    }
    let opener = if operation.takes("secretKey") {
        format!("Authorization: Bearer {}\r\n", world.app.secret_key())
    } else {
        let project =
            if of_people(operation) { format!("X-Project-Id: {}\r\n", world.project) } else { String::new() };
        format!("Cookie: {}\r\n{project}", world.owner.cookie)
    };
    let kind = if operation.takes_json { "application/json" } else { "multipart/form-data; boundary=limit" };
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n{opener}")
}

/// The status that a request written by hand is answered with.
async fn status_of(world: &World, request: &str) -> Option<u16> {
    let address = world.app.base_url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.expect("the server accepts connections");
    // a server that refuses early need not read all of it
    let _ = stream.write_all(request.as_bytes()).await;
    let mut read = Vec::new();
    let line = async {
        while !read.contains(&b'\n') {
            if stream.read_buf(&mut read).await.ok()? == 0 {
                return None;
            }
        }
        String::from_utf8_lossy(&read).split(' ').nth(1)?.parse().ok()
    };
    tokio::time::timeout(PATIENCE, line).await.expect("an answer, or an end")
}

/// What stands in the path of a request that is refused for something else: the project, and ids that nothing has.
fn ids<'w>(world: &'w World, operation: &Operation) -> Vec<&'w str> {
    if operation.names_project() { vec![&world.project] } else { Vec::new() }
}

fn request(world: &World, operation: &Operation, ids: &[&str]) -> Request {
    let (method, path) = filled(&operation.name, ids);
    world.app.request(&method, &path)
}

/// A request by nobody, about nothing of the project.
pub(crate) fn bare(world: &World, operation: &Operation) -> Request {
    request(world, operation, &ids(world, operation))
}

/// The same by somebody who may do everything.
pub(crate) fn as_caller(world: &World, operation: &Operation, request: Request) -> Request {
    if operation.takes("secretKey") {
        request.bearer(world.app.secret_key())
    } else if of_people(operation) {
        request.header("cookie", &world.owner.cookie).header("x-project-id", &world.project)
    } else if operation.takes("session") {
        request.header("cookie", &world.owner.cookie)
    } else {
        request
    }
}

/// Whether an operation is about the project of a header and opened by no key.
fn of_people(operation: &Operation) -> bool {
    operation.name.ends_with("/erase")
        || operation.name.contains("/erasures")
        || operation.name.ends_with("/held/decide")
}

/// A body that is valid.
fn body(operation: &Operation) -> Value {
    match operation.name.as_str() {
        name if name.contains("/members/") => json!({"role": "MEMBER"}),
        name if name.contains("/segments/") && name.ends_with("/members") => {
            json!({"emails": ["new@example.com"]})
        }
        name if name.ends_with("/topics") => json!({"topics": [{"id": UNKNOWN_ID, "subscribed": true}]}),
        name if name.ends_with("/members") || name.ends_with("/test") => json!({"email": "new@example.com"}),
        name if name.ends_with("/steps") || name.ends_with("/insert-step") => {
            let config = json!({"amount": 1, "unit": "days"});
            json!({"type": "DELAY", "name": "New", "position": {"x": 0, "y": 0}, "config": config})
        }
        name if name.ends_with("/transitions") => json!({"fromStepId": UNKNOWN_ID, "toStepId": UNKNOWN_ID}),
        name if name.ends_with("/executions") => json!({"contactId": UNKNOWN_ID}),
        name if name.ends_with("/enrol") => json!({"segmentId": UNKNOWN_ID}),
        name if name.ends_with("/keys") => json!({"name": "New", "scopes": ["read"]}),
        _ => json!({}),
    }
}

/// Whether it reads, so that a disabled project does not refuse it.
fn reads_by_body(operation: &Operation) -> bool {
    READS_BY_BODY.iter().any(|path| operation.name.strip_prefix("post ") == Some(path))
}
