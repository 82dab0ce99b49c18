//! `mailwright doctor`: what is wrong with a set-up, and what to do about it.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use mailwright_app::Transport;
use mailwright_mail::smtp::{Connection, OpenError, OpenStage, Reply};
use mailwright_store::{Location, hop, migrate};

use crate::config::Config;
use crate::{print, setup};

/// What is found where something is fine.
enum Fine {
    /// All of it.
    Ok(String),
    /// It works, and could be better.
    Better(String),
}

impl From<String> for Fine {
    fn from(text: String) -> Self {
        Self::Ok(text)
    }
}

/// Checks everything and prints a line for each. Fails when something is wrong.
pub(crate) async fn doctor(config: &Config) -> Result<ExitCode> {
    let findings: Vec<(&str, Result<Fine, String>)> = vec![
        (
            "configuration",
            config.settings().map(|_| "it can be read".to_owned().into()).map_err(|e| format!("{e:#}")),
        ),
        ("base URL", Ok(base_url(config))),
        ("data directory", data_dir(config).map(Fine::from)),
        ("database", database(config).await.map(Fine::from)),
        ("transport", transport(config).await),
        ("next hop", next_hop(config).await),
        ("EHLO name", ehlo_name(config)),
        ("name server", dns(config).await.map(Fine::from)),
        ("secret", secret(config).map(Fine::from)),
    ];
    let mut healthy = true;
    for (what, finding) in findings {
        healthy &= finding.is_ok();
        let (mark, text) = match finding {
            Ok(Fine::Ok(text)) => ("ok   ", text),
            Ok(Fine::Better(text)) => ("LOOK ", text),
            Err(text) => ("WRONG", text),
        };
        print(&format!("{mark}  {what}: {text}"))?;
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn base_url(config: &Config) -> Fine {
    let url = config.base_url();
    let is_local = config.is_local();
    let leaves = matches!(config.transport(), Ok(Transport::Smtp(_)));
    match () {
        () if is_local => {
            let text =
                format!("{url} works on this machine only; set MAILWRIGHT_BASE_URL before mail leaves it");
            if leaves { Fine::Better(text) } else { Fine::Ok(text) }
        }
        () if leaves && !url.starts_with("https://") => Fine::Better(format!(
            "{url} is not https, so mail programs offer no unsubscribing with one click (RFC 8058); put a proxy with a \
             certificate before the service and set MAILWRIGHT_BASE_URL to its https:// address"
        )),
        () => Fine::Ok(url),
    }
}

/// As what we introduce ourselves.
fn ehlo_name(config: &Config) -> Result<Fine, String> {
    let Transport::Smtp(relay) = config.transport().map_err(|e| format!("{e:#}"))? else {
        return Ok(Fine::Ok("none is needed, mail does not leave".into()));
    };
    Ok(match relay.helo_name.as_str() {
        "" => Fine::Better(
            "the address of this machine is used, which spam filters dislike; set MAILWRIGHT_BASE_URL to a host name, \
             or add ?helo=mail.example.com to MAILWRIGHT_TRANSPORT"
                .into(),
        ),
        name if !name.contains('.') => Fine::Better(format!(
            "{name} is not a full host name, which spam filters dislike; add ?helo=mail.example.com to \
             MAILWRIGHT_TRANSPORT"
        )),
        name => Fine::Ok(name.to_owned()),
    })
}

/// What the service learnt of the mail server.
async fn next_hop(config: &Config) -> Result<Fine, String> {
    let Transport::Smtp(relay) = config.transport().map_err(|e| format!("{e:#}"))? else {
        return Ok(Fine::Ok("none, mail does not leave".into()));
    };
    let configured = config.settings().map_err(|e| format!("{e:#}"))?.delivery.connections;
    let known = match learnt(config, relay.name()).await {
        Ok(known) => known.unwrap_or_default(),
        // the line about the database says what is wrong with it
        Err(error) => return Ok(Fine::Better(format!("what was learnt of it cannot be read: {error}"))),
    };
    let said = known.detail.unwrap_or_default();
    match known.trouble.as_deref() {
        Some("login") => {
            return Err(format!(
                "it refused the login when it was last tried, and mail waits ({said}); correct name and password in \
                 MAILWRIGHT_TRANSPORT"
            ));
        }
        Some("refused") => {
            return Err(format!(
                "it refuses our mail or that of a project, which waits ({said}); make sure that this machine and the \
                 senders may use it"
            ));
        }
        Some(_) => {
            return Err(format!("it could not be used when it was last tried, and mail waits ({said})"));
        }
        None => {}
    }
    Ok(match known.connections {
        Some(allowed) => Fine::Better(format!(
            "it allows {allowed} connections at a time; configured are {configured}. Nothing has to be done; with \
             several nodes they share what it allows"
        )),
        None => Fine::Ok(format!(
            "it allows the {configured} connections that are configured, as far as is known"
        )),
    })
}

async fn learnt(config: &Config, name: String) -> Result<Option<hop::Known>, String> {
    if matches!(config.location(), Ok(Location::Sqlite(file)) if !file.exists()) {
        return Ok(None);
    }
    let setup = setup::open(config).map_err(|e| format!("{e:#}"))?;
    if !matches!(migrate::is_current(&setup.db).await, Ok(true)) {
        return Ok(None);
    }
    let found = setup.db.read(move |rx| Box::pin(async move { hop::get(rx, &name).await })).await;
    found.map_err(|e| e.to_string())
}

fn data_dir(config: &Config) -> Result<String, String> {
    let folder = config.data_dir.display();
    match setup::open_to_others(&config.data_dir).as_slice() {
        [] if config.data_dir.exists() => Ok(format!("{folder} can be read by its owner only")),
        [] => Ok(format!("{folder} will be made when it is needed")),
        open => {
            let names: Vec<_> = open.iter().map(|path| path.display().to_string()).collect();
            Err(format!(
                "other users of this machine can read this: {0}; the next start takes away from them what it can, and chmod go= {0} does it now",
                names.join(" ")
            ))
        }
    }
}

async fn database(config: &Config) -> Result<String, String> {
    let location = config.location().map_err(|e| format!("{e:#}"))?;
    if let Location::Sqlite(file) = &location
        && !file.exists()
    {
        return missing_file(file);
    }
    let engine = if matches!(location, Location::Sqlite(_)) { "SQLite" } else { "PostgreSQL" };
    setup::assert_writable(config).map_err(|e| format!("{engine}: {e:#}"))?;
    let setup = setup::open(config).map_err(|e| format!("{e:#}"))?;
    setup.db.ping().await.map_err(|e| format!("{engine} does not answer: {e}"))?;
    match migrate::is_current(&setup.db).await {
        Ok(true) => match setup.db.probe_write().await {
            Ok(()) => Ok(format!("{engine} answers, takes writes and is up to date")),
            Err(error) => Err(format!("{engine} answers, and nothing can be written: {error}")),
        },
        _ => Ok(format!("{engine} answers; `mailwright migrate` or the next start will bring it up to date")),
    }
}

/// The embedded database before the first start. The doctor makes nothing; it looks whether the start can.
fn missing_file(file: &Path) -> Result<String, String> {
    let folder = file.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("."));
    match folder.metadata() {
        Ok(found) if found.is_dir() && !found.permissions().readonly() => {
            Ok(format!("SQLite: {} will be made at the first start", file.display()))
        }
        Ok(_) => Err(format!("SQLite: {} is not a folder that can be written", folder.display())),
        Err(error) => Err(format!("SQLite: {}: {error}", folder.display())),
    }
}

fn secret(config: &Config) -> Result<String, String> {
    match setup::known_secret(config) {
        Ok(Some(_)) => Ok("it is there".into()),
        Ok(None) => Ok("it will be made at the first start, in the data directory".into()),
        Err(error) => Err(format!("{error:#}")),
    }
}

async fn transport(config: &Config) -> Result<Fine, String> {
    match config.transport().map_err(|e| format!("{e:#}"))? {
        Transport::Capture => {
            Ok(Fine::Ok("capture: mail is kept in the mailbox, nothing leaves this machine".into()))
        }
        Transport::Smtp(relay) => {
            match tokio::time::timeout(Duration::from_secs(15), Connection::open(&relay)).await {
                Ok(Ok(connection)) => {
                    let how = if connection.tls() { "encrypted" } else { "NOT encrypted" };
                    connection.quit().await;
                    Ok(Fine::Ok(format!("{}:{} takes mail, the connection is {how}", relay.host, relay.port)))
                }
                Ok(Err(error)) if is_busy(&error) && takes_few(config, relay.name()).await => {
                    Ok(Fine::Better(format!(
                        "{}:{} takes no further connection now ({error}), which is right while the service uses as many \
                         as it allows",
                        relay.host, relay.port
                    )))
                }
                Ok(Err(error)) => Err(format!("{}:{}: {error}", relay.host, relay.port)),
                Err(_) => Err(format!("{}:{} does not answer", relay.host, relay.port)),
            }
        }
    }
}

/// Whether the server greeted with a temporary refusal.
fn is_busy(error: &OpenError) -> bool {
    error.stage == OpenStage::Greeting && error.reply.as_ref().is_some_and(Reply::is_transient)
}

/// Whether the service works with fewer connections than it would like.
async fn takes_few(config: &Config, name: String) -> bool {
    let known = learnt(config, name).await.ok().flatten().unwrap_or_default();
    known.connections.is_some() && known.trouble.is_none()
}

async fn dns(config: &Config) -> Result<String, String> {
    use mailwright_mail::dns::DnsError;
    let dns = config.dns().map_err(|e| format!("{e:#}"))?;
    match dns.txt("example.com").await {
        Ok(_) | Err(DnsError::NotFound) => Ok("it answers".into()),
        Err(DnsError::Unavailable(_)) if matches!(config.transport(), Ok(Transport::Capture)) => {
            Ok("it does not answer, which matters only for sending to other hosts".into())
        }
        Err(error) => Err(format!("domains cannot be verified: {error}")),
    }
}
