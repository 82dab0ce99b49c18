//! A mail opened and clicked in a real browser.

use std::time::Duration;

use mailwright_testkit::receiver::{Receiver, Reply};
use mailwright_testkit::{App, Engine, both_engines, chromium, json};

use super::{column, counts, events, judged, later, sent};

both_engines! {
    async fn a_mail_opened_and_clicked_in_a_browser_is_counted_once_as_a_person(engine: Engine) {
        let shop = Receiver::start(|_, _| {
            Reply::With(200, "content-type", "text/html".to_owned(), "<h1>Welcome to the shop</h1>".to_owned())
        })
        .await;
        let app = App::start(engine).await;
        let body = format!(
            "<html><body><p>Look: <a href=\"{}\">our shop</a> <a href=\"{}\">more</a></p></body></html>",
            shop.url("/sale?item=1&amp;size=2"), shop.url("/more"),
        );
        let mail = sent(&app, &json!({"body": body})).await;
        later(&app).await;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("mail.html");
        std::fs::write(&file, &mail.html).expect("a file");
        let seen = chromium::open(&format!("file://{}", file.display())).await;
        assert!(seen.contains("our shop"), "{seen}");
        let hits = judged(&app, &mail, 1).await;
        assert_eq!((column(&hits, "type"), column(&hits, "class")), (vec!["open"], vec!["human"]), "{hits:?}");
        assert_eq!(counts(&app, &mail).await, [1, 0, 0, 0]);
        assert!(shop.calls().is_empty(), "a browser follows no link by itself");

        app.advance(Duration::from_secs(30)).await;
        let link = mail.hrefs().remove(0);
        assert!(link.starts_with(app.base_url()), "{link}");
        let seen = chromium::open(&link).await;
        assert!(seen.contains("Welcome to the shop"), "{seen}");
        assert!(shop.calls().iter().any(|call| call.target == "/sale?item=1&size=2"), "{:?}", shop.calls());
        let hits = judged(&app, &mail, 2).await;
        assert_eq!((column(&hits, "type"), column(&hits, "class")), (vec!["open", "click"], vec!["human"; 2]), "{hits:?}");
        assert_eq!(counts(&app, &mail).await, [1, 1, 0, 0]);
        assert_eq!(app.email(&mail.id).await["status"], "CLICKED");
        let clicked = events(&app, &mail, "email.click").await;
        assert_eq!(clicked.len(), 1, "{clicked:?}");
        assert_eq!(clicked[0]["data"]["isFirstClick"], true);
        assert_eq!(events(&app, &mail, "email.open").await.len(), 1);
    }
}
