//! Independent judges: Python's `email` package and `dkimpy` of messages, `openapi-spec-validator` of the API document.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// Verifies the DKIM signatures of a message.
///
/// `records` are the TXT records that may be asked for: name and text. Panics when there is no signature or one of
/// them does not hold; returns what each signature says: `[{"domain", "selector", "algorithm", "headers"}]`.
pub fn verify_dkim(message: &[u8], records: &[(&str, &str)]) -> Value {
    let output = run_dkim(message, records);
    assert!(
        output.status.success(),
        "DKIM verification failed: {}{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(message)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Panics unless a signature of the message is there and does not hold, because the message is not what was signed.
pub fn assert_forged(message: &[u8], records: &[(&str, &str)]) {
    let output = run_dkim(message, records);
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && problem.contains("is invalid"),
        "a signature holds that should not: {problem}\n{}",
        String::from_utf8_lossy(message)
    );
}

fn run_dkim(message: &[u8], records: &[(&str, &str)]) -> Output {
    let records: Value = records
        .iter()
        .map(|&(name, text)| (name.to_owned(), json!(text)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), records.to_string()).unwrap();
    run("verify-dkim.py", &["--records", &file.path().display().to_string()], message)
}

/// Takes a message apart with Python's `email` package:
/// `{"headers": [[name, value]], "defects": [text], "part": {"type", "disposition", "filename", "contentId",
/// "encoding", "text" or "base64", "parts": [part]}}`.
pub fn parse_mail(message: &[u8]) -> Value {
    let output = run("parse-mail.py", &[], message);
    assert!(
        output.status.success(),
        "the message could not be parsed: {}\n{}",
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(message)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Panics unless a text is a valid `OpenAPI` document.
pub fn assert_valid_openapi(document: &str) {
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), document).unwrap();
    let output =
        Command::new(interpreter()).args(["-m", "openapi_spec_validator"]).arg(file.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Runs one of the scripts with the message as its input.
fn run(script: &str, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(interpreter())
        .arg(crate::workspace_root().join("scripts").join(script))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn interpreter() -> PathBuf {
    let path = match std::env::var_os("MAILWRIGHT_TEST_PYTHON").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => crate::workspace_root().join(".venv/bin/python"),
    };
    assert!(
        path.is_file(),
        "this test needs Python at {}: `python3 -m venv .venv && .venv/bin/pip install -r tests/requirements.txt`, \
         or set MAILWRIGHT_TEST_PYTHON to an interpreter that has those packages",
        path.display()
    );
    path
}
