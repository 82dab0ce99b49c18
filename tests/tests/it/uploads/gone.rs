//! What becomes of pictures when their project is reset or deleted, and when a process dies.

use std::time::Duration;

use mailwright_testkit::s3::S3Store;
use mailwright_testkit::{App, Engine, OWNER, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::picture::{form, png};
use mailwright_tests::{assert_envelope, text};

use super::{files, got, left, path, rows, upload, uploaded, uploaded_to};

both_engines! {
    async fn a_reset_takes_the_pictures_and_leaves_room_for_the_same_ones(engine: Engine) {
        let app = App::start(engine).await;
        let (kept, file) = (png(30, 30, 1), png(31, 31, 2));
        let other = app.bootstrap("Neighbour", "neighbour.test").await;
        let theirs = uploaded_to(&app, &other, &kept).await;
        let mine = uploaded(&app, &kept).await;
        uploaded(&app, &file).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let reset = format!("/users/@me/projects/{}/reset", app.project_id());
        let reset = owner.request(&app, "POST", &reset).send().await;
        assert!((200..300).contains(&reset.status), "{}", reset.status);
        assert_envelope(&got(&app, &path(&mine)).await, 404);
        // the same picture at once, while the old ones are being removed
        let again = uploaded(&app, &kept).await;
        assert_eq!(again["key"], mine["key"]);
        left(&app, 2).await;
        app.eventually("nothing waits", async || (rows(&app, "upload_removals").await == 0).then_some(())).await;
        got(&app, &path(&again)).await.assert_status(200);
        got(&app, &path(&theirs)).await.assert_status(200);
        let page = app.get("/uploads").send().await.assert_status(200).json();
        assert_eq!(page["usage"], json!({"pictures": 1, "bytes": again["size"]}));
    }

    async fn a_deletion_takes_all_pictures_also_after_a_kill(engine: Engine) {
        let mut app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let key = owner.create_project(&app, "Throw-away").await;
        let secret = text(&key["secret"]).to_owned();
        let mut picture = json!(null);
        for seed in 0..150 {
            let answer = upload(&app, &secret, "p.png", &png(4, 4, seed)).await;
            picture = answer.assert_status(200).json();
        }
        let mine = uploaded(&app, &png(30, 30, 1)).await;
        assert_eq!(files(&app).len(), 151);
        let project = format!("/users/@me/projects/{}", text(&key["id"]));
        let deleted = owner.request(&app, "DELETE", &project).send().await;
        assert!((200..300).contains(&deleted.status), "{}", deleted.status);
        assert_envelope(&got(&app, &path(&picture)).await, 404);
        app.kill();
        app.restart().await;
        left(&app, 1).await;
        app.eventually("no row is left", async || {
            let left = [rows(&app, "uploads").await, rows(&app, "upload_usage").await, rows(&app, "upload_removals").await];
            (left == [1, 1, 0]).then_some(())
        })
        .await;
        got(&app, &path(&mine)).await.assert_status(200);
    }

    async fn an_upload_that_dies_halfway_leaves_nothing_for_long(engine: Engine) {
        let store = S3Store::start();
        let mut app = store.configure(App::builder(engine), store.port()).start().await;
        uploaded(&app, &png(20, 20, 1)).await;
        store.freeze();
        let form = form("image", "half.png", &png(20, 20, 2));
        let half = tokio::spawn(app.post("/uploads/image").body(form.body, &form.kind).try_send());
        app.eventually("the object is being written", async || {
            (rows(&app, "upload_removals").await == 1).then_some(())
        })
        .await;
        app.kill();
        assert!(half.await.expect("a task").is_err(), "nobody answered");
        store.thaw();
        app.restart().await;
        assert_eq!(rows(&app, "uploads").await, 1);
        // it is left alone for as long as somebody may still write it
        assert_eq!(rows(&app, "upload_removals").await, 1);
        app.advance(Duration::from_secs(3_700)).await;
        app.eventually("it is removed", async || (rows(&app, "upload_removals").await == 0).then_some(())).await;
        assert_eq!(store.objects().len(), 1);
    }
}
