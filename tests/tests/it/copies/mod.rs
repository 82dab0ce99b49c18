//! Continuous copies of the embedded database: which moments come back, and what is refused.

mod away;
mod damage;
mod kept;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use mailwright_testkit::s3::S3Store;
use mailwright_testkit::{App, AppBuilder, Engine, json, one_engine};
use mailwright_tests::copies::{addresses, files, moment, restore, restored, said, shipped};
use mailwright_tests::create_contact;

fn with_copies(folder: &Path) -> AppBuilder {
    App::builder(Engine::Sqlite).env("MAILWRIGHT_BACKUP_COPY_TO", folder.display().to_string())
}

async fn contact(app: &App, name: &str) {
    create_contact(app, &format!("{name}@example.com"), true, json!({})).await;
}

fn names(of: &[&str]) -> std::collections::BTreeSet<String> {
    of.iter().map(|name| format!("{name}@example.com")).collect()
}

/// Two writes, and a moment between them.
async fn two_writes(app: &App) -> i64 {
    contact(app, "first").await;
    let between = shipped(app).await;
    contact(app, "second").await;
    shipped(app).await;
    between
}

one_engine! {
    async fn a_moment_between_two_writes_comes_back(engine: Engine) {
        assert_eq!(engine, Engine::Sqlite);
        let folder = tempfile::tempdir().expect("a folder");
        let to = folder.path().join("copies");
        let from = to.display().to_string();
        let app = with_copies(&to).start().await;
        let between = two_writes(&app).await;
        assert_eq!(addresses(&restored(&app, &from, Some(between)).await), names(&["first"]));
        assert_eq!(addresses(&restored(&app, &from, None).await), names(&["first", "second"]));

        let listed = said(&app.try_run(&["restore", "--from", &from, "--list-copies"]).await);
        assert_eq!(listed.lines().count(), 1, "{listed}");
        assert!(listed.starts_with("from 20") && listed.contains("1 snapshots"), "{listed}");
        let data = folder.path().join("data");
        for at in [0, between + 3_600_000] {
            let refused = restore(&app, &from, Some(at), &data).await;
            assert!(!refused.status.success());
            let told = said(&refused);
            assert!(told.contains(&format!("nothing is known of {}", &moment(at)[..19])), "{told}");
            assert!(told.contains(listed.trim()) || told.contains("from 20"), "{told}");
        }
        let doctor = said(&app.try_run(&["doctor"]).await);
        assert!(doctor.contains("ok     copies: the last one in"), "{doctor}");
        let output = restore(&app, &from, None, &data).await;
        let told = said(&output);
        assert!(told.contains("The database is as it was at") && told.contains("The epoch is 1 now."), "{told}");
        // what was restored is served
        let other = data.display().to_string();
        let migrated = app.try_run_with(&["migrate"], &[("MAILWRIGHT_DATA_DIR", &other)]).await;
        assert!(migrated.status.success(), "{}", said(&migrated));
    }

    async fn a_bucket_gives_back_what_it_was_given(engine: Engine) {
        let store = S3Store::start();
        let app = store.configure_copies(App::builder(engine), store.port()).start().await;
        let between = two_writes(&app).await;
        let from = "s3://pictures/copies/of/mailwright";
        assert_eq!(addresses(&restored(&app, from, Some(between)).await), names(&["first"]));
        assert_eq!(addresses(&restored(&app, from, None).await), names(&["first", "second"]));
        assert!(store.objects().iter().all(|object| object.name.starts_with("copies/of/mailwright/")));
        let doctor = said(&app.try_run(&["doctor"]).await);
        assert!(doctor.contains("ok     copies: the last one in s3://pictures/copies/of/mailwright is of"), "{doctor}");
        for text in [app.log(), doctor] {
            assert!(!text.contains(store.secret()), "the key is shown: {text}");
        }
    }

    async fn what_belongs_to_the_instance_is_copied_too(engine: Engine) {
        let folder = tempfile::tempdir().expect("a folder");
        let to = folder.path().join("copies");
        assert_eq!(engine, Engine::Sqlite);
        let app = with_copies(&to).start().await;
        let uploads = app.data_dir().join("uploads/ab");
        fs::create_dir_all(&uploads).expect("a folder");
        fs::write(uploads.join("abcd.png"), "a picture").expect("a picture");
        fs::write(app.data_dir().join("secret"), "0123456789abcdef0123456789abcdef").expect("a secret");
        app.advance(Duration::from_hours(25)).await;
        app.eventually("picture and secret are copied", async || {
            let copied = files(&to);
            let has = |end: &str| copied.iter().any(|path| path.ends_with(end));
            (has("uploads/ab/abcd.png") && has("files/secret")).then_some(())
        })
        .await;
        contact(&app, "first").await;
        shipped(&app).await;
        for path in files(&to) {
            let mode = fs::metadata(&path).expect("a file").permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{}", path.display());
        }
        let data = folder.path().join("data");
        let output = restore(&app, &to.display().to_string(), None, &data).await;
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(fs::read_to_string(data.join("uploads/ab/abcd.png")).expect("a picture"), "a picture");
        let secret = fs::read_to_string(data.join("secret")).expect("a secret");
        assert_eq!(secret, "0123456789abcdef0123456789abcdef");
    }

    async fn a_place_that_cannot_be_is_refused(engine: Engine) {
        let app = App::start(engine).await;
        let data = app.data_dir().join("copies").display().to_string();
        let url = "postgres://nobody@127.0.0.1:1/none";
        for (variables, told) in [
            (&[("MAILWRIGHT_BACKUP_COPY_TO", &*data)][..], "must not be in the data directory"),
            (&[("MAILWRIGHT_BACKUP_COPY_TO", "s3://copies")], "MAILWRIGHT_BACKUP_KEY_ID"),
            (&[("MAILWRIGHT_BACKUP_COPY_TO", "/copies"), ("MAILWRIGHT_DATABASE_URL", url)], "archive_command"),
        ] {
            let refused = app.try_run_with(&["serve"], variables).await;
            assert!(!refused.status.success() && said(&refused).contains(told), "{}", said(&refused));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let from = folder.path().display().to_string();
        let refused = app.try_run(&["restore", "--from", &from, "--list-copies"]).await;
        assert!(said(&refused).contains("holds no continuous copies"), "{}", said(&refused));
        let refused = app.try_run(&["restore", "--from", &from, "--at", "2026-01-31T09:30:00Z"]).await;
        assert!(said(&refused).contains("a backup is of one moment"), "{}", said(&refused));
        let refused = app.try_run(&["restore", "--from", &from, "--at", "yesterday"]).await;
        assert!(said(&refused).contains("it must be a moment such as"), "{}", said(&refused));
    }
}
