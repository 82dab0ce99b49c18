//! The commands: their help, their arguments, and that they work beside a running server.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{assert_uuid, items, text};
use serde_json::{Value, json};

use super::process::{BOOTSTRAP, bootstrap, fail, path, succeed};

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
}
