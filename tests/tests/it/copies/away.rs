//! A destination that is away: the service goes on, and what was written comes later, or a new line begins.

use mailwright_testkit::net::TcpProxy;
use mailwright_testkit::s3::S3Store;
use mailwright_testkit::{App, Engine, json, one_engine};
use mailwright_tests::copies::{addresses, metric, restored, said, shipped};
use mailwright_tests::random::Random;

use super::{contact, names, with_copies};

const FROM: &str = "s3://pictures/copies/of/mailwright";

one_engine! {
    async fn what_was_written_while_a_bucket_was_away_comes_later(engine: Engine) {
        let store = S3Store::start();
        let proxy = TcpProxy::start(format!("127.0.0.1:{}", store.port())).await;
        let app = store.configure_copies(App::builder(engine), proxy.port()).start().await;
        contact(&app, "before").await;
        shipped(&app).await;
        proxy.cut().await;
        contact(&app, "meanwhile").await;
        app.eventually("the operator is told", async || app.log().contains("nothing could be shipped").then_some(())).await;
        contact(&app, "later").await;
        assert!(metric(&app, "mailwright_copies_failures_total").await >= 1.0);
        app.request("GET", "/ready").send().await.assert_status(200);
        proxy.restore().await;
        shipped(&app).await;
        assert_eq!(metric(&app, "mailwright_copies_generations_total").await as i64, 1, "the line went on");
        assert_eq!(addresses(&restored(&app, FROM, None).await), names(&["before", "later", "meanwhile"]));
    }

    async fn a_folder_that_comes_later_is_used_then(engine: Engine) {
        assert_eq!(engine, Engine::Sqlite);
        let folder = tempfile::tempdir().expect("a folder");
        let to = folder.path().join("copies");
        std::fs::write(&to, "in the way").expect("a file");
        let app = with_copies(&to).start().await;
        contact(&app, "before").await;
        app.eventually("the operator is told", async || app.log().contains("nothing could be shipped").then_some(())).await;
        let doctor = said(&app.try_run(&["doctor"]).await);
        assert!(doctor.contains("WRONG  copies: the destination cannot be read"), "{doctor}");
        std::fs::remove_file(&to).expect("it is removed");
        contact(&app, "after").await;
        shipped(&app).await;
        assert_eq!(addresses(&restored(&app, &to.display().to_string(), None).await), names(&["after", "before"]));
    }

    /// More is written than may wait: the log does not grow, the service goes on, and another line begins.
    async fn a_destination_that_is_away_for_long_costs_a_line(engine: Engine) {
        let store = S3Store::start();
        let proxy = TcpProxy::start(format!("127.0.0.1:{}", store.port())).await;
        let builder = store.configure_copies(App::builder(engine), proxy.port());
        let app = builder.env("MAILWRIGHT_BACKUP_SPOOL_MB", "16").start().await;
        contact(&app, "before").await;
        shipped(&app).await;
        proxy.cut().await;
        let mut random = Random::from_environment();
        let mut sent = 0;
        while !app.log().contains("could not be gone on with") {
            let body = json!({"to": format!("fill{sent}@example.com"), "subject": "Fill", "body": random.hex(400_000), "from": app.from()});
            app.send(body).await.assert_status(200);
            sent += 1;
            assert!(sent < 400, "as much waits as one likes");
        }
        let waiting = metric(&app, "mailwright_copies_waiting_bytes").await;
        assert!(waiting > 0.0 && waiting <= 16.0 * 1024.0 * 1024.0, "{waiting}");
        app.request("GET", "/ready").send().await.assert_status(200);
        contact(&app, "after").await;
        proxy.restore().await;
        app.eventually_within(std::time::Duration::from_mins(1), "another line begins", async || {
            (metric(&app, "mailwright_copies_generations_total").await >= 2.0).then_some(())
        })
        .await;
        shipped(&app).await;
        let found = addresses(&restored(&app, FROM, None).await);
        assert!(found.contains("after@example.com") && found.contains("before@example.com"));
        let listed = said(&app.try_run(&["restore", "--from", FROM, "--list-copies"]).await);
        assert_eq!(listed.lines().count(), 2, "the gap is seen: {listed}");
    }
}
