//! What is asked of a project while it is reset.
//!
//! PostgreSQL alone: where there is one writer, a reset is done before the next change begins.

use mailwright_testkit::{App, Engine, Held, OWNER, Request, Response};
use mailwright_tests::browser::{Browser, PASSWORD};
use mailwright_tests::{column, text, until_waiting};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A project whose members a test changes.
struct World {
    app: App,
    owner: Browser,
    /// `/projects/:id`
    path: String,
    /// `/users/@me/projects/:id`
    mine: String,
}

impl World {
    async fn new() -> Self {
        // who waits keeps its place
        let app = App::builder(Engine::Postgres)
            .env("MAILWRIGHT_DATABASE_LOCK_WAIT_MS", "60000")
            .env("MAILWRIGHT_DATABASE_CONNECTIONS", "16")
            .start()
            .await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let (path, mine) =
            (format!("/projects/{}", app.project_id()), format!("/users/@me/projects/{}", app.project_id()));
        Self { app, owner, path, mine }
    }

    fn ask(&self, method: &str, path: &str) -> Request {
        self.owner.request(&self.app, method, path)
    }

    async fn invite(&self, email: &str) -> Value {
        let body = json!({"email": email, "role": "ADMIN"});
        self.ask("POST", &format!("{}/members", self.path)).json(&body).send().await.assert_status(202).json()
    }

    async fn list(&self, what: &str) -> Value {
        self.ask("GET", &format!("{}/{what}", self.path)).send().await.assert_status(200).json()
    }

    async fn projects(&self) -> Value {
        self.ask("GET", "/users/@me/projects").send().await.assert_status(200).json()
    }

    /// Begins a reset that waits for what is held.
    async fn begin_reset(&self) -> (Held, JoinHandle<Response>) {
        let held = self.app.hold("select 1 from projects for update").await;
        let reset = tokio::spawn(self.ask("POST", &format!("{}/reset", self.mine)).json(&json!({})).send());
        until_waiting(&self.app, 1).await;
        (held, reset)
    }

    /// Asks for all of this once a reset has begun, and before it is done.
    async fn meet_a_reset(&self, requests: Vec<Request>) {
        let (held, reset) = self.begin_reset().await;
        let many = requests.len();
        let asked: Vec<_> = requests.into_iter().map(|request| tokio::spawn(request.send())).collect();
        until_waiting(&self.app, 1 + many).await;
        drop(held);
        reset.await.expect("an answer").assert_status(200);
        for asked in asked {
            let answer = asked.await.expect("an answer");
            assert!([200, 201].contains(&answer.status), "{}", mailwright_tests::shown(&answer));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_taken_away_is_gone() {
    let world = World::new().await;
    let (app, path) = (&world.app, &world.path);
    let [gone, demoted] =
        [Browser::sign_up(app, "gone@example.com").await, Browser::sign_up(app, "demoted@example.com").await];
    for member in [&gone, &demoted] {
        world.owner.add_member(app, app.project_id(), member, "ADMIN").await;
    }
    let key = world.owner.create_key(app, app.project_id(), "stolen", &["everything"]).await;
    let invited = world.invite("invited@example.com").await;
    world
        .meet_a_reset(vec![
            world.ask("DELETE", &format!("{path}/keys/{}", text(&key["id"]))),
            world.ask("DELETE", &format!("{path}/members/{}", gone.id)),
            world.ask("PATCH", &format!("{path}/members/{}", demoted.id)).json(&json!({"role": "MEMBER"})),
            world.ask("DELETE", &format!("{path}/invitations/{}", text(&invited["invitationId"]))),
        ])
        .await;
    assert_eq!(column(&world.list("members").await, "role"), ["OWNER", "MEMBER"]);
    assert_eq!(world.list("invitations").await, json!([]));
    assert!(!column(&world.list("keys").await, "id").contains(&text(&key["id"])));
    let bearer = format!("Bearer {}", text(&key["key"]));
    app.request("GET", "/contacts").header("authorization", &bearer).send().await.assert_status(401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_and_settings_are_those_that_were_asked_for() {
    let world = World::new().await;
    let (app, path, mine) = (&world.app, &world.path, &world.mine);
    world
        .meet_a_reset(vec![
            world.ask("POST", &format!("{mine}/regenerate-keys")).json(&json!({})),
            world.ask("PATCH", mine).json(&json!({"name": "Other"})),
            world.ask("POST", &format!("{path}/keys")).json(&json!({"name": "late", "scopes": ["read"]})),
        ])
        .await;
    app.get("/contacts").send().await.assert_error(401, "INVALID_API_KEY");
    assert_eq!(column(&world.projects().await, "name"), ["Other"]);
    assert!(world.list("keys").await.to_string().contains("late"));
    world.meet_a_reset(vec![world.ask("DELETE", mine).json(&json!({}))]).await;
    assert_eq!(world.projects().await, json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_accepts_an_invitation_is_in() {
    let world = World::new().await;
    let app = &world.app;
    let (token, new) = (world.invite("token@example.com").await, world.invite("new@example.com").await);
    world.invite("proven@example.com").await;
    let holder = Browser::sign_up(app, "token@example.com").await;
    Browser::sign_up(app, "proven@example.com").await;
    app.tamper("update users set email_verified_at = created_at where email = 'proven@example.com'").await;
    let sign_up = json!({"email": "new@example.com", "password": PASSWORD, "invitation": new["token"]});
    world
        .meet_a_reset(vec![
            holder.request(app, "POST", "/users/@me/invitations").json(&json!({"token": token["token"]})),
            app.request("POST", "/auth/signup").json(&sign_up),
            // accepts what a proven address was invited to
            app.request("POST", "/auth/login")
                .json(&json!({"email": "proven@example.com", "password": PASSWORD})),
        ])
        .await;
    let members = world.list("members").await;
    let mut members = column(&members, "email");
    members.sort_unstable();
    assert_eq!(members, ["new@example.com", OWNER.0, "proven@example.com", "token@example.com"]);
    assert_eq!(world.list("invitations").await, json!([]));
}
