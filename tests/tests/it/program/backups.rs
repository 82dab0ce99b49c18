//! What `mailwright backup` writes, and what `mailwright restore` refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use mailwright_testkit::{App, Engine, Value, both_engines, json, one_engine};
use mailwright_tests::{column, items};

fn said(output: &std::process::Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a command that is refused, and says why.
async fn refused(app: &App, arguments: &[&str], more: &[(&str, &str)], why: &str) {
    let output = app.try_run_with(arguments, more).await;
    assert!(!output.status.success(), "{arguments:?} was not refused");
    assert!(said(&output).contains(why), "{arguments:?}: {}", said(&output));
}

fn manifest(backup: &Path) -> Value {
    serde_json::from_slice(&fs::read(backup.join("manifest.json")).expect("a manifest")).expect("JSON")
}

fn rewrite(backup: &Path, change: impl FnOnce(&mut Value)) {
    let mut found = manifest(backup);
    change(&mut found);
    fs::write(backup.join("manifest.json"), found.to_string()).expect("the manifest");
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

both_engines! {
    async fn a_backup_is_private_and_complete(engine: Engine) {
        let app = App::start(engine).await;
        let folder = tempfile::tempdir().expect("a folder");
        let uploads = app.data_dir().join("uploads/ab");
        fs::create_dir_all(&uploads).expect("a folder");
        fs::write(uploads.join("abcd.png"), "a picture").expect("a picture");
        fs::write(app.data_dir().join("secret"), "0123456789abcdef0123456789abcdef").expect("a secret");

        let to = folder.path().join("backups/one");
        let said = app.run(&["backup", "--to", &text(&to)]).await;
        let found = manifest(&to);
        let is_sqlite = engine == Engine::Sqlite;
        assert_eq!(found["engine"], if is_sqlite { "sqlite" } else { "postgresql" });
        assert_eq!((&found["epoch"], &found["secret"]), (&json!(0), &json!("environment")));
        assert!(found["lastMigration"].as_i64() >= Some(32), "{found}");
        let mut paths = column(&found["files"], "path");
        paths.sort_unstable();
        let database: &[&str] = if is_sqlite { &["mailwright.sqlite"] } else { &[] };
        assert_eq!(paths, [database, &["secret", "uploads/ab/abcd.png"]].concat());
        for file in items(&found["files"]) {
            let metadata = fs::metadata(to.join(file["path"].as_str().expect("a path"))).expect("a file");
            assert_eq!(file["bytes"].as_u64(), Some(metadata.len()), "{file}");
            assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{file}");
        }
        for made in [to.clone(), to.join("uploads/ab"), folder.path().join("backups")] {
            let mode = fs::metadata(&made).expect("a folder").permissions().mode() & 0o777;
            assert_eq!(mode, 0o700, "{}", made.display());
        }
        assert_eq!(said.contains("pg_dump --format=custom"), !is_sqlite, "{said}");
        let left: Vec<_> = fs::read_dir(folder.path().join("backups")).expect("a folder").collect();
        assert_eq!(left.len(), 1, "nothing is left beside it: {left:?}");
        refused(&app, &["backup", "--to", &text(&to)], &[], "is there already").await;
        let doctor = app.try_run(&["doctor"]).await;
        let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(doctor.contains("epoch: 0, it was never restored; the last backup was made at"), "{doctor}");
    }
}

one_engine! {
    async fn what_cannot_be_restored_is_refused_and_changes_nothing(engine: Engine) {
        let app = App::start(engine).await;
        let folder = tempfile::tempdir().expect("a folder");
        let to = folder.path().join("one");
        let from = text(&to);
        app.run(&["backup", "--to", &from]).await;
        let data = folder.path().join("data");
        let elsewhere = text(&data);
        let other = [("MAILWRIGHT_DATA_DIR", &*elsewhere)];

        let restore = ["restore", "--from", &from];
        refused(&app, &["restore", "--from", &from, "--move-aside"], &[], "must not run").await;
        refused(&app, &["restore", "--epoch"], &other, "is for PostgreSQL").await;
        refused(&app, &["restore", "--from", &text(folder.path())], &other, "is no backup").await;
        refused(&app, &["restore", "--resend"], &[], "say which mails").await;
        refused(&app, &["restore", "--resend", "--discard", "--all"], &[], "cannot be used with").await;
        refused(&app, &["restore"], &[], "required arguments").await;

        let good = manifest(&to);
        rewrite(&to, |found| found["lastMigration"] = json!(9999));
        refused(&app, &restore, &other, "newer than this program").await;
        rewrite(&to, |found| *found = json!({"format": 7}));
        refused(&app, &restore, &other, "use the version that made it").await;
        rewrite(&to, |found| {
            *found = good.clone();
            found["files"][0]["path"] = json!("../mailwright.sqlite");
        });
        refused(&app, &restore, &other, "holds no database").await;
        rewrite(&to, |found| *found = good);

        let database = fs::read(to.join("mailwright.sqlite")).expect("the database");
        let mut damaged = database.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        fs::write(to.join("mailwright.sqlite"), &damaged).expect("the database");
        refused(&app, &restore, &other, "mailwright.sqlite is damaged").await;
        fs::write(to.join("mailwright.sqlite"), &database).expect("the database");

        fs::create_dir_all(&data).expect("a folder");
        fs::write(data.join("notes.txt"), "mine").expect("a file");
        refused(&app, &restore, &other, "is not empty").await;
        let mut left: Vec<_> = fs::read_dir(&data).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
        left.sort();
        assert_eq!(left, ["mailwright.lock", "notes.txt"], "nothing else was written");

        // the copy in a backup is not served
        refused(&app, &["serve"], &[("MAILWRIGHT_DATA_DIR", &from), ("MAILWRIGHT_LISTEN", "127.0.0.1:0")], "copy of a backup").await;
    }

    async fn an_interrupted_restore_is_run_again(engine: Engine) {
        let app = App::start(engine).await;
        let folder = tempfile::tempdir().expect("a folder");
        let to = folder.path().join("one");
        app.run(&["backup", "--to", &text(&to)]).await;
        let data = folder.path().join("data");
        let elsewhere = text(&data);
        let other = [("MAILWRIGHT_DATA_DIR", &*elsewhere)];
        let from = text(&to);
        let first = app.try_run_with(&["restore", "--from", &from], &other).await;
        assert!(said(&first).contains("The epoch is 1 now."), "{}", said(&first));
        assert!(!data.join("restore-unfinished").exists());

        // as if it had been killed between two files
        fs::write(data.join("restore-unfinished"), "x").expect("a file");
        fs::create_dir_all(data.join("restoring-000000000000")).expect("a folder");
        for command in [&["serve"][..], &["doctor"], &["migrate"]] {
            refused(&app, command, &[other[0], ("MAILWRIGHT_LISTEN", "127.0.0.1:0")], "that did not end").await;
        }
        refused(&app, &["restore", "--from", &from], &other, "is not empty").await;
        let again = app.try_run_with(&["restore", "--from", &from, "--move-aside"], &other).await;
        assert!(again.status.success(), "{}", said(&again));
        assert!(said(&again).contains("before-restore-"), "{}", said(&again));
        let names: Vec<String> = fs::read_dir(&data)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        assert!(names.iter().any(|name| name == "mailwright.sqlite"), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("restor")), "{names:?}");
        let mode = fs::metadata(data.join("mailwright.sqlite")).expect("the database").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let migrated = app.try_run_with(&["migrate"], &other).await;
        assert!(migrated.status.success(), "{}", said(&migrated));
    }
}

#[tokio::test]
async fn the_epoch_of_postgresql_is_raised_while_no_node_runs() {
    let mut app = App::start(Engine::Postgres).await;
    let folder = tempfile::tempdir().expect("a folder");
    refused(&app, &["restore", "--from", &text(folder.path())], &[], "its own tools restore").await;
    refused(&app, &["restore", "--epoch"], &[], "stop all nodes first").await;
    app.kill();
    for epoch in 1..3 {
        let said = app.run(&["restore", "--epoch"]).await;
        assert!(said.contains(&format!("The epoch is {epoch} now. Nothing says when")), "{said}");
    }
    // an interrupted one is gone on with, and keeps the service from starting
    app.tamper("update epochs set held_at = null where number = 2").await;
    refused(&app, &["serve"], &[], "is not held yet").await;
    assert!(app.run(&["restore", "--epoch"]).await.contains("The epoch is 2 now."));
    app.restart().await;
}
