//! POST /contacts and /contacts/:id.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, Response, both_engines, one_engine};
use mailwright_tests::{UNKNOWN_ID, as_project, assert_keys, assert_legacy, assert_timestamp, assert_uuid};
use mailwright_tests::{
    contact, create_contact, events_of, inline, issues, items, read, send_ok, sent_email,
};
use mailwright_tests::{shown, subscription_events, text, track_ok, without};
use serde_json::{Value, json};

async fn post(app: &App, body: Value) -> Response {
    app.post("/contacts").json(&body).send().await
}

async fn patch(app: &App, contact: &Value, body: Value) -> Response {
    app.patch(&format!("/contacts/{}", text(&contact["id"]))).json(&body).send().await
}

both_engines! {
    async fn posting_creates_and_then_updates(engine: Engine) {
        let app = App::start(engine).await;
        let created = post(&app, json!({"email": "Ann@Example.com"})).await.assert_status(201).json();
        assert_keys(&created, &["id", "email", "subscribed", "data", "createdAt", "updatedAt", "_meta"]);
        assert_uuid(&created["id"]);
        assert_timestamp(&created["createdAt"]);
        assert_eq!(created["email"], "ann@example.com");
        assert_eq!(created["subscribed"], true, "the default");
        assert_eq!(created["data"], json!({}));
        assert_eq!(created["_meta"], json!({"isNew": true, "isUpdate": false}));
        assert_eq!(contact(&app, &created["id"]).await, without(created.clone(), "_meta"));

        let body = json!({"email": "ANN@example.com", "data": {"plan": "pro"}});
        let updated = post(&app, body).await.assert_status(200).json();
        assert_eq!(updated["id"], created["id"]);
        assert_eq!(updated["_meta"], json!({"isNew": false, "isUpdate": true}));
        assert_eq!(updated["data"], json!({"plan": "pro"}));
        assert_eq!(updated["createdAt"], created["createdAt"]);
        assert!(text(&updated["updatedAt"]) >= text(&created["updatedAt"]));

        let out = post(&app, json!({"email": "new@example.com", "subscribed": false}))
            .await
            .assert_status(201)
            .json();
        assert_eq!(out["subscribed"], false);
        assert!(subscription_events(&app, &out["id"]).await.is_empty(), "creation is no flip");
    }

    async fn posting_keeps_the_subscription_unless_it_is_given(engine: Engine) {
        let app = App::start(engine).await;
        let known = create_contact(&app, "ann@example.com", false, json!({})).await;
        let kept = post(&app, json!({"email": "ann@example.com"})).await.assert_status(200).json();
        assert_eq!(kept["subscribed"], false);
        for subscribed in [false, true, true, false] {
            let body = json!({"email": "ann@example.com", "subscribed": subscribed});
            assert_eq!(post(&app, body).await.assert_status(200).json()["subscribed"], subscribed);
        }
        let events = subscription_events(&app, &known["id"]).await;
        assert_eq!(events, ["contact.subscribed", "contact.unsubscribed"]);
    }

    async fn of_equal_posts_at_once_one_creates_the_contact(engine: Engine) {
        let app = App::start(engine).await;
        let answers = join_all((0..10).map(|_| post(&app, json!({"email": "ann@example.com"})))).await;
        let mut statuses: Vec<u16> = answers.iter().map(|response| response.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 200, 200, 201]);
        assert!(answers.iter().all(|response| response.json()["id"] == answers[0].json()["id"]));
        assert_eq!(read(&app, "/contacts").await["total"], 1);
    }

    async fn patching_changes_what_is_sent(engine: Engine) {
        let app = App::start(engine).await;
        let known =
            create_contact(&app, "ann@example.com", true, json!({"plan": "free", "city": "Oslo"})).await;
        let same = patch(&app, &known, json!({})).await.assert_status(200).json();
        assert_eq!(same["data"], known["data"]);
        assert_eq!((&same["email"], &same["subscribed"]), (&known["email"], &known["subscribed"]));

        let body = json!({"email": "Ann.Lee@Example.com", "data": {"plan": "pro", "city": null}});
        let changed = patch(&app, &known, body).await.assert_status(200).json();
        assert_keys(&changed, &["id", "email", "subscribed", "data", "createdAt", "updatedAt"]);
        assert_eq!(changed["id"], known["id"]);
        assert_eq!(changed["email"], "ann.lee@example.com");
        assert_eq!(changed["data"], json!({"plan": "pro"}));
        assert_eq!(contact(&app, &known["id"]).await, changed);

        let cleared = patch(&app, &known, json!({"data": null})).await.assert_status(200).json();
        assert_eq!(cleared["data"], json!({}), "null clears all data");
        for subscribed in [true, false, false, true] {
            let after =
                patch(&app, &known, json!({"subscribed": subscribed})).await.assert_status(200).json();
            assert_eq!(after["subscribed"], subscribed);
        }
        let events = subscription_events(&app, &known["id"]).await;
        assert_eq!(events, ["contact.unsubscribed", "contact.subscribed"]);

        for (body, field, code) in [
            (json!({"email": "nope"}), "email", "invalid_string"),
            (json!({"subscribed": "yes"}), "subscribed", "invalid_type"),
        ] {
            assert_eq!(issues(&patch(&app, &known, body).await), [(field.to_owned(), code.to_owned())]);
        }
    }

    async fn an_address_belongs_to_one_contact_of_a_project(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let bob = create_contact(&app, "bob@example.com", true, json!({})).await;
        let body = json!({"email": "ANN@example.com", "subscribed": false, "data": {"plan": "pro"}});
        patch(&app, &bob, body).await.assert_error(409, "CONFLICT");
        assert_eq!(contact(&app, &bob["id"]).await, without(bob.clone(), "_meta"), "nothing of it was done");
        assert!(subscription_events(&app, &bob["id"]).await.is_empty());

        patch(&app, &ann, json!({"email": "Ann@example.com"})).await.assert_status(200);
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let theirs =
            as_project(&app, &other, "POST", "/contacts").json(&json!({"email": "carl@example.com"}));
        theirs.send().await.assert_status(201);
        patch(&app, &ann, json!({"email": "carl@example.com"})).await.assert_status(200);
    }

    async fn contacts_that_are_not_there_are_not_found(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let foreign =
            as_project(&app, &other, "POST", "/contacts").json(&json!({"email": "ann@example.com"}));
        let foreign = foreign.send().await.assert_status(201).json();

        for id in [UNKNOWN_ID, text(&foreign["id"]), "nonsense", "123", "%00", "%27%20OR%201=1"] {
            let path = format!("/contacts/{id}");
            for request in
                [app.get(&path), app.patch(&path).json(&json!({"subscribed": false})), app.delete(&path)]
            {
                let response = request.send().await;
                assert_eq!(response.status, 404, "{id}: {}", shown(&response));
                response.assert_error(404, "CONTACT_NOT_FOUND");
            }
        }
        let path = format!("/contacts/{}", text(&foreign["id"]));
        let untouched = as_project(&app, &other, "GET", &path).send().await.assert_status(200).json();
        assert_eq!(untouched["subscribed"], true);
    }

    async fn deleting_a_contact_takes_its_events_and_emails_along(engine: Engine) {
        let app = App::start(engine).await;
        let tracked = track_ok(&app, json!({"email": "ann@example.com", "event": "signup"})).await;
        let sent = send_ok(&app, inline(&app, &json!("ann@example.com"))).await;
        sent_email(&app, &sent["emails"][0]["email"]).await;
        track_ok(&app, json!({"email": "bob@example.com", "event": "signup"})).await;

        let path = format!("/contacts/{}", text(&tracked["contact"]));
        let deleted = app.delete(&path).send().await.assert_status(204);
        assert!(deleted.body.is_empty(), "{}", shown(&deleted));
        app.get(&path).send().await.assert_error(404, "CONTACT_NOT_FOUND");
        app.delete(&path).send().await.assert_error(404, "CONTACT_NOT_FOUND");
        assert!(events_of(&app, &tracked["contact"]).await.is_empty());
        assert_eq!(items(&read(&app, "/events?eventName=signup").await["events"]).len(), 1);
        assert_eq!(read(&app, "/emails").await["total"], 0);
        let email = format!("/emails/{}", text(&sent["emails"][0]["email"]));
        app.get(&email).send().await.assert_error(404, "RESOURCE_NOT_FOUND");

        let again = create_contact(&app, "ann@example.com", true, json!({})).await;
        assert_ne!(again["id"], tracked["contact"]);
        assert_eq!(again["data"], json!({}));
    }
}

one_engine! {
    async fn a_post_without_an_address_is_the_legacy_400_and_a_bad_one_422(engine: Engine) {
        let app = App::start(engine).await;
        for body in [json!({}), json!({"email": ""}), json!({"email": null}), json!({"data": {"a": 1}})] {
            assert_legacy(&post(&app, body).await, 400);
        }
        for (body, field, code) in [
            (json!({"email": "nope"}), "email", "invalid_string"),
            (json!({"email": 5}), "email", "invalid_type"),
            (json!({"email": "a@example.com", "subscribed": "yes"}), "subscribed", "invalid_type"),
        ] {
            assert_eq!(issues(&post(&app, body).await), [(field.to_owned(), code.to_owned())]);
        }
        assert_eq!(read(&app, "/contacts").await["total"], 0);
    }
}
