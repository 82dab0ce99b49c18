//! Who was erased and is kept out does not come back, whatever brings the address.

use mailwright_testkit::{Engine, both_engines, json};
use mailwright_tests::{contact_by_email, create_contact, issue, text};

use super::filled::{import, started};
use super::{erase, erased, owner, receipt, standing, try_erase};

const ANN: &str = "ann@people.example";

both_engines! {
    async fn nothing_brings_back_who_is_kept_out(engine: Engine) {
        let (app, _) = started(engine).await;
        let owner = owner(&app).await;
        let ann = create_contact(&app, ANN, true, json!({})).await;
        let bob = create_contact(&app, "bob@people.example", true, json!({})).await;
        erased(&app, &owner, &ann["id"], json!({"keepOut": true})).await;

        let upsert = app.post("/contacts").json(&json!({"email": "Ann@People.example"})).send().await;
        assert_eq!(issue(&upsert.assert_status(422), "email")["code"], "erased");
        // with the secret key it is the project that says so, not the person
        let tracked = json!({"email": ANN, "event": "viewed", "subscribed": true});
        let tracked = app.post("/v1/track").json(&tracked).send().await;
        assert_eq!(issue(&tracked.assert_status(422), "email")["code"], "erased");
        let mail = json!({"to": [ANN, "carl@people.example"], "from": app.from(), "subject": "s", "body": "b"});
        assert_eq!(issue(&app.send(mail).await.assert_status(422), "email")["code"], "erased");
        assert!(contact_by_email(&app, "carl@people.example").await.is_none(), "all recipients or none");
        let path = format!("/contacts/{}", text(&bob["id"]));
        let moved = app.patch(&path).json(&json!({"email": ANN})).send().await;
        assert_eq!(issue(&moved.assert_status(422), "email")["code"], "erased");
        let segment = app.post("/segments").json(&json!({"name": "L", "type": "STATIC"})).send().await;
        let segment = segment.assert_status(201).json();
        let members = json!({"emails": [ANN, "dan@people.example"], "createMissing": true});
        let path = format!("/segments/{}/members", text(&segment["id"]));
        let added = app.post(&path).json(&members).send().await.assert_status(200).json();
        assert_eq!(added["notFound"], json!([ANN]), "{added}");
        let job = import(&app, &format!("email\r\n{ANN}\r\neve@people.example\r\n")).await;
        assert_eq!((&job["result"]["createdCount"], &job["result"]["failureCount"]), (&json!(1), &json!(1)), "{job}");
        assert!(job["result"]["errors"][0].to_string().contains("was erased from this project"), "{job}");
        assert!(contact_by_email(&app, ANN).await.is_none());
    }

    async fn the_person_comes_back_with_a_form_that_subscribes(engine: Engine) {
        let (app, _) = started(engine).await;
        let owner = owner(&app).await;
        let ann = create_contact(&app, ANN, true, json!({})).await;
        erased(&app, &owner, &ann["id"], json!({"keepOut": true})).await;
        let publicly = async |body: mailwright_testkit::Value| {
            app.post("/v1/track").bearer(app.public_key()).json(&body).send().await
        };
        let seen = publicly(json!({"email": ANN, "event": "viewed"})).await;
        assert_eq!(issue(&seen.assert_status(422), "email")["code"], "erased", "that is no wish to come back");
        publicly(json!({"email": ANN, "event": "signed_up", "subscribed": true})).await.assert_status(200);
        assert!(contact_by_email(&app, ANN).await.is_some());
        let standing = standing(&app, &owner, ANN).await;
        assert_eq!((&standing["isErased"], &standing["isKeptOut"]), (&json!(true), &json!(false)));
        app.post("/v1/track").json(&json!({"email": ANN, "event": "viewed"})).send().await.assert_status(200);
    }

    async fn who_is_not_kept_out_may_be_brought_back(engine: Engine) {
        let (app, _) = started(engine).await;
        let owner = owner(&app).await;
        let ann = create_contact(&app, ANN, true, json!({"plan": "pro"})).await;
        let first = erased(&app, &owner, &ann["id"], json!({})).await;
        assert_eq!(first["keepOut"], false);
        let again = create_contact(&app, ANN, true, json!({})).await;
        assert_ne!(again["id"], ann["id"]);
        assert_eq!(again["data"], json!({}));
    }

    async fn erasing_again_answers_the_receipt_that_there_is(engine: Engine) {
        let (app, _) = started(engine).await;
        let owner = owner(&app).await;
        let ann = create_contact(&app, ANN, true, json!({})).await;
        let first = erased(&app, &owner, &ann["id"], json!({})).await;
        let again = erase(&app, &owner, &ann["id"], json!({})).await;
        assert_eq!(first["id"], again);
        assert_eq!(receipt(&app, &owner, &again).await, first);
        // what is asked for later is kept as well
        let later = erase(&app, &owner, &ann["id"], json!({"keepOut": true})).await;
        assert_eq!(first["id"], later);
        assert_eq!(receipt(&app, &owner, &later).await["keepOut"], true);
        app.post("/contacts").json(&json!({"email": ANN})).send().await.assert_status(422);
        let unknown = json!("01a20000-0000-7000-8000-00000000ffff");
        try_erase(&app, &owner, &unknown, json!({})).await.assert_error(404, "CONTACT_NOT_FOUND");
    }
}
