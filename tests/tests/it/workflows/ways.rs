//! How often each branch of a choice, and each outcome of a wait, was taken.

use std::time::Duration;

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{create_contact, items, read, text, track_ok};
use serde_json::{Value, json};

/// A little more than contacts wait here.
const OVER_AN_HOUR: Duration = Duration::from_secs(3_601);

/// What was counted of the ways on from these steps.
async fn ways(app: &App, flow: &Flow<'_>, steps: &[&String]) -> Vec<Value> {
    let stats = read(app, &flow.path("/stats")).await;
    let of =
        |id: &&String| items(&stats["steps"]).iter().find(|step| step["stepId"] == **id).expect("a step");
    steps.iter().map(|id| of(id)["branches"].clone()).collect()
}

/// Executions of contacts with these plans.
async fn begun(app: &App, flow: &Flow<'_>, plans: &[&str]) -> Vec<(Value, String)> {
    let mut begun = Vec::new();
    for (index, plan) in plans.iter().enumerate() {
        let email = format!("{plan}{index}@example.com");
        let contact = create_contact(app, &email, true, json!({"plan": plan})).await;
        let id = flow.start(&contact["id"], json!({})).await;
        begun.push((contact, id));
    }
    begun
}

both_engines! {
    async fn branches_and_outcomes_are_counted_and_stay_so(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "signup").await;
        let wait = flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid", "timeout": 3600})).await;
        let branches = [
            json!({"id": "p", "name": "Pro", "operator": "equals", "value": "pro"}),
            json!({"id": "t", "name": "Team", "operator": "equals", "value": "team"}),
        ];
        let choice = flow.then("CONDITION", json!({"mode": "multi", "field": "data.plan", "branches": branches})).await;
        let plain = flow.loose("CONDITION", json!({"field": "data.plan", "operator": "equals", "value": "team"})).await;
        flow.link(&choice, &plain, json!({"branch": "t"})).await;
        flow.enable().await;
        let steps = [&flow.trigger, &wait, &choice, &plain];
        assert_eq!(ways(&app, &flow, &steps).await, [json!({}), json!({}), json!({}), json!({})]);

        let people = begun(&app, &flow, &["pro", "team", "free", "free"]).await;
        for (contact, id) in &people[..2] {
            flow.once(id, "WAITING").await;
            track_ok(&app, json!({"email": contact["email"], "event": "paid"})).await;
            flow.once(id, "COMPLETED").await;
        }
        // whoever goes takes no way
        app.delete(&flow.path(&format!("/executions/{}", people[2].1))).send().await.assert_status(200);
        app.advance(OVER_AN_HOUR).await;
        flow.once(&people[3].1, "COMPLETED").await;
        let counted = [json!({}), json!({"EVENT": 2, "TIMEOUT": 1}), json!({"p": 1, "t": 1, "default": 1}), json!({"yes": 1})];
        assert_eq!(ways(&app, &flow, &steps).await, counted);

        // what happened stays counted
        for (contact, _) in &people {
            app.delete(&format!("/contacts/{}", text(&contact["id"]))).send().await.assert_status(204);
        }
        assert_eq!(ways(&app, &flow, &steps).await, counted);
    }
}
