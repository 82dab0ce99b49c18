//! What the pictures of a project may take.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines, json};
use mailwright_tests::picture::png;
use mailwright_tests::text;

use super::{left, path, rows, upload, uploaded, uploaded_to};

const MB: i64 = 1024 * 1024;

both_engines! {
    async fn uploads_at_the_same_time_stop_exactly_at_the_quota(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_UPLOADS_MB_PER_PROJECT", "1").start().await;
        let other = app.bootstrap("Neighbour", "neighbour.test").await;
        // noise, so that each takes about as much
        let pictures: Vec<_> = (0..32).map(|seed| png(180, 180, seed)).collect();
        let answers = join_all(pictures.iter().map(|file| upload(&app, app.secret_key(), "n.png", file))).await;
        let taken: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
        let sizes: Vec<i64> = taken.iter().map(|answer| answer.json()["size"].as_i64().expect("a size")).collect();
        let sum: i64 = sizes.iter().sum();
        let smallest = sizes.iter().min().expect("some are taken");
        assert!(sum <= MB && sum + smallest > MB - 4096, "{sum} of {MB} bytes in {} pictures", sizes.len());
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            let error = answer.assert_error(409, "CONFLICT");
            assert!(text(&error["message"]).contains("uploads.mb_per_project"), "{error}");
        }
        let page = app.get("/uploads").send().await.assert_status(200).json();
        assert_eq!(page["usage"], json!({"pictures": sizes.len(), "bytes": sum}));
        assert_eq!(page["quota"]["bytes"], MB);
        assert_eq!(rows(&app, "uploads").await, sizes.len());
        // what was written for nothing goes
        left(&app, sizes.len()).await;

        // one that is there already takes nothing, others have room of their own, and a deletion makes some
        let first = taken[0].json();
        let at = answers.iter().position(|answer| answer.status == 200).expect("a picture");
        assert_eq!(uploaded(&app, &pictures[at]).await["key"], first["key"]);
        uploaded_to(&app, &other, &pictures[at]).await;
        app.delete(&path(&first)).send().await.assert_status(204);
        uploaded(&app, &png(100, 100, 99)).await;
    }
}
