//! `mailwright doctor`: what is wrong with a set-up, and what to do about it.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use mailwright_app::Transport;
use mailwright_mail::smtp::Connection;
use mailwright_store::{Location, migrate};

use crate::config::Config;
use crate::{print, setup};

/// Checks everything and prints a line for each. Fails when something is wrong.
pub(crate) async fn doctor(config: &Config) -> Result<ExitCode> {
    let findings = vec![
        (
            "configuration",
            config.settings().map(|_| "it can be read".to_owned()).map_err(|e| format!("{e:#}")),
        ),
        ("base URL", Ok(base_url(&config.base_url()))),
        ("data directory", data_dir(config)),
        ("database", database(config).await),
        ("transport", transport(config).await),
        ("name server", dns(config).await),
        ("secret", secret(config)),
    ];
    let mut healthy = true;
    for (what, finding) in findings {
        healthy &= finding.is_ok();
        let (mark, text) = match finding {
            Ok(text) => ("ok   ", text),
            Err(text) => ("WRONG", text),
        };
        print(&format!("{mark}  {what}: {text}"))?;
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn base_url(url: &str) -> String {
    if url.contains("127.0.0.1") || url.contains("localhost") {
        return format!("{url} works on this machine only; set MAILWRIGHT_BASE_URL before mail leaves it");
    }
    url.to_owned()
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
    let setup = setup::open(config).map_err(|e| format!("{e:#}"))?;
    setup.db.ping().await.map_err(|e| format!("{engine} does not answer: {e}"))?;
    match migrate::is_current(&setup.db).await {
        Ok(true) => Ok(format!("{engine} answers and is up to date")),
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

async fn transport(config: &Config) -> Result<String, String> {
    match config.transport().map_err(|e| format!("{e:#}"))? {
        Transport::Capture => Ok("capture: mail is kept in the mailbox, nothing leaves this machine".into()),
        Transport::Smtp(relay) => {
            match tokio::time::timeout(Duration::from_secs(15), Connection::open(&relay)).await {
                Ok(Ok(connection)) => {
                    let how = if connection.tls() { "encrypted" } else { "NOT encrypted" };
                    connection.quit().await;
                    Ok(format!("{}:{} takes mail, the connection is {how}", relay.host, relay.port))
                }
                Ok(Err(error)) => Err(format!("{}:{}: {error}", relay.host, relay.port)),
                Err(_) => Err(format!("{}:{} does not answer", relay.host, relay.port)),
            }
        }
    }
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
