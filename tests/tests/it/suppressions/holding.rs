//! What is held back, where, and what ends it.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{
    create_contact, create_template, events_of, inline, items, read, send_ok, subscription_events, text,
};

use super::{by_hand, id_of, preview, rule, send_of_type, suppress, unsuppress};

both_engines! {
    async fn a_mail_to_a_suppressed_address_is_stored_and_not_sent(engine: Engine) {
        let app = App::start(engine).await;
        by_hand(&app, "ada@example.com").await;
        let body = json!({
            "to": ["ada@example.com", "bob@example.com"], "from": app.from(),
            "subject": "Hello {{name}}", "body": "<p>For {{name}}</p>", "data": {"name": "you"},
        });
        let sent = send_ok(&app, body).await;
        let (ada, bob) = (text(&sent["emails"][0]["email"]), text(&sent["emails"][1]["email"]));
        let held = app.email_in(ada, &["SUPPRESSED"]).await;
        app.email_in(bob, &["SENT"]).await;
        let by = json!({
            "source": "project", "id": null, "name": "manual", "kind": "ADDRESS", "pattern": "ada@example.com",
            "reason": "manual",
        });
        assert_eq!((&held["suppression"], &held["reason"]), (&by, &json!("suppressed")));
        assert_eq!((&held["sentAt"], &held["nextAttemptAt"], &held["attempts"]), (&Value::Null, &Value::Null, &json!([])));
        assert_eq!(app.mailbox_for("ada@example.com").await.len(), 0);
        assert!(events_of(&app, &sent["emails"][0]["contact"]["id"]).await.iter().all(|event| event["name"] != "email.sent"));

        let page = read(&app, "/suppressions/emails").await;
        assert_eq!((items(&page["emails"]).len(), &page["nextCursor"]), (1, &Value::Null), "{page}");
        let shown = &page["emails"][0];
        assert_eq!((&shown["id"], &shown["status"]), (&json!(ada), &json!("SUPPRESSED")));
        assert_eq!((&shown["recipientAddress"], &shown["suppression"]), (&json!("ada@example.com"), &by));
        assert_eq!((&shown["subject"], &shown["renderedSubject"]), (&json!("Hello {{name}}"), &json!("Hello you")));
        let one = read(&app, &format!("/suppressions/emails/{ada}")).await;
        assert_eq!((&one["id"], &one["renderedBody"]), (&json!(ada), &json!("<p>For you</p>")));
        let of_bob = app.get(&format!("/suppressions/emails/{bob}")).send().await;
        of_bob.assert_error(404, "RESOURCE_NOT_FOUND");
        let listed = read(&app, "/emails?status=SUPPRESSED").await;
        assert_eq!((&listed["total"], &listed["data"][0]["id"]), (&json!(1), &json!(ada)));

        // what was held back stays so; what comes later is sent
        unsuppress(&app, "ada@example.com").await.assert_status(204);
        app.email_in(&app.send_to("ada@example.com").await, &["SENT"]).await;
        assert_eq!(app.email(ada).await["status"], "SUPPRESSED");
    }

    async fn suppressed_mails_are_listed_page_by_page_and_go_with_their_contact(engine: Engine) {
        let app = App::start(engine).await;
        by_hand(&app, "ada@example.com").await;
        let mut sent = Vec::new();
        for _ in 0..3 {
            sent.push(app.send_to("ada@example.com").await);
        }
        sent.reverse();
        let first = read(&app, "/suppressions/emails?limit=2").await;
        let second = read(&app, &format!("/suppressions/emails?limit=2&cursor={}", text(&first["nextCursor"]))).await;
        let ids = |page: &Value| -> Vec<String> {
            items(&page["emails"]).iter().map(|mail| text(&mail["id"]).to_owned()).collect()
        };
        assert_eq!([ids(&first), ids(&second)].concat(), sent);
        assert_eq!(second["nextCursor"], Value::Null);
        app.get("/suppressions/emails?cursor=x").send().await.assert_error(400, "BAD_REQUEST");
        let contact = app.email(&sent[0]).await["contactId"].clone();
        app.delete(&format!("/contacts/{}", text(&contact))).send().await.assert_status(204);
        assert_eq!(read(&app, "/suppressions/emails").await["emails"], json!([]));
        // the address stays on the list
        assert_eq!(preview(&app, "ada@example.com").await["suppressed"], true);
    }

    async fn each_reason_holds_back_its_mail(engine: Engine) {
        let app = App::start(engine).await;
        for reason in ["hard-bounce", "complaint", "manual", "import", "unsubscribe-all"] {
            let to = format!("{reason}@example.com");
            create_contact(&app, &to, true, json!({})).await;
            suppress(&app, json!({"email": to, "reason": reason})).await.assert_status(201);
            let is_calm = reason == "unsubscribe-all";
            app.email_in(&app.send_to(&to).await, &[if is_calm { "SENT" } else { "SUPPRESSED" }]).await;
            for kind in ["TRANSACTIONAL", "MARKETING", "HEADLESS"] {
                // who is subscribed already does not subscribe again
                let sent = id_of(&send_of_type(&app, kind, &to).await);
                if kind == "TRANSACTIONAL" && is_calm {
                    app.email_in(&sent, &["SENT"]).await;
                } else {
                    let held = app.email_in(&sent, &["SUPPRESSED"]).await;
                    assert_eq!(held["suppression"]["reason"], reason);
                }
            }
        }
    }

    async fn subscribing_again_ends_what_a_person_did_not_put_there(engine: Engine) {
        let app = App::start(engine).await;
        for (reason, ends) in [
            ("hard-bounce", true), ("complaint", true), ("unsubscribe-all", true), ("manual", false), ("import", false),
        ] {
            let to = format!("{reason}@example.com");
            create_contact(&app, &to, false, json!({})).await;
            suppress(&app, json!({"email": to, "reason": reason})).await.assert_status(201);
            // subscribing comes with the mail, and lets it pass
            let sent = id_of(&send_of_type(&app, "MARKETING", &to).await);
            app.email_in(&sent, &[if ends { "SENT" } else { "SUPPRESSED" }]).await;
            assert_eq!(preview(&app, &to).await["suppressed"], !ends, "{reason}");
        }
    }

    async fn a_bounce_suppresses_with_its_mail(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::RefuseRcpt(550, "5.1.1 unknown")).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let contact = create_contact(&app, "gone@example.com", true, json!({})).await;
        let first = app.send_to("gone@example.com").await;
        app.email_in(&first, &["BOUNCED"]).await;
        let entry = read(&app, "/suppressions/addresses").await["data"][0].clone();
        assert_eq!((&entry["reason"], &entry["emailId"]), (&json!("hard-bounce"), &json!(first)), "{entry}");
        assert_eq!(subscription_events(&app, &contact["id"]).await, ["contact.unsubscribed"]);
        let told = events_of(&app, &contact["id"]).await;
        let told = told.iter().find(|event| event["name"] == "contact.unsubscribed").expect("it was recorded");
        assert_eq!(told["data"], json!({"reason": "bounce"}));
        app.email_in(&app.send_to("gone@example.com").await, &["SUPPRESSED"]).await;
        assert_eq!(server.attempts_for("gone@example.com").len(), 1);
    }

    async fn mail_that_waits_is_looked_at_again(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "2").start().await;
        let to: Vec<String> = (0..9).map(|number| format!("a{number}@example.com")).collect();
        let sent = send_ok(&app, inline(&app, &json!(to))).await;
        let id = |place: usize| text(&sent["emails"][place]["email"]).to_owned();
        by_hand(&app, "a8@example.com").await;
        rule(&app, "ADDRESS", "a7@example.com").await;
        for place in [8, 7] {
            let held = app.email_in(&id(place), &["SUPPRESSED"]).await;
            let source = if place == 8 { "project" } else { "rule" };
            assert_eq!((&held["suppression"]["source"], &held["nextAttemptAt"]), (&json!(source), &Value::Null));
        }
        app.email_in(&id(6), &["SENT"]).await;
        assert_eq!(app.mailbox_for("a8@example.com").await.len(), 0);
        let counted = read(&app, "/emails?status=PENDING").await;
        assert_eq!(counted["total"], 0);
        assert_eq!(read(&app, "/emails?status=SUPPRESSED").await["total"], 2);
    }

    async fn the_operator_keeps_mail_of_all_projects_from_an_address(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Other", "other.example").await;
        app.run(&["suppressions", "add", "Ada@example.com", "--reason", "complaint"]).await;
        app.run(&["suppressions", "add", "bob@example.com", "--until", "2035-01-31"]).await;
        let list = app.run(&["suppressions", "list", "--json"]).await;
        let first: Value = serde_json::from_str(list.lines().next().expect("a line")).expect("JSON");
        assert_eq!((&first["email"], &first["reason"]), (&json!("ada@example.com"), &json!("complaint")));
        assert!(app.run(&["suppressions", "list"]).await.contains("until 2035-01-31"));
        let held = app.email_in(&app.send_to("ada@example.com").await, &["SUPPRESSED"]).await;
        assert_eq!((&held["suppression"]["source"], &held["suppression"]["reason"]), (&json!("instance"), &json!("complaint")));
        let body = json!({"to": "bob@example.com", "subject": "s", "body": "b", "from": "hello@other.example"});
        let sent = app.post("/v1/send").bearer(&other.secret_key).json(&body).send().await;
        let path = format!("/emails/{}", id_of(&sent));
        let mail = app.get(&path).bearer(&other.secret_key).send().await.assert_status(200).json();
        assert_eq!(mail["status"], "SUPPRESSED");
        assert_eq!(preview(&app, "ada@example.com").await["match"]["source"], "instance");
        // a project cannot take it off
        unsuppress(&app, "ada@example.com").await.assert_error(404, "RESOURCE_NOT_FOUND");
        app.run(&["suppressions", "remove", "ada@example.com"]).await;
        app.email_in(&app.send_to("ada@example.com").await, &["SENT"]).await;
        for refused in [
            &["suppressions", "remove", "ada@example.com"][..],
            &["suppressions", "add", "ada"],
            &["suppressions", "add", "ada@example.com", "--reason", "spam"],
            &["suppressions", "add", "ada@example.com", "--until", "2020-01-01"],
        ] {
            assert!(!app.try_run(refused).await.status.success(), "{refused:?}");
        }
    }

    async fn a_reset_removes_lists_and_rules(engine: Engine) {
        let app = App::start(engine).await;
        by_hand(&app, "ada@example.com").await;
        rule(&app, "DOMAIN", "example.org").await;
        create_template(&app, &json!({})).await;
        let owner = mailwright_tests::browser::Browser::log_in(&app, mailwright_testkit::OWNER.0, mailwright_testkit::OWNER.1).await;
        let path = format!("/users/@me/projects/{}/reset", app.project_id());
        owner.request(&app, "POST", &path).json(&json!({})).send().await;
        assert_eq!(read(&app, "/suppressions").await["rules"], json!([]));
        assert_eq!(read(&app, "/suppressions/addresses").await["data"], json!([]));
    }
}
