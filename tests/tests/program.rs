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

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The lines of the doctor that begin with a mark, `ok`, `LOOK` or `WRONG`, and their first words.
fn marked<'l>(said: &'l str, mark: &str) -> Vec<&'l str> {
    let lines = said.lines().filter_map(|line| line.strip_prefix(mark));
    lines.filter_map(|line| line.trim_start().split_once(':')).map(|(what, _)| what).collect()
}

/// Runs the program until it says something in its log, and kills it.
fn until_said(arguments: &[&str], settings: &[(&str, &str)], words: &str) {
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

#[test]
fn numbers_out_of_range_and_levels_that_are_none_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = ("MAILWRIGHT_DATA_DIR", path(folder.path()));
    for (variable, value, expected) in [
        ("MAILWRIGHT_DELIVERY_CONNECTIONS", "0", "from 1 to 1000"),
        ("MAILWRIGHT_DELIVERY_CONNECTIONS", "1001", "from 1 to 1000"),
        ("MAILWRIGHT_HTTP_BODY_BUDGET_MB", "99", "from 100 to"),
        ("MAILWRIGHT_LOG", "verbose", "is no level"),
        ("MAILWRIGHT_LOG", "mailwright_app=debug,verbose", "is no level"),
        ("MAILWRIGHT_LOG", "mailwright_app=verbose", "\"verbose\" is no level"),
    ] {
        for command in ["serve", "doctor"] {
            let said = fail(&[command], &[data, (variable, value)], &[expected]);
            assert!(said.contains(variable), "{said}");
        }
    }
    for level in ["", "off", "WARN", "mailwright_app=debug,info"] {
        succeed(&["migrate"], &[data, ("MAILWRIGHT_LOG", level)]);
    }
}

#[test]
fn the_doctor_finds_what_serve_fails_for_and_says_it_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let data = ("MAILWRIGHT_DATA_DIR", path(&data));
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").expect("a file");
    // a host that is no address of this machine
    let foreign = ("MAILWRIGHT_LISTEN", "192.0.2.1:8080");
    let inside = file.join("data");
    for (setting, wrong, expected) in [
        (("MAILWRIGHT_LISTEN", "8080"), &["listen"][..], "an address and a port"),
        (foreign, &["listen"], "does not have that address"),
        (("MAILWRIGHT_BASE_URL", "mail.example.com"), &["base URL"], "must be an address such as"),
        (("MAILWRIGHT_TRANSPORT", "pigeon"), &["transport"], "MAILWRIGHT_TRANSPORT"),
        (("MAILWRIGHT_DATA_DIR", path(&file)), &["data directory"], "is a file"),
        (("MAILWRIGHT_DATA_DIR", path(&inside)), &["data directory"], "is not a folder"),
    ] {
        let settings = [data, ("MAILWRIGHT_LISTEN", "127.0.0.1:0"), setting];
        let doctor = fail(&["doctor"], &settings, &[""]);
        let mut found = marked(&doctor, "WRONG");
        // whether the machine has a name server is none of the program's affairs
        found.retain(|what| *what != "name server");
        assert_eq!(found, wrong, "{setting:?}: {doctor}");
        assert!(doctor.contains(expected), "{doctor}");
        fail(&["serve"], &settings, &[""]);
    }
}

#[test]
fn a_secret_that_is_missing_or_another_one_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = ("MAILWRIGHT_DATA_DIR", path(folder.path()));
    let listen = ("MAILWRIGHT_LISTEN", "127.0.0.1:0");
    bootstrap(&[data], &[]);
    assert!(said(&run(&["doctor"], &[data, listen])).contains("secret: it opens what is stored"));
    let (file, kept) = (folder.path().join("secret"), folder.path().join("kept"));
    std::fs::rename(&file, &kept).expect("the secret");
    for command in [&["serve"][..], &["doctor"], &["export", "--project", "Rockets"], BOOTSTRAP] {
        fail(command, &[data, listen], &["the instance's secret is missing"]);
        assert!(!file.exists(), "{command:?} makes no other secret");
        let other = ("MAILWRIGHT_SECRET", "another one of 28 characters");
        fail(command, &[data, listen, other], &["mailwright_secret is not the secret"]);
    }
    std::fs::write(&file, "0123456789abcdef0123456789abcdef").expect("another secret");
    fail(&["serve"], &[data, listen], &["does not hold the secret"]);
    until_said(&["serve", "--lost-secret"], &[data, listen], "the next start needs no --lost-secret");
    until_said(&["serve"], &[data, listen], "the service is ready");
    std::fs::rename(&kept, &file).expect("the first secret");
    fail(&["serve"], &[data, listen], &["does not hold the secret"]);
}

