//! What the service does by itself as time passes: schedules, contacts that leave a window, requests to confirm. What was
//! due before the restore may have been done, so its mails are held; what is due afterwards is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::browser::change_project;
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_contact, create_template, text};

use super::{copies, held, receiver, start, sum, unsettled, until_held};

const DAILY: &str = "daily@example.com";
const YOUNG: &str = "young@example.com";
const ASKED: &str = "asked@example.com";

/// A workflow that sends a mail.
async fn sending<'a>(app: &'a App, event: &str, changes: Value) -> Flow<'a> {
    let template =
        create_template(app, &json!({"name": event, "subject": event, "type": "TRANSACTIONAL"})).await;
    let flow = Flow::new(app, event).await;
    flow.then("SEND_EMAIL", json!({"templateId": template["id"]})).await;
    flow.change(changes).await;
    flow.enable().await;
    flow
}

/// A segment of one kind of contact, as far as they are older than half an hour.
async fn aged(app: &App) {
    let kind = json!({"field": "data.kind", "operator": "equals", "value": "young"});
    let age = json!({"field": "createdAt", "operator": "olderThan", "value": 30, "unit": "minutes"});
    let condition = json!({"logic": "AND", "groups": [{"filters": [kind, age]}]});
    let body = json!({"name": "Aged", "condition": condition, "trackMembership": true});
    app.post("/segments").json(&body).send().await.assert_status(201);
}

both_engines! {
    async fn what_was_due_before_the_restore_is_held_and_what_is_due_later_is_sent(engine: Engine) {
        let folder = tempfile::tempdir().expect("a folder");
        let server = receiver().await;
        let mut app = start(engine, &server, 0).await;
        aged(&app).await;
        sending(&app, "segment.aged.entry", json!({"allowReentry": true})).await;
        create_contact(&app, YOUNG, true, json!({"kind": "young"})).await;
        let listed = create_contact(&app, DAILY, true, json!({})).await;
        let list = app.post("/segments").json(&json!({"name": "List", "type": "STATIC"})).send().await;
        let list = list.assert_status(201).json();
        let members = format!("/segments/{}/members", text(&list["id"]));
        app.post(&members).json(&json!({"emails": [DAILY]})).send().await.assert_status(200);
        // at every full hour
        let today = text(&listed["createdAt"]).split('T').next().expect("a date").to_owned();
        let schedule = json!({
            "segmentId": list["id"], "start": format!("{today}T00:00"), "repeat": "rule", "rule": "FREQ=HOURLY",
        });
        let hourly = json!({"triggerType": "SCHEDULE", "triggerConfig": schedule, "allowReentry": true});
        sending(&app, "never", hourly).await;
        // somebody is asked to confirm
        change_project(&app, &json!({"doubleOptIn": true})).await;
        create_contact(&app, ASKED, true, json!({})).await;
        app.eventually("the mail that asks", async || copies(&server).contains_key(ASKED).then_some(())).await;
        app.kill();
        // as it was in the moment before
        app.tamper("update confirmations set due_at = requested_at, mailed_at = null").await;
        let sent = copies(&server);
        assert_eq!(sent, BTreeMap::from([(ASKED.to_owned(), 1)]));

        let backup = folder.path().join("backup");
        app.back_up(&backup).await;
        // a mail that was on the wire when the service was killed is held as well
        let waiting = unsettled(&app.load(&backup).await);
        app.advance(Duration::from_hours(2)).await;
        app.put_back(&backup).await;
        app.restart().await;
        let each: BTreeMap<String, usize> = [DAILY, YOUNG, ASKED].map(|to| (to.to_owned(), 1)).into();
        until_held(&app, |held| *held == sum(&each, &waiting)).await;
        let all_held = held(&app).await;
        assert_eq!(all_held, sum(&each, &waiting));
        assert_eq!(copies(&server), sent, "nothing left by itself");

        // the next full hour comes after the restore
        app.advance(Duration::from_hours(1)).await;
        app.eventually("the next of the schedule", async || copies(&server).contains_key(DAILY).then_some(())).await;
        let expected = sum(&sent, &BTreeMap::from([(DAILY.to_owned(), 1)]));
        assert_eq!(copies(&server), expected);
        assert_eq!(held(&app).await, all_held);
        // a contact that comes after the restore is asked, and sent to, as ever
        create_contact(&app, "new@example.com", true, json!({"kind": "young"})).await;
        app.advance(Duration::from_mins(31)).await;
        app.eventually("a new contact leaves the window", async || {
            (copies(&server).get("new@example.com") == Some(&2)).then_some(())
        })
        .await;
        assert_eq!(held(&app).await, all_held);
    }
}
