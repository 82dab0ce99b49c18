//! What steps do: mails, changes of contacts and of segments, EXIT, goals, and what they do not let out of the context.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::{Flow, output, taken};
use mailwright_tests::{assert_timestamp, contact, create_contact, create_template, items, mail_to, read};
use mailwright_tests::{sent_email, subscription_events, text, track_ok};
use serde_json::{Value, json};

const OVER_AN_HOUR: Duration = Duration::from_secs(3_601);

/// An enabled workflow of these steps and an EXIT.
async fn enabled<'a>(app: &'a App, event: &str, steps: &[(&str, Value)]) -> Flow<'a> {
    let flow = Flow::new(app, event).await;
    for (kind, config) in steps {
        flow.then(kind, config.clone()).await;
    }
    flow.then("EXIT", json!({})).await;
    flow.enable().await;
    flow
}

/// An hour's pause.
fn pause() -> (&'static str, Value) {
    ("DELAY", json!({"amount": 1, "unit": "hours"}))
}

/// A step that sends a new template of this type, whose subject is the type.
async fn mail_of_type(app: &App, kind: &str) -> (&'static str, Value) {
    let template = create_template(app, &json!({"type": kind, "subject": kind})).await;
    ("SEND_EMAIL", json!({"templateId": template["id"]}))
}

async fn patch(app: &App, contact: &Value, changes: Value) {
    let path = format!("/contacts/{}", text(&contact["id"]));
    app.patch(&path).json(&changes).send().await.assert_status(200);
}

/// The subjects of the mails captured for an address, in the order of the alphabet, once there are so many.
async fn subjects(app: &App, to: &str, count: usize) -> Vec<String> {
    app.eventually(&format!("{count} mails for {to}"), async || {
        let mails = app.mailbox_for(to).await;
        let mut subjects: Vec<String> = mails.iter().map(|mail| text(&mail["subject"]).to_owned()).collect();
        subjects.sort();
        (subjects.len() >= count).then_some(subjects)
    })
    .await
}

/// The addresses of a segment's members, in the order of the alphabet.
async fn members_of(app: &App, segment: &Value) -> Vec<String> {
    let page = read(app, &format!("/segments/{}/contacts?pageSize=100", text(&segment["id"]))).await;
    let mut emails: Vec<String> =
        items(&page["data"]).iter().map(|contact| text(&contact["email"]).to_owned()).collect();
    emails.sort();
    emails
}

