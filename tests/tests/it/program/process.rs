//! The program as a process that is run to its end, or until it says something.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program under test with none of the settings of whoever runs the tests.
fn program(arguments: &[&str], settings: &[(&str, &str)]) -> Command {
    let given = std::env::var_os("MAILWRIGHT_BIN").filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = given.unwrap_or_else(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
            .join("debug/mailwright")
    });
    let mut command = Command::new(path);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MAILWRIGHT_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).envs(settings.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program to its end, which must come soon.
pub(super) fn run(arguments: &[&str], settings: &[(&str, &str)]) -> Output {
    let mut child = program(arguments, settings).spawn().expect("the program starts");
    let since = Instant::now();
    while child.try_wait().expect("the program can be waited for").is_none() {
        if since.elapsed() > Duration::from_mins(1) {
            child.kill().expect("the program can be killed");
            panic!("{arguments:?} with {settings:?} did not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("the program's output")
}

/// Starts the program, whose log goes into a file.
pub(super) fn start(arguments: &[&str], settings: &[(&str, &str)], log: File) -> Child {
    program(arguments, settings).stderr(log).spawn().expect("the program starts")
}

pub(super) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The program succeeds; returns what it prints on its standard output.
pub(super) fn succeed(arguments: &[&str], settings: &[(&str, &str)]) -> String {
    let output = run(arguments, settings);
    assert!(output.status.success(), "{arguments:?}: {}: {}", output.status, said(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The program fails and says why in words that hold one of `expected`; returns what it says.
pub(super) fn fail(arguments: &[&str], settings: &[(&str, &str)], expected: &[&str]) -> String {
    let output = run(arguments, settings);
    let said = said(&output);
    assert!(!output.status.success(), "{arguments:?} with {settings:?} succeeds: {said}");
    assert!(output.status.code().is_some(), "ended by a signal: {said}");
    let lower = said.to_lowercase();
    assert!(expected.iter().any(|word| lower.contains(word)), "none of {expected:?} in: {said}");
    assert!(!lower.contains("panicked") && !lower.contains("rust_backtrace"), "{said}");
    said
}

pub(super) const BOOTSTRAP: &[&str] = &[
    "bootstrap",
    "--email",
    "owner@example.com",
    "--password",
    "correct horse battery staple",
    "--project",
    "Rockets",
    "--domain",
    "rockets.example",
    "--json",
];

pub(super) fn bootstrap(settings: &[(&str, &str)], more: &[&str]) -> Value {
    let printed = succeed(&[BOOTSTRAP, more].concat(), settings);
    serde_json::from_str(&printed)
        .unwrap_or_else(|error| panic!("no single JSON object ({error}): {printed}"))
}

pub(super) fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Runs the program until it says something in its log, and kills it.
pub(super) fn until_said(arguments: &[&str], settings: &[(&str, &str)], words: &str) {
    use std::io::{BufRead, BufReader};
    let mut child = program(arguments, settings).spawn().expect("the program starts");
    let mut lines = Vec::new();
    for line in BufReader::new(child.stderr.take().expect("the log")).lines() {
        lines.push(line.expect("UTF-8"));
        if lines.last().is_some_and(|line| line.contains(words)) {
            break;
        }
    }
    child.kill().expect("the program can be killed");
    child.wait().expect("the program ends");
    assert!(lines.last().is_some_and(|line| line.contains(words)), "no {words:?} in {lines:#?}");
}
