//! Pictures for mails: uploading, listing, deleting and serving them, and where their bytes are.

mod gone;
mod hostile;
mod quota;
mod s3;
mod served;
mod taken;

use std::path::{Path, PathBuf};
use std::time::Duration;

use mailwright_testkit::{App, Project, Response};
use mailwright_tests::picture::form;
use mailwright_tests::{assert_only_keys, assert_timestamp, assert_uuid, text};
use serde_json::Value;

/// How long many pictures may take that are read two at a time.
const PATIENCE: Duration = Duration::from_mins(2);

/// POST /uploads/image.
async fn upload(app: &App, key: &str, name: &str, file: &[u8]) -> Response {
    let form = form("image", name, file);
    let request = app.request("POST", "/uploads/image").bearer(key).body(form.body, &form.kind);
    request.timeout(PATIENCE).send().await
}

/// A picture that is taken, whose shape is checked on the way.
async fn uploaded(app: &App, file: &[u8]) -> Value {
    checked(&upload(app, app.secret_key(), "a picture.png", file).await)
}

async fn uploaded_to(app: &App, project: &Project, file: &[u8]) -> Value {
    checked(&upload(app, &project.secret_key, "a picture.png", file).await)
}

fn checked(answer: &Response) -> Value {
    let body = answer.clone().assert_status(200).json();
    assert_only_keys(
        &body,
        &[
            "url",
            "key",
            "filename",
            "contentType",
            "size",
            "width",
            "height",
            "frames",
            "uploadedBy",
            "createdAt",
        ],
    );
    assert_only_keys(&body["uploadedBy"], &["type", "id"]);
    assert_uuid(&body["uploadedBy"]["id"]);
    assert_timestamp(&body["createdAt"]);
    assert!(text(&body["url"]).ends_with(&path(&body)), "{body}");
    body
}

/// Where a picture is served.
fn path(picture: &Value) -> String {
    format!("/uploads/{}", text(&picture["key"]))
}

/// What everybody gets at a path.
async fn got(app: &App, path: &str) -> Response {
    app.request("GET", path).send().await
}

/// The files in the folder of pictures.
fn files(app: &App) -> Vec<PathBuf> {
    fn below(folder: &Path) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
    }
    below(&app.data_dir().join("uploads"))
}

/// Waits until so many files are left.
async fn left(app: &App, count: usize) {
    app.eventually("the files are removed", async || (files(app).len() == count).then_some(())).await;
}

/// How many rows a table has.
async fn rows(app: &App, table: &str) -> usize {
    app.rows().await[table].len()
}
