//! What is taken, how it is shown and told, and how much of it.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::mail_in::MailIn;
use mailwright_testkit::net::free_port;
use mailwright_testkit::{Engine, both_engines};
use mailwright_tests::inline;
use mailwright_tests::{as_project, assert_timestamp, contact_by_email, items, send_ok, text};
use serde_json::json;

use super::{PROVEN, bring, bring_ok, capturing, message, received, started, told};

const HTML: &str = "From: \"Ada L.\" <Ada@proven.test>\nTo: help@acme.test\nSubject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\n\
    Message-ID: <77@proven.test>\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=x\n\n--x\n\
    Content-Type: text/plain; charset=utf-8\n\nHello\n--x\nContent-Type: text/html\n\n\
    <p onclick=\"x()\">Hello<script>alert(1)</script> <a href=\"javascript:x()\">there</a></p>\n--x--\n";

both_engines! {
    async fn a_mail_is_stored_told_and_shown(engine: Engine) {
        let dns = FakeDns::start().await;
        let (app, mut session) = started(engine, &dns).await;
        send_ok(&app, inline(&app, &json!("bob@example.com"))).await;
        bring_ok(&mut session, &format!("ada@{PROVEN}"), &["Help@ACME.test"], HTML).await;

        let listed = app.get("/emails").send().await.assert_status(200).json();
        assert_eq!((listed["total"].as_i64(), items(&listed["data"]).len()), (Some(2), 2));
        let row = &listed["data"][0];
        assert_eq!((&row["sourceType"], &row["status"]), (&json!("INBOUND"), &json!("RECEIVED")));
        assert_eq!((&row["from"], &row["fromName"]), (&json!("Ada@proven.test"), &json!("Ada L.")));
        assert_eq!((&row["to"], &row["subject"]), (&json!("Help@acme.test"), &json!("Grüße")));
        assert_eq!(row["messageId"], "77@proven.test");
        let contact = contact_by_email(&app, "ada@proven.test").await.expect("a contact");
        assert_eq!((&row["contactId"], &contact["subscribed"]), (&contact["id"], &json!(true)));
        let of_contact = app.get(&format!("/emails?contactId={}", text(&contact["id"]))).send().await.json();
        assert_eq!((of_contact["total"].as_i64(), &of_contact["data"][0]["id"]), (Some(1), &row["id"]));
        let pending = app.get("/emails?status=SKIPPED").send().await.json();
        assert_eq!(pending["total"], 0);
        // a page ends between the two
        let first = app.get("/emails?limit=1").send().await.json();
        let cursor = text(&first["cursor"]);
        let second = app.get(&format!("/emails?limit=1&cursor={cursor}")).send().await.json();
        assert_eq!(second["data"][0]["sourceType"], "TRANSACTIONAL");

        let whole = app.email(text(&row["id"])).await;
        let inbound = &whole["inbound"];
        assert_eq!(inbound["fromHeader"], "\"Ada L.\" <Ada@proven.test>");
        assert_eq!(inbound["text"], "Hello");
        assert_eq!(inbound["html"].as_str().map(str::trim), Some("<p>Hello <a rel=\"noopener noreferrer\">there</a></p>"));
        assert_eq!(inbound["recipients"], json!(["Help@acme.test"]));
        assert_eq!((&inbound["isAutomatic"], &inbound["isSenderVerified"]), (&json!(false), &json!(true)));
        assert_eq!(whole["attempts"], json!([]));

        let events = told(&app).await;
        let data = &events[0]["data"];
        assert_eq!((events.len(), &events[0]["contactId"]), (1, &contact["id"]));
        assert_timestamp(&data["timestamp"]);
        assert!(data["processingTimeMillis"].is_u64(), "{data}");
        assert!(text(&data["body"]).starts_with("<p>Hello"), "{data}");
        for (name, value) in [
            ("messageId", json!("77@proven.test")), ("from", json!("Ada@proven.test")), ("subject", json!("Grüße")),
            ("fromHeader", inbound["fromHeader"].clone()), ("to", json!("Help@acme.test")),
            ("recipients", json!(["Help@acme.test"])), ("hasContent", json!(true)), ("spamVerdict", json!("DISABLED")),
            ("virusVerdict", json!("DISABLED")), ("spfVerdict", json!("PASS")), ("dkimVerdict", json!("GRAY")),
            ("dmarcVerdict", json!("PASS")), ("emailId", row["id"].clone()), ("inReplyTo", json!(null)),
            ("isAutomatic", json!(false)), ("isSenderVerified", json!(true)),
        ] {
            assert_eq!(data[name], value, "{name}");
        }
    }

    async fn the_same_message_is_stored_once_for_a_recipient(engine: Engine) {
        let dns = FakeDns::start().await;
        let (app, mut session) = started(engine, &dns).await;
        let mail = message("ada@example.com", "once");
        for to in [&["a@acme.test"][..], &["a@acme.test"], &["a@acme.test", "b@acme.test"], &["b@acme.test"]] {
            bring_ok(&mut session, "ada@example.com", to, &mail).await;
        }
        let rows = received(&app).await;
        let mut recipients: Vec<&str> = rows.iter().map(|row| text(&row["to"])).collect();
        recipients.sort_unstable();
        assert_eq!(recipients, ["a@acme.test", "b@acme.test"]);
        assert_eq!(told(&app).await.len(), 2);
        bring_ok(&mut session, "ada@example.com", &["a@acme.test"], &message("ada@example.com", "other")).await;
        assert_eq!(received(&app).await.len(), 3);
    }

    async fn every_project_with_the_domain_gets_its_own(engine: Engine) {
        let dns = FakeDns::start().await;
        let (app, mut session) = started(engine, &dns).await;
        let other = app.bootstrap("Other", "acme.test").await;
        app.bootstrap("Elsewhere", "elsewhere.test").await;
        bring_ok(
            &mut session,
            "ada@example.com",
            &["a@acme.test", "b@elsewhere.test"],
            &message("ada@example.com", "both"),
        )
        .await;
        assert_eq!(received(&app).await.len(), 1);
        let theirs = as_project(&app, &other, "GET", "/emails").send().await.assert_status(200).json();
        assert_eq!(theirs["total"], 1);
        // nobody learns of recipients elsewhere
        assert_eq!(told(&app).await[0]["data"]["recipients"], json!(["a@acme.test"]));
        let id = text(&received(&app).await[0]["id"]).to_owned();
        as_project(&app, &other, "GET", &format!("/emails/{id}")).send().await.assert_status(404);
        as_project(&app, &other, "GET", &format!("/emails/{id}/raw")).send().await.assert_status(404);
    }

    async fn a_project_takes_so_many_a_day(engine: Engine) {
        let dns = FakeDns::start().await;
        let inbound = free_port();
        let app = capturing(engine, &dns, inbound).env("MAILWRIGHT_INBOUND_MAILS_PER_DAY", "2").start().await;
        let mut session = MailIn::connect(inbound).await;
        let one = message("ada@example.com", "one");
        for mail in [&one, &one, &message("ada@example.com", "two")] {
            bring_ok(&mut session, "ada@example.com", &["a@acme.test"], mail).await;
        }
        let reply = bring(&mut session, "ada@example.com", &["a@acme.test"], &message("a@example.com", "three")).await;
        assert!(reply.starts_with("452 4.2.2"), "{reply}");
        assert_eq!(received(&app).await.len(), 2);
        app.advance(std::time::Duration::from_hours(24)).await;
        bring_ok(&mut MailIn::connect(inbound).await, "ada@example.com", &["a@acme.test"], &message("a@b.example", "four")).await;
        assert_eq!(received(&app).await.len(), 3);
    }

    async fn a_project_takes_so_many_bytes_a_day(engine: Engine) {
        let dns = FakeDns::start().await;
        let inbound = free_port();
        let app = capturing(engine, &dns, inbound).env("MAILWRIGHT_INBOUND_MB_PER_DAY", "1").start().await;
        let mut session = MailIn::connect(inbound).await;
        let large = |subject: &str| {
            let line = "a line of a large mail\r\n";
            format!("{}{}", message("ada@example.com", subject), line.repeat(700 * 1024 / line.len()))
        };
        bring_ok(&mut session, "ada@example.com", &["a@acme.test"], &large("one")).await;
        let reply = bring(&mut session, "ada@example.com", &["a@acme.test"], &large("two")).await;
        assert!(reply.starts_with("452 4.2.2"), "{reply}");
        bring_ok(&mut session, "ada@example.com", &["a@acme.test"], &message("ada@example.com", "small")).await;
        // what each recipient has of its own counts as often: here the body of its event
        let to: Vec<String> = (0..50).map(|n| format!("a{n}@acme.test")).collect();
        let to: Vec<&str> = to.iter().map(String::as_str).collect();
        let reply = bring(&mut session, "ada@example.com", &to, &large("three")[..100 * 1024]).await;
        assert!(reply.starts_with("452 4.2.2"), "{reply}");
        app.advance(std::time::Duration::from_hours(24)).await;
        bring_ok(&mut MailIn::connect(inbound).await, "ada@example.com", &["a@acme.test"], &large("two")).await;
        assert_eq!(received(&app).await.len(), 3);
    }

    async fn what_a_message_says_is_stored_once(engine: Engine) {
        let dns = FakeDns::start().await;
        let inbound = free_port();
        let app = capturing(engine, &dns, inbound).start().await;
        let to = ["a@acme.test", "b@acme.test", "c@acme.test"];
        let one = message("ada@example.com", "one");
        bring_ok(&mut MailIn::connect(inbound).await, "ada@example.com", &to, &one).await;
        let rows = app.rows().await;
        let counted = ["inbound_mails", "inbound_raw", "inbound_contents"].map(|table| rows[table].len());
        assert_eq!(counted, [3, 1, 1]);
        for mail in received(&app).await {
            let whole = app.get(&format!("/emails/{}", text(&mail["id"]))).send().await.assert_status(200).json();
            assert_eq!(whole["inbound"]["text"], "Hello\n");
        }
    }

    async fn a_mail_to_more_than_is_left_of_the_day_is_not_stored_in_part(engine: Engine) {
        let dns = FakeDns::start().await;
        let inbound = free_port();
        let app = capturing(engine, &dns, inbound).env("MAILWRIGHT_INBOUND_MAILS_PER_DAY", "1").start().await;
        let mut session = MailIn::connect(inbound).await;
        let to = ["a@acme.test", "b@acme.test"];
        let reply = bring(&mut session, "ada@example.com", &to, &message("ada@example.com", "two")).await;
        assert!(reply.starts_with("452 4.2.2"), "{reply}");
        assert!(received(&app).await.is_empty());
        assert!(contact_by_email(&app, "ada@example.com").await.is_none());
        bring_ok(&mut session, "ada@example.com", &to[..1], &message("ada@example.com", "two")).await;
    }
}
