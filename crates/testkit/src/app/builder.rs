//! The configuration that a server under test is started with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::process::{Server, binary};
use super::{App, Project};
use crate::Engine;
use crate::clock::MovedClock;
use crate::database::Database;
use crate::database_proxy::DatabaseProxy;
use crate::dns::FakeDns;
use crate::http::{Client, Heard};
use crate::net::free_port;
use crate::prepared;

/// How a server is to be started.
#[derive(Debug)]
#[must_use = "nothing runs until `start`"]
pub struct AppBuilder {
    engine: Engine,
    env: Vec<(String, String)>,
    proxied: bool,
    wrapper: Vec<String>,
    data_dir: Option<PathBuf>,
    file: Option<String>,
    empty: bool,
    listening: bool,
}

impl AppBuilder {
    pub(super) fn new(engine: Engine) -> Self {
        Self {
            engine,
            env: Vec::new(),
            proxied: false,
            wrapper: Vec::new(),
            data_dir: None,
            file: None,
            empty: false,
            listening: false,
        }
    }

    /// Sets an environment variable of the server, over the defaults of the harness.
    pub fn env(mut self, key: &str, value: impl Into<String>) -> Self {
        self.env.push((key.to_owned(), value.into()));
        self
    }

    /// Sends mail to an SMTP server on 127.0.0.1, without TLS.
    pub fn smtp(self, port: u16) -> Self {
        self.env("MAILWRIGHT_TRANSPORT", format!("smtp://127.0.0.1:{port}?tls=none"))
    }

    /// Brings mail to the recipients' own servers, which this name server knows and which listen on this port.
    pub fn direct(self, dns: &FakeDns, port: u16) -> Self {
        self.env("MAILWRIGHT_TRANSPORT", format!("direct:?helo=out.mailwright.test&port={port}"))
            .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
            .env("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true")
    }

    /// Puts a proxy that can be cut between the server and PostgreSQL, see [`App::database_proxy`].
    pub fn database_proxy(mut self) -> Self {
        self.proxied = true;
        self
    }

    /// Runs the server through a command that executes its arguments, such as `sh -c 'ulimit ...; exec "$@"' sh`.
    pub fn wrapper(mut self, command: &[&str]) -> Self {
        self.wrapper = command.iter().map(|&part| part.to_owned()).collect();
        self
    }

    /// Gives the server a file of settings.
    pub fn file(mut self, text: &str) -> Self {
        self.file = Some(text.to_owned());
        self
    }

    /// Keeps the server's data in a folder that outlives it.
    pub fn data_dir(mut self, path: &Path) -> Self {
        self.data_dir = Some(path.to_owned());
        self
    }

    /// Leaves the database as the first start makes it: no user, no project.
    pub fn empty(mut self) -> Self {
        self.empty = true;
        self
    }

    /// Keeps every answer, for [`App::heard`].
    pub fn listening(mut self) -> Self {
        self.listening = true;
        self
    }

    /// Starts the server, waits until it is ready and creates a project with a verified domain.
    pub async fn start(self) -> App {
        let binary = binary();
        let temp = Arc::new(tempfile::tempdir().unwrap());
        let data_dir = self.data_dir.clone().unwrap_or_else(|| temp.path().join("data"));
        let mut env: Vec<(String, String)> = [
            ("MAILWRIGHT_TRANSPORT", "capture"),
            ("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", "0"),
            // which of the successes are kept is left to chance
            ("MAILWRIGHT_REQUESTS_SAMPLE_PERCENT", "0"),
            ("MAILWRIGHT_SECRET", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
            ("MAILWRIGHT_DELIVERY_RETRY_BASE_MS", "50"),
            ("MAILWRIGHT_DELIVERY_RETRY_MAX_MS", "500"),
            ("MAILWRIGHT_DELIVERY_LEASE_MS", "1000"),
            ("MAILWRIGHT_JOBS_LEASE_MS", "2000"),
            ("MAILWRIGHT_DRAIN_MS", "0"),
            // making an RSA key takes a second
            ("MAILWRIGHT_DOMAINS_KEY_TYPE", "ed25519"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        env.push((
            "MAILWRIGHT_LOG".to_owned(),
            std::env::var("MAILWRIGHT_TEST_LOG").unwrap_or_else(|_| "info".to_owned()),
        ));
        env.push(("MAILWRIGHT_DATA_DIR".to_owned(), data_dir.display().to_string()));
        let all: Vec<_> = env.iter().chain(&self.env).cloned().collect();
        // what is in a folder of the test's own is the test's
        let is_prepared = !self.empty && self.data_dir.is_none();
        let mut prepared = None;
        let (database, proxy) = match self.engine {
            Engine::Sqlite => {
                if is_prepared {
                    prepared = Some(prepared::fill(&binary, &all, &data_dir));
                }
                (None, None)
            }
            Engine::Postgres => {
                let database = if is_prepared {
                    let (database, printed) = Database::prepared(&binary, &all).await;
                    prepared = Some(printed);
                    database
                } else {
                    Database::create(&binary).await
                };
                let proxy = if self.proxied { Some(DatabaseProxy::start(&database).await) } else { None };
                let url = database.url(proxy.as_ref().map(DatabaseProxy::port));
                env.push(("MAILWRIGHT_DATABASE_URL".to_owned(), url));
                // a process of the server for each costs more than most tests
                env.push(("MAILWRIGHT_DATABASE_CONNECTIONS".to_owned(), "6".to_owned()));
                (Some(Arc::new(database)), proxy)
            }
        };
        env.extend(self.env);
        let arguments = self.file.map_or_else(Vec::new, |text| {
            let path = temp.path().join("mailwright.toml");
            std::fs::write(&path, text).unwrap();
            vec!["--config".to_owned(), path.display().to_string()]
        });
        let mut app = App {
            engine: self.engine,
            server: Server {
                arguments,
                binary,
                wrapper: self.wrapper,
                env,
                port: free_port(),
                log: temp.path().join("server.log"),
                child: None,
                clock: Arc::new(MovedClock::new(temp.path())),
            },
            client: Client::new(self.listening.then(Heard::default)),
            base_url: String::new(),
            project: Project {
                id: String::new(),
                secret_key: String::new(),
                public_key: String::new(),
                domain: String::new(),
                from: String::new(),
            },
            proxy: proxy.map(Arc::new),
            database,
            temp,
        };
        app.launch(true).await;
        match prepared {
            Some(printed) => app.project = Project::new(&printed, "acme.test"),
            None if self.empty => {}
            None => app.project = app.bootstrap("Acme", "acme.test").await,
        }
        app
    }
}
