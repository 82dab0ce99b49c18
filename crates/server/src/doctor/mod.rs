//! `mailwright doctor`: finds what is wrong with a set-up, and says what to do about it.

mod cluster;
mod copies;
mod direct;
mod domains;
mod epoch;
mod feedback;
mod growth;
mod mta_sts;
mod spamd;
mod transports;
mod uploads;

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use mailwright_app::secret;
use mailwright_mail::dns::{Dns, DnsError};
use mailwright_store::Location;
use mailwright_store::database::migrate::{self, Standing};
use rustix::fs::Access;
use tokio::net::TcpListener;

use crate::config::Config;
use crate::printable::printable_lines;
use crate::serve::cannot_listen;
use crate::{print, setup};

/// A zone that is there, and signed.
const SIGNED: &str = "example.com";

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
    let base_url = base_url(config);
    let mut findings: Vec<(&str, Result<Fine, String>)> = Vec::new();
    // what rests on something that is wrong is not looked at
    if base_url.is_ok() {
        let read = config.settings().map(|_| "it can be read".to_owned().into());
        findings.push(("configuration", read.map_err(|e| format!("{e:#}"))));
    }
    findings.extend([("base URL", base_url), ("listen", listen(config).await)]);
    let folder = usable_folder(config);
    let is_usable = folder.is_ok();
    findings.push(("data directory", folder.and_then(|()| data_dir(config)).map(Fine::from)));
    let mut standing = None;
    if is_usable || !matches!(config.location(), Ok(Location::Sqlite(_))) {
        let database = database(config).await;
        standing = database.1;
        findings.push(("database", database.0.map(Fine::from)));
        findings.extend(cluster::finding(config, standing).await.map(|finding| ("cluster", finding)));
        findings.extend(epoch::epoch(config, standing).await.map(|finding| ("epoch", finding)));
        findings.extend(growth::findings(config, standing).await);
    }
    match config.transports() {
        Ok(transports) => findings.extend(transports::findings(config, &transports).await),
        Err(error) => findings.push(("transport", Err(format!("{error:#}")))),
    }
    findings.push(("name server", dns(config).await.map(Fine::from)));
    findings.extend(feedback::findings(config, standing).await);
    findings.extend(domains::finding(config, standing).await.map(|finding| ("DKIM records", finding)));
    findings.extend(mta_sts::finding(config).map(|finding| ("MTA-STS", finding)));
    findings.extend(copies::finding(config).await.map(|finding| ("copies", finding)));
    findings.extend(uploads::finding(config).await.map(|finding| ("uploads", finding)));
    findings.extend(spamd::finding(config).await.map(|finding| ("spamd", finding)));
    if is_usable || config.secret().is_ok_and(|secret| secret.is_some()) {
        findings.push(("secret", secret(config, standing).await.map(Fine::from)));
    }
    let mut healthy = true;
    for (what, finding) in findings {
        healthy &= finding.is_ok();
        let (mark, text) = match finding {
            Ok(Fine::Ok(text)) => ("ok   ", text),
            Ok(Fine::Better(text)) => ("LOOK ", text),
            Err(text) => ("WRONG", text),
        };
        print(&format!("{mark}  {what}: {}", printable_lines(&text)))?;
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn base_url(config: &Config) -> Result<Fine, String> {
    let url = config.base_url().map_err(|e| format!("{e:#}"))?;
    let leaves = config.mail_leaves();
    Ok(match () {
        () if url.is_local() => {
            let text =
                format!("{url} works on this machine only; set MAILWRIGHT_BASE_URL before mail leaves it");
            if leaves { Fine::Better(text) } else { Fine::Ok(text) }
        }
        () if leaves && !url.is_https() => Fine::Better(format!(
            "{url} is not https, so mail programs do not offer to unsubscribe with one click (RFC 8058); put a \
             proxy with a certificate before the service and set MAILWRIGHT_BASE_URL to its https:// address"
        )),
        () => Fine::Ok(url.to_string()),
    })
}

/// Whether the service can listen on its address, or does so already.
async fn listen(config: &Config) -> Result<Fine, String> {
    config.check_listen().map_err(|e| format!("{e:#}"))?;
    match TcpListener::bind(&config.listen).await {
        Ok(_) => Ok(Fine::Ok(format!("{} is free", config.listen))),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Ok(Fine::Ok(format!("{} is in use, which is right while the service runs", config.listen)))
        }
        Err(error) => Err(cannot_listen(config, &error)),
    }
}

/// Whether the data directory is there, or can be made, for this user.
fn usable_folder(config: &Config) -> Result<(), String> {
    if !needs_folder(config) && !config.data_dir.exists() {
        return Ok(());
    }
    if !config.data_dir.exists() {
        return can_be_made(&config.data_dir);
    }
    setup::unusable(config).map_or(Ok(()), Err)
}

fn needs_folder(config: &Config) -> bool {
    matches!(config.location(), Ok(Location::Sqlite(_))) || !matches!(config.secret(), Ok(Some(_)))
}

