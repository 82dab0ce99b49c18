//! POST /contacts/bulk-subscribe, -unsubscribe and -delete.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_envelope, assert_only_keys, contact, create_contact, events_of, read,
    subscription_events, text, track_ok,
};
use serde_json::{Value, json};

use super::{bulk_path, finished, queued, total};

/// Runs an operation to its end and returns the result.
async fn done(app: &App, operation: &str, body: &Value) -> Value {
    let job = queued(&app.post(&format!("/contacts/bulk-{operation}")).json(body).send().await);
    let status = finished(app, &bulk_path(&job)).await;
    assert_eq!(status["state"], "completed", "{status}");
    let result = status["result"].clone();
    let keys = ["operation", "totalRequested", "successCount", "unchangedCount", "failureCount", "errors"];
    assert_only_keys(&result, &keys);
    assert_eq!(result["operation"], operation);
    result
}

/// Requested, succeeded, unchanged, failed.
fn counts(result: &Value) -> [i64; 4] {
    ["totalRequested", "successCount", "unchangedCount", "failureCount"]
        .map(|key| result[key].as_i64().expect("a number"))
}

fn ids(contacts: &[Value]) -> Vec<Value> {
    contacts.iter().map(|contact| contact["id"].clone()).collect()
}

both_engines! {
    async fn subscriptions_flip_once_each(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let foreign = json!({"email": "x@example.com", "subscribed": false});
        let foreign = as_project(&app, &other, "POST", "/contacts").json(&foreign).send().await.assert_status(201).json();
        let mut contacts = Vec::new();
        for (number, subscribed) in [true, false, false, true, false].into_iter().enumerate() {
            contacts.push(create_contact(&app, &format!("c{number}@example.com"), subscribed, json!({"n": number})).await);
        }
        let mut asked = ids(&contacts);
        asked.extend([json!(UNKNOWN_ID), foreign["id"].clone(), asked[0].clone(), asked[1].clone()]);

        let result = done(&app, "subscribe", &json!({"contactIds": asked})).await;
        assert_eq!(counts(&result), [7, 3, 2, 2], "an id that comes twice counts once");
        assert_eq!(result["errors"][0]["contactId"], UNKNOWN_ID);
        assert_eq!(result["errors"][1]["contactId"], foreign["id"]);
        assert_only_keys(&result["errors"][0], &["contactId", "email", "error"]);
        let result = done(&app, "unsubscribe", &json!({"mode": "ids", "contactIds": asked[..5]})).await;
        assert_eq!((counts(&result), &result["errors"]), ([5, 5, 0, 0], &json!([])));
        let result = done(&app, "unsubscribe", &json!({"contactIds": asked[..5]})).await;
        assert_eq!(counts(&result), [5, 0, 5, 0]);

        for (number, before) in contacts.iter().enumerate() {
            let now = contact(&app, &before["id"]).await;
            assert_eq!((&now["subscribed"], &now["data"]), (&json!(false), &json!({"n": number})));
            let events = subscription_events(&app, &before["id"]).await;
            let expected: &[&str] =
                if before["subscribed"] == true { &["contact.unsubscribed"] } else { &["contact.subscribed", "contact.unsubscribed"] };
            assert_eq!(events, expected);
        }
        assert_eq!(read(&app, "/contacts?subscribed=true").await["total"], 0);
        let path = format!("/contacts/{}", text(&foreign["id"]));
        let untouched = as_project(&app, &other, "GET", &path).send().await.assert_status(200).json();
        assert_eq!(untouched, without_meta(&foreign));
    }

    async fn deleting_takes_everything_about_a_contact(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let foreign = as_project(&app, &other, "POST", "/contacts").json(&json!({"email": "x@example.com"}));
        let foreign = foreign.send().await.assert_status(201).json();
        let mut contacts = Vec::new();
        for number in 0..60 {
            contacts.push(create_contact(&app, &format!("c{number}@example.com"), true, json!({"plan": "x"})).await);
        }
        // one has a long history, which takes several transactions
        for _ in 0..13 {
            let tracks = (0..50).map(|_| track_ok(&app, json!({"email": "c7@example.com", "event": "visit"})));
            join_all(tracks).await;
        }
        let kept = contacts.pop().expect("a contact");
        let mut asked = ids(&contacts);
        asked.push(foreign["id"].clone());
        let result = done(&app, "delete", &json!({"contactIds": asked})).await;
        assert_eq!(counts(&result), [60, 59, 0, 1]);
        assert_eq!(result["errors"][0]["contactId"], foreign["id"]);
        assert_eq!(total(&app).await, 1);
        for gone in &contacts {
            app.get(&format!("/contacts/{}", text(&gone["id"]))).send().await.assert_error(404, "CONTACT_NOT_FOUND");
        }
        assert!(events_of(&app, &kept["id"]).await.is_empty(), "deleting emits nothing");
        assert_eq!(read(&app, "/events").await["events"], json!([]), "the history is gone");
        let path = format!("/contacts/{}", text(&foreign["id"]));
        as_project(&app, &other, "GET", &path).send().await.assert_status(200);
        let usage = read(&app, "/contacts/fields/data.plan/usage").await;
        assert_eq!(usage["contactCount"], 1);
        let again = done(&app, "delete", &json!({"contactIds": ids(&contacts)})).await;
        assert_eq!(counts(&again), [59, 0, 0, 59]);
    }

    async fn a_thousand_ids_are_taken_and_one_more_is_not(engine: Engine) {
        let app = App::start(engine).await;
        crate::bulk::imported(&app, crate::bulk::numbered(1000)).await;
        let all = ids(&app.list_all("/contacts").await);
        assert_eq!(counts(&done(&app, "unsubscribe", &json!({"contactIds": all})).await), [1000, 1000, 0, 0]);
        assert_eq!(read(&app, "/contacts?subscribed=true").await["total"], 0);
        let page = read(&app, "/events?limit=1").await;
        assert_eq!(page["events"][0]["name"], "contact.unsubscribed");

        let mut more = all.clone();
        more.push(json!(UNKNOWN_ID));
        for operation in ["subscribe", "unsubscribe", "delete"] {
            let post = |body: Value| app.post(&format!("/contacts/bulk-{operation}")).json(&body).send();
            for body in [
                json!({"contactIds": more}),
                json!({"contactIds": []}),
                json!({}),
                json!([]),
                json!({"contactIds": "all"}),
                json!({"contactIds": {"a": 1}}),
                json!({"contactIds": [1]}),
                json!({"contactIds": ["not an id"]}),
                json!({"mode": "query", "filter": {}}),
                json!({"mode": 1, "contactIds": all[..1]}),
            ] {
                assert_eq!(assert_envelope(&post(body).await, 422), "VALIDATION_ERROR");
            }
        }
        assert_eq!(total(&app).await, 1000);
    }
}

fn without_meta(contact: &Value) -> Value {
    mailwright_tests::without(contact.clone(), "_meta")
}
