//! POST /contacts/lookup.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{as_project, create_contact, issues, items};
use serde_json::{Value, json};

both_engines! {
    async fn lookup_answers_in_the_callers_own_spelling_and_order(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        for address in ["ann@example.com", "bob@example.com"] {
            create_contact(&app, address, true, json!({})).await;
        }
        let theirs =
            as_project(&app, &other, "POST", "/contacts").json(&json!({"email": "carl@example.com"}));
        theirs.send().await.assert_status(201);

        let emails = json!([
            "Bob@Example.com",
            "nobody@example.com",
            "ann@example.com",
            "ANN@example.com",
            "carl@example.com",
            "nobody@example.com",
            "ann@example.com"
        ]);
        let answer =
            app.post("/contacts/lookup").json(&json!({"emails": emails})).send().await.assert_status(200);
        assert_eq!(
            answer.json(),
            json!({
                "found": ["Bob@Example.com", "ann@example.com", "ANN@example.com", "ann@example.com"],
                "notFound": ["nobody@example.com", "carl@example.com", "nobody@example.com"],
            })
        );

        let many = |count: usize| -> Value { (0..count).map(|n| format!("c{n}@example.com")).collect() };
        for body in [
            json!({}),
            json!({"emails": []}),
            json!({"emails": "a@example.com"}),
            json!({"emails": many(501)}),
        ] {
            assert_eq!(issues(&app.post("/contacts/lookup").json(&body).send().await)[0].0, "emails");
        }
        let answer = app.post("/contacts/lookup").json(&json!({"emails": many(500)})).send().await;
        assert_eq!(items(&answer.assert_status(200).json()["notFound"]).len(), 500);
    }
}