/// Who can read the data directory.
fn data_dir(config: &Config) -> Result<String, String> {
    let folder = config.data_dir.display();
    if !config.data_dir.exists() {
        return Ok(if needs_folder(config) {
            format!("{folder} will be made when it is needed")
        } else {
            "none is needed: PostgreSQL has the data, and MAILWRIGHT_SECRET the secret".into()
        });
    }
    match setup::open_to_others(&config.data_dir).as_slice() {
        [] => Ok(format!("{folder} can be used by this user, and read by nobody else")),
        open => {
            let names: Vec<_> = open.iter().map(|path| path.display().to_string()).collect();
            Err(format!(
                "other users of this machine can read this: {0}; the next start removes their permissions \
                 where it can, and chmod go= {0} does it now",
                names.join(" ")
            ))
        }
    }
}

/// What is wrong with the database, and how it stands to this program where it can be asked.
async fn database(config: &Config) -> (Result<String, String>, Option<Standing>) {
    match ask_database(config).await {
        Ok((text, standing)) => (Ok(text), standing),
        Err((text, standing)) => (Err(text), standing),
    }
}

/// What is said of something, and how the database stands.
type Asked = (String, Option<Standing>);

async fn ask_database(config: &Config) -> Result<Asked, Asked> {
    let location = config.location().map_err(|e| (format!("{e:#}"), None))?;
    if let Location::Sqlite(file) = &location
        && !file.exists()
    {
        return Ok((format!("SQLite: {} will be made at the first start", file.display()), None));
    }
    let engine = if matches!(location, Location::Sqlite(_)) { "SQLite" } else { "PostgreSQL" };
    setup::assert_writable(config).map_err(|e| (format!("{engine}: {e:#}"), None))?;
    let setup = setup::open(config).map_err(|e| (format!("{e:#}"), None))?;
    setup.db.examine().await.map_err(|e| (e.to_string(), None))?;
    let standing = migrate::standing(&setup.db).await;
    let standing = standing.map_err(|e| (format!("{engine} does not answer: {e}"), None))?;
    let known = Some(standing);
    match standing {
        Standing::Current => match setup.db.probe_write().await {
            Ok(()) => Ok((format!("{engine} answers, takes writes and is up to date"), known)),
            Err(error) => Err((format!("{engine} answers, and nothing can be written: {error}"), known)),
        },
        Standing::Empty | Standing::Behind => Ok((
            format!("{engine} answers; `mailwright migrate` or the next start will bring it up to date"),
            known,
        )),
        Standing::Ahead => Err((
            format!(
                "{engine}: a newer Mailwright wrote this database; run that version, or restore a backup"
            ),
            known,
        )),
    }
}

/// Whether the service can make a folder. The doctor makes nothing.
fn can_be_made(path: &Path) -> Result<(), String> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.ancestors().find(|folder| folder.exists()).unwrap_or(&path);
    let may = || rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    if folder.is_dir() && may() {
        return Ok(());
    }
    Err(format!(
        "{} cannot be made: {} is not a folder that can be written",
        path.display(),
        folder.display()
    ))
}

/// Whether the secret is there, and opens what is stored.
async fn secret(config: &Config, standing: Option<Standing>) -> Result<String, String> {
    let known = setup::known_secret(config).map_err(|e| format!("{e:#}"))?;
    if standing == Some(Standing::Current) {
        let setup = setup::open(config).map_err(|e| format!("{e:#}"))?;
        let sealed = secret::sample(&setup.db).await.map_err(|e| format!("it cannot be tried: {e}"))?;
        if let Some(trouble) = setup::secret_trouble(config, sealed.as_ref()).map_err(|e| format!("{e:#}"))? {
            return Err(trouble);
        }
        if let Some(known) = &known
            && let Some(trouble) = setup::unopened(&setup.db, known).await.map_err(|e| format!("{e:#}"))?
        {
            return Err(trouble);
        }
        if sealed.is_some() {
            return Ok("it decrypts the stored keys".into());
        }
    }
    Ok(match known {
        Some(_) => "it is there".into(),
        None => "it will be made at the first start, in the data directory".into(),
    })
}

async fn dns(config: &Config) -> Result<String, String> {
    let dns = config.dns().map_err(|e| format!("{e:#}"))?;
    match dns.txt(SIGNED).await {
        Ok(_) | Err(DnsError::NotFound) if dns.validates() => validates(&dns).await,
        Ok(_) | Err(DnsError::NotFound) => Ok("it answers".into()),
        Err(DnsError::Unavailable(_)) if !config.mail_leaves() => {
            Ok("it does not answer, which matters only for sending to other hosts".into())
        }
        Err(error) => Err(format!("domains cannot be verified: {error}")),
    }
}

/// Whether a name server validates DNSSEC of which the operator says so.
async fn validates(dns: &Dns) -> Result<String, String> {
    match dns.proves(SIGNED).await {
        Ok(true) => Ok("it answers, and validates DNSSEC".into()),
        Ok(false) => Err(format!(
            "it does not validate DNSSEC, or does not say so: it calls nothing proven of {SIGNED}, which is signed. \
             Ask one that does, or set MAILWRIGHT_DNS_VALIDATES to false; until then no TLSA record counts"
        )),
        Err(error) => Err(format!("whether it validates DNSSEC cannot be found out: {error}")),
    }
}
