//! A project with an owner, an administrator and a member.

use mailwright_testkit::{App, Engine, OWNER};
use mailwright_tests::browser::Browser;
use mailwright_tests::column;
use serde_json::{Value, json};

pub(super) struct Team {
    pub(super) app: App,
    pub(super) path: String,
    pub(super) owner: Browser,
    pub(super) admin: Browser,
    pub(super) member: Browser,
}

impl Team {
    pub(super) async fn new(engine: Engine) -> Self {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let admin = Browser::sign_up(&app, "admin@example.com").await;
        let member = Browser::sign_up(&app, "member@example.com").await;
        owner.add_member(&app, app.project_id(), &admin, "ADMIN").await;
        owner.add_member(&app, app.project_id(), &member, "MEMBER").await;
        let path = format!("/projects/{}/members", app.project_id());
        Self { app, path, owner, admin, member }
    }

    pub(super) async fn list(&self) -> Value {
        self.owner.request(&self.app, "GET", &self.path).send().await.assert_status(200).json()
    }

    pub(super) async fn roles(&self) -> Vec<String> {
        column(&self.list().await, "role").into_iter().map(str::to_owned).collect()
    }

    pub(super) fn of(&self, user: &Browser) -> String {
        format!("{}/{}", self.path, user.id)
    }

    pub(super) async fn set_role(
        &self,
        by: &Browser,
        user: &Browser,
        role: &str,
    ) -> mailwright_testkit::Response {
        by.request(&self.app, "PATCH", &self.of(user)).json(&json!({"role": role})).send().await
    }

    pub(super) async fn remove(&self, by: &Browser, user: &Browser) -> mailwright_testkit::Response {
        by.request(&self.app, "DELETE", &self.of(user)).send().await
    }

    pub(super) async fn invite(&self, by: &Browser, body: Value) -> mailwright_testkit::Response {
        by.request(&self.app, "POST", &self.path).json(&body).send().await
    }
}
