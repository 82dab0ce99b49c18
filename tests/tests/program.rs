//! The program itself: its commands, what it says about a bad configuration, and what it keeps out of its log.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{assert_uuid, inline, items, mail_to, read, text, track_ok, with};
use serde_json::{Value, json};

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
fn run(arguments: &[&str], settings: &[(&str, &str)]) -> Output {
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

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The program succeeds; returns what it prints on its standard output.
fn succeed(arguments: &[&str], settings: &[(&str, &str)]) -> String {
    let output = run(arguments, settings);
    assert!(output.status.success(), "{arguments:?}: {}: {}", output.status, said(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The program fails and says why in words that hold one of `expected`; returns what it says.
fn fail(arguments: &[&str], settings: &[(&str, &str)], expected: &[&str]) -> String {
    let output = run(arguments, settings);
    let said = said(&output);
    assert!(!output.status.success(), "{arguments:?} with {settings:?} succeeds: {said}");
    assert!(output.status.code().is_some(), "ended by a signal: {said}");
    let lower = said.to_lowercase();
    assert!(expected.iter().any(|word| lower.contains(word)), "none of {expected:?} in: {said}");
    assert!(!lower.contains("panicked") && !lower.contains("rust_backtrace"), "{said}");
    said
}

const BOOTSTRAP: &[&str] = &[
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

fn bootstrap(settings: &[(&str, &str)], more: &[&str]) -> Value {
    let printed = succeed(&[BOOTSTRAP, more].concat(), settings);
    serde_json::from_str(&printed)
        .unwrap_or_else(|error| panic!("no single JSON object ({error}): {printed}"))
}

fn assert_key(value: &Value, prefix: &str) {
    let digits = text(value).strip_prefix(prefix).unwrap_or_default();
    assert!(digits.len() == 64 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')), "{value}");
}

#[test]
fn help_names_the_commands_and_the_version_is_printed() {
    let help = succeed(&["--help"], &[]);
    for command in ["serve", "migrate", "bootstrap", "import", "export", "doctor"] {
        assert!(help.contains(command), "{command}: {help}");
        assert!(succeed(&[command, "--help"], &[]).len() > 20, "{command}");
    }
    let version = succeed(&["--version"], &[]);
    let (name, number) = version.trim().split_once(' ').expect("a name and a number");
    assert_eq!(name, "mailwright");
    assert!(number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.'), "{version}");
}

#[test]
fn a_wrong_command_line_fails_and_says_so() {
    fail(&["fly"], &[], &["fly"]);
    fail(&["serve", "--no-such-option"], &[], &["no-such-option"]);
    fail(&["bootstrap", "--json"], &[], &["--email"]);
    for language in ["", "english", "pt_BR", "PT"] {
        fail(&[BOOTSTRAP, &["--language", language]].concat(), &[], &["--language"]);
    }
}

#[test]
fn an_empty_folder_becomes_a_database_that_migrates_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("not/there/yet");
    let settings = [("MAILWRIGHT_DATA_DIR", data.to_str().expect("UTF-8"))];
    succeed(&["migrate"], &settings);
    assert!(data.is_dir());
    succeed(&["migrate"], &settings);
    let project = bootstrap(&settings, &[]);
    assert_uuid(&project["projectId"]);
}

#[test]
fn bootstrap_is_idempotent_by_project_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [
        ("MAILWRIGHT_DATA_DIR", folder.path().to_str().expect("UTF-8")),
        ("MAILWRIGHT_BASE_URL", "https://mail.example"),
    ];
    let first = bootstrap(&settings, &[]);
    assert_uuid(&first["projectId"]);
    assert_key(&first["secretKey"], "sk_");
    assert_key(&first["publicKey"], "pk_");
    assert!(text(&first["from"]).ends_with("@rockets.example"), "{first}");
    assert_eq!(text(&first["baseUrl"]).trim_end_matches('/'), "https://mail.example");

    let second = bootstrap(&settings, &[]);
    for key in ["projectId", "publicKey", "from", "baseUrl"] {
        assert_eq!(second[key], first[key], "{key}");
    }
    assert_eq!(second["secretKey"], Value::Null, "it is shown when it is made");

    let third = bootstrap(&settings, &["--new-secret-key"]);
    assert_eq!(third["projectId"], first["projectId"]);
    assert_key(&third["secretKey"], "sk_");
    assert_ne!(third["secretKey"], first["secretKey"]);
}

#[test]
fn a_bad_setting_is_named_before_anything_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = ("MAILWRIGHT_DATA_DIR", folder.path().to_str().expect("UTF-8"));
    let listen = ("MAILWRIGHT_LISTEN", "127.0.0.1:0");
    for (setting, expected) in [
        (("MAILWRIGHT_TRANSPORT", "pigeon"), "transport"),
        (("MAILWRIGHT_TRANSPORT", "smtp://"), "transport"),
        (("MAILWRIGHT_TRANSPORT", "smtp://127.0.0.1:25?tls=perhaps"), "transport"),
        (("MAILWRIGHT_DATABASE_URL", "mysql://127.0.0.1/mail"), "database"),
        (("MAILWRIGHT_LISTEN", "nowhere"), "listen"),
        (("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "many"), "rate_limit"),
        (("MAILWRIGHT_DELIVERY_CONNECTIONS", "-1"), "connections"),
        (("MAILWRIGHT_DNS_SERVER", "not an address"), "dns"),
        (("MAILWRIGHT_NO_SUCH_SETTING", "1"), "no_such_setting"),
    ] {
        let said = fail(&["serve"], &[data, listen, setting], &[expected]);
        assert!(said.lines().count() < 40, "a message to read: {said}");
    }
}

#[test]
fn a_database_that_does_not_answer_is_named_without_its_password() {
    let url = "postgres://mail:hunter2-secret@127.0.0.1:1/mail";
    let migrating =
        fail(&["migrate"], &[("MAILWRIGHT_DATABASE_URL", url)], &["database", "postgres", "connect"]);
    assert!(!migrating.contains("hunter2-secret"), "{migrating}");
    let output = run(&["doctor"], &[("MAILWRIGHT_DATABASE_URL", url)]);
    assert!(!output.status.success(), "{}", said(&output));
    assert!(!said(&output).contains("hunter2-secret"), "{}", said(&output));

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").expect("a file");
    fail(
        &["migrate"],
        &[("MAILWRIGHT_DATA_DIR", file.to_str().expect("UTF-8"))],
        &["data", "directory", "folder"],
    );
}

both_engines! {
    async fn every_command_works_beside_a_running_server(engine: Engine) {
        let mut app = App::start(engine).await;
        app.run(&["migrate"]).await;
        assert!(!app.run(&["doctor"]).await.trim().is_empty(), "the doctor says what it looked at");
        let added = app.new_secret_key().await;
        app.request("GET", "/contacts").bearer(&added).send().await.assert_status(200);
        let project = app.bootstrap("Rockets", "rockets.example").await;
        let send = json!({"to": "ann@example.com", "subject": "s", "body": "b", "from": project.from});
        app.request("POST", "/v1/send")
            .bearer(&project.secret_key)
            .json(&send)
            .send()
            .await
            .assert_status(200);
        let list = format!("/domains/project/{}", project.id);
        let domains =
            app.request("GET", &list).bearer(&project.secret_key).send().await.assert_status(200).json();
        assert_eq!(items(&domains).len(), 1);
        assert_eq!(
            (&domains[0]["domain"], &domains[0]["verified"]),
            (&json!("rockets.example"), &json!(true))
        );

        let status = app.stop().await;
        assert!(status.success(), "{status}");
        app.restart().await;
        app.get("/contacts").send().await.assert_status(200);
    }

    async fn secrets_are_never_logged(engine: Engine) {
        let secret = "5e5e5e5e0badcafe5e5e5e5e0badcafe5e5e5e5e0badcafe5e5e5e5e0badcafe";
        let mut app = App::builder(engine)
            .env("MAILWRIGHT_LOG", "debug")
            .env("MAILWRIGHT_SECRET", secret)
            .env("MAILWRIGHT_TRANSPORT", "smtp://relay-user:relay-pa55word@127.0.0.1:9?tls=none")
            .start()
            .await;
        let body =
            with(inline(&app, &json!("ann@example.com")), &json!({"data": {"code": "one-off-483920"}}));
        app.send(body).await.assert_status(200);
        app.request("GET", "/contacts").bearer("sk_of_somebody_else").send().await.assert_status(401);
        let track = json!({"email": "ann@example.com", "event": "signup"});
        app.request("POST", "/v1/track")
            .bearer(app.public_key())
            .json(&track)
            .send()
            .await
            .assert_status(200);
        app.stop().await;
        let log = app.log();
        assert!(!log.is_empty(), "the server logs");
        for hidden in [
            app.secret_key(),
            secret,
            "relay-pa55word",
            "sk_of_somebody_else",
            "correct horse battery staple",
        ] {
            assert!(!log.contains(hidden), "{hidden} in the log:\n{log}");
        }
    }

    async fn the_ordinary_log_holds_no_addresses_or_content(engine: Engine) {
        let mut app = App::builder(engine).env("MAILWRIGHT_LOG", "info").start().await;
        let content = json!({"subject": "Purple elephants", "body": "<p>Green elephants</p>"});
        app.send(with(inline(&app, &json!("ann.private@example.com")), &content)).await.assert_status(200);
        let data = json!({"email": "ann.private@example.com", "event": "signup", "data": {"note": "Blue elephants"}});
        track_ok(&app, data).await;
        mail_to(&app, "ann.private@example.com").await;
        read(&app, "/contacts?search=ann.private").await;
        app.stop().await;
        let log = app.log();
        for hidden in ["ann.private", "elephants", app.public_key(), app.secret_key()] {
            assert!(!log.contains(hidden), "{hidden} in the log:\n{log}");
        }
    }
}
