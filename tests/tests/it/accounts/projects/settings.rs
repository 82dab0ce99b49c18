//! The settings of a project, and a new pair of keys.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{assert_only_keys, create_contact, issues, read, send_ok, text, track_ok};
use serde_json::{Value, json};
use std::time::Duration;

use super::{SHAPE, mine, mine_path, owner};

both_engines! {
    async fn settings_are_changed_one_by_one(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let patch = |body: Value| owner.request(&app, "PATCH", &mine_path(&app, "")).json(&body).send();
        let changed = patch(json!({"name": "Apollo"})).await.assert_status(200).json();
        assert_only_keys(&changed, SHAPE);
        assert_eq!((&changed["name"], &changed["tracking"], &changed["language"]), (&json!("Apollo"), &json!("ENABLED"), &json!("en")));
        let changed = patch(json!({"tracking": "MARKETING_ONLY", "language": "pt-BR"})).await.assert_status(200).json();
        assert_eq!((&changed["name"], &changed["tracking"], &changed["language"]), (&json!("Apollo"), &json!("MARKETING_ONLY"), &json!("pt-BR")));
        let refused = patch(json!({"name": "", "tracking": "SOME", "language": "english"})).await;
        let mut found = issues(&refused);
        found.sort();
        assert_eq!(found.iter().map(|(field, _)| field.as_str()).collect::<Vec<_>>(), ["language", "name", "tracking"]);
        assert_eq!(mine(&app, &owner).await[0]["language"], "pt-BR");
    }

    async fn a_project_slows_itself_down(engine: Engine) {
        const MAILS: usize = 8;
        let server = ScriptedServer::start(|_, _| Answer::Accept).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let owner = owner(&app).await;
        let patch = |rate: Value| {
            owner.request(&app, "PATCH", &mine_path(&app, "")).json(&json!({"sendingPerSecond": rate})).send()
        };
        assert_eq!(mine(&app, &owner).await[0]["sendingPerSecond"], json!(null));
        for (wrong, code) in [(json!(0), "too_small"), (json!(-1), "too_small"), (json!(100_001), "too_big")] {
            assert_eq!(issues(&patch(wrong).await), [("sendingPerSecond".to_owned(), code.to_owned())]);
        }
        assert_eq!(issues(&patch(json!("2")).await)[0].0, "sendingPerSecond");
        assert_eq!(patch(json!(2)).await.assert_status(200).json()["sendingPerSecond"], 2);
        // the same number, as other programs write it
        assert_eq!(patch(json!(2.0)).await.assert_status(200).json()["sendingPerSecond"], 2);
        // another setting leaves it as it is
        let renamed = owner.request(&app, "PATCH", &mine_path(&app, "")).json(&json!({"name": "Apollo"})).send().await;
        assert_eq!(renamed.assert_status(200).json()["sendingPerSecond"], 2);

        let to: Vec<String> = (0..MAILS).map(|n| format!("a{n}@example.com")).collect();
        send_ok(&app, json!({"to": to, "subject": "s", "body": "b", "from": app.from()})).await;
        let received = app
            .eventually("all mails", async || (server.received().len() == MAILS).then(|| server.received()))
            .await;
        // two may leave at once, the others leave two a second
        let took = received[MAILS - 1].at - received[0].at;
        assert!(took >= Duration::from_millis(2400), "{MAILS} mails took {took:?}");

        assert_eq!(patch(json!(null)).await.assert_status(200).json()["sendingPerSecond"], json!(null));
        let audit = owner.audit(&app, app.project_id()).await;
        assert_eq!(audit[0]["details"], json!({"sendingPerSecond": null}));
        assert_eq!(audit[1]["details"], json!({"name": "Apollo"}));
    }

    async fn a_public_key_subscribes_again_where_the_project_lets_it(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let left = create_contact(&app, "left@example.com", false, json!({})).await;
        let path = format!("/contacts/{}", text(&left["id"]));
        let track = async |key: &str, email: &str, subscribed: bool| {
            let body = json!({"email": email, "event": "signup", "subscribed": subscribed});
            app.request("POST", "/v1/track").bearer(key).json(&body).send().await.assert_status(200);
        };
        let subscribed = async |path: &str| read(&app, path).await["subscribed"] == true;
        let (public, secret) = (app.public_key(), app.secret_key());
        let patch = |value: bool| {
            let body = json!({"publicKeyMayResubscribe": value});
            owner.request(&app, "PATCH", &mine_path(&app, "")).json(&body).send()
        };
        // as the contract says
        assert_eq!(mine(&app, &owner).await[0]["publicKeyMayResubscribe"], true);
        track(public, "left@example.com", true).await;
        assert!(subscribed(&path).await);

        assert_eq!(patch(false).await.assert_status(200).json()["publicKeyMayResubscribe"], false);
        track(public, "left@example.com", false).await;
        assert!(!subscribed(&path).await, "out is always possible");
        track(public, "left@example.com", true).await;
        assert!(!subscribed(&path).await, "the very next request is refused it");
        track(public, "new@example.com", true).await;
        let new = mailwright_tests::contact_by_email(&app, "new@example.com").await.expect("a contact");
        assert_eq!(new["subscribed"], true, "who is new is subscribed");
        track(secret, "left@example.com", true).await;
        assert!(subscribed(&path).await, "a secret key is the project itself");
        // the setting outlives a reset
        owner.request(&app, "POST", &mine_path(&app, "/reset")).send().await.assert_status(200);
        assert_eq!(mine(&app, &owner).await[0]["publicKeyMayResubscribe"], false);
    }

    async fn regenerated_keys_replace_the_old_ones_at_once(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let named = owner.create_key(&app, app.project_id(), "CI", &["everything"]).await;
        // both are remembered now
        app.send_to("ada@example.com").await;
        track_ok(&app, json!({"email": "ada@example.com", "event": "signup"})).await;

        let answer = owner.request(&app, "POST", &mine_path(&app, "/regenerate-keys")).send().await;
        let made = answer.assert_status(200).json();
        assert_only_keys(&made, &[SHAPE, &["withdrawnInvitations"]].concat());
        app.get("/contacts").send().await.assert_error(401, "INVALID_API_KEY");
        let send = json!({"to": "a@example.com", "subject": "s", "body": "b", "from": app.from()});
        app.send(send.clone()).await.assert_error(401, "INVALID_API_KEY");
        app.track(json!({"email": "a@example.com", "event": "x"})).await.assert_error(401, "INVALID_API_KEY");
        let new = |key: &Value| app.request("POST", "/v1/send").bearer(text(key)).json(&send).send();
        new(&made["secret"]).await.assert_status(200);
        new(&named["key"]).await.assert_status(200);
        let event = json!({"email": "a@example.com", "event": "x"});
        app.request("POST", "/v1/track").bearer(text(&made["public"])).json(&event).send().await.assert_status(200);
    }
}
