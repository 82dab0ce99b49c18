//! What is in the data directory: a secret that is another one, files of others, and what is no file.

use std::process::Command;

use mailwright_testkit::{App, Engine, json};

use super::process::{BOOTSTRAP, bootstrap, fail, path, run, said, until_said};

#[test]
fn a_secret_that_is_missing_or_another_one_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = ("MAILWRIGHT_DATA_DIR", path(folder.path()));
    let listen = ("MAILWRIGHT_LISTEN", "127.0.0.1:0");
    bootstrap(&[data], &[]);
    assert!(said(&run(&["doctor"], &[data, listen])).contains("secret: it decrypts the stored keys"));
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

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_stops_leaves_no_log_beside_its_database() {
    let mut app = App::start(Engine::Sqlite).await;
    app.post("/contacts").json(&json!({"email": "ada@example.com"})).send().await.assert_status(201);
    let beside = |app: &App, end: &str| app.data_dir().join(format!("mailwright.sqlite{end}")).exists();
    assert!(beside(&app, "-wal"));
    for _ in 0..3 {
        app.stop().await;
        assert_eq!((beside(&app, "-wal"), beside(&app, "-shm")), (false, false));
        app.run(&["export", "--project", app.project_id()]).await;
        assert_eq!((beside(&app, "-wal"), beside(&app, "-shm")), (false, false), "nor does a command");
        app.restart().await;
    }
}