both_engines! {
    async fn a_mail_goes_to_the_contact_or_to_an_address_of_the_step(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(&app, &json!({"subject": "About {{email}}"})).await;
        let id = &template["id"];
        for (n, (config, changes, custom)) in [
            (json!({"templateId": id}), json!({}), None),
            (json!({}), json!({"templateId": id}), None),
            (json!({"templateId": id, "recipient": {"type": "CONTACT"}}), json!({}), None),
            (
                json!({"templateId": id, "recipient": {"type": "CUSTOM", "customEmail": "boss@example.com"}}),
                json!({}), Some("boss@example.com"),
            ),
        ].into_iter().enumerate() {
            let flow = Flow::new(&app, "begun").await;
            flow.try_add("SEND_EMAIL", &config, &changes).await.assert_status(201);
            flow.enable().await;
            let email = format!("c{n}@example.com");
            let contact = create_contact(&app, &email, true, json!({})).await;
            let execution = flow.start(&contact["id"], json!({})).await;
            let ended = flow.once(&execution, "COMPLETED").await;
            let told = output(&ended, "SEND_EMAIL");
            let recipient = custom.unwrap_or(&email);
            assert_eq!(told["recipientEmail"], recipient);
            assert_eq!(told["recipientType"], if custom.is_some() { "CUSTOM" } else { "CONTACT" });
            assert_timestamp(&told["sentAt"]);
            let mail = mail_to(&app, recipient).await;
            assert!(text(&mail["subject"]).starts_with("About "), "{mail}");
            sent_email(&app, &told["emailId"]).await;
            if custom.is_some() {
                assert!(app.mailbox_for(&email).await.is_empty(), "nothing for the contact itself");
            }
        }
    }

    async fn a_mail_without_a_template_fails_the_execution(engine: Engine) {
        let app = App::start(engine).await;
        let steps = [("SEND_EMAIL", json!({})), ("UPDATE_CONTACT", json!({"updates": {"reached": true}}))];
        let flow = enabled(&app, "begun", &steps).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let id = flow.start(&ann["id"], json!({})).await;
        let failed = flow.once(&id, "FAILED").await;
        assert_eq!(taken(&failed), ["TRIGGER COMPLETED", "SEND_EMAIL FAILED"]);
        assert!(!text(&failed["stepExecutions"][1]["error"]).is_empty(), "{failed}");
        assert_timestamp(&failed["completedAt"]);
        assert_eq!(contact(&app, &ann["id"]).await["data"], json!({}));
        assert!(app.mailbox_for("ann@example.com").await.is_empty());
    }

    async fn who_unsubscribes_on_the_way_gets_transactional_mail_only(engine: Engine) {
        let app = App::start(engine).await;
        let mut steps = vec![mail_of_type(&app, "MARKETING").await, pause()];
        for kind in ["TRANSACTIONAL", "MARKETING", "HEADLESS"] {
            steps.push(mail_of_type(&app, kind).await);
        }
        let flow = enabled(&app, "begun", &steps).await;
        let mut begun = Vec::new();
        for email in ["ann@example.com", "bob@example.com"] {
            let contact = create_contact(&app, email, true, json!({})).await;
            let id = flow.start(&contact["id"], json!({})).await;
            flow.once(&id, "WAITING").await;
            assert_eq!(subjects(&app, email, 1).await, ["MARKETING"]);
            begun.push((contact, id));
        }
        patch(&app, &begun[0].0, json!({"subscribed": false})).await;
        app.advance(OVER_AN_HOUR).await;
        let ann = flow.once(&begun[0].1, "EXITED").await;
        assert_eq!(taken(&ann)[3..], [
            "SEND_EMAIL COMPLETED", "SEND_EMAIL SKIPPED", "SEND_EMAIL SKIPPED", "EXIT COMPLETED",
        ]);
        for step in &items(&ann["stepExecutions"])[4..6] {
            assert_eq!(step["output"]["skipped"], "unsubscribed", "{step}");
        }
        let bob = flow.once(&begun[1].1, "EXITED").await;
        assert!(!taken(&bob).iter().any(|step| step.ends_with("SKIPPED")), "{bob}");
        let all = ["HEADLESS", "MARKETING", "MARKETING", "TRANSACTIONAL"];
        assert_eq!(subjects(&app, "bob@example.com", 4).await, all);
        assert_eq!(subjects(&app, "ann@example.com", 2).await, ["MARKETING", "TRANSACTIONAL"]);
    }

    async fn an_address_that_bounced_gets_no_mail(engine: Engine) {
        let server = ScriptedServer::start(|to, attempt| match (to, attempt) {
            ("gone@example.com", 1) => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let flow = enabled(&app, "begun", &[mail_of_type(&app, "TRANSACTIONAL").await]).await;
        let gone = create_contact(&app, "gone@example.com", true, json!({})).await;
        let there = create_contact(&app, "there@example.com", true, json!({})).await;
        let email = app.send_to("gone@example.com").await;
        app.email_in(&email, &["BOUNCED"]).await;
        let id = flow.start(&gone["id"], json!({})).await;
        let ended = flow.once(&id, "EXITED").await;
        assert_eq!(taken(&ended), ["TRIGGER COMPLETED", "SEND_EMAIL SKIPPED", "EXIT COMPLETED"]);
        assert_eq!(output(&ended, "SEND_EMAIL")["skipped"], "suppressed");
        let id = flow.start(&there["id"], json!({})).await;
        let ended = flow.once(&id, "EXITED").await;
        sent_email(&app, &output(&ended, "SEND_EMAIL")["emailId"]).await;
    }

    async fn updates_follow_the_rules_of_custom_data(engine: Engine) {
        let app = App::start(engine).await;
        let updates = json!({"plan": "pro", "old": null, "kept": "", "n": 2, "email": "evil@example.com", "id": "x"});
        let flow = enabled(&app, "begun", &[("UPDATE_CONTACT", json!({"updates": updates}))]).await;
        let data = json!({"plan": "free", "old": 1, "kept": "k", "other": {"a": 1}});
        let ann = create_contact(&app, "ann@example.com", true, data).await;
        let id = flow.start(&ann["id"], json!({})).await;
        let ended = flow.once(&id, "EXITED").await;
        let after = contact(&app, &ann["id"]).await;
        let expected = json!({"plan": "pro", "kept": "k", "other": {"a": 1}, "n": 2});
        assert_eq!((&after["data"], &after["email"]), (&expected, &json!("ann@example.com")));
        assert_eq!(after["subscribed"], true);
        let told = output(&ended, "UPDATE_CONTACT");
        assert_eq!((&told["updated"], &told["newData"]), (&json!(true), &expected), "{told}");
    }

    async fn an_update_keeps_what_others_write_meanwhile(engine: Engine) {
        let app = App::start(engine).await;
        let flow = enabled(&app, "begun", &[
            ("UPDATE_CONTACT", json!({"updates": {"first": true}})),
            ("UPDATE_CONTACT", json!({"updates": {"second": true}})),
        ]).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let patches = (0..10).map(|n| patch(&app, &ann, json!({"data": {(format!("k{n}")): n}})));
        let (id, _) = tokio::join!(flow.start(&ann["id"], json!({})), join_all(patches));
        flow.once(&id, "EXITED").await;
        let data = contact(&app, &ann["id"]).await["data"].clone();
        let mut expected = json!({"first": true, "second": true});
        for n in 0..10 {
            expected[format!("k{n}")] = json!(n);
        }
        assert_eq!(data, expected);
    }

    async fn a_change_of_subscription_is_an_event_that_begins_workflows(engine: Engine) {
        let app = App::start(engine).await;
        let unsubscribed = enabled(&app, "contact.unsubscribed", &[]).await;
        let subscribed = enabled(&app, "contact.subscribed", &[]).await;
        for (n, (before, action, after, event)) in [
            (true, "unsubscribe", false, Some("contact.unsubscribed")),
            (false, "subscribe", true, Some("contact.subscribed")),
            (true, "subscribe", true, None),
            (false, "unsubscribe", false, None),
            (true, "none", true, None),
        ].into_iter().enumerate() {
            let update = json!({"updates": {"n": n}, "subscriptionAction": action});
            let flow = enabled(&app, "begun", &[("UPDATE_CONTACT", update)]).await;
            let one = create_contact(&app, &format!("c{n}@example.com"), before, json!({})).await;
            let id = flow.start(&one["id"], json!({})).await;
            let ended = flow.once(&id, "EXITED").await;
            assert_eq!(output(&ended, "UPDATE_CONTACT")["subscribed"], after, "{action}");
            let changed = contact(&app, &one["id"]).await;
            assert_eq!((&changed["subscribed"], &changed["data"]), (&json!(after), &json!({"n": n})), "{action}");
            assert_eq!(subscription_events(&app, &one["id"]).await, Vec::from_iter(event), "{action}");
            if let Some(event) = event {
                let begun = if event == "contact.subscribed" { &subscribed } else { &unsubscribed };
                let execution = begun.of_contact(&one["id"], 1).await;
                begun.once(text(&execution[0]["id"]), "EXITED").await;
            }
        }
        assert_eq!((subscribed.executions().await.len(), unsubscribed.executions().await.len()), (1, 1));
        // nothing but the subscription need be changed
        let flow = enabled(&app, "begun", &[("UPDATE_CONTACT", json!({"subscriptionAction": "unsubscribe"}))]).await;
        let one = create_contact(&app, "last@example.com", true, json!({})).await;
        let id = flow.start(&one["id"], json!({})).await;
        flow.once(&id, "EXITED").await;
        assert_eq!(contact(&app, &one["id"]).await["subscribed"], false);
    }

    async fn contacts_are_put_on_a_list_and_taken_off(engine: Engine) {
        let app = App::start(engine).await;
        let list = json!({"name": "List", "type": "STATIC"});
        let list = app.post("/segments").json(&list).send().await.assert_status(201).json();
        let config = json!({"segmentId": list["id"]});
        let flow = enabled(&app, "begun", &[
            ("ADD_TO_SEGMENT", config.clone()), pause(), ("REMOVE_FROM_SEGMENT", config.clone()),
        ]).await;
        let removing = enabled(&app, "begun", &[("REMOVE_FROM_SEGMENT", config)]).await;
        let path = format!("/segments/{}/members", text(&list["id"]));
        // one is a member before, and a third stays one
        for email in ["ann@example.com", "bob@example.com", "cid@example.com"] {
            create_contact(&app, email, true, json!({})).await;
        }
        let emails = json!({"emails": ["bob@example.com", "cid@example.com"]});
        app.post(&path).json(&emails).send().await.assert_status(200);
        let mut ids = Vec::new();
        for email in ["ann@example.com", "bob@example.com"] {
            let known = json!({"email": email});
            let contact = app.post("/contacts").json(&known).send().await.assert_status(200).json();
            let id = flow.start(&contact["id"], json!({})).await;
            flow.once(&id, "WAITING").await;
            ids.push((contact, id));
        }
        assert_eq!(members_of(&app, &list).await, ["ann@example.com", "bob@example.com", "cid@example.com"]);
        let stored = read(&app, &format!("/segments/{}", text(&list["id"]))).await;
        assert_eq!(stored["memberCount"], 3);
        app.advance(OVER_AN_HOUR).await;
        for (contact, id) in &ids {
            flow.once(id, "EXITED").await;
            // who is no member is left so
            let id = removing.start(&contact["id"], json!({})).await;
            removing.once(&id, "EXITED").await;
        }
        assert_eq!(members_of(&app, &list).await, ["cid@example.com"]);
        let stored = read(&app, &format!("/segments/{}", text(&list["id"]))).await;
        assert_eq!(stored["memberCount"], 1);
    }

    async fn an_exit_says_why(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        for (config, reason) in [(json!({}), "exit_step"), (json!({"reason": "moved away"}), "moved away")] {
            let flow = Flow::new(&app, "begun").await;
            flow.then("EXIT", config).await;
            flow.enable().await;
            let id = flow.start(&ann["id"], json!({})).await;
            let ended = flow.once(&id, "EXITED").await;
            assert_eq!(ended["exitReason"], reason);
            assert_timestamp(&ended["completedAt"]);
            let told = output(&ended, "EXIT");
            assert_eq!((&told["exited"], &told["reason"]), (&json!(true), &json!(reason)));
        }
    }

    async fn a_goal_that_is_reached_ends_the_execution(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "begun").await;
        flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        flow.then("UPDATE_CONTACT", json!({"updates": {"reminded": true}})).await;
        flow.change(json!({"goal": {"eventName": "bought"}})).await;
        flow.enable().await;
        let mut begun = Vec::new();
        for email in ["ann@example.com", "bob@example.com"] {
            let contact = create_contact(&app, email, true, json!({})).await;
            let id = flow.start(&contact["id"], json!({})).await;
            flow.once(&id, "WAITING").await;
            begun.push((contact, id));
        }
        track_ok(&app, json!({"email": "ann@example.com", "event": "bought"})).await;
        let reached = flow.once(&begun[0].1, "EXITED").await;
        assert_eq!((&reached["exitReason"], &reached["converted"]), (&json!("goal"), &json!(true)));
        assert_timestamp(&reached["completedAt"]);
        app.advance(OVER_AN_HOUR).await;
        let other = flow.once(&begun[1].1, "COMPLETED").await;
        assert_eq!((&other["exitReason"], &other["converted"]), (&Value::Null, &json!(false)));
        let still = flow.execution(&begun[0].1).await;
        assert_eq!((&still["status"], taken(&still).len()), (&json!("EXITED"), 2), "{still}");
        for ((one, _), data) in begun.iter().zip([json!({}), json!({"reminded": true})]) {
            assert_eq!(contact(&app, &one["id"]).await["data"], data);
        }
    }

    async fn the_context_lasts_through_waits_and_never_reaches_the_contact(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(&app, &json!({
            "subject": "{{name}}|{{data.name}}|{{event.code}}|{{pin}}|{{note}}",
        })).await;
        let flow = enabled(&app, "ordered", &[
            pause(),
            ("WAIT_FOR_EVENT", json!({"eventName": "paid"})),
            ("UPDATE_CONTACT", json!({"updates": {"paid": true}})),
            ("SEND_EMAIL", json!({"templateId": template["id"]})),
        ]).await;
        let once = |value: &str| json!({"value": value, "persistent": false});
        let ann = create_contact(&app, "ann@example.com", true, json!({"name": "Ann"})).await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "ordered", "data": {
            "name": once("Annie"), "code": once("C-1"), "note": once("{{email}}"),
        }})).await;
        flow.only("WAITING").await;
        app.advance(OVER_AN_HOUR).await;
        app.eventually("it waits for the event", async || {
            let waiting = flow.only("WAITING").await;
            (waiting["currentStep"]["type"] == "WAIT_FOR_EVENT").then_some(())
        }).await;
        let paid = json!({"email": "ann@example.com", "event": "paid", "data": {"pin": once("4711")}});
        track_ok(&app, paid).await;
        flow.only("EXITED").await;
        assert_eq!(mail_to(&app, "ann@example.com").await["subject"], "Annie|Ann|C-1|4711|{{email}}");
        assert_eq!(contact(&app, &ann["id"]).await["data"], json!({"name": "Ann", "paid": true}));
    }

    async fn every_step_acts_once_through_a_crash(engine: Engine) {
        let mut app = App::start(engine).await;
        let flow = enabled(&app, "begun", &[mail_of_type(&app, "TRANSACTIONAL").await]).await;
        let workflow = json!({"id": flow.id});
        join_all((0..30).map(|n| {
            track_ok(&app, json!({"email": format!("c{n}@example.com"), "event": "begun"}))
        })).await;
        app.kill();
        app.restart().await;
        let flow = Flow::of(&app, &workflow).await;
        app.eventually("all have ended and all mails are there", async || {
            let executions = flow.executions().await;
            let ended = executions.iter().filter(|execution| execution["status"] == "EXITED").count();
            (ended == 30 && app.list_all("/mailbox").await.len() >= 30).then_some(())
        }).await;
        let mut recipients = BTreeSet::new();
        for n in 0..30 {
            let email = format!("c{n}@example.com");
            recipients.insert(text(&mail_to(&app, &email).await["id"]).to_owned());
        }
        assert_eq!((recipients.len(), app.list_all("/mailbox").await.len()), (30, 30));
    }
}
