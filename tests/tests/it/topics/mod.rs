//! Topics, the evidence of consent, and double opt-in: what people chose, how that is known, and that mail keeps to it.

mod confirmation;
mod consent;
mod mailing;
mod pages;
mod records;

use mailwright_testkit::{App, Value, json};
use mailwright_tests::browser::change_project;
use mailwright_tests::{items, read, text, with};

/// A topic made with `changes` put over a public one.
async fn topic(app: &App, name: &str, changes: &Value) -> Value {
    let body = with(json!({"name": name}), changes);
    app.post("/topics").json(&body).send().await.assert_status(201).json()
}

/// Puts a contact into a topic, or takes it out.
async fn set(app: &App, contact: &Value, topic: &Value, subscribed: bool) -> Value {
    let body = json!({"topics": [{"id": topic["id"], "subscribed": subscribed}]});
    let path = format!("/contacts/{}/topics", text(&contact["id"]));
    app.put(&path).json(&body).send().await.assert_status(200).json()
}

/// How a contact stands to a topic.
async fn standing(app: &App, contact: &Value, topic: &Value) -> Value {
    let all = read(app, &format!("/contacts/{}/topics", text(&contact["id"]))).await;
    items(&all["data"]).iter().find(|one| one["id"] == topic["id"]).expect("the topic").clone()
}

/// The evidence of a contact's consent, newest first: what changed, by which way, and for which topic.
async fn evidence(app: &App, contact: &Value) -> Vec<(String, String, Value)> {
    let list = read(app, &format!("/contacts/{}/consent", text(&contact["id"]))).await;
    let row =
        |row: &Value| (text(&row["change"]).to_owned(), text(&row["way"]).to_owned(), row["topic"].clone());
    items(&list["data"]).iter().map(row).collect()
}
