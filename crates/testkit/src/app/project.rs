//! Projects, as `bootstrap` makes them.

use serde_json::Value;

use super::{App, OWNER};

/// A project on the server under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The project's id.
    pub id: String,
    /// The secret key, `sk_...`.
    pub secret_key: String,
    /// The public key, `pk_...`.
    pub public_key: String,
    /// The verified sender domain.
    pub domain: String,
    /// An address of the sender domain.
    pub from: String,
}

impl Project {
    /// A project that `bootstrap` has just made, by what it printed.
    pub(super) fn new(printed: &Value, domain: &str) -> Self {
        let text = |name: &str| match printed[name].as_str() {
            Some(text) => text.to_owned(),
            None => panic!("`mailwright bootstrap` of a new project printed no {name}: {printed}"),
        };
        Self {
            id: text("projectId"),
            secret_key: text("secretKey"),
            public_key: text("publicKey"),
            domain: domain.to_owned(),
            from: text("from"),
        }
    }
}

/// `bootstrap` for a project with a sender domain.
pub(crate) fn bootstrap_arguments<'a>(project: &'a str, domain: &'a str) -> [&'a str; 10] {
    let (email, password) = OWNER;
    [
        "bootstrap",
        "--email",
        email,
        "--password",
        password,
        "--project",
        project,
        "--domain",
        domain,
        "--json",
    ]
}

/// What `bootstrap --json` printed.
pub(crate) fn bootstrapped(printed: &str) -> Value {
    serde_json::from_str(printed.trim())
        .unwrap_or_else(|error| panic!("`mailwright bootstrap --json` printed no JSON ({error}): {printed}"))
}

impl App {
    /// Creates another project with a verified domain on the same database.
    pub async fn bootstrap(&self, project: &str, domain: &str) -> Project {
        self.bootstrap_in(project, domain, "en").await
    }

    /// Creates another project, whose pages and footers are in a language of its own.
    pub async fn bootstrap_in(&self, project: &str, domain: &str, language: &str) -> Project {
        let output = self.run_bootstrap(project, domain, &["--language", language]).await;
        Project::new(&output, domain)
    }

    /// Makes another secret key for the project made at the start.
    pub async fn new_secret_key(&self) -> String {
        let output = self.run_bootstrap("Acme", "acme.test", &["--new-secret-key"]).await;
        assert_eq!(output["projectId"], self.project.id, "bootstrap is idempotent by project name");
        output["secretKey"].as_str().unwrap_or_else(|| panic!("no secretKey in {output}")).to_owned()
    }

    async fn run_bootstrap(&self, project: &str, domain: &str, more: &[&str]) -> Value {
        let arguments = [&bootstrap_arguments(project, domain)[..], more].concat();
        bootstrapped(&self.run(&arguments).await)
    }
}
