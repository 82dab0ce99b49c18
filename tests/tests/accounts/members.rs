//! Members, invitations and ownership.

use mailwright_testkit::{App, Engine, OWNER, Request, both_engines};
use mailwright_tests::browser::{Browser, PASSWORD};
use mailwright_tests::{UNKNOWN_ID, assert_only_keys, assert_timestamp, column, issues, items, text};
use serde_json::{Value, json};

struct Team {
    app: App,
    path: String,
    owner: Browser,
    admin: Browser,
    member: Browser,
}

impl Team {
    async fn new(engine: Engine) -> Self {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let admin = Browser::sign_up(&app, "admin@example.com").await;
        let member = Browser::sign_up(&app, "member@example.com").await;
        owner.add_member(&app, app.project_id(), &admin, "ADMIN").await;
        owner.add_member(&app, app.project_id(), &member, "MEMBER").await;
        let path = format!("/projects/{}/members", app.project_id());
        Self { app, path, owner, admin, member }
    }

    async fn list(&self) -> Value {
        self.owner.request(&self.app, "GET", &self.path).send().await.assert_status(200).json()
    }

    async fn roles(&self) -> Vec<String> {
        column(&self.list().await, "role").into_iter().map(str::to_owned).collect()
    }

    fn of(&self, user: &Browser) -> String {
        format!("{}/{}", self.path, user.id)
    }

    async fn set_role(&self, by: &Browser, user: &Browser, role: &str) -> mailwright_testkit::Response {
        by.request(&self.app, "PATCH", &self.of(user)).json(&json!({"role": role})).send().await
    }

    async fn remove(&self, by: &Browser, user: &Browser) -> mailwright_testkit::Response {
        by.request(&self.app, "DELETE", &self.of(user)).send().await
    }

    async fn invite(&self, by: &Browser, body: Value) -> mailwright_testkit::Response {
        by.request(&self.app, "POST", &self.path).json(&body).send().await
    }
}

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

/// A request as the form of a page sends it.
fn posted(app: &App, request: Request, fields: &str) -> Request {
    request
        .header("origin", app.base_url())
        .header("sec-fetch-site", "same-origin")
        .body(fields.replace(' ', "+"), "application/x-www-form-urlencoded")
}

