//! Pictures in a store that speaks S3: one that others wrote, and that checks the signatures.

use std::time::Duration;

use mailwright_testkit::net::TcpProxy;
use mailwright_testkit::s3::S3Store;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::picture::{gif, jpeg, png};
use mailwright_tests::{assert_envelope, required_header, text};

use super::{files, got, path, rows, upload, uploaded};

both_engines! {
    async fn pictures_are_kept_in_a_bucket(engine: Engine) {
        let store = S3Store::start();
        let app = store.configure(App::builder(engine), store.port()).start().await;
        let large = png(500, 500, 1);
        let mut pictures = Vec::new();
        for file in [&large, &jpeg(40, 40, 2), &gif(40, 40, 2)] {
            pictures.push(uploaded(&app, file).await);
        }
        assert!(files(&app).is_empty());
        let objects = store.objects();
        assert_eq!(objects.len(), 3);
        for (picture, object) in pictures.iter().zip(&objects) {
            assert!(object.name.starts_with(&format!("of/mailwright/{}/", app.project_id())), "{object:?}");
            assert_eq!(object.kind, text(&picture["contentType"]));
            assert_eq!(object.size, picture["size"].as_u64().expect("a size"));
        }
        assert_eq!(uploaded(&app, &large).await["key"], pictures[0]["key"]);
        assert_eq!(store.objects().len(), 3, "the same picture is one object");

        let whole = got(&app, &path(&pictures[0])).await.assert_status(200).body;
        assert!(whole.len() > 512 * 1024 && whole.starts_with(b"\x89PNG"));
        let part = app.request("GET", &path(&pictures[0])).header("range", "bytes=300000-600000").send().await;
        assert!(part.assert_status(206).body == whole[300_000..=600_000]);
        for picture in &pictures {
            app.delete(&path(picture)).send().await.assert_status(204);
            assert_envelope(&got(&app, &path(picture)).await, 404);
        }
        app.eventually("the bucket is empty", async || store.objects().is_empty().then_some(())).await;
        let doctor = app.try_run(&["doctor"]).await;
        let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(said.contains("ok     uploads: the bucket pictures takes"), "{said}");
        assert!(store.objects().is_empty());
        for text in [app.log(), said] {
            assert!(!text.contains(store.secret()), "the key is shown: {text}");
        }
    }

    async fn a_store_that_is_away_is_told_and_leaves_no_picture_behind(engine: Engine) {
        let store = S3Store::start();
        let proxy = TcpProxy::start(format!("127.0.0.1:{}", store.port())).await;
        let app = store.configure(App::builder(engine), proxy.port()).start().await;
        let kept = uploaded(&app, &png(30, 30, 1)).await;
        let doomed = uploaded(&app, &png(30, 30, 2)).await;
        proxy.cut().await;
        let file = png(30, 30, 3);
        for answer in [
            upload(&app, app.secret_key(), "away.png", &file).await,
            got(&app, &path(&kept)).await,
        ] {
            answer.assert_error(503, "SERVICE_UNAVAILABLE");
            assert_eq!(required_header(&answer, "retry-after"), "5");
            assert_eq!(required_header(&answer, "cache-control"), "no-store");
        }
        assert_eq!(rows(&app, "uploads").await, 2);
        // what the database alone knows is answered
        app.request("HEAD", &path(&kept)).send().await.assert_status(200);
        app.delete(&path(&doomed)).send().await.assert_status(204);
        assert_envelope(&got(&app, &path(&doomed)).await, 404);
        app.get("/uploads").send().await.assert_status(200);
        app.get("/contacts").send().await.assert_status(200);

        proxy.restore().await;
        got(&app, &path(&kept)).await.assert_status(200);
        uploaded(&app, &file).await;
        app.advance(Duration::from_secs(61)).await;
        app.eventually("what is left over is removed", async || {
            (rows(&app, "upload_removals").await == 0 && store.objects().len() == 2).then_some(())
        })
        .await;
        got(&app, &path(&kept)).await.assert_status(200);
    }

    async fn a_key_that_is_wrong_is_a_store_that_is_away(engine: Engine) {
        let store = S3Store::start();
        let builder = store.configure(App::builder(engine), store.port());
        let app = builder.env("MAILWRIGHT_UPLOADS_SECRET", "not-the-right-one").start().await;
        let answer = upload(&app, app.secret_key(), "a.png", &png(5, 5, 1)).await;
        answer.assert_error(503, "SERVICE_UNAVAILABLE");
        assert!(app.log().contains("could not be stored"), "the operator is told");
        let doctor = app.try_run(&["doctor"]).await;
        let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(said.contains("WRONG  uploads: the bucket pictures does not work"), "{said}");
        assert!(store.objects().is_empty());
        assert_eq!(rows(&app, "uploads").await, 0);
    }
}
