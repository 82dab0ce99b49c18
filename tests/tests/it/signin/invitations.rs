//! Invitations by mail.

use mailwright_testkit::{App, Engine, OWNER, Request, Response, Value, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD};
use mailwright_tests::{column, required_header, text, until_waiting};
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
        assert_eq!(mails[0]["subject"], "You are invited to a project");
        assert!(text(&mails[0]["text"]).contains("\u{201c}Acme\u{201d}"), "{mails:?}");
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
        ada.request(&app, "POST", "/auth/verify-email").json(&body).send().await.assert_status(200);
        assert_eq!(roles(&app, &ada).await, ["MEMBER"]);
        accept(&ada).await.assert_error(404, "RESOURCE_NOT_FOUND");
    }

    async fn an_account_that_nobody_proved_is_no_member_by_an_invitation(engine: Engine) {
        let app = with_mail(engine).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        // somebody signs up with an address of somebody else, and waits
        Browser::sign_up(&app, "ada@example.com").await;
        let invited = invite(&app, &owner, "ada@example.com", "ADMIN").await;
        assert!(invited["userId"].is_null() && invited["invitationId"].is_string(), "{invited}");
        let members = format!("/projects/{}/members", app.project_id());
        let list = owner.request(&app, "GET", &members).send().await.assert_status(200).json();
        assert_eq!(column(&list, "email"), [OWNER.0]);
        // the mail reaches the owner of the address, who takes the account over and is in
        own_mails_once(&app, "ada@example.com", 2).await;
        let ask = json!({"email": "ada@example.com"});
        app.request("POST", "/auth/request-password-reset").json(&ask).send().await.assert_status(200);
        let token = newest_token(&app, "ada@example.com", "reset-password", 3).await;
        let body = json!({"token": token, "newPassword": "the password of Ada herself"});
        app.request("POST", "/auth/reset-password").json(&body).send().await.assert_status(200);
        let ada = Browser::log_in(&app, "ada@example.com", "the password of Ada herself").await;
        assert_eq!(roles(&app, &ada).await, ["ADMIN"]);
        let body = json!({"email": "ada@example.com"});
        owner.request(&app, "POST", &members).json(&body).send().await.assert_error(409, "CONFLICT");
        // a proven account is a member at once
        let other = text(&owner.create_project(&app, "Other").await["id"]).to_owned();
        let path = format!("/projects/{other}/members");
        owner.request(&app, "POST", &path).json(&body).send().await.assert_status(200);
        assert_eq!(own_mails(&app, "ada@example.com").await.len(), 3, "nothing had to be mailed");
    }

    async fn invitations_are_no_way_to_mail_strangers_without_end(engine: Engine) {
        let app = with_mail(engine).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let other = text(&owner.create_project(&app, "Other").await["id"]).to_owned();
        let refused = async |request: Request| {
            let answer = request.send().await;
            answer.assert_error(429, "RATE_LIMIT_EXCEEDED");
            assert!(required_header(&answer, "retry-after").parse::<u64>().expect("seconds") > 0);
        };
        let post = |project: &str, email: &str| {
            let path = format!("/projects/{project}/members");
            owner.request(&app, "POST", &path).json(&json!({"email": email}))
        };
        for _ in 0..3 {
            let made = post(app.project_id(), "victim@example.com").send().await.assert_status(202).json();
            let path = format!("/projects/{}/invitations/{}", app.project_id(), text(&made["invitationId"]));
            owner.request(&app, "DELETE", &path).send().await.assert_status(200);
        }
        // neither withdrawing it nor another project or a key starts anew
        refused(post(app.project_id(), "Victim@Example.com")).await;
        refused(post(&other, "victim@example.com")).await;
        // with a key nothing is mailed at all
        let key = app.post(&format!("/projects/{}/members", app.project_id()));
        key.json(&json!({"email": "victim@example.com"})).send().await.assert_status(202);
        own_mails_once(&app, "victim@example.com", 3).await;

        // what was refused counts for who asked, but nobody else
        let posts = (5..50).map(|n| post(app.project_id(), &format!("stranger{n}@example.com")).send());
        for answer in futures_util::future::join_all(posts).await {
            answer.assert_status(202);
        }
        refused(post(app.project_id(), "one.more@example.com")).await;
        refused(post(&other, "one.more@example.com")).await;
        let key = app.post(&format!("/projects/{}/members", app.project_id()));
        let asked = key.json(&json!({"email": "one.more@example.com"})).send().await.assert_status(202).json();
        let confirm = format!(
            "/projects/{}/invitations/{}/confirm", app.project_id(), text(&asked["invitationId"])
        );
        refused(owner.request(&app, "POST", &confirm)).await;
        assert!(own_mails(&app, "one.more@example.com").await.is_empty());
        // and whoever has an account is not told apart
        let known = Browser::sign_up(&app, "known@example.com").await;
        app.tamper("update users set email_verified_at = created_at").await;
        refused(post(&other, &known.email)).await;
        // a person has three for an address, and all together nine
        let others = async |name: &str, times: usize| {
            let browser = Browser::sign_up(&app, &format!("{name}@example.com")).await;
            app.tamper("update users set email_verified_at = created_at").await;
            let path = format!("/projects/{}/members", text(&browser.create_project(&app, name).await["id"]));
            let body = json!({"email": "victim@example.com"});
            for _ in 0..times {
                browser.request(&app, "POST", &path).json(&body).send().await.assert_status(202);
            }
            refused(browser.request(&app, "POST", &path).json(&body)).await;
        };
        others("ann", 3).await;
        others("ben", 3).await;
        others("cay", 0).await;
        // whom nothing is mailed to is not counted
        owner.request(&app, "POST", &format!("/projects/{other}/members")).json(&json!({"email": OWNER.0}))
            .send().await.assert_error(409, "CONFLICT");
    }

    async fn an_invitation_there_is_no_room_for_is_counted_all_the_same(engine: Engine) {
        let app = with_mail(engine).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let (id, hash) = match engine {
            Engine::Sqlite => ("randomblob(16)", "randomblob(32)"),
            Engine::Postgres => ("gen_random_uuid()", "sha256(i::text::bytea)"),
        };
        app.tamper(&format!(
            "insert into invitations (id, project_id, email, role, token_hash, invited_by, created_at, expires_at) \
             with recursive n(i) as (select 1 union all select i + 1 from n where i < 500) \
             select {id}, (select min(project_id) from memberships), 'full' || i || '@example.com', 'MEMBER', {hash}, \
             'full', 1, 9000000000000 from n"
        ))
        .await;
        let path = format!("/projects/{}/members", app.project_id());
        let body = json!({"email": "stranger@example.com"});
        let post = async || owner.request(&app, "POST", &path).json(&body).send().await;
        // that there is no room tells that the address has no account
        for _ in 0..3 {
            post().await.assert_error(409, "CONFLICT");
        }
        post().await.assert_error(429, "RATE_LIMIT_EXCEEDED");
    }

    async fn who_proved_no_address_makes_the_instance_write_to_nobody(engine: Engine) {
        // the sender is the service's own name, so accounts are let in before they proved their address
        let app = App::builder(engine).env("MAILWRIGHT_BASE_URL", "https://mail.example.com").start().await;
        let eve = Browser::sign_up(&app, "eve@example.com").await;
        let project = eve.create_project(&app, "Bait").await;
        let path = format!("/projects/{}/members", text(&project["id"]));
        let body = json!({"email": "victim@example.com"});
        let by_eve = async || eve.request(&app, "POST", &path).json(&body).send().await;
        let by_key = async |body: &Value| {
            app.request("POST", &path).bearer(text(&project["secret"])).json(body).send().await
        };
        by_eve().await.assert_error(403, "FORBIDDEN");
        by_key(&body).await.assert_status(202);
        assert!(own_mails(&app, "victim@example.com").await.is_empty());

        let mails = own_mails_once(&app, "eve@example.com", 1).await;
        let (_, token) = text(&mails[0]["html"]).split_once("/auth/verify-email?token=").expect("a link");
        let verify = json!({"token": token[..64]});
        eve.request(&app, "POST", "/auth/verify-email").json(&verify).send().await.assert_status(200);
        by_eve().await.assert_status(202);
        own_mails_once(&app, "victim@example.com", 1).await;
        // a person's invitation stays the person's
        by_key(&body).await.assert_error(409, "CONFLICT");
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
        for (name, email, shown) in [
            ("<b>Best</b> {{link}}", "ada@example.com", "&lt;b&gt;Best&lt;/b&gt; {{link}}"),
            ("evil.example", "grace@example.com", "\u{201c}evil[.]example\u{201d}"),
        ] {
            let made = owner.create_project(&app, name).await;
            let path = format!("/projects/{}/members", text(&made["id"]));
            owner.request(&app, "POST", &path).json(&json!({"email": email})).send().await.assert_status(202);
            let mails = own_mails_once(&app, email, 1).await;
            assert_eq!(mails[0]["subject"], "You are invited to a project", "nobody else's words");
            assert!(text(&mails[0]["html"]).contains(shown), "{mails:?}");
            assert!(!text(&mails[0]["html"]).contains("evil.example"), "{mails:?}");
        }
    }
}

