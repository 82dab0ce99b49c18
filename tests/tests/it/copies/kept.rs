//! How long copies are kept, and what a start goes on with.

use std::time::Duration;

use mailwright_testkit::{Engine, one_engine};
use mailwright_tests::copies::{addresses, files_of, metric, restored, said, shipped};

use super::{contact, names, with_copies};

one_engine! {
    async fn snapshots_follow_and_old_copies_go(engine: Engine) {
        assert_eq!(engine, Engine::Sqlite);
        let folder = tempfile::tempdir().expect("a folder");
        let to = folder.path().join("copies");
        let app = with_copies(&to)
            .env("MAILWRIGHT_BACKUP_SNAPSHOT_HOURS", "1")
            .env("MAILWRIGHT_BACKUP_KEEP_DAYS", "1")
            .start()
            .await;
        contact(&app, "first").await;
        shipped(&app).await;
        let manifests = || files_of(&to, "snapshots").into_iter().filter(|path| path.ends_with("manifest"));
        let oldest = manifests().next().expect("a snapshot");
        let segment = files_of(&to, "segments").into_iter().next().expect("a segment");
        app.advance(Duration::from_hours(2)).await;
        app.eventually("a second snapshot is made", async || (manifests().count() == 2).then_some(())).await;
        contact(&app, "second").await;
        shipped(&app).await;
        assert!(oldest.exists(), "a day is kept");
        app.advance(Duration::from_hours(25)).await;
        app.eventually("what is old is removed", async || (!oldest.exists() && !segment.exists()).then_some(())).await;
        assert!(manifests().count() >= 1);
        shipped(&app).await;
        assert_eq!(addresses(&restored(&app, &to.display().to_string(), None).await), names(&["first", "second"]));
    }

    async fn a_start_goes_on_with_the_line(engine: Engine) {
        assert_eq!(engine, Engine::Sqlite);
        let folder = tempfile::tempdir().expect("a folder");
        let to = folder.path().join("copies");
        let from = to.display().to_string();
        let mut app = with_copies(&to).start().await;
        contact(&app, "first").await;
        shipped(&app).await;
        app.kill();
        app.restart().await;
        contact(&app, "second").await;
        shipped(&app).await;
        assert!(app.stop().await.success());
        app.restart().await;
        contact(&app, "third").await;
        shipped(&app).await;
        assert_eq!(metric(&app, "mailwright_copies_generations_total").await as i64, 0, "{}", app.log());
        let listed = said(&app.try_run(&["restore", "--from", &from, "--list-copies"]).await);
        assert_eq!(listed.lines().count(), 1, "{listed}");
        assert_eq!(addresses(&restored(&app, &from, None).await), names(&["first", "second", "third"]));

        // what another command did while the service was off is not known to follow
        assert!(app.stop().await.success());
        app.run(&["bootstrap", "--email", "other@example.com", "--password", "correct horse battery", "--project", "Other", "--domain", "other.test"]).await;
        app.restart().await;
        contact(&app, "fourth").await;
        shipped(&app).await;
        assert_eq!(addresses(&restored(&app, &from, None).await), names(&["first", "fourth", "second", "third"]));
    }
}
