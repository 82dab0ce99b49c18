//! Accounts: the offer to sign up, the first user, addresses, names, and deletion.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, OWNER, both_engines, one_engine};
use mailwright_tests::browser::{Browser, PASSWORD, try_log_in};
use mailwright_tests::{assert_only_keys, issues, shown, text};
use serde_json::json;

use super::me;

both_engines! {
    async fn anybody_is_told_what_the_instance_offers(engine: Engine) {
        let app = App::start(engine).await;
        let config = app.request("GET", "/config").send().await.assert_status(200).json();
        let base = app.base_url();
        assert_eq!(config["urls"], json!({"api": base, "dashboard": format!("{base}/app"), "docs": format!("{base}/docs")}));
        let off = json!({"enabled": false});
        assert_eq!(
            config["features"],
            json!({
                "signup": {"enabled": true, "firstUser": false}, "billing": off, "smtp": off,
                "storage": {"enabled": true, "s3Enabled": true},
                "authProviders": {"github": false, "google": false},
                "mail": {"leaves": false, "own": false},
            })
        );
        assert_only_keys(&config, &["urls", "features"]);
    }

    async fn the_first_user_may_always_sign_up_and_is_told_so(engine: Engine) {
        let builder = App::builder(engine).empty().env("MAILWRIGHT_DISABLE_SIGNUPS", "true");
        let app = builder.start().await;
        let config = app.request("GET", "/config").send().await.assert_status(200).json();
        assert_eq!(config["features"]["signup"], json!({"enabled": true, "firstUser": true}));

        // of several who come at once, one is the first
        let answers = join_all((0..6).map(|n| {
            let body = json!({"email": format!("first{n}@example.com"), "password": PASSWORD});
            app.request("POST", "/auth/signup").json(&body).send()
        }))
        .await;
        let (first, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!(first.len(), 1, "{:?}", answers.iter().map(shown).collect::<Vec<_>>());
        assert_eq!(first[0].json()["firstUser"], true);
        for answer in refused {
            answer.assert_error(403, "FORBIDDEN");
        }
        let config = app.request("GET", "/config").send().await.assert_status(200).json();
        assert_eq!(config["features"]["signup"], json!({"enabled": false, "firstUser": false}));
    }

    async fn addresses_are_the_same_in_any_case(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "Ada.Lovelace@Example.COM").await;
        for spelling in ["ada.lovelace@example.com", "ADA.LOVELACE@EXAMPLE.COM", " ada.lovelace@example.com "] {
            assert_eq!(Browser::log_in(&app, spelling, PASSWORD).await.id, ada.id, "{spelling}");
        }
        // and an invitation finds the account, however it is spelled
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let spelled = Browser { email: "ADA.lovelace@EXAMPLE.com".into(), ..ada.clone() };
        owner.add_member(&app, app.project_id(), &spelled, "MEMBER").await;
        ada.in_project(&app, app.project_id(), "GET", "/contacts").send().await.assert_status(200);
    }

    async fn an_account_can_be_renamed_and_deleted(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let rename = |name| ada.request(&app, "PATCH", "/users/@me").json(&json!({"name": name})).send();
        assert_eq!(rename(json!(" Ada ")).await.assert_status(200).json()["name"], "Ada");
        assert_eq!(rename(json!(null)).await.assert_status(200).json()["name"], json!(null));
        assert_eq!(issues(&rename(json!("a\nb")).await)[0].0, "name");

        let project = text(&ada.create_project(&app, "Rockets").await["id"]).to_owned();
        let delete = || ada.request(&app, "DELETE", "/users/@me").send();
        delete().await.assert_error(409, "CONFLICT");
        let path = format!("/users/@me/projects/{project}");
        ada.request(&app, "DELETE", &path).send().await.assert_status(200);
        delete().await.assert_status(200);
        assert_eq!(me(&app, &ada).await, 401);
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_error(401, "INVALID_CREDENTIALS");
        Browser::sign_up(&app, "ada@example.com").await;
    }
}

one_engine! {
    async fn bad_requests_are_told_field_by_field(engine: Engine) {
        let app = App::start(engine).await;
        let answer = app.request("POST", "/auth/signup").json(&json!({"email": "nope", "password": "short"}));
        let mut found = issues(&answer.send().await);
        found.sort();
        assert_eq!(found, [("email".into(), "invalid_string".into()), ("password".into(), "too_small".into())]);
        let found = issues(&app.request("POST", "/auth/login").json(&json!({})).send().await);
        assert_eq!(found.len(), 2, "{found:?}");
        let long = json!({"email": "a@example.com", "password": "x".repeat(20_000)});
        app.request("POST", "/auth/login").json(&long).send().await.assert_status(413);
        for name in ["line\nbreak", "a\r\nSet-Cookie: x=y", "abc\u{202e}txt", "   ", ""] {
            let body = json!({"email": "b@example.com", "password": PASSWORD, "name": name});
            let found = issues(&app.request("POST", "/auth/signup").json(&body).send().await);
            assert_eq!(found[0].0, "name", "{name:?}");
        }
    }
}
