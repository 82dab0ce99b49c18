//! What each operator of a filter finds.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{create_contact, sent_email, text, track_ok};
use serde_json::{Value, json};

use super::{create, dynamic, list_of, members, only, post};

/// Ann has everything, Bob almost the same in other types and letters, Cid nothing, Dee a little.
async fn people(app: &App) {
    let ann = json!({
        "plan": "pro", "score": 10, "vip": true, "since": "2024-03-05", "note": "50% off_now", "profile": {"tier": "gold"},
    });
    let bob = json!({
        "plan": "Pro", "score": "10", "vip": false, "since": "2024-03-05T23:59:59.999Z", "note": "50 off now",
        "profile": {"tier": "tin"}, "seen": "2020-01-01T00:00:00Z",
    });
    let ann = create_contact(app, "ann@example.com", true, ann).await;
    create_contact(app, "bob@example.com", false, bob).await;
    create_contact(app, "cid@example.com", true, json!({})).await;
    create_contact(app, "dee@example.com", true, json!({"score": 3.5, "since": "2024-03-06"})).await;
    let seen = json!({"data": {"seen": ann["createdAt"]}});
    app.patch(&format!("/contacts/{}", text(&ann["id"]))).json(&seen).send().await.assert_status(200);
    track_ok(app, json!({"email": "ann@example.com", "event": "bought"})).await;
    sent_email(app, &json!(app.send_to("ann@example.com").await)).await;
}

/// The first letters of the members of a segment with this condition, in the order of the alphabet.
async fn found(app: &App, condition: &Value) -> String {
    let segment = dynamic(app, "Some", condition).await;
    let mut members = members(app, &segment).await;
    assert_eq!(segment["memberCount"], members.len(), "{condition}");
    members.sort();
    members.iter().map(|email| &email[..1]).collect()
}

both_engines! {
    async fn every_operator_finds_whom_it_should(engine: Engine) {
        let app = App::start(engine).await;
        people(&app).await;
        for (field, operator, value, expected) in [
            ("data.plan", "equals", json!("pro"), "a"),
            ("data.plan", "notEquals", json!("pro"), "b"),
            ("data.score", "equals", json!(10), "a"),
            ("data.score", "equals", json!("10"), "b"),
            ("data.score", "notEquals", json!(10), "bd"),
            ("data.vip", "equals", json!(true), "a"),
            ("data.vip", "notEquals", json!(true), "b"),
            ("data.profile.tier", "equals", json!("gold"), "a"),
            ("data.missing", "notEquals", json!("x"), ""),
            ("data.since", "equals", json!("2024-03-05"), "ab"),
            ("data.since", "notEquals", json!("2024-03-05"), "d"),
            ("data.note", "contains", json!("0% off_"), "a"),
            ("data.note", "contains", json!("50_off"), ""),
            ("data.note", "contains", json!("OFF"), ""),
            ("data.note", "notContains", json!("%"), "b"),
            ("data.score", "contains", json!("1"), "b"),
            ("data.score", "greaterThan", json!(3.5), "a"),
            ("data.score", "greaterThanOrEqual", json!(3.5), "ad"),
            ("data.score", "lessThan", json!(10), "d"),
            ("data.score", "lessThanOrEqual", json!(10), "ad"),
            ("data.since", "greaterThanOrEqual", json!("2024-03-06"), "d"),
            ("data.plan", "exists", Value::Null, "ab"),
            ("data.plan", "notExists", Value::Null, "cd"),
            ("email", "equals", json!("ANN@Example.com"), "a"),
            ("email", "notEquals", json!("ANN@Example.com"), "bcd"),
            ("email", "contains", json!("NN@"), "a"),
            ("email", "contains", json!("_nn"), ""),
            ("email", "notContains", json!("NN@"), "bcd"),
            ("subscribed", "equals", json!(true), "acd"),
            ("subscribed", "notEquals", json!(true), "b"),
            ("createdAt", "greaterThan", json!("2020-01-01"), "abcd"),
            ("updatedAt", "lessThanOrEqual", json!("2020-01-01T00:00:00Z"), ""),
            ("event.bought", "triggered", Value::Null, "a"),
            ("event.bought", "notTriggered", Value::Null, "bcd"),
            ("email.sent", "triggered", Value::Null, "a"),
            ("email.bounced", "notTriggered", Value::Null, "abcd"),
        ] {
            let filter = json!({"field": field, "operator": operator, "value": value});
            assert_eq!(found(&app, &only(&filter)).await, expected, "{filter}");
        }
        for (field, operator, value, unit, expected) in [
            ("data.seen", "within", 10, "minutes", "a"),
            ("data.seen", "olderThan", 24, "hours", "b"),
            ("createdAt", "within", 1, "days", "abcd"),
            ("updatedAt", "olderThan", 1, "hours", ""),
            ("event.bought", "triggeredWithin", 1, "hours", "a"),
            ("event.bought", "triggeredOlderThan", 10, "minutes", ""),
            ("event.bought", "notTriggeredWithin", 1, "days", "bcd"),
            ("email.sent", "triggeredWithin", 1, "days", "a"),
        ] {
            let filter = json!({"field": field, "operator": operator, "value": value, "unit": unit});
            assert_eq!(found(&app, &only(&filter)).await, expected, "{filter}");
        }
        let list = list_of(&app, "List", &["ann@example.com", "dee@example.com"]).await;
        let field = format!("segment.{}", text(&list["id"]));
        for (operator, expected) in [("memberOfSegment", "ad"), ("notMemberOfSegment", "bc")] {
            assert_eq!(found(&app, &only(&json!({"field": field, "operator": operator}))).await, expected);
        }
    }

    async fn groups_are_combined_and_nested(engine: Engine) {
        let app = App::start(engine).await;
        people(&app).await;
        let is = |field: &str, value: Value| json!({"field": field, "operator": "equals", "value": value});
        let pro = is("data.plan", json!("pro"));
        let capital = is("data.plan", json!("Pro"));
        let small = is("data.score", json!(3.5));
        let subscribed = is("subscribed", json!(true));
        let either = json!({"logic": "OR", "groups": [{"filters": [pro]}, {"filters": [capital]}, {"filters": [small]}]});
        assert_eq!(found(&app, &either).await, "abd");
        let both = json!({"logic": "AND", "groups": [{"filters": [subscribed]}, {"filters": [pro]}]});
        assert_eq!(found(&app, &both).await, "a");
        let filters = json!({"logic": "AND", "groups": [{"filters": [subscribed, small]}]});
        assert_eq!(found(&app, &filters).await, "d");
        let nested = json!({"logic": "AND", "groups": [{"filters": [subscribed], "conditions": either}]});
        assert_eq!(found(&app, &nested).await, "ad");
        let deep = json!({"logic": "OR", "groups": [{"filters": [], "conditions": nested}, {"filters": [capital]}]});
        assert_eq!(found(&app, &deep).await, "abd");
        // ten levels are allowed, an eleventh is not
        let deeper = |levels: usize| (1..levels).fold(both.clone(), |tree, _| {
            json!({"logic": "AND", "groups": [{"filters": [], "conditions": tree}]})
        });
        assert_eq!(found(&app, &deeper(10)).await, "a");
        let refused = post(&app, &json!({"name": "Deep", "condition": deeper(11)})).await;
        refused.assert_error(400, "VALIDATION_ERROR");
        create(&app, json!({"name": "Fine", "condition": deeper(2)})).await;
    }
}
