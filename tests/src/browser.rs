//! A signed-in user: requests with a session's cookie.

use mailwright_testkit::{App, OWNER, Request, Response};
use serde_json::{Value, json};

use crate::{required_header, text};

/// Changes settings of the project, as its owner does; the project then.
pub async fn change_project(app: &App, changes: &Value) -> Value {
    let owner = Browser::log_in(app, OWNER.0, OWNER.1).await;
    let path = format!("/users/@me/projects/{}", app.project_id());
    owner.request(app, "PATCH", &path).json(changes).send().await.assert_status(200).json()
}

/// The password that [`Browser::sign_up`] gives everybody.
pub const PASSWORD: &str = "a password of twelve words";

/// A session.
#[derive(Clone, Debug)]
pub struct Browser {
    /// The cookie as it is sent back: `name=value`.
    pub cookie: String,
    /// The user's id.
    pub id: String,
    /// The user's address.
    pub email: String,
}

impl Browser {
    /// Signs a new account up.
    pub async fn sign_up(app: &App, email: &str) -> Self {
        let body = json!({"email": email, "password": PASSWORD});
        Self::of(&app.request("POST", "/auth/signup").json(&body).send().await)
    }

    /// Signs an account in.
    pub async fn log_in(app: &App, email: &str, password: &str) -> Self {
        Self::of(&try_log_in(app, email, password).await)
    }

    /// The session that an answer starts.
    pub fn of(answer: &Response) -> Self {
        let answer = answer.clone().assert_status(200);
        let body = answer.json();
        Self {
            cookie: cookie(&answer),
            id: text(&body["id"]).to_owned(),
            email: text(&body["email"]).to_owned(),
        }
    }

    /// A request with the cookie.
    pub fn request(&self, app: &App, method: &str, path: &str) -> Request {
        app.request(method, path).header("cookie", &self.cookie)
    }

    /// A request about a project.
    pub fn in_project(&self, app: &App, project: &str, method: &str, path: &str) -> Request {
        self.request(app, method, path).header("x-project-id", project)
    }

    /// Creates a project; the answer, which holds its keys.
    pub async fn create_project(&self, app: &App, name: &str) -> Value {
        let request = self.request(app, "POST", "/users/@me/projects").json(&json!({"name": name}));
        request.send().await.assert_status(201).json()
    }

    /// Makes an account, whose address nobody proved, a member of a project: invites it and accepts the invitation.
    pub async fn add_member(&self, app: &App, project: &str, member: &Self, role: &str) {
        let body = json!({"email": member.email, "role": role});
        let path = format!("/projects/{project}/members");
        let invited = self.request(app, "POST", &path).json(&body).send().await.assert_status(202).json();
        member.accept(app, text(&invited["token"])).await.assert_status(200);
    }

    /// Accepts an invitation.
    pub async fn accept(&self, app: &App, token: &str) -> Response {
        self.request(app, "POST", "/users/@me/invitations").json(&json!({"token": token})).send().await
    }

    /// Makes a key with a name and scopes; the key.
    pub async fn create_key(&self, app: &App, project: &str, name: &str, scopes: &[&str]) -> Value {
        let body = json!({"name": name, "scopes": scopes});
        let path = format!("/projects/{project}/keys");
        self.request(app, "POST", &path).json(&body).send().await.assert_status(201).json()
    }

    /// What was done in a project, newest first.
    pub async fn audit(&self, app: &App, project: &str) -> Vec<Value> {
        let path = format!("/projects/{project}/audit?limit=100");
        let page = self.request(app, "GET", &path).send().await.assert_status(200).json();
        crate::items(&page["data"]).to_vec()
    }
}

/// Tries to sign an account in.
pub async fn try_log_in(app: &App, email: &str, password: &str) -> Response {
    let body = json!({"email": email, "password": password});
    app.request("POST", "/auth/login").json(&body).send().await
}

/// The cookie that an answer sets, as it is sent back.
pub fn cookie(answer: &Response) -> String {
    let set = required_header(answer, "set-cookie");
    set.split(';').next().unwrap_or_default().to_owned()
}