both_engines! {
    async fn members_are_listed_in_the_order_they_came(engine: Engine) {
        let team = Team::new(engine).await;
        let list = team.list().await;
        assert_eq!(column(&list, "email"), [OWNER.0, "admin@example.com", "member@example.com"]);
        assert_eq!(team.roles().await, ["OWNER", "ADMIN", "MEMBER"]);
        assert_only_keys(&list[0], &["userId", "email", "name", "role", "ownershipOffered", "createdAt"]);
        assert_timestamp(&list[0]["createdAt"]);
        team.invite(&team.owner, json!({"email": "MEMBER@example.com"})).await.assert_error(409, "CONFLICT");
        let refused = team.invite(&team.owner, json!({"email": "x", "role": "OWNER"})).await;
        let mut found = issues(&refused);
        found.sort();
        assert_eq!(found, [("email".into(), "invalid_string".into()), ("role".into(), "invalid_enum_value".into())]);
    }

    async fn administrators_manage_everybody_but_owners(engine: Engine) {
        let team = Team::new(engine).await;
        assert_eq!(team.set_role(&team.admin, &team.member, "ADMIN").await.assert_status(200).json()["role"], "ADMIN");
        assert_eq!(team.roles().await, ["OWNER", "ADMIN", "ADMIN"]);
        team.set_role(&team.admin, &team.owner, "MEMBER").await.assert_error(403, "FORBIDDEN");
        team.remove(&team.admin, &team.owner).await.assert_error(403, "FORBIDDEN");
        team.set_role(&team.admin, &team.member, "OWNER").await.assert_error(403, "FORBIDDEN");
        team.set_role(&team.admin, &team.admin, "OWNER").await.assert_error(403, "FORBIDDEN");
        team.set_role(&team.admin, &team.admin, "MEMBER").await.assert_status(200);
        team.set_role(&team.admin, &team.admin, "ADMIN").await.assert_error(403, "FORBIDDEN");
        let unknown = format!("{}/{UNKNOWN_ID}", team.path);
        team.owner.request(&team.app, "DELETE", &unknown).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
    }

    async fn members_leave_and_nothing_more(engine: Engine) {
        let team = Team::new(engine).await;
        for user in [&team.owner, &team.admin] {
            team.remove(&team.member, user).await.assert_error(403, "FORBIDDEN");
        }
        team.remove(&team.member, &team.member).await.assert_status(200);
        assert_eq!(team.roles().await, ["OWNER", "ADMIN"]);
    }

    async fn a_removed_member_is_out_at_once(engine: Engine) {
        let team = Team::new(engine).await;
        let contacts = || team.member.in_project(&team.app, team.app.project_id(), "GET", "/contacts").send();
        contacts().await.assert_status(200);
        team.remove(&team.admin, &team.member).await.assert_status(200);
        contacts().await.assert_error(403, "PROJECT_ACCESS_DENIED");
        team.member.request(&team.app, "GET", &team.path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        let mine = team.member.request(&team.app, "GET", "/users/@me/projects").send().await.assert_status(200);
        assert_eq!(mine.json(), json!([]), "the session goes on, the project is gone from it");
    }

    async fn the_last_owner_cannot_leave_and_hands_the_project_over(engine: Engine) {
        let team = Team::new(engine).await;
        team.remove(&team.owner, &team.owner).await.assert_error(403, "FORBIDDEN");
        team.set_role(&team.owner, &team.owner, "ADMIN").await.assert_error(403, "FORBIDDEN");
        let offered = team.set_role(&team.owner, &team.admin, "OWNER").await.assert_status(202).json();
        assert_eq!((&offered["role"], &offered["ownershipOffered"]), (&json!("ADMIN"), &json!(true)));
        assert_eq!(team.roles().await, ["OWNER", "ADMIN", "MEMBER"], "nobody owns what he did not take");
        let taken = team.set_role(&team.admin, &team.admin, "OWNER").await.assert_status(200).json();
        assert_eq!((&taken["role"], &taken["ownershipOffered"]), (&json!("OWNER"), &json!(false)));
        assert_eq!(team.roles().await, ["ADMIN", "OWNER", "MEMBER"], "who was the owner stays as an administrator");
        team.set_role(&team.owner, &team.member, "OWNER").await.assert_error(403, "FORBIDDEN");
        team.remove(&team.owner, &team.owner).await.assert_status(200);
        let audit = team.admin.audit(&team.app, team.app.project_id()).await;
        let actions: Vec<&str> = audit.iter().take(2).map(|entry| text(&entry["action"])).collect();
        assert_eq!(actions, ["member.removed", "ownership.transferred"]);
    }

    async fn an_offer_is_taken_by_whom_it_was_made_to_while_it_stands(engine: Engine) {
        let team = Team::new(engine).await;
        let take = |user: &Browser| {
            let request = user.request(&team.app, "PATCH", &team.of(user));
            request.json(&json!({"role": "OWNER"})).send()
        };
        take(&team.member).await.assert_error(403, "FORBIDDEN");
        team.set_role(&team.owner, &team.member, "OWNER").await.assert_status(202);
        // another offer takes its place
        team.set_role(&team.owner, &team.admin, "OWNER").await.assert_status(202);
        take(&team.member).await.assert_error(403, "FORBIDDEN");
        // and so does another role, be it the one the member has
        team.set_role(&team.owner, &team.admin, "ADMIN").await.assert_status(200);
        take(&team.admin).await.assert_error(403, "FORBIDDEN");
        // whoever offers it must be an owner still
        team.set_role(&team.owner, &team.member, "OWNER").await.assert_status(202);
        team.app.tamper("update memberships set role = 'ADMIN' where role = 'OWNER'").await;
        take(&team.member).await.assert_error(403, "FORBIDDEN");
        team.app.tamper(&format!("update memberships set role = 'OWNER' where user_id in (select id from users where email = '{}')", OWNER.0)).await;
        take(&team.member).await.assert_status(200);
        assert_eq!(team.roles().await, ["ADMIN", "ADMIN", "OWNER"]);
    }

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

    async fn two_owners_cannot_leave_at_the_same_moment(engine: Engine) {
        let team = Team::new(engine).await;
        for round in 0..5 {
            let name = format!("Shared {round}");
            let project = text(&team.owner.create_project(&team.app, &name).await["id"]).to_owned();
            team.owner.add_member(&team.app, &project, &team.admin, "ADMIN").await;
            // no door leads to two owners, and databases of earlier versions have projects with several
            team.app.tamper("update memberships set role = 'OWNER' where role = 'ADMIN'").await;
            let leave = |user: &Browser| {
                let path = format!("/projects/{project}/members/{}", user.id);
                user.request(&team.app, "DELETE", &path).send()
            };
            let (one, two) = tokio::join!(leave(&team.owner), leave(&team.admin));
            let mut statuses = [one.status, two.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 403], "one stays");
        }
    }

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

    async fn an_invitation_is_renewed_where_there_is_no_room_for_another(engine: Engine) {
        let team = Team::new(engine).await;
        let invite = |email: &str| team.invite(&team.owner, json!({"email": email}));
        invite("grace@example.com").await.assert_status(202);
        fill(&team.app, engine, "invitations", MOST - 1).await;
        invite("ada@example.com").await.assert_error(409, "CONFLICT");
        invite("grace@example.com").await.assert_status(202);
    }

    async fn a_key_manages_members_only(engine: Engine) {
        let team = Team::new(engine).await;
        let app = &team.app;
        let post = |role: &str, email: &str| app.post(&team.path).json(&json!({"email": email, "role": role})).send();
        post("ADMIN", "grace@example.com").await.assert_error(403, "FORBIDDEN");
        post("MEMBER", "grace@example.com").await.assert_status(202);
        app.delete(&team.of(&team.admin)).send().await.assert_error(403, "FORBIDDEN");
        app.patch(&team.of(&team.member)).json(&json!({"role": "ADMIN"})).send().await.assert_error(403, "FORBIDDEN");
        app.delete(&team.of(&team.member)).send().await.assert_status(200);
        let audit = team.owner.audit(app, app.project_id()).await;
        assert_eq!((&audit[0]["action"], &audit[0]["actor"]["type"]), (&json!("member.removed"), &json!("key")));
    }

    async fn what_a_key_invited_ends_with_the_key(engine: Engine) {
        let team = Team::new(engine).await;
        let (app, project) = (&team.app, team.app.project_id());
        let named = team.owner.create_key(app, project, "Robot", &["everything"]).await;
        let invite = async |key: &str, email: &str| {
            let request = app.request("POST", &team.path).bearer(key).json(&json!({"email": email}));
            request.send().await.assert_status(202).json()
        };
        let of_pair = invite(app.secret_key(), "pair@example.com").await;
        let of_named = invite(text(&named["key"]), "named@example.com").await;
        team.invite(&team.owner, json!({"email": "kept@example.com"})).await.assert_status(202);
        // one that a person takes over is the person's
        invite(app.secret_key(), "taken@example.com").await;
        let taken = team.invite(&team.admin, json!({"email": "taken@example.com"})).await.assert_status(202).json();
        assert_eq!((&of_pair["confirmed"], &taken["confirmed"]), (&json!(false), &json!(true)));
        let waiting = async || {
            let list = format!("/projects/{project}/invitations");
            let list = team.owner.request(app, "GET", &list).send().await.assert_status(200).json();
            let mut found: Vec<String> = column(&list, "email").into_iter().map(str::to_owned).collect();
            found.sort();
            found
        };
        let rotate = format!("/users/@me/projects/{project}/regenerate-keys");
        let rotated = team.owner.request(app, "POST", &rotate).send().await.assert_status(200).json();
        assert_eq!(rotated["withdrawnInvitations"], json!(["pair@example.com"]));
        assert_eq!(waiting().await, ["kept@example.com", "named@example.com", "taken@example.com"]);
        let revoke = format!("/projects/{project}/keys/{}", text(&named["id"]));
        let revoked = team.owner.request(app, "DELETE", &revoke).send().await.assert_status(200).json();
        assert_eq!(revoked["withdrawnInvitations"], json!(["named@example.com"]));
        assert_eq!(waiting().await, ["kept@example.com", "taken@example.com"]);
        assert!(of_pair["token"].is_null() && of_named["token"].is_null(), "{of_pair} {of_named}");
        let audit = team.owner.audit(app, project).await;
        let withdrawn: Vec<_> = audit
            .iter()
            .filter(|entry| entry["action"] == "invitation.revoked")
            .map(|entry| (text(&entry["target"]), text(&entry["actor"]["type"])))
            .collect();
        assert_eq!(withdrawn, [("named@example.com", "user"), ("pair@example.com", "user")]);
    }

    async fn what_a_key_asks_for_waits_for_a_person(engine: Engine) {
        let team = Team::new(engine).await;
        let (app, project) = (&team.app, team.app.project_id());
        // an account with a proven address, which a person would make a member at once
        let grace = Browser::sign_up(app, "grace@example.com").await;
        app.tamper("update users set email_verified_at = created_at").await;
        let asked = app.post(&team.path).json(&json!({"email": grace.email})).send().await.assert_status(202).json();
        assert_eq!((&asked["userId"], &asked["token"], &asked["confirmed"]), (&json!(null), &json!(null), &json!(false)));
        // signing in, which accepts what a person invited to, accepts nothing of it
        let grace = Browser::log_in(app, &grace.email, mailwright_tests::browser::PASSWORD).await;
        let contacts = || grace.in_project(app, project, "GET", "/contacts").send();
        contacts().await.assert_error(403, "PROJECT_ACCESS_DENIED");
        let confirm = format!("/projects/{project}/invitations/{}/confirm", text(&asked["invitationId"]));
        app.post(&confirm).send().await.assert_error(401, "INVALID_API_KEY");
        team.member.request(app, "POST", &confirm).send().await.assert_error(403, "FORBIDDEN");
        grace.request(app, "POST", &confirm).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        let list = format!("/projects/{project}/invitations");
        let waiting = team.owner.request(app, "GET", &list).send().await.assert_status(200).json();
        assert_eq!((&waiting[0]["email"], &waiting[0]["confirmed"]), (&json!("grace@example.com"), &json!(false)));

        let joined = team.admin.request(app, "POST", &confirm).send().await.assert_status(200).json();
        assert_eq!(joined["userId"], grace.id.as_str());
        contacts().await.assert_status(200);
        team.admin.request(app, "POST", &confirm).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        let audit = team.owner.audit(app, project).await;
        assert_eq!((&audit[0]["action"], &audit[0]["actor"]["name"]), (&json!("member.added"), &json!("admin@example.com")));
        // whom a person invited needs nobody's word any more
        let invited = team.invite(&team.admin, json!({"email": "new@example.com"})).await.assert_status(202).json();
        let path = format!("{list}/{}/confirm", text(&invited["invitationId"]));
        team.owner.request(app, "POST", &path).send().await.assert_error(409, "CONFLICT");
        app.post(&team.path).json(&json!({"email": "new@example.com"})).send().await.assert_error(409, "CONFLICT");
        app.post(&team.path).json(&json!({"email": grace.email})).send().await.assert_error(409, "CONFLICT");
    }

    async fn a_key_withdraws_no_invitation_that_it_may_not_make(engine: Engine) {
        let team = Team::new(engine).await;
        let app = &team.app;
        let invite = async |email: &str, role: &str| {
            let body = json!({"email": email, "role": role});
            let made = team.invite(&team.owner, body).await.assert_status(202).json();
            format!("/projects/{}/invitations/{}", app.project_id(), text(&made["invitationId"]))
        };
        let (admin, member) = (invite("a@example.com", "ADMIN").await, invite("b@example.com", "MEMBER").await);
        app.delete(&admin).send().await.assert_error(403, "FORBIDDEN");
        app.delete(&member).send().await.assert_status(200);
        team.admin.request(app, "DELETE", &admin).send().await.assert_status(200);
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

    async fn members_leave_a_disabled_project_and_begin_another(engine: Engine) {
        let team = Team::new(engine).await;
        let app = &team.app;
        app.run(&["project", "disable", app.project_id(), "--reason", "Unpaid"]).await;
        // nobody else is removed meanwhile, and the owner answers for the project
        for by in [&team.owner, &team.admin] {
            team.remove(by, &team.member).await.assert_error(403, "PROJECT_DISABLED");
        }
        app.delete(&team.of(&team.member)).send().await.assert_error(403, "PROJECT_DISABLED");
        team.set_role(&team.owner, &team.admin, "OWNER").await.assert_error(403, "PROJECT_DISABLED");
        let another = json!({"name": "Another"});
        let begin = |user: &Browser| user.request(app, "POST", "/users/@me/projects").json(&another).send();
        begin(&team.owner).await.assert_error(403, "PROJECT_DISABLED");
        begin(&team.admin).await.assert_status(201);
        team.remove(&team.member, &team.member).await.assert_status(200);
        assert_eq!(team.roles().await, ["OWNER", "ADMIN"]);
        begin(&team.member).await.assert_status(201);
        // the owner leaves as well, the data stays, and the owner answers for it as before
        let contacts = app.get("/contacts").send().await.assert_status(200).json();
        team.remove(&team.owner, &team.owner).await.assert_status(200);
        assert_eq!(app.get("/contacts").send().await.assert_status(200).json(), contacts);
        begin(&team.owner).await.assert_error(403, "PROJECT_DISABLED");
        app.run(&["project", "enable", app.project_id()]).await;
        begin(&team.owner).await.assert_status(201);
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
