//! The export of a person.

use mailwright_testkit::{Engine, Value, both_engines, json};
use mailwright_tests::{create_contact, items, text};

use super::filled::{Scene, fill, started};

/// The sections that a filled person has rows in.
const SECTIONS: [&str; 18] = [
    "consents",
    "topics",
    "confirmations",
    "segments",
    "events",
    "emails",
    "hits",
    "captured",
    "received",
    "receivedMessages",
    "executions",
    "executionOutputs",
    "webhookRequests",
    "executionRefusals",
    "suppressions",
    "softBounces",
    "openedMonths",
    "verifications",
];

both_engines! {
    async fn an_export_has_everything_about_a_person_and_nothing_of_others(engine: Engine) {
        let (app, inbound) = started(engine).await;
        let scene = Scene::new(&app).await;
        let ann = fill(&app, inbound, &scene, "ann").await;
        let bob = fill(&app, inbound, &scene, "bob").await;
        let path = format!("/contacts/{}/export", text(&ann.contact));
        let answer = app.get(&path).send().await.assert_status(200);
        assert_eq!(answer.headers.get("content-type"), Some("application/json"));
        let document: Value = serde_json::from_str(&answer.text()).expect("JSON");
        assert_eq!(document["complete"], true);
        assert_eq!(document["contact"]["email"], ann.email);
        for section in SECTIONS {
            assert!(!items(&document[section]).is_empty(), "{section} is empty");
        }
        assert!(!items(&document["importRows"]).is_empty() && !items(&document["auditEntries"]).is_empty());
        let mail = items(&document["emails"]).iter().find(|mail| mail["subject"] == ann.word).expect("the mail");
        assert!(text(&mail["content"]["body"]).contains(&ann.word), "{mail}");
        assert!(!answer.text().contains(&bob.email) && !answer.text().contains(&bob.word));
        let unknown = app.get("/contacts/01a20000-0000-7000-8000-00000000ffff/export").send().await;
        unknown.assert_error(404, "CONTACT_NOT_FOUND");
    }

    async fn an_export_of_many_pages_has_each_row_once(engine: Engine) {
        let (app, _) = started(engine).await;
        let ann = create_contact(&app, "ann@people.example", true, json!({})).await;
        let one = json!({"email": "ann@people.example", "event": "viewed", "data": {"n": 1}});
        app.track(one).await.assert_status(200);
        let id = if engine == Engine::Sqlite { "randomblob(16)" } else { "gen_random_uuid()" };
        let numbers = app.numbers(0..=1699);
        app.tamper(&format!(
            "insert into events (project_id, id, name, contact_id, data, created_at) \
             select e.project_id, {id}, case when i % 2 = 0 then 'viewed' else 'clicked' end, e.contact_id, e.data, e.created_at \
             from {numbers} cross join (select * from events where name = 'viewed' limit 1) e"
        ))
        .await;
        let path = format!("/contacts/{}/export", text(&ann["id"]));
        let document = app.get(&path).send().await.assert_status(200).json();
        let events = items(&document["events"]);
        let mut ids: Vec<&str> = events.iter().map(|event| text(&event["id"])).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!((events.len(), ids.len()), (1701, 1701));
        assert_eq!(document["complete"], true);
    }
}
