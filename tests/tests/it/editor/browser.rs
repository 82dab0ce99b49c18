//! A hostile preview in a real browser.

use mailwright_testkit::receiver::{Receiver, Reply};
use mailwright_testkit::{App, Engine, chromium, json, one_engine};
use mailwright_tests::required_header;

one_engine! {
    async fn a_browser_runs_nothing_of_a_preview_and_loads_nothing_for_it(engine: Engine) {
        let evil = Receiver::start(|_, _| Reply::With(200, "content-type", "text/css".to_owned(), String::new())).await;
        let app = App::start(engine).await;
        let to = |path: &str| evil.url(path);
        let body = format!(
            "<html><head><link rel=stylesheet href='{}'><style>@import '{}'; p {{ color: red }}</style>\
             <script>document.title = 'taken'; fetch('{}')</script></head><body><p>Seen</p>\
             <img src='{}' onerror=\"document.title = 'taken'\"><iframe src='{}'></iframe><object data='{}'></object>\
             <video src='{}' autoplay></video><p style='background: url({})'>x</p></body></html>",
            to("/a.css"), to("/b.css"), to("/fetch"), to("/c.png"), to("/frame"), to("/object"), to("/video"), to("/d.png"),
        );
        let request = json!({"body": body, "type": "TRANSACTIONAL"});
        let answer = app.post("/preview").json(&request).send().await.assert_status(200);
        let policy = required_header(&answer, "content-security-policy").to_owned();
        let html = answer.text();
        for (policy, is_safe) in [(policy, true), ("img-src *".to_owned(), false)] {
            let html = html.clone();
            let page = Receiver::start(move |_, _| {
                Reply::With(200, "content-security-policy", policy.clone(), html.clone())
            })
            .await;
            let seen = chromium::open(&page.url("/")).await;
            assert!(seen.contains("<p>Seen</p>"), "{seen}");
            assert_eq!(!seen.contains("<title>taken</title>"), is_safe, "{seen}");
            let calls: Vec<_> = evil.calls().into_iter().map(|call| call.target).collect();
            assert_eq!(calls.is_empty(), is_safe, "{calls:?}");
        }
    }
}
