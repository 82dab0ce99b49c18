//! Imports, exports and bulk operations: background jobs and the commands beside them.

mod command;
mod encoding;
mod form;
mod guided;
mod import;
mod jobs;
mod operations;
mod undo;
mod verification;

use std::time::Duration;

use mailwright_testkit::{App, Request, Response};
use mailwright_tests::{assert_only_keys, assert_uuid, read, text};
use serde_json::Value;

const BOUNDARY: &str = "----a-boundary-of-the-tests";

/// One part of a form.
fn part(headers: &str, content: &[u8]) -> Vec<u8> {
    let mut part = format!("--{BOUNDARY}\r\n{headers}\r\n\r\n").into_bytes();
    part.extend_from_slice(content);
    part.extend_from_slice(b"\r\n");
    part
}

/// A form of these parts as the body of a request.
fn with_form(request: Request, parts: &[Vec<u8>]) -> Request {
    let mut body = parts.concat();
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    request.body(body, &format!("multipart/form-data; boundary={BOUNDARY}"))
}

fn csv_part(csv: &[u8]) -> Vec<u8> {
    part("Content-Disposition: form-data; name=\"file\"; filename=\"c.csv\"\r\nContent-Type: text/csv", csv)
}

/// A file of so many rows, each with its number.
fn numbered(rows: usize) -> String {
    let lines: Vec<String> = (0..rows).map(|number| format!("c{number}@example.com,{number}")).collect();
    format!("email,number\n{}\n", lines.join("\n"))
}

/// POST /contacts/import.
async fn upload(app: &App, csv: impl AsRef<[u8]>) -> Response {
    with_form(app.post("/contacts/import"), &[csv_part(csv.as_ref())]).send().await
}

/// The id of a job that was queued.
fn queued(response: &Response) -> String {
    let body = response.clone().assert_status(202).json();
    assert_only_keys(&body, &["message", "jobId"]);
    assert!(!text(&body["message"]).is_empty());
    assert_uuid(&body["jobId"]);
    text(&body["jobId"]).to_owned()
}

fn import_path(job: &str) -> String {
    format!("/contacts/import/{job}")
}

fn bulk_path(job: &str) -> String {
    format!("/contacts/bulk/{job}")
}

/// The status of a job once it is finished, whose shape is checked on the way.
async fn finished(app: &App, path: &str) -> Value {
    app.eventually_within(Duration::from_mins(2), "the job is finished", async || {
        let status = read(app, path).await;
        let percent = status["progress"].as_i64().expect("an integer");
        assert!((0..=100).contains(&percent), "{status}");
        assert!(path.ends_with(text(&status["id"])), "{status}");
        match text(&status["state"]) {
            "completed" => {
                assert_only_keys(&status, &["id", "state", "progress", "result"]);
                assert_eq!(percent, 100);
                Some(status)
            }
            "failed" => {
                assert_only_keys(&status, &["id", "state", "progress", "result", "failedReason"]);
                assert_eq!(status["result"], Value::Null);
                Some(status)
            }
            "waiting" | "active" | "delayed" => {
                assert_eq!(status["result"], Value::Null, "{status}");
                None
            }
            _ => panic!("{status}"),
        }
    })
    .await
}

/// Imports a file and returns the result.
async fn imported(app: &App, csv: impl AsRef<[u8]>) -> Value {
    let status = finished(app, &import_path(&queued(&upload(app, csv).await))).await;
    assert_eq!(status["state"], "completed", "{status}");
    let keys = ["totalRows", "successCount", "createdCount", "updatedCount", "failureCount", "errors"];
    assert_only_keys(&status["result"], &keys);
    status["result"].clone()
}

/// Imports a file that is refused as a whole, and returns the reason.
async fn refused(app: &App, csv: impl AsRef<[u8]>) -> String {
    let status = finished(app, &import_path(&queued(&upload(app, csv).await))).await;
    assert_eq!(status["state"], "failed", "{status}");
    text(&status["failedReason"]).to_owned()
}

/// A result's counts: rows, created, updated, failed.
fn counts(result: &Value) -> [i64; 4] {
    let count = |key: &str| result[key].as_i64().expect("a number");
    assert_eq!(count("successCount"), count("createdCount") + count("updatedCount"), "{result}");
    assert_eq!(count("totalRows"), count("successCount") + count("failureCount"), "{result}");
    [count("totalRows"), count("createdCount"), count("updatedCount"), count("failureCount")]
}

async fn total(app: &App) -> i64 {
    read(app, "/contacts?limit=1").await["total"].as_i64().expect("a number")
}
