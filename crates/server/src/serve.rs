//! `mailwright serve`.
//!
//! On `SIGTERM` `/ready` answers 503 and background tasks stop at once. Requests are accepted for `drain_ms` more, so
//! that a load balancer has time to notice. When a task panics that the service cannot do without, the process stops in
//! the same way and exits with an error, so that whatever supervises it starts another.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use mailwright_app::App;
use mailwright_app::background::tasks::Tasks;
use mailwright_app::copies::{self, CopySettings, InstanceFiles};
use mailwright_app::project::bootstrap::Bootstrap;
use mailwright_app::secret::InstanceSecret;
use mailwright_app::settings::BaseUrl;
use mailwright_core::address::{DomainName, EmailAddress};
use mailwright_store::Db;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::Config;
use crate::http::{self, Server};
use crate::{ServeArgs, inbound, print, setup};

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
pub(crate) async fn serve(config: &Config, args: &ServeArgs) -> Result<()> {
    config.check()?;
    let limits = config.limits(http::raise_open_files());
    setup::assert_writable(config)?;
    let setup = setup::open(config)?;
    let _alone = setup::serve_alone(config)?;
    setup.migrate().await?;
    setup.assert_served().await?;
    let app = if args.lost_secret {
        setup.app_with_any_secret(config)?
    } else {
        let app = setup.app(config).await?;
        setup.keep_check(config).await?;
        app
    };
    if setup.db.is_shared() && config.secret()?.is_none() {
        tracing::warn!(
            "MAILWRIGHT_SECRET is not set: this process uses the secret in its data directory, and every process on \
             this database must have the same one"
        );
    }
    if app.settings().allow_private_networks {
        tracing::warn!("requests to addresses that users give may go to private networks");
    }
    if config.mail_leaves() && !app.settings().base_url.is_https() {
        tracing::warn!(
            base_url = %app.settings().base_url,
            "the links in mails are not https, so mail programs do not offer to unsubscribe with one click; \
             set MAILWRIGHT_BASE_URL to an https:// address"
        );
    }
    // a worker alone still answers /health, /ready and /metrics, and whatever else reaches it
    let listener =
        TcpListener::bind(&config.listen).await.map_err(|error| anyhow!(cannot_listen(config, &error)))?;
    // what is announced goes to this process and to no other
    if args.demo {
        show_demo(&app, config).await?;
    }
    let tasks = Tasks::new(&setup.clock);
    #[cfg(debug_assertions)]
    crate::moved_clock::follow(&tasks)?;
    app.start_clock(&tasks).await;
    app.start_probing(&tasks).await;
    app.start_recorder(&tasks);
    app.start_streams(&tasks);
    app.start_columns(&tasks);
    app.start_request_log(&tasks);
    app.start_verification_lists(&tasks);
    if let Some(copies) = config.copies()? {
        start_copies(&app, &tasks, config, copies)?;
    }
    if let Some(listener) = config.listener()? {
        inbound::start(&app, &tasks, &listener, limits.inbound).await?;
    }
    let works = args.roles.contains(&Role::Worker);
    if args.lost_secret {
        renew_keys(&app, &tasks, works);
    } else {
        if works {
            app.start_worker(&tasks);
        }
        if let Some(secret) = setup::known_secret(config)? {
            tell_unopened(&setup.db, secret, &tasks);
        }
    }
    tracing::info!(listen = %config.listen, base_url = %app.settings().base_url, "the service is ready");
    let mut server = Server::new(listener, mailwright_api::router(app.clone()), &limits);
    let mut signals = Signals::new()?;
    let mut asked = SignalKind::interrupt();
    let asked_or_failed = async {
        tokio::select! { signal = signals.next() => asked = signal, () = tasks.failed() => {} }
    };
    server.accept_until(asked_or_failed).await;
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
        app.stop_recorder();
        app.stop_request_log();
    };
    let ((), all_ended) = tokio::join!(requests, tasks.stop(PATIENCE));
    if !all_ended {
        tracing::warn!(
            "background work did not end in time; other processes or the next start take it over after its lease"
        );
    }
    drop(app);
    setup.db.close().await;
    if tasks.have_failed() {
        return Err(anyhow!("a task that the service cannot do without panicked; the log says which"));
    }
    Ok(())
}

/// Copies the database as it is written, with what belongs to the instance beside it.
fn start_copies(app: &App, tasks: &Tasks, config: &Config, settings: CopySettings) -> Result<()> {
    let files = InstanceFiles {
        data_dir: config.data_dir.clone(),
        own: setup::OWN_FILES.to_vec(),
        uploads: config.data_dir.join(setup::UPLOADS),
        secret: if config.secret()?.is_some() { "environment" } else { "file" },
    };
    copies::start(app, tasks, settings, files).context("continuous copies cannot be made")
}

