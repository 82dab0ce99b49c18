//! Who may erase, and what is recorded of it.

use std::time::Duration;

use mailwright_testkit::{App, Engine, OWNER, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{create_contact, text};

use super::{completed, erased, owner, receipt, rows_with, standing, try_erase};

const ANN: &str = "ann@people.example";

both_engines! {
    async fn an_erasure_needs_proof_and_is_recorded_without_the_address(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let ann = create_contact(&app, ANN, true, json!({})).await;
        app.advance(Duration::from_mins(11)).await;
        try_erase(&app, &owner, &ann["id"], json!({})).await.assert_error(403, "PASSWORD_REQUIRED");
        let wrong = json!({"password": "something else entirely"});
        try_erase(&app, &owner, &ann["id"], wrong).await.assert_error(401, "INVALID_CREDENTIALS");
        app.get(&format!("/contacts/{}", text(&ann["id"]))).send().await.assert_status(200);
        let done = erased(&app, &owner, &ann["id"], json!({"password": OWNER.1, "keepOut": true})).await;
        assert_eq!(done["requestedBy"], json!({"type": "user", "id": owner.id}));
        let audit = owner.audit(&app, app.project_id()).await;
        let entry = audit.iter().find(|entry| entry["action"] == "person.erased").expect("an entry");
        assert_eq!((&entry["target"], &entry["details"]), (&done["id"], &json!({"keepOut": true})));
        assert_eq!(receipt(&app, &owner, text(&done["id"])).await, done);
        assert!(rows_with(&app, ANN).await.is_empty());
    }

    async fn who_is_no_contact_is_erased_by_the_address(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        app.post("/suppressions/addresses").json(&json!({"email": ANN})).send().await.assert_status(201);
        assert_eq!(standing(&app, &owner, ANN).await, json!({"isErased": false, "isKeptOut": false, "erasures": []}));
        let request = owner.in_project(&app, app.project_id(), "POST", "/erasures");
        let begun = request.json(&json!({"email": "Ann@people.example", "keepOut": true})).send().await;
        let begun = begun.assert_status(202).json();
        let done = completed(&app, &owner, text(&begun["id"])).await;
        assert_eq!(done["counts"], json!({"suppressions": 1, "auditEntries": 1}));
        assert!(rows_with(&app, ANN).await.is_empty());
        let known = standing(&app, &owner, ANN).await;
        assert_eq!(known["erasures"], json!([done]));
        assert_eq!(known["isKeptOut"], true);
        assert_eq!(standing(&app, &owner, "bob@people.example").await["isErased"], false);
    }

    async fn receipts_and_what_is_kept_out_outlive_a_reset(engine: Engine) {
        let app = App::start(engine).await;
        let owner: Browser = owner(&app).await;
        let ann = create_contact(&app, ANN, true, json!({})).await;
        let done = erased(&app, &owner, &ann["id"], json!({"keepOut": true})).await;
        let path = format!("/users/@me/projects/{}/reset", app.project_id());
        owner.request(&app, "POST", &path).send().await.assert_status(200);
        assert_eq!(receipt(&app, &owner, text(&done["id"])).await, done);
        app.eventually("the key leads to the project again", async || {
            let answer = app.post("/contacts").json(&json!({"email": ANN})).send().await;
            (answer.status == 422).then_some(())
        })
        .await;
    }
}
