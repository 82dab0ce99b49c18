//! Continuous copies: what is shipped, and what is restored.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use mailwright_testkit::{App, Rows};
use serde_json::Value;

/// How long copies are waited for: a destination that was away is tried again after some seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// The value of a metric without labels; 0 for one that is not there.
pub async fn metric(app: &App, name: &str) -> f64 {
    let text = app.request("GET", "/metrics").send().await.assert_status(200).text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().expect("a number"))
}

/// The moment before which everything is at the destination, in milliseconds since 1970.
pub async fn until(app: &App) -> i64 {
    (metric(app, "mailwright_copies_until_timestamp_seconds").await * 1000.0).floor() as i64
}

/// Waits until everything that was acknowledged is at the destination. Returns a moment of which nothing is missing.
pub async fn shipped(app: &App) -> i64 {
    let now = app.now();
    app.eventually_within(PATIENCE, "what was written is shipped", async || {
        (until(app).await > now).then_some(())
    })
    .await;
    app.now()
}

/// A moment as the command line takes it.
pub fn moment(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).expect("a moment").to_string()
}

/// What a command said.
pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Restores copies into a folder that is not there yet.
pub async fn restore(app: &App, from: &str, at: Option<i64>, to: &Path) -> Output {
    let at = at.map(moment);
    let mut arguments = vec!["restore", "--from", from];
    arguments.extend(at.iter().flat_map(|at| ["--at", at]));
    let to = to.display().to_string();
    app.try_run_with(&arguments, &[("MAILWRIGHT_DATA_DIR", &to)]).await
}

/// Restores copies, and reads what is in the database then.
pub async fn restored(app: &App, from: &str, at: Option<i64>) -> Rows {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("data");
    let output = restore(app, from, at, &to).await;
    assert!(output.status.success(), "{}", said(&output));
    app.rows_in(&to)
}

/// The addresses of the contacts.
pub fn addresses(rows: &Rows) -> BTreeSet<String> {
    let address = |row: &String| {
        let row: Value = serde_json::from_str(row).expect("a row");
        row["email"].as_str().expect("an address").to_owned()
    };
    rows["contacts"].iter().map(address).collect()
}

/// The files below a folder, in their order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut found: Vec<_> =
        paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    found.sort();
    found
}

/// The files of one kind below a folder, in their order: `segments` or `snapshots`.
pub fn files_of(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let is_of = |path: &PathBuf| path.components().any(|part| part.as_os_str() == kind);
    files(folder).into_iter().filter(is_of).collect()
}
