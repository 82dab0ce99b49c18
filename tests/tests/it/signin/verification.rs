//! Proving an address.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, OWNER, Response, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD, try_log_in};
use mailwright_tests::{issues, shown, text};
use serde_json::{Value, json};

use super::{FROM, LINK, NO_TOKEN, newest_token, own_mails, own_mails_once, with_mail};

/// As the dashboard does, in the browser that signed up.
async fn verify(app: &App, user: &Browser, token: &str) -> Response {
    user.request(app, "POST", "/auth/verify-email").json(&json!({"token": token})).send().await
}

/// From where nobody is signed in.
async fn verify_elsewhere(app: &App, body: Value) -> Response {
    app.request("POST", "/auth/verify-email").json(&body).send().await
}

async fn request_again(app: &App, user: &Browser) -> Response {
    user.request(app, "POST", "/auth/request-verification").send().await
}

async fn me(app: &App, user: &Browser) -> Response {
    user.request(app, "GET", "/users/@me").send().await
}

both_engines! {
    async fn nothing_opens_until_the_address_is_verified(engine: Engine) {
        let app = with_mail(engine).start().await;
        let ada = Browser::sign_up(&app, "Ada@Example.com").await;
        me(&app, &ada).await.assert_error(403, "EMAIL_VERIFICATION_REQUIRED");
        ada.in_project(&app, app.project_id(), "GET", "/contacts").send().await.assert_error(403, "EMAIL_VERIFICATION_REQUIRED");

        let mails = own_mails_once(&app, "ada@example.com", 1).await;
        assert_eq!((&mails[0]["subject"], text(&mails[0]["from"]).contains(FROM)), (&json!("Confirm your email address"), true));
        let token = newest_token(&app, "ada@example.com", "verify-email", 1).await;
        verify(&app, &ada, NO_TOKEN).await.assert_error(400, "BAD_REQUEST");
        verify(&app, &ada, &token).await.assert_status(200);
        assert_eq!(me(&app, &ada).await.assert_status(200).json()["emailVerified"], true);

        // a link works once, and there is nothing more to ask for
        verify(&app, &ada, &token).await.assert_error(400, "BAD_REQUEST");
        let again = request_again(&app, &ada).await.assert_status(200);
        assert!(text(&again.json()["message"]).contains("already"), "{}", shown(&again));
        assert_eq!(own_mails(&app, "ada@example.com").await.len(), 1);
    }

    async fn a_link_alone_proves_nothing_for_who_signed_up(engine: Engine) {
        let app = with_mail(engine).start().await;
        // somebody signs up with the address of somebody else, who opens the genuine link
        let mal = Browser::sign_up(&app, "victim@corp.example").await;
        let token = newest_token(&app, "victim@corp.example", "verify-email", 1).await;
        let refused = verify_elsewhere(&app, json!({"token": token})).await;
        let error = refused.assert_error(403, "PASSWORD_REQUIRED");
        assert!(text(&error["suggestion"]).contains("password"), "{error}");
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        verify(&app, &owner, &token).await.assert_error(403, "PASSWORD_REQUIRED");
        let wrong = json!({"token": token, "password": "not the password"});
        verify_elsewhere(&app, wrong).await.assert_error(401, "INVALID_CREDENTIALS");
        me(&app, &mal).await.assert_error(403, "EMAIL_VERIFICATION_REQUIRED");
        // and so an invitation reaches the address, and not the account
        let path = format!("/projects/{}/members", app.project_id());
        let body = json!({"email": "victim@corp.example", "role": "ADMIN"});
        owner.request(&app, "POST", &path).json(&body).send().await.assert_status(202);
        // who made the account proves it from anywhere
        let right = json!({"token": token, "password": PASSWORD});
        verify_elsewhere(&app, right).await.assert_status(200);
        assert_eq!(me(&app, &mal).await.assert_status(200).json()["emailVerified"], true);
    }

    async fn a_request_that_contradicts_itself_changes_nothing(engine: Engine) {
        let app = with_mail(engine).start().await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let token = newest_token(&app, "ada@example.com", "verify-email", 1).await;
        let other = "the password of somebody else";
        for (body, fields) in [
            (json!({"password": PASSWORD, "notMine": true}), &["password", "notMine"][..]),
            (json!({"password": PASSWORD, "newPassword": other}), &["password", "newPassword"]),
            (json!({"newPassword": other, "notMine": true}), &["newPassword", "notMine"]),
        ] {
            let mut body = body;
            body["token"] = json!(token);
            let found = issues(&verify_elsewhere(&app, body).await);
            assert_eq!(found, fields.iter().map(|name| ((*name).to_owned(), "custom".to_owned())).collect::<Vec<_>>());
        }
        for (fields, named) in [
            ("action=disown&password=right+as+it+is", "password"),
            ("action=claim&newPassword=long+enough+it+is&password=right+as+it+is", "password"),
            ("newPassword=long+enough+it+is", "newPassword"),
            ("action=unknown", "action"),
        ] {
            let form = app
                .request("POST", "/auth/verify-email")
                .body(format!("token={token}&{fields}"), "application/x-www-form-urlencoded");
            let refused = form.send().await.assert_status(422);
            assert!(refused.text().contains(&format!("to the action: {named}.")), "{}", shown(&refused));
        }
        me(&app, &ada).await.assert_error(403, "EMAIL_VERIFICATION_REQUIRED");
        let plain = json!({"token": token, "password": PASSWORD, "notMine": false});
        verify_elsewhere(&app, plain).await.assert_status(200);
    }

    async fn the_owner_of_an_address_takes_the_account_over(engine: Engine) {
        let app = with_mail(engine).start().await;
        let mal = Browser::sign_up(&app, "victim@corp.example").await;
        let token = newest_token(&app, "victim@corp.example", "verify-email", 1).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let path = format!("/projects/{}/members", app.project_id());
        let body = json!({"email": "victim@corp.example", "role": "ADMIN"});
        owner.request(&app, "POST", &path).json(&body).send().await.assert_status(202);
        let own = "the password of the victim";
        let short = verify_elsewhere(&app, json!({"token": token, "newPassword": "short"})).await;
        short.assert_issue("newPassword", "too_small");
        verify_elsewhere(&app, json!({"token": token, "newPassword": own})).await.assert_status(200);
        mal.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        try_log_in(&app, "victim@corp.example", PASSWORD).await.assert_error(401, "INVALID_CREDENTIALS");
        let victim = Browser::log_in(&app, "victim@corp.example", own).await;
        let mine = victim.request(&app, "GET", "/users/@me/projects").send().await.assert_status(200).json();
        assert_eq!(mine[0]["role"], "ADMIN", "what waited for the address is the owner's");
        verify_elsewhere(&app, json!({"token": token, "newPassword": PASSWORD})).await.assert_error(400, "BAD_REQUEST");
    }

    async fn an_account_is_disowned_by_the_owner_of_its_address(engine: Engine) {
        let app = with_mail(engine).start().await;
        let mal = Browser::sign_up(&app, "victim@corp.example").await;
        let token = newest_token(&app, "victim@corp.example", "verify-email", 1).await;
        verify_elsewhere(&app, json!({"token": token, "notMine": true})).await.assert_status(200);
        mal.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        try_log_in(&app, "victim@corp.example", PASSWORD).await.assert_error(401, "INVALID_CREDENTIALS");
        Browser::sign_up(&app, "victim@corp.example").await;
    }

    async fn a_disowned_account_with_projects_is_locked(engine: Engine) {
        // where accounts are let in before they proved their address
        let app = App::builder(engine).env("MAILWRIGHT_BASE_URL", "https://mail.example.com").start().await;
        let mal = Browser::sign_up(&app, "victim@corp.example").await;
        mal.create_project(&app, "Bait").await;
        let mails = own_mails_once(&app, "victim@corp.example", 1).await;
        let (_, token) = text(&mails[0]["html"]).split_once("/auth/verify-email?token=").expect("a link");
        let body = json!({"token": token[..64], "notMine": true});
        let locked = verify_elsewhere(&app, body.clone()).await.assert_status(200).json();
        assert!(text(&locked["message"]).contains("locked"), "{locked}");
        mal.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        try_log_in(&app, "victim@corp.example", PASSWORD).await.assert_error(401, "INVALID_CREDENTIALS");
        verify_elsewhere(&app, body).await.assert_error(400, "BAD_REQUEST");
    }

    async fn a_proven_account_is_neither_taken_over_nor_disowned_with_an_old_link(engine: Engine) {
        let app = with_mail(engine).start().await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let token = newest_token(&app, "ada@example.com", "verify-email", 1).await;
        app.tamper("update users set email_verified_at = created_at").await;
        for body in [json!({"token": token, "newPassword": "another password"}), json!({"token": token, "notMine": true})] {
            verify_elsewhere(&app, body).await.assert_error(400, "BAD_REQUEST");
        }
        me(&app, &ada).await.assert_status(200);
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_status(200);
    }

    async fn whom_the_operator_created_and_keys_are_not_asked(engine: Engine) {
        let app = with_mail(engine).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        me(&app, &owner).await.assert_status(200);
        app.get("/contacts").send().await.assert_status(200);
    }

    async fn three_links_are_sent_in_their_time(engine: Engine) {
        let app = with_mail(engine).start().await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let answers = join_all((0..6).map(|_| request_again(&app, &ada))).await;
        let refused: Vec<_> = answers.iter().filter(|answer| answer.status != 200).collect();
        assert_eq!(refused.len(), 4, "{:?}", answers.iter().map(shown).collect::<Vec<_>>());
        for answer in refused {
            answer.assert_error(429, "RATE_LIMIT_EXCEEDED");
        }
        // any of them verifies, and the others are of no use then
        let mails = own_mails_once(&app, "ada@example.com", 3).await;
        let tokens: Vec<_> = mails.iter().map(|mail| crate::signin::token_in(&app, mail, "verify-email")).collect();
        verify(&app, &ada, &tokens[1]).await.assert_status(200);
        for token in [&tokens[0], &tokens[2]] {
            verify(&app, &ada, token).await.assert_error(400, "BAD_REQUEST");
        }
    }

    async fn a_link_is_good_for_its_time_alone(engine: Engine) {
        let app = with_mail(engine).start().await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let token = newest_token(&app, "ada@example.com", "verify-email", 1).await;
        app.advance(LINK).await;
        verify(&app, &ada, &token).await.assert_error(400, "BAD_REQUEST");
        me(&app, &ada).await.assert_error(403, "EMAIL_VERIFICATION_REQUIRED");
        request_again(&app, &ada).await.assert_status(200);
    }

    async fn a_link_of_another_kind_verifies_nothing(engine: Engine) {
        let app = with_mail(engine).start().await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        let token = newest_token(&app, "ada@example.com", "verify-email", 1).await;
        let body = json!({"token": token, "newPassword": PASSWORD});
        app.request("POST", "/auth/reset-password").json(&body).send().await.assert_error(400, "BAD_REQUEST");
        me(&app, &ada).await.assert_error(403, "EMAIL_VERIFICATION_REQUIRED");
    }

    async fn an_instance_without_a_sender_asks_nobody(engine: Engine) {
        let app = App::start(engine).await;
        let ada = Browser::sign_up(&app, "ada@example.com").await;
        assert_eq!(me(&app, &ada).await.assert_status(200).json()["emailVerified"], false);
        request_again(&app, &ada).await.assert_error(400, "BAD_REQUEST");
        let body = json!({"email": "ada@example.com"});
        app.request("POST", "/auth/request-password-reset").json(&body).send().await.assert_error(400, "BAD_REQUEST");
        assert_eq!(own_mails(&app, "ada@example.com").await.len(), 0);
    }

    async fn nobody_sees_the_project_of_own_mails(engine: Engine) {
        let app = with_mail(engine).start().await;
        Browser::sign_up(&app, "ada@example.com").await;
        own_mails_once(&app, "ada@example.com", 1).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let projects = owner.request(&app, "GET", "/users/@me/projects").send().await.assert_status(200).json();
        assert_eq!(mailwright_tests::column(&projects, "id"), [app.project_id()]);
        let platform = "00000000-0000-7000-8000-000000000001";
        owner.in_project(&app, platform, "GET", "/mailbox").send().await.assert_error(403, "PROJECT_ACCESS_DENIED");
        let path = format!("/projects/{platform}/members");
        owner.request(&app, "GET", &path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert!(app.mailbox_for("ada@example.com").await.is_empty(), "no other project's mailbox shows them");
        // a project of the same name is another one
        assert_ne!(app.bootstrap("Mailwright", "other.test").await.id, platform);
    }
}
