//! Invitations: sent, replaced, withdrawn, expired, and how many there is room for.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD};
use mailwright_tests::{assert_only_keys, items, text};
use serde_json::{Value, json};

use super::team::Team;

/// The most members a project can have, and the most invitations.
const MOST: usize = 500;

/// Makes accounts that nobody uses, or invitations, of the only project that has members.
async fn fill(app: &App, engine: Engine, table: &str, count: usize) {
    let (id, hash) = match engine {
        Engine::Sqlite => ("randomblob(16)", "randomblob(32)"),
        Engine::Postgres => ("gen_random_uuid()", "sha256(i::text::bytea)"),
    };
    let of = "with recursive n(i) as (select 1 union all select i + 1 from n where i <";
    let statements = match table {
        "memberships" => format!(
            "insert into users (id, email, created_at, updated_at) {of} {count}) \
             select {id}, 'full' || i || '@example.com', 1, 1 from n; \
             insert into memberships (project_id, user_id, role, created_at) \
             select (select min(project_id) from memberships), id, 'MEMBER', 1 from users where email like 'full%'"
        ),
        _ => format!(
            "insert into invitations (id, project_id, email, role, token_hash, invited_by, created_at, expires_at) \
             {of} {count}) select {id}, (select min(project_id) from memberships), 'full' || i || '@example.com', \
             'MEMBER', {hash}, 'full', 1, 9000000000000 from n"
        ),
    };
    app.tamper(&statements).await;
}

