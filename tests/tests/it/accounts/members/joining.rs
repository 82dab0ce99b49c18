//! Who joins a project: by a proven address or an accepted invitation, and only while the project is not disabled.

use mailwright_testkit::{App, Engine, OWNER, Request, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD};
use mailwright_tests::text;
use serde_json::json;

use super::team::Team;

/// A request as the form of a page sends it.
fn posted(app: &App, request: Request, fields: &str) -> Request {
    request
        .header("origin", app.base_url())
        .header("sec-fetch-site", "same-origin")
        .body(fields.replace(' ', "+"), "application/x-www-form-urlencoded")
}

both_engines! {
    async fn who_is_added_is_not_named_before_agreeing(engine: Engine) {
        let team = Team::new(engine).await;
        let grace = Browser::sign_up(&team.app, "grace@example.com").await;
        let name = json!({"name": "Grace Hopper"});
        grace.request(&team.app, "PATCH", "/users/@me").json(&name).send().await.assert_status(200);
        team.app.tamper("update users set email_verified_at = created_at").await;
        team.invite(&team.owner, json!({"email": grace.email})).await.assert_status(200);
        assert_eq!(team.list().await[3]["name"], json!(null));
        let agree = grace.request(&team.app, "PATCH", &team.of(&grace)).json(&json!({"role": "MEMBER"}));
        assert_eq!(agree.send().await.assert_status(200).json()["name"], "Grace Hopper");
        assert_eq!(team.list().await[3]["name"], "Grace Hopper");
    }

    async fn nobody_joins_a_disabled_project_and_the_invitations_stay(engine: Engine) {
        let team = Team::new(engine).await;
        let app = &team.app;
        let mut tokens = Vec::new();
        for email in ["grace@example.com", "ada@example.com", "new@example.com"] {
            let invited = team.invite(&team.owner, json!({"email": email})).await.assert_status(202).json();
            tokens.push(text(&invited["token"]).to_owned());
        }
        let grace = Browser::sign_up(app, "grace@example.com").await;
        Browser::sign_up(app, "ada@example.com").await;
        app.tamper("update users set email_verified_at = created_at where email = 'ada@example.com'").await;
        app.run(&["project", "disable", app.project_id(), "--reason", "Unpaid"]).await;
        let sign_up = || {
            let body = json!({"email": "new@example.com", "password": PASSWORD, "invitation": tokens[2]});
            app.request("POST", "/auth/signup").json(&body).send()
        };
        let page = |method: &str| {
            let request = app.request(method, &format!("/auth/invitation?token={}", tokens[2]));
            if method == "GET" { request } else { posted(app, request, &format!("token={}&password={PASSWORD}", tokens[2])) }
        };
        grace.accept(app, &tokens[0]).await.assert_error(403, "PROJECT_DISABLED");
        sign_up().await.assert_error(403, "PROJECT_DISABLED");
        // signing in works all the same
        Browser::log_in(app, "ada@example.com", PASSWORD).await;
        for method in ["GET", "POST"] {
            let told = page(method).send().await.assert_status(403);
            assert!(told.text().contains("<h1>The project is disabled</h1>"), "{}", told.text());
        }
        assert_eq!(team.roles().await.len(), 3);

        app.run(&["project", "enable", app.project_id()]).await;
        grace.accept(app, &tokens[0]).await.assert_status(200);
        Browser::log_in(app, "ada@example.com", PASSWORD).await;
        sign_up().await.assert_status(200);
        assert_eq!(team.roles().await.len(), 6);
    }

    async fn who_is_joined_by_signing_in_is_named_after_agreeing(engine: Engine) {
        let team = Team::new(engine).await;
        let app = &team.app;
        let mut tokens = Vec::new();
        for email in ["grace@example.com", "ada@example.com"] {
            let invited = team.invite(&team.owner, json!({"email": email})).await.assert_status(202).json();
            tokens.push(text(&invited["token"]).to_owned());
            let body = json!({"email": email, "password": PASSWORD, "name": email});
            app.request("POST", "/auth/signup").json(&body).send().await.assert_status(200);
        }
        app.tamper("update users set email_verified_at = created_at").await;
        let grace = Browser::log_in(app, "grace@example.com", PASSWORD).await;
        assert_eq!(team.list().await[3]["name"], json!(null), "nobody asked her");
        let agree = grace.request(app, "PATCH", &team.of(&grace)).json(&json!({"role": "MEMBER"}));
        assert_eq!(agree.send().await.assert_status(200).json()["name"], "grace@example.com");
        // who signs in on the page of the invitation accepts it
        let form = format!("token={}&password={PASSWORD}", tokens[1]);
        posted(app, app.request("POST", "/auth/invitation"), &form).send().await.assert_status(200);
        assert_eq!(team.list().await[4]["name"], "ada@example.com");
    }

    async fn an_account_that_nobody_proved_is_no_member_on_the_strength_of_its_address(engine: Engine) {
        // an instance without mail of its own, to which a stranger came first
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let stranger = Browser::sign_up(&app, "cto@corp.example").await;
        let path = format!("/projects/{}/members", app.project_id());
        let body = json!({"email": "cto@corp.example", "role": "ADMIN"});
        let invited = owner.request(&app, "POST", &path).json(&body).send().await.assert_status(202).json();
        assert!(invited["userId"].is_null() && invited["token"].is_string(), "{invited}");
        let contacts = || stranger.in_project(&app, app.project_id(), "GET", "/contacts").send();
        contacts().await.assert_error(403, "PROJECT_ACCESS_DENIED");
        Browser::log_in(&app, "cto@corp.example", mailwright_tests::browser::PASSWORD).await;
        contacts().await.assert_error(403, "PROJECT_ACCESS_DENIED");
        // whoever the owner passes the token on to is meant
        stranger.accept(&app, text(&invited["token"])).await.assert_status(200);
        contacts().await.assert_status(200);
    }
}
