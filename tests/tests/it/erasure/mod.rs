//! Export and erasure of a person.

mod completeness;
mod export;
mod filled;
mod formerly;
mod kept_out;
mod mail;
mod receipts;
mod size;

use mailwright_testkit::{App, OWNER, Response, Value, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::text;

/// Asks for the erasure of a contact.
async fn try_erase(app: &App, owner: &Browser, contact: &Value, body: Value) -> Response {
    let path = format!("/contacts/{}/erase", text(contact));
    owner.in_project(app, app.project_id(), "POST", &path).json(&body).send().await
}

/// The id of the receipt of such a request.
async fn erase(app: &App, owner: &Browser, contact: &Value, body: Value) -> String {
    let begun = try_erase(app, owner, contact, body).await.assert_status(202).json();
    text(&begun["id"]).to_owned()
}

async fn receipt(app: &App, owner: &Browser, id: &str) -> Value {
    let request = owner.in_project(app, app.project_id(), "GET", &format!("/erasures/{id}"));
    request.send().await.assert_status(200).json()
}

/// The receipt of an erasure once it is complete.
async fn completed(app: &App, owner: &Browser, id: &str) -> Value {
    app.eventually("the erasure is complete", async || {
        Some(receipt(app, owner, id).await).filter(|receipt| receipt["status"] == "COMPLETED")
    })
    .await
}

/// Erases a contact; the complete receipt.
async fn erased(app: &App, owner: &Browser, contact: &Value, body: Value) -> Value {
    let id = erase(app, owner, contact, body).await;
    completed(app, owner, &id).await
}

/// What is known of an address.
async fn standing(app: &App, owner: &Browser, email: &str) -> Value {
    let request = owner.in_project(app, app.project_id(), "POST", "/erasures/check");
    request.json(&json!({"email": email})).send().await.assert_status(200).json()
}

async fn owner(app: &App) -> Browser {
    Browser::log_in(app, OWNER.0, OWNER.1).await
}

/// The rows that have this somewhere, as text or as bytes.
async fn rows_with(app: &App, word: &str) -> Vec<(String, String)> {
    let listed: Vec<String> = word.bytes().map(|byte| format!("{byte:02x}")).collect();
    let (plain, listed) = (listed.concat(), listed.join(", "));
    let has = |row: &String| row.contains(word) || row.contains(&plain) || row.contains(&listed);
    let rows = app.rows().await;
    let found = rows.into_iter().flat_map(|(table, rows)| {
        rows.into_iter().filter(has).map(|row| (table.clone(), row)).collect::<Vec<_>>()
    });
    found.collect()
}

/// The names of the tables among rows.
fn tables(rows: &[(String, String)]) -> Vec<&str> {
    let mut tables: Vec<&str> = rows.iter().map(|(table, _)| table.as_str()).collect();
    tables.dedup();
    tables
}
