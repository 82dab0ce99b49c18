//! Independent judges: Python's `email` package and `dkimpy` of messages, `openapi-spec-validator` of the API document,
//! and `schemathesis` of whether the service does what its document says. And `moto`, an independent imitation of Amazon.

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

/// Judges the mails of a folder as a receiver does, see `scripts/judge-mails.py`: what each judge says, by file.
pub fn judge_mails(folder: &std::path::Path, setting: &Value) -> Value {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), setting.to_string()).unwrap();
    let (folder, setting) = (folder.display().to_string(), file.path().display().to_string());
    let output = run("judge-mails.py", &[&folder, &setting], b"");
    assert!(
        output.status.success(),
        "the mails could not be judged: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
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

/// What `moto` sends to a subscriber of the topic `arn:aws:sns:eu-west-1:123456789012:mail` where these texts are
/// published: the signed messages, and the certificate of each.
pub fn published_by_moto(texts: &[String]) -> Vec<(Value, String)> {
    let output = run("sns-by-moto.py", &[], json!(texts).to_string().as_bytes());
    assert!(output.status.success(), "moto failed: {}", String::from_utf8_lossy(&output.stderr));
    let published: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(published.len(), texts.len(), "{published:?}");
    let parts = published.into_iter().map(|mut one| {
        let certificate = one["certificate"].as_str().unwrap().to_owned();
        (one["message"].take(), certificate)
    });
    parts.collect()
}

/// Panics unless a text is a valid `OpenAPI` document.
pub fn assert_valid_openapi(document: &str) {
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), document).unwrap();
    let output =
        Command::new(interpreter()).args(["-m", "openapi_spec_validator"]).arg(file.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Which requests a service is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// Those that the document allows.
    Allowed,
    /// Those that it does not.
    Forbidden,
}

impl Requests {
    fn mode(self) -> &'static str {
        match self {
            Self::Allowed => "positive",
            Self::Forbidden => "negative",
        }
    }
}

/// How many requests a service is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// At most so many made at random for each operation.
    pub examples: u32,
    /// Those at the edges of what is allowed as well.
    pub edges: bool,
}

/// Panics unless a service does what its `OpenAPI` document says: sends it requests made from the document, with these
/// headers, to these operations. They are the same in every run.
pub fn assert_as_documented(
    base_url: &str,
    headers: &[(&str, &str)],
    operations: &[String],
    requests: Requests,
    effort: Effort,
) {
    let config = crate::workspace_root().join("tests/schemathesis.toml");
    let mut command = Command::new(interpreter());
    command.args(["-m", "schemathesis.cli", "--config-file"]).arg(config);
    command.arg("run").arg(format!("{base_url}/openapi.json"));
    for operation in operations {
        command.args(["--include-operation-id", operation]);
    }
    for (name, value) in headers {
        command.args(["--header", &format!("{name}: {value}")]);
    }
    let examples = effort.examples.to_string();
    let phases = if effort.edges { "examples,coverage,fuzzing" } else { "examples,fuzzing" };
    command.args(["--mode", requests.mode(), "--max-examples", &examples, "--seed", "1"]);
    command.args(["--checks", "all", "--phases", phases, "--suppress-health-check", "all"]);
    command.args(["--workers", "1", "--request-timeout", "20", "--no-color", "--output-truncate", "false"]);
    // the folder for what it remembers of earlier runs, which must not matter
    let folder = tempfile::tempdir().unwrap();
    let output = command.current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let summary = format!("Tested: {}", operations.len());
    assert!(
        output.status.success() && said.contains(&summary),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs pieces of Python, each by itself but in one process, with these environment variables and in this folder. Returns
/// what each printed; panics when one fails.
pub fn run_pieces(pieces: &[String], variables: &[(&str, &str)], folder: &std::path::Path) -> Vec<String> {
    const DRIVER: &str = "import contextlib, io, json, sys\n\
        printed = []\n\
        for piece in json.load(sys.stdin):\n    \
            with contextlib.redirect_stdout(io.StringIO()) as out: exec(compile(piece, piece, 'exec'), {})\n    \
            printed.append(out.getvalue())\n\
        print(json.dumps(printed))";
    let mut child = Command::new(interpreter())
        .args(["-W", "ignore", "-c", DRIVER])
        .envs(variables.iter().copied())
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(json!(pieces).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
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

pub(crate) fn interpreter() -> PathBuf {
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
