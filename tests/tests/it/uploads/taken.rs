//! What is taken, what is listed, and who may do so.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, OWNER, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::picture::{form, gif, jpeg, png, webp};
use mailwright_tests::{as_project, assert_envelope, assert_only_keys, column, items, text};

use super::{files, got, left, path, rows, upload, uploaded, uploaded_to};

both_engines! {
    async fn the_four_formats_are_taken_listed_and_deleted(engine: Engine) {
        let app = App::start(engine).await;
        let project = app.project_id();
        for (file, kind, extension, frames) in [
            (png(30, 20, 1), "image/png", "png", 1),
            (jpeg(30, 20, 1), "image/jpeg", "jpg", 1),
            (gif(30, 20, 3), "image/gif", "gif", 3),
            (webp(30, 20, 1), "image/webp", "webp", 1),
        ] {
            // neither the name nor the declared type says what it is
            let picture = uploaded(&app, &file).await;
            assert_eq!(picture["contentType"], kind);
            assert_eq!((&picture["width"], &picture["height"]), (&json!(30), &json!(20)), "{picture}");
            assert_eq!(picture["frames"], frames, "{picture}");
            assert_eq!(picture["filename"], "a picture.png");
            assert_eq!(picture["uploadedBy"]["type"], "key");
            let key = text(&picture["key"]);
            let (of, name) = key.split_once('/').expect("a project and a name");
            let (hash, ending) = name.split_once('.').expect("a hash and an ending");
            assert_eq!((of, ending, hash.len()), (project, extension, 64));
            assert_eq!(text(&picture["url"]), format!("{}/uploads/{key}", app.base_url()));
            let served = got(&app, &path(&picture)).await.assert_status(200);
            assert_eq!(served.headers.get("content-type"), Some(kind));
            assert_eq!(served.body.len() as i64, picture["size"].as_i64().expect("a size"));
        }
        let mut seen = Vec::new();
        let mut at = "/uploads?limit=3".to_owned();
        loop {
            let page = app.get(&at).send().await.assert_status(200).json();
            assert_only_keys(&page, &["data", "cursor", "hasMore", "total", "usage", "quota"]);
            assert_eq!(page["total"], if seen.is_empty() { 4 } else { 0 });
            seen.extend(items(&page["data"]).to_vec());
            assert_eq!(page["usage"]["pictures"], 4);
            assert_eq!(page["quota"]["bytes"], 1024 * 1024 * 1024);
            if page["hasMore"] == false {
                break;
            }
            at = format!("/uploads?limit=3&cursor={}", text(&page["cursor"]));
        }
        let all = json!(seen);
        assert_eq!(column(&all, "contentType"), ["image/webp", "image/gif", "image/jpeg", "image/png"]);
        let bytes: i64 = seen.iter().map(|one| one["size"].as_i64().expect("a size")).sum();
        let page = app.get("/uploads").send().await.assert_status(200).json();
        assert_eq!(page["usage"]["bytes"], bytes);
        app.get("/uploads?cursor=nonsense").send().await.assert_error(400, "BAD_REQUEST");
        for picture in &seen {
            let at = path(picture);
            assert!(app.delete(&at).send().await.assert_status(204).body.is_empty());
            assert_envelope(&got(&app, &at).await, 404);
            assert_envelope(&app.delete(&at).send().await, 404);
        }
        let page = app.get("/uploads").send().await.assert_status(200).json();
        assert_eq!(page["usage"], json!({"pictures": 0, "bytes": 0}));
        left(&app, 0).await;
        app.eventually("nothing waits", async || (rows(&app, "upload_removals").await == 0).then_some(())).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let audit = owner.audit(&app, project).await;
        let deleted: Vec<_> = audit.iter().filter(|entry| entry["action"] == "upload.deleted").collect();
        assert_eq!(deleted.len(), 4, "{audit:?}");
    }

    async fn the_same_picture_is_one_however_often_it_comes(engine: Engine) {
        let app = App::start(engine).await;
        let file = png(40, 40, 7);
        let all = join_all((0..12).map(|_| uploaded(&app, &file))).await;
        for picture in &all {
            assert_eq!(picture["key"], all[0]["key"]);
        }
        let again = upload(&app, app.secret_key(), "another.png", &file).await.assert_status(200).json();
        assert_eq!(again, all[0], "the first one stays as it is");
        let page = app.get("/uploads").send().await.assert_status(200).json();
        assert_eq!(page["usage"], json!({"pictures": 1, "bytes": all[0]["size"]}));
        // those that were written at the same time for nothing
        left(&app, 1).await;
        got(&app, &path(&all[0])).await.assert_status(200);

        // deleted and uploaded again and again: whatever comes last holds
        for _ in 0..10 {
            let (deleted, uploaded) = tokio::join!(app.delete(&path(&all[0])).send(), uploaded(&app, &file));
            assert!([204, 404].contains(&deleted.status), "{}", deleted.status);
            assert_eq!(uploaded["key"], all[0]["key"]);
        }
        let is_there = items(&app.get("/uploads").send().await.assert_status(200).json()["data"]).len() == 1;
        left(&app, usize::from(is_there)).await;
        app.eventually("nothing waits", async || (rows(&app, "upload_removals").await == 0).then_some(())).await;
        let served = got(&app, &path(&all[0])).await;
        assert_eq!(served.status, if is_there { 200 } else { 404 });
    }

    async fn a_project_sees_and_removes_its_own_pictures_only(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.test").await;
        let file = png(20, 20, 3);
        let (mine, theirs) = (uploaded(&app, &file).await, uploaded_to(&app, &other, &file).await);
        assert_ne!(mine["key"], theirs["key"]);
        assert_eq!(files(&app).len(), 2);
        for (method, path) in [("DELETE", path(&mine)), ("DELETE", path(&theirs).replace(&other.id, app.project_id()))] {
            let answer = as_project(&app, &other, method, &path).send().await;
            assert_eq!(assert_envelope(&answer, 404), "RESOURCE_NOT_FOUND");
        }
        let page = as_project(&app, &other, "GET", "/uploads").send().await.assert_status(200).json();
        assert_eq!(column(&page["data"], "key"), [text(&theirs["key"])]);
        as_project(&app, &other, "DELETE", &path(&theirs)).send().await.assert_status(204);
        assert_envelope(&got(&app, &path(&theirs)).await, 404);
        got(&app, &path(&mine)).await.assert_status(200);
        left(&app, 1).await;

        // members upload too, and a disabled project does not
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let form = form("image", "mine.png", &png(5, 5, 9));
        let request = owner.in_project(&app, app.project_id(), "POST", "/uploads/image");
        let picture = request.clone().body(form.body.clone(), &form.kind).send().await.assert_status(200).json();
        assert_eq!(picture["uploadedBy"]["type"], "user");
        app.run(&["project", "disable", app.project_id(), "--reason", "test"]).await;
        request.body(form.body, &form.kind).send().await.assert_error(403, "PROJECT_DISABLED");
        got(&app, &path(&mine)).await.assert_status(200);
    }

    async fn the_configuration_says_that_pictures_can_be_uploaded(engine: Engine) {
        let app = App::start(engine).await;
        let config = app.request("GET", "/config").send().await.assert_status(200).json();
        assert_eq!(config["features"]["storage"], json!({"enabled": true, "s3Enabled": true}));
    }
}
