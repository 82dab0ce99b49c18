//! Databases that do not answer, are not fit, or are another's.

use std::time::{Duration, Instant};

use mailwright_testkit::{App, Engine, both_engines};

use super::process::{fail, run, said};

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
        assert!(app.run(&["doctor"]).await.contains("it decrypts the stored keys"));
        app.tamper("insert into schema_migrations (number, name, applied_at) values (9999, 'later', 1)").await;
        for command in ["serve", "doctor", "migrate"] {
            let output = app.try_run(&[command]).await;
            assert!(!output.status.success(), "{command}: {}", said(&output));
            assert!(said(&output).contains("newer Mailwright wrote"), "{}", said(&output));
        }
    }
}
