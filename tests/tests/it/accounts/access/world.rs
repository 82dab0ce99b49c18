//! A project with its people and its keys, and what they find in it.

use mailwright_testkit::{App, Engine, OWNER, Project};
use mailwright_tests::browser::Browser;
use mailwright_tests::{UNKNOWN_ID, shown, text};
use serde_json::Value;

use crate::requests::fail;

pub(super) const SCOPES: [&str; 6] = ["read", "send", "contacts", "campaigns", "workflows", "everything"];

/// A project, its people and its keys.
pub(in crate::accounts) struct World {
    pub(in crate::accounts) app: App,
    pub(in crate::accounts) project: String,
    /// Member, administrator and owner.
    pub(in crate::accounts) people: [Browser; 3],
    pub(super) outsider: Browser,
    pub(in crate::accounts) secret: String,
    pub(super) public: String,
    pub(super) scoped: Vec<(&'static str, String)>,
    pub(super) foreign: Project,
}

impl World {
    pub(in crate::accounts) async fn new(engine: Engine) -> Self {
        // in tests that hold something up, who waits keeps its place
        let app = App::builder(engine)
            .env("MAILWRIGHT_DATABASE_LOCK_WAIT_MS", "60000")
            .env("MAILWRIGHT_DATABASE_CONNECTIONS", "16")
            .start()
            .await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let admin = Browser::sign_up(&app, "admin@example.com").await;
        let member = Browser::sign_up(&app, "member@example.com").await;
        let outsider = Browser::sign_up(&app, "outsider@example.com").await;
        // with a project of its own, which also keeps the account from being deleted
        outsider.create_project(&app, "Elsewhere").await;
        let foreign = app.bootstrap("Neighbour", "neighbour.test").await;
        let people = [member, admin, owner];
        let (project, secret, public) =
            (app.project_id().to_owned(), app.secret_key().to_owned(), app.public_key().to_owned());
        let mut world = Self { app, project, people, outsider, secret, public, scoped: Vec::new(), foreign };
        world.populate(&world.project).await;
        for scope in SCOPES {
            let key = world.people[2].create_key(&world.app, &world.project, scope, &[scope]).await;
            world.scoped.push((scope, text(&key["key"]).to_owned()));
        }
        world
    }

    async fn populate(&self, project: &str) {
        let owner = &self.people[2];
        owner.add_member(&self.app, project, &self.people[1], "ADMIN").await;
        owner.add_member(&self.app, project, &self.people[0], "MEMBER").await;
    }

    /// Another project with the same people.
    pub(super) async fn another_project(&self) -> String {
        let made = self.people[2].create_project(&self.app, "Throw-away").await;
        let id = text(&made["id"]).to_owned();
        self.populate(&id).await;
        id
    }

    /// The id of something new that a path is about; of nothing where it names nothing, or what only work makes.
    pub(in crate::accounts) async fn thing(&self, path: &str) -> String {
        let made_at = match path.split('/').nth(1).unwrap_or_default() {
            "contacts" if path.starts_with("/contacts/{id}") => "/contacts",
            "segments" => "/segments",
            "campaigns" => "/campaigns",
            "workflows" => "/workflows",
            "templates" => "/templates",
            "topics" => "/topics",
            "domains" if path.starts_with("/domains/{id}") => "/domains",
            "projects" if path.contains("{invitationId}") => "/projects/{id}/members",
            "emails" | "mailbox" => return self.captured().await,
            _ => return UNKNOWN_ID.to_owned(),
        };
        let made = self.request("post", made_at, &self.project).bearer(&self.secret).send().await;
        assert!((200..300).contains(&made.status), "{made_at}: {}", shown(&made));
        let made = made.json();
        let made = if made["data"]["id"].is_string() { &made["data"] } else { &made };
        text(if made["invitationId"].is_string() { &made["invitationId"] } else { &made["id"] }).to_owned()
    }

    /// Waits until campaigns and mails are where they stay.
    pub(in crate::accounts) async fn settle(&self) {
        let app = &self.app;
        app.eventually("nothing is under way", async || {
            let running = app.get("/campaigns?status=SENDING").send().await.assert_status(200).json();
            let mails = app.list_all("/emails").await;
            let waits = |mail: &Value| ["PENDING", "SENDING"].contains(&text(&mail["status"]));
            (running["total"] == 0 && !mails.iter().any(waits)).then_some(())
        })
        .await;
    }

    /// Waits until the log has all requests made so far. Reading it is not logged, so it then stays as it is.
    pub(super) async fn log_is_stored(&self) {
        let last = fail(&self.app).await;
        self.app
            .eventually("the last request is in the log", async || {
                let page = self.app.get("/requests").send().await.assert_status(200).json();
                let is_there = page["data"].as_array()?.iter().any(|entry| entry["requestId"] == last);
                is_there.then_some(())
            })
            .await;
    }

    /// The id of a mail in the mailbox.
    async fn captured(&self) -> String {
        let id = self.app.send_to("ada@example.com").await;
        self.app.email_in(&id, &["SENT"]).await;
        id
    }
}
