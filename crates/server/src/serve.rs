//! `mailwright serve`.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use mailwright_app::bootstrap::Bootstrap;
use mailwright_app::tasks::Tasks;
use mailwright_app::{App, Transport};
use mailwright_core::address::{DomainName, EmailAddress};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::Config;
use crate::http::{self, Server};
use crate::{print, setup};

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Answers requests.
    Api,
    /// Delivers mail and does background work.
    Worker,
}

/// How long the end of requests and of mails in flight is waited for.
const PATIENCE: Duration = Duration::from_secs(25);

/// Runs until SIGTERM or SIGINT.
pub(crate) async fn serve(config: &Config, roles: &[Role], demo: bool) -> Result<()> {
    let limits = config.limits(http::raise_open_files())?;
    setup::assert_writable(config)?;
    let setup = setup::open(config)?;
    setup.migrate().await?;
    let app = setup.app(config)?;
    if setup.db.is_postgres() && config.secret()?.is_none() {
        tracing::warn!(
            "MAILWRIGHT_SECRET is not set: this process uses the secret in its data directory, and every process on \
             this database must have the same one"
        );
    }
    if matches!(config.transport()?, Transport::Smtp(_)) && !config.base_url().starts_with("https://") {
        tracing::warn!(
            base_url = %config.base_url(),
            "mail leaves, and its links are not https: mail programs offer no unsubscribing with one click; set \
             MAILWRIGHT_BASE_URL to an https:// address"
        );
    }
    if demo {
        show_demo(&app, config).await?;
    }
    let tasks = Tasks::default();
    app.start_clock(&tasks).await;
    app.start_probing(&tasks).await;
    if roles.contains(&Role::Worker) {
        app.start_worker(&tasks);
    }
    // a worker alone still answers /health, /ready and /metrics, and whatever else reaches it
    let listener = TcpListener::bind(&config.listen).await.with_context(|| {
        format!("cannot listen on {}: is the address in use? MAILWRIGHT_LISTEN sets another", config.listen)
    })?;
    tracing::info!(listen = %config.listen, base_url = %config.base_url(), "the service is ready");
    let mut server = Server::new(listener, mailwright_api::router(app.clone()), &limits);
    let mut signals = Signals::new()?;
    let mut asked = SignalKind::interrupt();
    server.accept_until(async { asked = signals.next().await }).await;
    app.leave();
    tracing::info!("the service stops");
    let requests = async {
        if asked == SignalKind::terminate() {
            // whoever sends requests here learns from /ready that others should get them now
            let drained = async {
                tokio::select! { () = tokio::time::sleep(config.drain()) => {}, _ = signals.next() => {} }
            };
            server.accept_until(drained).await;
        }
        let _ = tokio::time::timeout(PATIENCE, server.drain()).await;
    };
    let ((), all_ended) = tokio::join!(requests, tasks.stop(PATIENCE));
    if !all_ended {
        tracing::warn!("background work did not end in time; what it held is taken over after its lease");
    }
    drop(app);
    setup.db.close();
    Ok(())
}

/// The signals that ask the process to stop.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("SIGTERM cannot be waited for")?,
            interrupt: signal(SignalKind::interrupt()).context("SIGINT cannot be waited for")?,
        })
    }

    async fn next(&mut self) -> SignalKind {
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
        }
    }
}

const DEMO_KEYS: &str = "demo-keys.json";
const DEMO_USER: &str = "demo@example.com";

/// Prints the demo project's keys and how to send the first email. They are made when the database is empty, and kept
/// in the data directory so that the next start can show them again.
async fn show_demo(app: &App, config: &Config) -> Result<()> {
    let path = config.data_dir.join(DEMO_KEYS);
    if app.is_empty().await? {
        let password = hex::encode(rand::random::<[u8; 16]>());
        let made = app
            .bootstrap(Bootstrap {
                email: EmailAddress::parse(DEMO_USER).context("the demo address")?,
                password: password.clone(),
                reset_password: false,
                project: "Demo".into(),
                language: "en".into(),
                domain: DomainName::parse("example.com").context("the demo domain")?,
                new_secret_key: false,
            })
            .await?;
        let secret = made.secret_key.as_ref().map(mailwright_app::key::Token::reveal).unwrap_or_default();
        let keys = serde_json::json!({
            "secretKey": secret, "publicKey": made.public_key, "from": made.from, "password": password,
        });
        setup::write_private(&path, &keys.to_string())?;
    }
    match keys(&path) {
        Some((keys, password)) => print(&welcome(&config.base_url(), &keys, password.as_deref())),
        None => print(
            "This database was set up before. Make a key with: mailwright bootstrap --new-secret-key ...",
        ),
    }
}

/// Secret key, public key and sender; and the password of the demo user, which earlier versions did not keep.
fn keys(path: &Path) -> Option<([String; 3], Option<String>)> {
    let keys: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    let text = |name: &str| keys[name].as_str().map(str::to_owned);
    Some(([text("secretKey")?, text("publicKey")?, text("from")?], text("password")))
}

fn welcome(base: &str, [secret, public, from]: &[String; 3], password: Option<&str>) -> String {
    let user = password.map_or_else(String::new, |password| {
        format!("  user        {DEMO_USER}\n  password    {password}\n")
    });
    format!(
        r#"
Mailwright runs at {base}

  secret key  {secret}
  public key  {public}
{user}
Send the first email:

  curl {base}/v1/send \
    -H 'Authorization: Bearer {secret}' -H 'Content-Type: application/json' \
    -d '{{"to":"ada@example.org","from":"{from}","subject":"Hello {{{{name}}}}","body":"<h1>Hello {{{{name}}}}</h1>","data":{{"name":"Ada"}}}}'

See it in the browser at {base}/inbox (enter the secret key), or with:

  curl {base}/mailbox -H 'Authorization: Bearer {secret}'

The API is described at {base}/docs
"#
    )
}
