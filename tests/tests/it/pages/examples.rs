//! The examples of the reference, run as they are: they must be requests that the service takes.

use std::collections::BTreeMap;
use std::path::Path;

use mailwright_testkit::python::run_pieces;
use mailwright_testkit::{App, Engine, OWNER};
use mailwright_tests::browser::Browser;
use mailwright_tests::picture::png;
use mailwright_tests::{members, text};
use serde_json::Value;
use tokio::process::Command;

use super::reference;

/// These act on what the others need, end the session, or go on for minutes.
const LEFT_OUT: [&str; 3] = ["logOut", "endSession", "followActivity"];

/// What opens an operation.
fn opened_by(operation: &Value, scheme: &str) -> bool {
    let ways = operation["security"].as_array().map(Vec::as_slice).unwrap_or_default();
    ways.iter().any(|way| members(way).contains_key(scheme))
}

/// The examples that a key is sent with, and those of reading requests with a session, by operation.
async fn examples(app: &App, language: &str) -> BTreeMap<String, String> {
    let document = app.request("GET", "/openapi.json").send().await.assert_status(200).json();
    let (_, mut shown) = reference(app).await;
    let mut found = BTreeMap::new();
    for item in members(&document["paths"]).values() {
        for (method, operation) in members(item) {
            let id = text(&operation["operationId"]);
            let reads = method == "get" && opened_by(operation, "session");
            if !LEFT_OUT.contains(&id) && (opened_by(operation, "secretKey") || reads) {
                let mut shown = shown.remove(id).expect("the operation");
                found.insert(id.to_owned(), shown.examples.remove(language).expect("the language"));
            }
        }
    }
    assert!(found.len() > 70, "{}", found.len());
    found
}

/// The token of a session.
async fn session(app: &App) -> String {
    let owner = Browser::log_in(app, OWNER.0, OWNER.1).await;
    owner.cookie.split_once('=').expect("a cookie").1.to_owned()
}

fn file(folder: &Path) {
    std::fs::write(folder.join("contacts.csv"), "email,plan\ngrace@example.org,pro\n").expect("the file");
    std::fs::write(folder.join("logo.png"), png(40, 20, 1)).expect("the file");
}

/// Made-up ids are of nothing, and senders may be of domains that are not verified. Everything else must be right.
fn assert_taken(id: &str, status: u16, answer: &str) {
    let is_taken = matches!(status, 200..=204 | 403 | 404 | 409);
    let leads_nowhere = answer.contains("There is nothing at");
    assert!(is_taken && !leads_nowhere, "{id}: {status} {answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_shown_for_curl_works() {
    let app = App::start(Engine::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    file(folder.path());
    let session = session(&app).await;
    let mut worked = 0;
    for (id, example) in examples(&app, "curl").await {
        let script = format!("{example} -sS --max-time 30 -w '\\n%{{http_code}}'");
        let mut command = Command::new("bash");
        command.arg("-c").arg(&script).current_dir(folder.path());
        command.env("API_KEY", app.secret_key()).env("SESSION", &session);
        let output = command.output().await.expect("curl is there");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{id}: {script}\n{}", String::from_utf8_lossy(&output.stderr));
        let (answer, status) = said.rsplit_once('\n').expect("a status");
        assert_taken(&id, status.parse().expect("a number"), answer);
        worked += usize::from(status.starts_with('2'));
    }
    assert!(worked > 30, "{worked}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_shown_for_python_works() {
    let app = App::start(Engine::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    file(folder.path());
    let (key, session) = (app.secret_key().to_owned(), session(&app).await);
    let (ids, pieces): (Vec<String>, Vec<String>) = examples(&app, "python").await.into_iter().unzip();
    let run = move || run_pieces(&pieces, &[("API_KEY", &key), ("SESSION", &session)], folder.path());
    let printed = tokio::task::spawn_blocking(run).await.expect("Python");
    let mut worked = 0;
    for (id, said) in ids.iter().zip(&printed) {
        let (status, answer) = said.split_once(' ').expect("a status");
        assert_taken(id, status.parse().expect("a number"), answer);
        worked += usize::from(status.starts_with('2'));
    }
    assert!(worked > 30, "{worked}");
}
