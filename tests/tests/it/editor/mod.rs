//! What an editor of templates and campaigns needs: the source of the HTML, former versions, previews and checks.

mod browser;
mod checks;
mod framed;
mod previews;
mod sources;
mod versions;

use mailwright_testkit::{App, Project, Request, Response, Value, json};
use mailwright_tests::{as_project, text, with};

/// A text in MJML.
fn mjml(inner: &str) -> String {
    format!(
        "<mjml><mj-body><mj-section><mj-column><mj-text>{inner}</mj-text></mj-column></mj-section></mj-body></mjml>"
    )
}

/// What has a source and versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Template,
    Campaign,
}

const BOTH: [Kind; 2] = [Kind::Template, Kind::Campaign];

impl Kind {
    fn list(self) -> &'static str {
        match self {
            Self::Template => "/templates",
            Self::Campaign => "/campaigns",
        }
    }

    fn path(self, of: &Value, rest: &str) -> String {
        format!("{}/{}{rest}", self.list(), text(&of["id"]))
    }

    /// A request that creates one which says nothing yet.
    fn made(self, app: &App, says: &Value) -> Value {
        let common = json!({"name": "Welcome", "subject": "Hi {{name}}", "from": app.from()});
        let audience = if self == Self::Campaign { json!({"audienceType": "ALL"}) } else { json!({}) };
        with(with(common, &audience), says)
    }

    async fn try_create(self, app: &App, says: &Value) -> Response {
        app.post(self.list()).json(&self.made(app, says)).send().await
    }

    async fn create(self, app: &App, says: &Value) -> Value {
        let created = self.try_create(app, says).await.assert_status(201).json();
        if self == Self::Campaign { created["data"].clone() } else { created }
    }

    fn update(self, app: &App, of: &Value) -> Request {
        match self {
            Self::Template => app.patch(&self.path(of, "")),
            Self::Campaign => app.put(&self.path(of, "")),
        }
    }

    async fn change(self, app: &App, of: &Value, changes: &Value) -> Value {
        self.update(app, of).json(changes).send().await.assert_status(200).json()
    }

    /// The code of the error for one that there is not.
    fn missing(self) -> &'static str {
        match self {
            Self::Template => "TEMPLATE_NOT_FOUND",
            Self::Campaign => "CAMPAIGN_NOT_FOUND",
        }
    }

    /// One of another project.
    async fn of_another(self, app: &App, other: &Project) -> Value {
        let new = with(self.made(app, &json!({"mjml": mjml("Theirs")})), &json!({"from": other.from}));
        let created =
            as_project(app, other, "POST", self.list()).json(&new).send().await.assert_status(201).json();
        if self == Self::Campaign { created["data"].clone() } else { created }
    }
}