#[test]
fn a_secret_is_known_without_any_domain() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [("MAILWRIGHT_DATA_DIR", path(folder.path())), ("MAILWRIGHT_LISTEN", "127.0.0.1:0")];
    until_said(&["serve"], &settings, "the service is ready");
    let file = folder.path().join("secret");
    std::fs::write(&file, "0123456789abcdef0123456789abcdef").expect("another secret");
    fail(&["serve"], &settings, &["does not hold the secret"]);
    until_said(&["serve", "--lost-secret"], &settings, "the next start needs no --lost-secret");
    until_said(&["serve"], &settings, "the service is ready");
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    for name in ["secret", "mailwright.lock", "mailwright.sqlite"] {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = [("MAILWRIGHT_DATA_DIR", path(folder.path())), ("MAILWRIGHT_LISTEN", "127.0.0.1:0")];
        let pipe = folder.path().join(name);
        let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        let said = fail(&["serve"], &settings, &["is no regular file"]);
        assert!(said.contains(path(&pipe)), "{said}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [("MAILWRIGHT_DATA_DIR", path(folder.path())), ("MAILWRIGHT_LISTEN", "127.0.0.1:0")];
    let secret = folder.path().join("secret");
    std::os::unix::fs::symlink(folder.path().join("nothing"), &secret).expect("a link");
    for command in ["serve", "doctor"] {
        let said = fail(&[command], &settings, &["a link to a file that is not there"]);
        assert!(said.contains(path(&secret)), "{said}");
    }
}

#[test]
fn commands_that_need_a_database_make_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("elsewhere");
    let settings = [("MAILWRIGHT_DATA_DIR", path(&data))];
    let csv = folder.path().join("people.csv");
    std::fs::write(&csv, "email\na@example.com\n").expect("a file");
    let id = "0199a0b0-0000-7000-8000-000000000000";
    for command in [
        &["import", "--project", "Rockets", path(&csv)][..],
        &["export", "--project", "Rockets"],
        &["user", "reset-password", "a@example.com"],
        &["user", "remove-totp", "a@example.com"],
        &["project", "disable", id],
        &["project", "audit", id],
        &["inbox"],
    ] {
        let said = fail(command, &settings, &["there is no database at"]);
        assert!(said.contains(path(&data)), "{said}");
        assert!(!data.exists(), "{command:?} makes nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_other_programs_are_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [("MAILWRIGHT_DATA_DIR", path(folder.path()))];
    let file = folder.path().join("mailwright.sqlite");
    let letter = "Dear Ada,\n".repeat(100);
    std::fs::write(&file, &letter).expect("a file");
    for command in ["migrate", "doctor"] {
        let said = fail(&[command], &settings, &["is not a database"]);
        assert!(said.contains(path(&file)), "{said}");
        assert_eq!(std::fs::read_to_string(&file).expect("the file"), letter, "nothing was changed");
    }

    let mut app = App::start(Engine::Sqlite).await;
    app.stop().await;
    app.tamper("drop table schema_migrations").await;
    for command in ["migrate", "doctor"] {
        let output = app.try_run(&[command]).await;
        let said = said(&output);
        assert!(!output.status.success() && said.contains("is a database of another program"), "{said}");
        assert!(
            said.contains("mailwright.sqlite") && !said.to_lowercase().contains("create table"),
            "{said}"
        );
    }
}

#[test]
fn the_demo_announces_itself_only_where_it_listens() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let listen = taken.local_addr().expect("its address").to_string();
    let settings = [("MAILWRIGHT_DATA_DIR", path(folder.path())), ("MAILWRIGHT_LISTEN", listen.as_str())];
    let said = fail(&["serve", "--demo"], &settings, &["the address is in use"]);
    assert!(!said.contains("sk_") && !said.contains("curl"), "{said}");
}

#[test]
fn a_name_is_as_long_as_it_has_characters() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [("MAILWRIGHT_DATA_DIR", path(folder.path()))];
    let name = |length: usize| {
        BOOTSTRAP
            .iter()
            .map(|word| match *word {
                "Rockets" => "ü".repeat(length),
                word => word.to_owned(),
            })
            .collect::<Vec<_>>()
    };
    let (fits, long) = (name(100), name(101));
    succeed(&fits.iter().map(String::as_str).collect::<Vec<_>>(), &settings);
    fail(&long.iter().map(String::as_str).collect::<Vec<_>>(), &settings, &["1 to 100 characters"]);
}