/// Says what the secret does not open. There may be much to try, and nothing waits for that.
fn tell_unopened(db: &Db, secret: InstanceSecret, tasks: &Tasks) {
    let (db, stop) = (db.clone(), tasks.clone());
    tasks.spawn("what the secret opens", async move {
        let tried = tokio::select! {
            tried = setup::unopened(&db, &secret) => tried,
            () = stop.stopping() => return,
        };
        match tried {
            Ok(None) => {}
            Ok(Some(trouble)) => tracing::warn!("the secret: {trouble}"),
            Err(error) => tracing::warn!("the secret: {error:#}"),
        }
    });
}

/// Gives new keys to the domains whose keys cannot be opened, and starts the background work afterwards: mail of a
/// domain that the operator vouches for then finds its new key. Requests are answered meanwhile.
fn renew_keys(app: &App, tasks: &Tasks, works: bool) {
    let (app, stop) = (app.clone(), tasks.clone());
    tasks.spawn("new keys", async move {
        let Some(renewed) = app.renew_keys(&stop).await else { return };
        tracing::warn!(
            renewed,
            "the keys of all domains can be opened; the next start needs no --lost-secret"
        );
        if works {
            app.start_worker(&stop);
        }
    });
}

/// Why the address cannot be listened on, and what to do.
pub(crate) fn cannot_listen(config: &Config, error: &std::io::Error) -> String {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => "the address is in use; MAILWRIGHT_LISTEN sets another".to_owned(),
        ErrorKind::AddrNotAvailable => {
            "this machine does not have that address; MAILWRIGHT_LISTEN takes one of its own, or 0.0.0.0 for all of them"
                .to_owned()
        }
        ErrorKind::PermissionDenied => {
            "this user may not listen on that port: ports below 1024 are the system's; set MAILWRIGHT_LISTEN to a higher \
             one and put a proxy before it, or give the program the capability CAP_NET_BIND_SERVICE"
                .to_owned()
        }
        _ => format!("{error}; MAILWRIGHT_LISTEN takes an address and a port, such as 127.0.0.1:8080"),
    };
    format!("cannot listen on {}: {hint}", config.listen)
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
        let secret =
            made.secret_key.as_ref().map(mailwright_app::project::key::Token::reveal).unwrap_or_default();
        let keys = serde_json::json!({
            "projectId": made.project, "secretKey": secret, "publicKey": made.public_key, "from": made.from,
            "password": password,
        });
        setup::write_private(&path, &keys.to_string())?;
    }
    match keys(&path) {
        Some(keys) => print(&welcome(&app.settings().base_url, &keys)),
        None => print(
            "This database was set up before. Make a key with: mailwright bootstrap --new-secret-key ...",
        ),
    }
}

/// The demo project as it was made. Earlier versions did not keep all of it.
struct Demo {
    project: Option<String>,
    secret: String,
    public: String,
    from: String,
    password: Option<String>,
}

fn keys(path: &Path) -> Option<Demo> {
    let keys: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    let text = |name: &str| keys[name].as_str().map(str::to_owned);
    Some(Demo {
        project: text("projectId"),
        secret: text("secretKey")?,
        public: text("publicKey")?,
        from: text("from")?,
        password: text("password"),
    })
}

fn welcome(base: &BaseUrl, Demo { project, secret, public, from, password }: &Demo) -> String {
    let user = password.as_ref().map_or_else(String::new, |password| {
        format!("  user        {DEMO_USER}\n  password    {password}\n")
    });
    let project = project.as_ref().map_or_else(String::new, |id| format!("  project     {id}\n"));
    format!(
        r#"
Mailwright runs at {base}

{project}  secret key  {secret}
  public key  {public}
{user}
Send the first email:

  curl {base}/v1/send \
    -H 'Authorization: Bearer {secret}' -H 'Content-Type: application/json' \
    -d '{{"to":"ada@example.org","from":"{from}","subject":"Hello {{{{name}}}}","body":"<h1>Hello {{{{name}}}}</h1>","data":{{"name":"Ada"}}}}'

See it in the browser at {base}/inbox (enter the secret key), or with:

  curl {base}/mailbox -H 'Authorization: Bearer {secret}'

The dashboard is at {base}/app/ and the API is described at {base}/docs
"#
    )
}