/// PostgreSQL alone: where there is one writer, nobody waits for anybody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_added_while_proving_the_address_keeps_nobody_waiting() {
    // who waits keeps its place
    let app = with_mail(Engine::Postgres)
        .env("MAILWRIGHT_DATABASE_LOCK_WAIT_MS", "60000")
        .env("MAILWRIGHT_DATABASE_CONNECTIONS", "16")
        .start()
        .await;
    let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
    Browser::sign_up(&app, "ada@example.com").await;
    invite(&app, &owner, "ada@example.com", "ADMIN").await;
    own_mails_once(&app, "ada@example.com", 2).await;
    let ask = json!({"email": "ada@example.com"});
    app.request("POST", "/auth/request-password-reset").json(&ask).send().await.assert_status(200);
    let token = newest_token(&app, "ada@example.com", "reset-password", 3).await;
    app.tamper("update users set email_verified_at = created_at where email = 'ada@example.com'").await;
    let members = format!("/projects/{}/members", app.project_id());
    let held = app.hold("select 1 from projects where name = 'Acme' for no key update").await;
    let added =
        tokio::spawn(owner.request(&app, "POST", &members).json(&json!({"email": "ada@example.com"})).send());
    until_waiting(&app, 1).await;
    let body = json!({"token": token, "newPassword": "the password of Ada herself"});
    let reset = tokio::spawn(app.request("POST", "/auth/reset-password").json(&body).send());
    until_waiting(&app, 2).await;
    drop(held);
    added.await.expect("an answer").assert_status(200);
    reset.await.expect("an answer").assert_status(200);
}