#[test]
fn an_address_of_a_database_that_cannot_be_read_is_explained() {
    for (url, expected) in [
        ("postgres://mail:hunter2-secret@127.0.0.1/mail?sslmode=verify-full", "disable, prefer or require"),
        ("postgres://mail:hunter2-secret@127.0.0.1/mail?schema=public", "schema"),
        ("postgres://mail:hunter2-secret@127.0.0.1:many/mail", "port"),
    ] {
        let settings = [("MAILWRIGHT_DATABASE_URL", url)];
        for command in ["migrate", "doctor"] {
            let said = fail(&[command], &settings, &[expected]);
            assert!(said.contains("MAILWRIGHT_DATABASE_URL") && !said.contains("hunter2-secret"), "{said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_that_is_not_fit_is_refused_at_once() {
    let app = App::start(Engine::Postgres).await;
    let (server, name) = app.database_url().rsplit_once('/').expect("a URL");
    let latin = format!("{name}_latin");
    app.tamper(&format!("create database {latin} encoding 'LATIN1' locale 'C' template template0")).await;
    for (database, expected) in
        [(latin.as_str(), "encoding latin1"), ("no_such_database", "no_such_database")]
    {
        let url = format!("{server}/{database}");
        let settings = [("MAILWRIGHT_DATABASE_URL", url.as_str())];
        let since = Instant::now();
        for command in [&["migrate"][..], &["serve"], &["doctor"]] {
            fail(command, &settings, &[expected]);
        }
        assert!(since.elapsed() < Duration::from_secs(20), "nothing is waited for");
    }
    app.tamper(&format!("drop database {latin}")).await;
    // an empty one is not filled by a command that looks for what is there
    app.tamper(&format!("create database {latin}_empty template template0")).await;
    let url = format!("{server}/{latin}_empty");
    fail(
        &["export", "--project", "Acme"],
        &[("MAILWRIGHT_DATABASE_URL", &url)],
        &["holds nothing of mailwright"],
    );
    app.tamper(&format!("drop database {latin}_empty")).await;
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    let url = "postgres://mail:hunter2-secret@127.0.0.1:1/mail";
    let doctor = fail(&["doctor"], &[("MAILWRIGHT_DATABASE_URL", url)], &["127.0.0.1:1"]);
    assert!(doctor.contains("refused"), "the cause is told: {doctor}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_serves_a_file() {
    let mut app = App::start(Engine::Sqlite).await;
    let output = app.try_run(&["serve"]).await;
    assert!(!output.status.success());
    assert!(said(&output).contains("another `mailwright serve` runs"), "{}", said(&output));
    app.run(&["export", "--project", "Acme"]).await;
    app.kill();
    app.restart().await;
    app.get("/contacts").send().await.assert_status(200);
}

both_engines! {
    async fn a_database_is_refused_that_does_not_fit(engine: Engine) {
        let mut app = App::start(engine).await;
        app.stop().await;
        let other = [("MAILWRIGHT_SECRET", "another one of 28 characters")];
        for command in ["serve", "doctor"] {
            let output = app.try_run_with(&[command], &other).await;
            assert!(!output.status.success(), "{command}: {}", said(&output));
            assert!(said(&output).contains("MAILWRIGHT_SECRET is not the secret"), "{}", said(&output));
        }
        assert!(app.run(&["doctor"]).await.contains("it opens what is stored"));
        app.tamper("insert into schema_migrations (number, name, applied_at) values (9999, 'later', 1)").await;
        for command in ["serve", "doctor", "migrate"] {
            let output = app.try_run(&[command]).await;
            assert!(!output.status.success(), "{command}: {}", said(&output));
            assert!(said(&output).contains("newer Mailwright wrote"), "{}", said(&output));
        }
    }

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