both_engines! {
    async fn an_address_without_an_account_is_invited(engine: Engine) {
        let team = Team::new(engine).await;
        let invited = team.invite(&team.admin, json!({"email": "Grace@Example.com", "role": "ADMIN"})).await;
        let invited = invited.assert_status(202).json();
        assert_only_keys(&invited, &["userId", "email", "role", "invitationId", "token", "confirmed"]);
        assert_eq!((&invited["userId"], &invited["email"]), (&json!(null), &json!("grace@example.com")));
        let list = format!("/projects/{}/invitations", team.app.project_id());
        let waiting = team.member.request(&team.app, "GET", &list).send().await.assert_status(200).json();
        assert_eq!(items(&waiting).len(), 1);
        assert_eq!((&waiting[0]["role"], &waiting[0]["invitedBy"]), (&json!("ADMIN"), &json!("admin@example.com")));
        assert!(!waiting.to_string().contains(text(&invited["token"])), "the token is shown once");

        // an account of that address alone is no proof of being meant: the token is
        let accept = |browser: Browser, token: Value| {
            let request = browser.request(&team.app, "POST", "/users/@me/invitations");
            request.json(&json!({"token": token})).send()
        };
        let grace = Browser::sign_up(&team.app, "grace@example.com").await;
        team.app.request("GET", "/users/@me").send().await.assert_status(401);
        grace.in_project(&team.app, team.app.project_id(), "GET", "/contacts").send().await
            .assert_error(403, "PROJECT_ACCESS_DENIED");
        let other = Browser::sign_up(&team.app, "other@example.com").await;
        accept(other, invited["token"].clone()).await.assert_error(404, "RESOURCE_NOT_FOUND");
        accept(grace.clone(), json!("0".repeat(64))).await.assert_error(404, "RESOURCE_NOT_FOUND");
        accept(grace.clone(), invited["token"].clone()).await.assert_status(200);
        accept(grace.clone(), invited["token"].clone()).await.assert_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(team.roles().await, ["OWNER", "ADMIN", "MEMBER", "ADMIN"]);
        grace.in_project(&team.app, team.app.project_id(), "GET", "/contacts").send().await.assert_status(200);
    }

    async fn invitations_are_replaced_and_withdrawn(engine: Engine) {
        let team = Team::new(engine).await;
        let invite = async || {
            let body = json!({"email": "grace@example.com"});
            team.invite(&team.admin, body).await.assert_status(202).json()
        };
        let (first, second) = (invite().await, invite().await);
        assert_ne!(first["token"], second["token"]);
        let grace = Browser::sign_up(&team.app, "grace@example.com").await;
        let accept = |token: &Value| {
            let request = grace.request(&team.app, "POST", "/users/@me/invitations");
            request.json(&json!({"token": token})).send()
        };
        accept(&first["token"]).await.assert_error(404, "RESOURCE_NOT_FOUND");
        let path =
            format!("/projects/{}/invitations/{}", team.app.project_id(), text(&second["invitationId"]));
        team.member.request(&team.app, "DELETE", &path).send().await.assert_error(403, "FORBIDDEN");
        team.owner.request(&team.app, "DELETE", &path).send().await.assert_status(200);
        team.owner.request(&team.app, "DELETE", &path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        accept(&second["token"]).await.assert_error(404, "RESOURCE_NOT_FOUND");
    }

    async fn what_somebody_invited_ends_with_the_right_to_invite(engine: Engine) {
        let team = Team::new(engine).await;
        let invite = async |by: &Browser, email: &str| {
            let invited = team.invite(by, json!({"email": email})).await.assert_status(202).json();
            text(&invited["token"]).to_owned()
        };
        let list = format!("/projects/{}/invitations", team.app.project_id());
        let open = async || {
            let open = team.owner.request(&team.app, "GET", &list).send().await.assert_status(200).json();
            let mut open: Vec<_> = items(&open).iter().map(|one| text(&one["email"]).to_owned()).collect();
            open.sort();
            open
        };
        let second = Browser::sign_up(&team.app, "second@example.com").await;
        team.owner.add_member(&team.app, team.app.project_id(), &second, "ADMIN").await;
        let mine = invite(&team.admin, "mine@example.com").await;
        invite(&second, "theirs@example.com").await;
        // who makes an invitation again stands for it
        invite(&team.admin, "both@example.com").await;
        let both = invite(&team.owner, "both@example.com").await;
        assert_eq!(open().await, ["both@example.com", "mine@example.com", "theirs@example.com"]);
        team.remove(&team.owner, &team.admin).await.assert_status(200);
        assert_eq!(open().await, ["both@example.com", "theirs@example.com"]);
        team.set_role(&team.owner, &second, "ADMIN").await.assert_status(200);
        assert_eq!(open().await.len(), 2, "the right is still there");
        team.set_role(&team.owner, &second, "MEMBER").await.assert_status(200);
        assert_eq!(open().await, ["both@example.com"]);
        let accept = async |email: &str, token: &str| {
            Browser::sign_up(&team.app, email).await.accept(&team.app, token).await
        };
        accept("mine@example.com", &mine).await.assert_error(404, "RESOURCE_NOT_FOUND");
        accept("both@example.com", &both).await.assert_status(200);
        let audit = team.owner.audit(&team.app, team.app.project_id()).await;
        let withdrawn = audit.iter().filter(|entry| entry["action"] == "invitation.revoked").count();
        assert_eq!(withdrawn, 2);
    }

    async fn a_full_project_takes_nobody_more_and_keeps_the_invitations(engine: Engine) {
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
        fill(app, engine, "memberships", MOST - 3).await;
        let sign_up = || {
            let body = json!({"email": "new@example.com", "password": PASSWORD, "invitation": tokens[2]});
            app.request("POST", "/auth/signup").json(&body).send()
        };
        let projects_of = async |user: &Browser| {
            let path = "/users/@me/projects";
            items(&user.request(app, "GET", path).send().await.assert_status(200).json()).len()
        };
        let list = format!("/projects/{}/invitations", app.project_id());
        for _ in 0..2 {
            grace.accept(app, &tokens[0]).await.assert_error(409, "CONFLICT");
            // signing in accepts what a proven address was invited to, and works all the same
            assert_eq!(projects_of(&Browser::log_in(app, "ada@example.com", PASSWORD).await).await, 0);
            sign_up().await.assert_error(409, "CONFLICT");
        }
        let open = team.owner.request(app, "GET", &list).send().await.assert_status(200).json();
        assert_eq!(items(&open).len(), 3, "each waits for room");
        assert_eq!(team.roles().await.len(), MOST, "everybody is seen");

        app.tamper("delete from memberships where created_at = 1").await;
        grace.accept(app, &tokens[0]).await.assert_status(200);
        assert_eq!(projects_of(&Browser::log_in(app, "ada@example.com", PASSWORD).await).await, 1);
        assert_eq!(projects_of(&Browser::of(&sign_up().await)).await, 1);
    }

    async fn an_invitation_is_renewed_where_there_is_no_room_for_another(engine: Engine) {
        let team = Team::new(engine).await;
        let invite = |email: &str| team.invite(&team.owner, json!({"email": email}));
        invite("grace@example.com").await.assert_status(202);
        fill(&team.app, engine, "invitations", MOST - 1).await;
        invite("ada@example.com").await.assert_error(409, "CONFLICT");
        invite("grace@example.com").await.assert_status(202);
    }

    async fn an_expired_invitation_opens_nothing(engine: Engine) {
        let team = Team::new(engine).await;
        let app = &team.app;
        let body = json!({"email": "grace@example.com"});
        let invited = team.invite(&team.admin, body).await.assert_status(202).json();
        app.tamper("update invitations set expires_at = created_at - 1").await;
        let grace = Browser::sign_up(app, "grace@example.com").await;
        let accept = |token: &Value| {
            grace.request(app, "POST", "/users/@me/invitations").json(&json!({"token": token})).send()
        };
        accept(&invited["token"]).await.assert_error(404, "RESOURCE_NOT_FOUND");
        let page = format!("/auth/invitation?token={}", text(&invited["token"]));
        app.request("GET", &page).send().await.assert_status(404);
        assert_eq!(team.list().await.as_array().map(Vec::len), Some(3));
    }
}
