//! What the mails of one request take, together and each.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    contact_by_email, create_contact, holds, inline, issue, items, mail_to, read, send_ok, text, with,
};
use serde_json::{Value, json};

use super::{KB, assert_refused, total};

/// An app whose mails wait for a server that does not answer.
async fn with_nobody_to_send_to(engine: Engine) -> App {
    App::builder(engine).smtp(9).start().await
}

fn many(count: usize) -> Value {
    (0..count).map(|number| json!(format!("r{number}@example.com"))).collect()
}

both_engines! {
    async fn recipients_times_data_is_bounded(engine: Engine) {
        let app = with_nobody_to_send_to(engine).await;
        let before = app.stored().await.len();
        let data = json!({"blob": "x".repeat(250 * KB)});
        let body = with(inline(&app, &many(1000)), &json!({"data": data, "body": "<p>{{blob}}</p>"}));
        let answer = app.send(body).await;
        assert_refused(&answer, "data", "8 MB");
        let message = text(&issue(&answer, "data")["message"]).to_owned();
        assert!(message.contains("1000 recipients") && message.contains("at most 32 recipients"), "{message}");
        assert_eq!(total(&app).await, 0);
        let grown = app.stored().await.len().saturating_sub(before);
        assert!(grown < 2 * KB * KB, "{grown} bytes");
        // so many are fine
        let body = with(inline(&app, &many(32)), &json!({"data": data, "body": "<p>{{blob}}</p>"}));
        assert_eq!(items(&send_ok(&app, body).await["emails"]).len(), 32);
    }

    async fn values_of_a_request_are_stored_once(engine: Engine) {
        let app = with_nobody_to_send_to(engine).await;
        let before = app.stored().await.len();
        let data = json!({"blob": {"value": "x".repeat(250 * KB), "persistent": false}});
        let body = with(inline(&app, &many(200)), &json!({"data": data, "body": "<p>{{blob}}</p>"}));
        assert_eq!(items(&send_ok(&app, body).await["emails"]).len(), 200);
        let grown = app.stored().await.len().saturating_sub(before);
        // SQLite's file, its log and its values are looked at
        assert!(grown < 6 * KB * KB, "{grown} bytes");
    }

    async fn recipients_are_sent_what_they_share_and_what_is_theirs(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "pro", "digest": "stored", "city": "Oslo"})).await;
        let digest = "d".repeat(3000);
        let data = json!({
            "digest": {"value": digest, "persistent": false}, "city": null, "name": "Friend", "note": "kept",
        });
        let to = json!([{"email": "ann@example.com", "name": "Ann"}, "bob@example.com"]);
        let body = "<p>{{name}}|{{plan ?? \"none\"}}|{{city ?? \"nowhere\"}}|{{note}}|{{data.digest}}|{{email}}</p>";
        send_ok(&app, with(inline(&app, &to), &json!({"data": data, "body": body, "subject": "To {{name}}"}))).await;
        for (email, expected) in [
            ("ann@example.com", format!("Ann|pro|nowhere|kept|{digest}|ann@example.com")),
            ("bob@example.com", format!("Friend|none|nowhere|kept|{digest}|bob@example.com")),
        ] {
            let mail = mail_to(&app, email).await;
            assert!(text(&mail["html"]).contains(&expected), "{}", mail["html"]);
        }
        assert_eq!(mail_to(&app, "ann@example.com").await["subject"], "To Ann");
        let ann = contact_by_email(&app, "ann@example.com").await.expect("ann");
        assert_eq!(ann["data"], json!({"plan": "pro", "digest": "stored", "name": "Ann", "note": "kept"}));
    }

    async fn mails_of_one_request_keep_a_bounded_part_of_their_contacts(engine: Engine) {
        let app = with_nobody_to_send_to(engine).await;
        let count = 70;
        let large = json!({"blob": "x".repeat(250 * KB)});
        for number in 0..count {
            create_contact(&app, &format!("r{number}@example.com"), true, large.clone()).await;
        }
        let body = with(inline(&app, &many(count)), &json!({"body": "<p>{{blob}}</p>"}));
        assert_refused(&app.send(body).await, "to", "16 MB");
        // who does not use it does not keep it
        send_ok(&app, inline(&app, &many(count))).await;
    }

    async fn recipients_times_body_is_bounded(engine: Engine) {
        let app = with_nobody_to_send_to(engine).await;
        let body = "x".repeat(2 * KB * KB);
        let answer = app.send(with(inline(&app, &many(1000)), &json!({"body": body}))).await;
        assert_refused(&answer, "to", "1024 MB");
        send_ok(&app, with(inline(&app, &many(2)), &json!({"body": body}))).await;
    }

    async fn what_values_add_to_the_mails_of_one_request_is_bounded(engine: Engine) {
        let app = App::start(engine).await;
        let data = json!({"blob": {"value": "x".repeat(16 * KB), "persistent": false}});
        let times = |email: &str, times: usize| {
            format!("{{% if email == '{email}@example.com' %}}{{% for n in (1..{times}) %}}{{{{blob}}}}{{% endfor %}}{{% endif %}}")
        };
        // 320 KB and 192 KB, where 256 MB are 256 KB for each of 1,024
        let body = format!("<p>Hi</p>{}{}", times("r0", 20), times("r1", 12));
        let change = json!({"data": data, "body": body});
        let of = |sent: &Value, number: usize| text(&sent["emails"][number]["email"]).to_owned();
        let sent = send_ok(&app, with(inline(&app, &many(513)), &change)).await;
        let (outgrown, fits) = (of(&sent, 0), of(&sent, 1));
        let outgrown = app.email_in(&outgrown, &["FAILED", "SENT"]).await;
        assert_eq!((&outgrown["status"], &outgrown["reason"]), (&json!("FAILED"), &json!("unrenderable")), "{outgrown}");
        assert!(text(&outgrown["error"]).contains("256 KB"), "{outgrown}");
        assert_eq!(app.email_in(&fits, &["FAILED", "SENT"]).await["status"], "SENT");
        let mail = mail_to(&app, "r1@example.com").await;
        assert!(text(&mail["html"]).len() > 192 * KB, "all of it is there");
        // with fewer recipients there is room
        let sent = send_ok(&app, with(inline(&app, &many(2)), &change)).await;
        assert_eq!(app.email_in(&of(&sent, 0), &["FAILED", "SENT"]).await["status"], "SENT");
    }

    async fn a_small_template_makes_no_large_mail(engine: Engine) {
        let app = App::start(engine).await;
        let format = "%A".repeat(3000);
        let body = format!("{{% for a in (1..1000000) %}}{{{{ \"2024-01-01\" | date: \"{format}\" }}}}{{% endfor %}}");
        send_ok(&app, with(inline(&app, &json!("a@example.com")), &json!({"body": body}))).await;
        let page = app.eventually("the mail", async || {
            let page = read(&app, "/mailbox").await;
            (page["total"] == 1).then_some(page)
        }).await;
        let size = page["data"][0]["size"].as_u64().expect("a number");
        assert!(size < 300 * KB as u64, "{size} bytes");
    }

    async fn a_mail_that_is_settled_forgets_its_values(engine: Engine) {
        let app = App::start(engine).await;
        let once = |value: &str| json!({"code": {"value": value, "persistent": false}});
        let body = "<p>{% if code == 'x' %}y{% endif %}</p>";
        let change = json!({"data": once("code-of-long-ago"), "body": body});
        let sent = send_ok(&app, with(inline(&app, &json!("a@example.com")), &change)).await;
        app.email_in(text(&sent["emails"][0]["email"]), &["SENT"]).await;
        if engine == Engine::Postgres {
            // a file of SQLite holds what was overwritten until its page is used again
            assert!(!holds(&app.stored().await, "code-of-long-ago"));
        }
        // fails where a mail kept anything
        app.tamper("create table kept (mails int check (mails = 0))").await;
        app.tamper("insert into kept select count(*) from emails where length(cast(variables as text)) > 2").await;
    }
}
