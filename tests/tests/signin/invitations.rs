//! Invitations by mail.

use mailwright_testkit::{App, Engine, OWNER, Response, Value, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD};
use mailwright_tests::{column, text};
use serde_json::json;

use super::{NO_TOKEN, newest_token, own_mails, own_mails_once, with_mail};

async fn invite(app: &App, owner: &Browser, email: &str, role: &str) -> Value {
    let path = format!("/projects/{}/members", app.project_id());
    let body = json!({"email": email, "role": role});
    owner.request(app, "POST", &path).json(&body).send().await.assert_status(202).json()
}

async fn sign_up(app: &App, email: &str, invitation: &str) -> Response {
    let body = json!({"email": email, "password": PASSWORD, "invitation": invitation});
    app.request("POST", "/auth/signup").json(&body).send().await
}

async fn roles(app: &App, user: &Browser) -> Vec<String> {
    let projects = user.request(app, "GET", "/users/@me/projects").send().await.assert_status(200).json();
    column(&projects, "role").into_iter().map(str::to_owned).collect()
}

both_engines! {
    async fn who_signs_up_with_an_invitation_is_a_member_at_once(engine: Engine) {
        let app = with_mail(engine).env("MAILWRIGHT_DISABLE_SIGNUPS", "true").start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let invited = invite(&app, &owner, "Ada@Example.com", "ADMIN").await;
        assert!(invited["token"].is_null(), "the mail alone carries it: {invited}");
        let mails = own_mails_once(&app, "ada@example.com", 1).await;
        assert_eq!(mails[0]["subject"], "You are invited to Acme");
        assert!(text(&mails[0]["text"]).contains(OWNER.0), "{mails:?}");
        let token = newest_token(&app, "ada@example.com", "invitation", 1).await;

        sign_up(&app, "eve@example.com", &token).await.assert_error(404, "RESOURCE_NOT_FOUND");
        sign_up(&app, "ada@example.com", NO_TOKEN).await.assert_error(404, "RESOURCE_NOT_FOUND");
        let plain = json!({"email": "ada@example.com", "password": PASSWORD});
        app.request("POST", "/auth/signup").json(&plain).send().await.assert_error(403, "FORBIDDEN");

        // the mail proved the address as well
        let ada = Browser::of(&sign_up(&app, "ada@example.com", &token).await);
        assert_eq!(roles(&app, &ada).await, ["ADMIN"]);
        sign_up(&app, "ada@example.com", &token).await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(own_mails(&app, "ada@example.com").await.len(), 1, "no link to verify is needed");
    }

    async fn an_account_accepts_what_was_sent_before_it_existed(engine: Engine) {
        let app = with_mail(engine).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        invite(&app, &owner, "ada@example.com", "MEMBER").await;
        let invitation = newest_token(&app, "ada@example.com", "invitation", 1).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let verification = newest_token(&app, "ada@example.com", "verify-email", 2).await;
        let accept = async |user: &Browser| {
            let body = json!({"token": invitation});
            user.request(&app, "POST", "/users/@me/invitations").json(&body).send().await
        };
        accept(&ada).await.assert_error(403, "EMAIL_VERIFICATION_REQUIRED");
        accept(&owner).await.assert_error(404, "RESOURCE_NOT_FOUND");
        // proving the address accepts it
        let body = json!({"token": verification});
        app.request("POST", "/auth/verify-email").json(&body).send().await.assert_status(200);
        assert_eq!(roles(&app, &ada).await, ["MEMBER"]);
        accept(&ada).await.assert_error(404, "RESOURCE_NOT_FOUND");
    }

    async fn without_own_mail_the_answer_carries_the_token(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let invited = invite(&app, &owner, "ada@example.com", "MEMBER").await;
        let ada = Browser::of(&sign_up(&app, "ada@example.com", text(&invited["token"])).await);
        assert_eq!(roles(&app, &ada).await, ["MEMBER"]);
        let me = ada.request(&app, "GET", "/users/@me").send().await.assert_status(200).json();
        assert_eq!(me["emailVerified"], false, "whoever invited saw the token too");
    }

    async fn names_in_an_invitation_are_text(engine: Engine) {
        let app = with_mail(engine).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let made = owner.create_project(&app, "<b>Best</b> {{link}}").await;
        let path = format!("/projects/{}/members", text(&made["id"]));
        let body = json!({"email": "ada@example.com"});
        owner.request(&app, "POST", &path).json(&body).send().await.assert_status(202);
        let mails = own_mails_once(&app, "ada@example.com", 1).await;
        assert_eq!(mails[0]["subject"], "You are invited to <b>Best</b> {{link}}");
        assert!(text(&mails[0]["html"]).contains("&lt;b&gt;Best&lt;/b&gt; {{link}}"), "{mails:?}");
    }
}
