//! How much the captured mailbox holds.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{contact_by_email, inline, items, read, send_ok, text, with};
use serde_json::json;

use super::KB;

both_engines! {
    async fn the_mailbox_holds_so_many_mails(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_MAILBOX_COUNT", "3").start().await;
        for number in 0..6 {
            let id = app.send_to(&format!("c{number}@example.com")).await;
            app.email_in(&id, &["SENT"]).await;
        }
        let page = read(&app, "/mailbox").await;
        assert_eq!(page["total"], 3);
        let kept: Vec<_> = items(&page["data"]).iter().map(|mail| mail["to"].to_string()).collect();
        for (mail, number) in kept.iter().zip([5, 4, 3]) {
            assert!(mail.contains(&format!("c{number}@example.com")), "{kept:?}");
        }
        app.delete("/mailbox").send().await.assert_status(204);
        assert_eq!(read(&app, "/mailbox").await["total"], 0);
    }

    async fn the_mailbox_holds_so_many_bytes(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_MAILBOX_TOTAL_MB", "1").start().await;
        let body = format!("<p>{}</p>", "word ".repeat(40_000));
        for number in 0..5 {
            let sent = send_ok(&app, with(inline(&app, &json!(format!("c{number}@example.com"))), &json!({"body": body}))).await;
            app.email_in(text(&sent["emails"][0]["email"]), &["SENT"]).await;
        }
        let page = read(&app, "/mailbox").await;
        let bytes: u64 = items(&page["data"]).iter().filter_map(|mail| mail["size"].as_u64()).sum();
        let one = page["data"][0]["size"].as_u64().expect("a number");
        let mb = (KB * KB) as u64;
        assert!(bytes <= mb && bytes + one > mb, "{bytes} of mails with {one}");
        // removing a contact gives its room back
        let newest = contact_by_email(&app, "c4@example.com").await.expect("a contact");
        app.delete(&format!("/contacts/{}", text(&newest["id"]))).send().await.assert_status(204);
        let sent = send_ok(&app, with(inline(&app, &json!("next@example.com")), &json!({"body": body}))).await;
        app.email_in(text(&sent["emails"][0]["email"]), &["SENT"]).await;
        assert_eq!(read(&app, "/mailbox").await["total"], page["total"]);
    }
}
