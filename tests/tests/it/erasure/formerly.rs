//! People whose address was changed are erased under their former addresses as well.

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{create_contact, send_ok, text, track_ok};

use super::{completed, erased, owner, rows_with};

const OLD: &str = "old.ann@people.example";
const NEW: &str = "new.ann@people.example";

/// A contact that was known by the old address, and has the new one.
async fn moved(app: &App) -> Value {
    let ann = create_contact(app, OLD, true, json!({})).await;
    for (to, reply) in [(OLD, "help@people.example"), ("bob@people.example", OLD)] {
        let mail = json!({
            "to": to, "reply": reply, "subject": format!("A word for {to}"), "body": format!("<p>{to}</p>"),
            "from": app.from(),
        });
        let sent = send_ok(app, mail).await;
        app.email_in(text(&sent["emails"][0]["email"]), &["SENT"]).await;
    }
    let path = format!("/contacts/{}", text(&ann["id"]));
    app.patch(&path).json(&json!({"email": NEW})).send().await.assert_status(200);
    // what knows an address and no contact
    app.post("/suppressions/addresses").json(&json!({"email": OLD})).send().await.assert_status(201);
    track_ok(app, json!({"email": NEW, "event": "seen"})).await;
    ann
}

both_engines! {
    async fn a_contact_is_erased_under_the_address_that_it_had(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let ann = moved(&app).await;
        let exported = app.get(&format!("/contacts/{}/export", text(&ann["id"]))).send().await;
        let exported = exported.assert_status(200).json();
        assert_eq!(exported["formerAddresses"][0]["email"], OLD);
        erased(&app, &owner, &ann["id"], json!({})).await;
        assert_eq!(rows_with(&app, NEW).await, []);
        let mut left = rows_with(&app, OLD).await;
        // the mail to somebody else says what it says
        left.retain(|(table, row)| !row.contains("bob@people.example") && table != "contents");
        assert_eq!(left, []);
    }

    async fn an_address_is_erased_although_its_contact_has_another_one_now(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let ann = moved(&app).await;
        let request = owner.in_project(&app, app.project_id(), "POST", "/erasures");
        let begun = request.json(&json!({"email": OLD})).send().await.assert_status(202).json();
        let done = completed(&app, &owner, text(&begun["id"])).await;
        for (what, count) in [("emails", 1), ("captured", 1), ("suppressions", 1)] {
            assert_eq!(done["counts"][what], count, "{done}");
        }
        let mut left = rows_with(&app, OLD).await;
        left.retain(|(table, row)| !row.contains("bob@people.example") && table != "contents");
        assert_eq!(left, []);
        // the contact itself is another person's business
        let kept = app.get(&format!("/contacts/{}", text(&ann["id"]))).send().await.assert_status(200).json();
        assert_eq!(kept["email"], NEW);
        let seen = app.get("/events?eventName=seen").send().await.assert_status(200).json();
        assert_eq!(seen["events"].as_array().map(Vec::len), Some(1));
    }

    async fn an_address_that_somebody_else_has_by_now_is_left_alone(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let ann = moved(&app).await;
        let path = format!("/suppressions/addresses/{OLD}");
        let key = app.secret_key();
        app.request("DELETE", &path).bearer(key).send().await.assert_status(204);
        create_contact(&app, OLD, true, json!({})).await;
        app.post("/suppressions/addresses").json(&json!({"email": OLD})).send().await.assert_status(201);
        erased(&app, &owner, &ann["id"], json!({})).await;
        let listed = app.list_all("/suppressions/addresses").await;
        assert_eq!(listed.iter().map(|entry| &entry["email"]).collect::<Vec<_>>(), [OLD]);
    }
}
