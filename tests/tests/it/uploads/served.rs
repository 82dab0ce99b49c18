//! Serving: to everybody, safely, in parts, and without asking for what the client has.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::picture::png;
use mailwright_tests::{UNKNOWN_ID, assert_envelope, header, required_header, text};

use super::{got, path, uploaded};

both_engines! {
    async fn a_picture_is_served_as_a_picture_and_nothing_else(engine: Engine) {
        let app = App::start(engine).await;
        let picture = uploaded(&app, &png(300, 300, 1)).await;
        let at = path(&picture);
        let hash = at.rsplit('/').next().and_then(|name| name.split('.').next()).expect("a hash").to_owned();
        let cookie = "mailwright_session=whatever";
        for request in [
            app.request("GET", &at),
            app.request("GET", &at).header("cookie", cookie).header("host", "old.example.com"),
            app.request("GET", &at).header("accept", "text/html").header("sec-fetch-dest", "document"),
        ] {
            let whole = request.send().await.assert_status(200);
            for (name, value) in [
                ("content-type", "image/png"),
                ("x-content-type-options", "nosniff"),
                ("content-security-policy", "default-src 'none'; sandbox"),
                ("cache-control", "public, max-age=31536000, immutable"),
                ("cross-origin-resource-policy", "cross-origin"),
                ("accept-ranges", "bytes"),
                ("etag", &format!("\"{hash}\"")),
                ("content-length", &picture["size"].to_string()),
            ] {
                assert_eq!(required_header(&whole, name), value, "{name}");
            }
            assert_eq!(header(&whole, "set-cookie"), None);
            assert!(whole.body.len() > 256 * 1024, "it comes in several pieces");
        }
        let whole = got(&app, &at).await.body;
        let head = app.request("HEAD", &at).header("range", "bytes=0-1").send().await.assert_status(200);
        assert!(head.body.is_empty());
        assert_eq!(required_header(&head, "content-length"), picture["size"].to_string());
        assert_eq!(required_header(&head, "content-type"), "image/png");

        for (given, status) in [
            (format!("\"{hash}\""), 304),
            (format!("\"other\", W/\"{hash}\""), 304),
            ("*".to_owned(), 304),
            ("\"other\"".to_owned(), 200),
            (hash.clone(), 200),
        ] {
            let answer = app.request("GET", &at).header("if-none-match", &given).send().await;
            assert_eq!(answer.status, status, "{given}");
            assert_eq!(required_header(&answer, "etag"), format!("\"{hash}\""));
            assert!(status == 200 || answer.body.is_empty());
        }

        let size = whole.len();
        for (range, first, end) in [
            ("bytes=0-0".to_owned(), 0, 1),
            ("bytes=100-299999".to_owned(), 100, size.min(300_000)),
            (format!("bytes={}-", size - 5), size - 5, size),
            ("bytes=-7".to_owned(), size - 7, size),
            (format!("bytes=0-{}", size * 2), 0, size),
        ] {
            let part = app.request("GET", &at).header("range", &range).send().await.assert_status(206);
            assert_eq!(required_header(&part, "content-range"), format!("bytes {first}-{}/{size}", end - 1));
            assert_eq!(required_header(&part, "content-length"), (end - first).to_string());
            assert!(part.body == whole[first..end], "{range}");
            // a client that has another picture's beginning gets all of this one
            let tagged = |tag: &str| app.request("GET", &at).header("range", &range).header("if-range", tag).send();
            tagged(&format!("\"{hash}\"")).await.assert_status(206);
            assert_eq!(tagged("\"other\"").await.assert_status(200).body.len(), size);
        }
        for range in [format!("bytes={size}-"), "bytes=-0".to_owned()] {
            let beyond = app.request("GET", &at).header("range", &range).send().await.assert_status(416);
            assert_eq!(required_header(&beyond, "content-range"), format!("bytes */{size}"));
            assert!(beyond.body.is_empty());
        }
        for range in ["bytes=5-2", "bytes=0-1,5-6", "lines=1-2", "nonsense"] {
            let all = app.request("GET", &at).header("range", range).send().await.assert_status(200);
            assert_eq!(all.body.len(), size, "{range}");
        }
    }

    async fn what_is_not_there_is_not_found(engine: Engine) {
        let app = App::start(engine).await;
        let picture = uploaded(&app, &png(5, 5, 1)).await;
        let key = text(&picture["key"]);
        let (project, name) = key.split_once('/').expect("a project and a name");
        let zeros = "0".repeat(64);
        for path in [
            format!("/uploads/{UNKNOWN_ID}/{name}"),
            format!("/uploads/{project}/{zeros}.png"),
            format!("/uploads/{project}/{}", name.replace(".png", ".jpg")),
            format!("/uploads/{project}/{}", name.to_uppercase()),
            format!("/uploads/{project}/{}", name.replace(".png", ".svg")),
            format!("/uploads/{project}/{name}.html"),
            format!("/uploads/{project}/..%2f..%2fmailwright.sqlite"),
            format!("/uploads/nobody/{name}"),
            format!("/uploads/{project}/"),
        ] {
            for method in ["GET", "HEAD"] {
                let answer = app.request(method, &path).send().await;
                assert_eq!(answer.status, 404, "{method} {path}");
                assert_eq!(header(&answer, "cache-control"), Some("no-store"), "{path}");
            }
            assert_envelope(&got(&app, &path).await, 404);
        }
        // the list needs a key
        assert_envelope(&got(&app, "/uploads").await, 401);
        got(&app, &format!("/uploads/{key}?anything=1")).await.assert_status(200);
    }

    async fn pictures_have_a_host_name_of_their_own_where_one_is_configured(engine: Engine) {
        let app = App::builder(engine)
            .env("MAILWRIGHT_UPLOADS_PUBLIC_URL", "https://pictures.example.com/of")
            .start()
            .await;
        let picture = uploaded(&app, &png(5, 5, 1)).await;
        let at = path(&picture);
        assert_eq!(text(&picture["url"]), format!("https://pictures.example.com/of{at}"));
        let page = app.get("/uploads").send().await.assert_status(200).json();
        assert_eq!(page["data"][0]["url"], picture["url"]);
        let under = |method: &str, path: &str| app.request(method, path).header("host", "pictures.example.com");
        under("GET", &at).send().await.assert_status(200);
        // nobody is signed in under that name
        under("GET", "/users/@me").header("cookie", "mailwright_session=x").send().await.assert_error(421, "UNKNOWN_HOST");
        under("GET", "/app/").send().await.assert_status(421);
        // older mails name the other one
        got(&app, &at).await.assert_status(200);
    }
}
