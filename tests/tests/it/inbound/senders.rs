//! What becomes of senders: who is a contact, who is not, and what is said of them.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::{Engine, both_engines};
use mailwright_tests::{contact_by_email, create_contact, subscription_events, text};
use serde_json::{Value, json};

use super::{PROVEN, bring_ok, message, received, started, told};

both_engines! {
    async fn nobody_is_subscribed_again_by_writing(engine: Engine) {
        let dns = FakeDns::start().await;
        let (app, mut session) = started(engine, &dns).await;
        let gone = format!("gone@{PROVEN}");
        let contact = create_contact(&app, &gone, false, json!({"plan": "pro"})).await;
        bring_ok(&mut session, &gone, &["help@acme.test"], &message(&gone, "back")).await;
        let now = contact_by_email(&app, &gone).await.expect("the contact");
        assert_eq!((&now["id"], &now["subscribed"]), (&contact["id"], &json!(false)));
        assert_eq!(now["data"], json!({"plan": "pro"}));
        assert!(subscription_events(&app, &contact["id"]).await.is_empty());
        assert_eq!(received(&app).await[0]["contactId"], contact["id"]);
    }

    async fn a_sender_that_proves_nothing_is_not_subscribed(engine: Engine) {
        let dns = FakeDns::start().await;
        dns.set_txt("forged.test", ["v=spf1 -all"]);
        dns.set_txt("_dmarc.forged.test", ["v=DMARC1; p=reject"]);
        dns.set_servfail("away.test");
        dns.set_servfail("_dmarc.away.test");
        let (app, mut session) = started(engine, &dns).await;
        for (domain, spf, dmarc) in [
            ("silent.test", "GRAY", "GRAY"),
            ("forged.test", "FAIL", "FAIL"),
            ("away.test", "PROCESSING_FAILED", "PROCESSING_FAILED"),
        ] {
            let from = format!("ada@{domain}");
            bring_ok(&mut session, &from, &["help@acme.test"], &message(&from, domain)).await;
            let data = &told(&app).await[0]["data"];
            assert_eq!((&data["spfVerdict"], &data["dmarcVerdict"]), (&json!(spf), &json!(dmarc)), "{data}");
            assert_eq!(data["isSenderVerified"], false);
            let contact = contact_by_email(&app, &from).await.expect("a contact");
            assert_eq!(contact["subscribed"], false, "{domain}");
        }
    }

    async fn machines_are_no_contacts(engine: Engine) {
        let dns = FakeDns::start().await;
        let (app, mut session) = started(engine, &dns).await;
        let robot = format!("robot@{PROVEN}");
        let mail = message(&robot, "x");
        let hops = "Received: from a.test by b.test; Mon, 1 Jan 2024 00:00:00 +0000\n".repeat(100);
        for (from, mail) in [
            ("", mail.clone()),
            (robot.as_str(), format!("Auto-Submitted: auto-replied\n{mail}")),
            (&robot, format!("Precedence: bulk\n{mail}")),
            (&robot, format!("List-Id: <list.proven.test>\n{mail}")),
            (&robot, format!("{hops}{mail}")),
            (&robot, mail.replace("Subject: x", "Subject: Out of Office: x")),
        ] {
            let before = told(&app).await.len();
            bring_ok(&mut session, from, &["help@acme.test"], &mail).await;
            let events = told(&app).await;
            assert_eq!(events.len(), before + 1);
            assert_eq!((&events[0]["data"]["isAutomatic"], &events[0]["contactId"]), (&json!(true), &Value::Null));
            assert_eq!(received(&app).await[0]["contactId"], Value::Null);
        }
        assert!(contact_by_email(&app, &robot).await.is_none());
        // one who is a contact stays the one who wrote it
        let contact = create_contact(&app, &robot, true, json!({})).await;
        bring_ok(&mut session, "", &["help@acme.test"], &message(&robot, "y")).await;
        let row = received(&app).await.remove(0);
        assert_eq!(row["contactId"], contact["id"]);
        assert_eq!(app.email(text(&row["id"])).await["inbound"]["isAutomatic"], true);
    }

    async fn a_contact_takes_its_mails_along(engine: Engine) {
        let dns = FakeDns::start().await;
        let (app, mut session) = started(engine, &dns).await;
        for from in ["ada@example.com", "bob@example.com"] {
            bring_ok(&mut session, from, &["help@acme.test"], &message(from, "secret")).await;
        }
        let ada = contact_by_email(&app, "ada@example.com").await.expect("a contact");
        app.delete(&format!("/contacts/{}", text(&ada["id"]))).send().await.assert_status(204);
        let rows = received(&app).await;
        assert_eq!((rows.len(), &rows[0]["from"]), (1, &json!("bob@example.com")));
        let id = text(&rows[0]["id"]);
        app.get(&format!("/emails/{id}/raw")).send().await.assert_status(200);
    }
}
