//! Keys with names and scopes.

use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{UNKNOWN_ID, assert_only_keys, assert_timestamp, issues, items, text};
use serde_json::{Value, json};

async fn owner(app: &App) -> Browser {
    Browser::log_in(app, OWNER.0, OWNER.1).await
}

fn path(app: &App) -> String {
    format!("/projects/{}/keys", app.project_id())
}

async fn list(app: &App, user: &Browser) -> Vec<Value> {
    items(&user.request(app, "GET", &path(app)).send().await.assert_status(200).json()).to_vec()
}

both_engines! {
    async fn a_key_is_shown_once_and_listed_by_its_hint(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let made = owner.create_key(&app, app.project_id(), " Newsletter ", &["campaigns", "read", "read"]).await;
        assert_only_keys(&made, &["id", "name", "kind", "scopes", "key", "hint", "createdAt", "lastUsedAt"]);
        assert_eq!((&made["name"], &made["scopes"]), (&json!("Newsletter"), &json!(["read", "campaigns"])));
        let token = text(&made["key"]);
        assert!(token.starts_with("sk_") && token.ends_with(text(&made["hint"])), "{made}");

        let keys = list(&app, &owner).await;
        assert_eq!(keys.len(), 3, "the pair, and this one: {keys:?}");
        let found = keys.iter().find(|key| key["id"] == made["id"]).expect("the key");
        assert_eq!((&found["key"], &found["lastUsedAt"]), (&json!(null), &json!(null)));
        let public = keys.iter().find(|key| key["kind"] == "public").expect("the public key");
        assert_eq!((&public["key"], &public["name"]), (&json!(app.public_key()), &json!(null)));
        for body in [
            json!({}),
            json!({"name": "x", "scopes": []}),
            json!({"name": "x", "scopes": ["root"]}),
            json!({"name": "a\r\nb", "scopes": ["read"]}),
            json!({"name": "x", "scopes": vec!["read"; 7]}),
        ] {
            assert!(!issues(&owner.request(&app, "POST", &path(&app)).json(&body).send().await).is_empty(), "{body}");
        }
    }

    async fn a_revoked_key_is_dead_at_once(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let made = owner.create_key(&app, app.project_id(), "Shop", &["send"]).await;
        let send = json!({"to": "a@example.com", "subject": "s", "body": "b", "from": app.from()});
        let send = || app.request("POST", "/v1/send").bearer(text(&made["key"])).json(&send).send();
        send().await.assert_status(200);
        app.request("GET", "/contacts").bearer(text(&made["key"])).send().await.assert_error(403, "FORBIDDEN");
        let key = format!("{}/{}", path(&app), text(&made["id"]));
        owner.request(&app, "DELETE", &key).send().await.assert_status(200);
        send().await.assert_error(401, "INVALID_API_KEY");
        owner.request(&app, "DELETE", &key).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(list(&app, &owner).await.len(), 2);
        let unknown = format!("{}/{UNKNOWN_ID}", path(&app));
        owner.request(&app, "DELETE", &unknown).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
    }

    async fn the_contracts_pair_can_be_revoked_like_any_key(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let keys = list(&app, &owner).await;
        let public = keys.iter().find(|key| key["kind"] == "public").expect("the public key");
        let path = format!("{}/{}", path(&app), text(&public["id"]));
        owner.request(&app, "DELETE", &path).send().await.assert_status(200);
        app.track(json!({"email": "a@example.com", "event": "x"})).await.assert_error(401, "INVALID_API_KEY");
        app.get("/contacts").send().await.assert_status(200);
    }

    async fn it_is_noted_when_a_key_was_used(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let made = owner.create_key(&app, app.project_id(), "Reader", &["read"]).await;
        let used_at = async || {
            let keys = list(&app, &owner).await;
            keys.iter().find(|key| key["id"] == made["id"]).expect("the key")["lastUsedAt"].clone()
        };
        let read = || app.request("GET", "/contacts").bearer(text(&made["key"])).send();
        read().await.assert_status(200);
        let noted = app
            .eventually("the use is noted", async || {
                let at = used_at().await;
                (!at.is_null()).then_some(at)
            })
            .await;
        assert_timestamp(&noted);
        for _ in 0..5 {
            read().await.assert_status(200);
        }
        assert_eq!(used_at().await, noted, "once a minute is enough");
    }

    async fn a_key_of_another_project_is_not_found(engine: Engine) {
        let app = App::start(engine).await;
        let owner = owner(&app).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let theirs = text(&ada.create_project(&app, "Elsewhere").await["id"]).to_owned();
        let key = ada.create_key(&app, &theirs, "Mine", &["read"]).await;
        let path = format!("{}/{}", path(&app), text(&key["id"]));
        owner.request(&app, "DELETE", &path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        app.request("GET", "/contacts").bearer(text(&key["key"])).send().await.assert_status(200);
    }
}
