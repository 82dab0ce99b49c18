//! `mailwright doctor`: finds what is wrong with a set-up, and says what to do about it.

mod copies;
mod direct;
mod epoch;
mod feedback;
mod growth;
mod uploads;

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use mailwright_app::{Transport, secret};
use mailwright_mail::smtp::{Connection, OpenError, OpenStage, Reply, Security};
use mailwright_store::Location;
use mailwright_store::body;
use mailwright_store::database::migrate::{self, Standing};
use mailwright_store::delivery::next_hop;
use rustix::fs::Access;
use tokio::net::TcpListener;

use crate::config::Config;
use crate::serve::cannot_listen;
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
        findings.extend(epoch::epoch(config, standing).await.map(|finding| ("epoch", finding)));
        findings.extend(growth::findings(config, standing).await);
    }
    match config.transport() {
        Ok(transport) => {
            findings.push(("transport", reach(config, &transport).await));
            findings.push(("next hop", next_hop(config, &transport).await));
            findings.push(("EHLO name", Ok(ehlo_name(&transport))));
        }
        Err(error) => findings.push(("transport", Err(format!("{error:#}")))),
    }
    findings.push(("name server", dns(config).await.map(Fine::from)));
    findings.extend(feedback::findings(config, standing).await);
    findings.extend(copies::finding(config).await.map(|finding| ("copies", finding)));
    findings.extend(uploads::finding(config).await.map(|finding| ("uploads", finding)));
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
        print(&format!("{mark}  {what}: {text}"))?;
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

/// As what we introduce ourselves.
fn ehlo_name(transport: &Transport) -> Fine {
    let connection = match transport {
        Transport::Capture => {
            return Fine::Ok("no name is needed, because mail does not leave this machine".into());
        }
        Transport::Smtp(relay) => relay,
        Transport::Direct(direct) => &direct.connection,
    };
    match connection.helo_name.as_str() {
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
    }
}

/// What the service learnt of the mail server.
async fn next_hop(config: &Config, transport: &Transport) -> Result<Fine, String> {
    let relay = match transport {
        Transport::Capture => {
            return Ok(Fine::Ok("none, because mail does not leave this machine".into()));
        }
        Transport::Direct(_) => {
            return Ok(Fine::Ok("none, because mail is brought to the recipients' own servers".into()));
        }
        Transport::Smtp(relay) => relay,
    };
    let configured = config.delivery_connections();
    let known = match learnt(config, relay.name()).await {
        Ok(known) => known.unwrap_or_default(),
        // the line about the database says what is wrong with it
        Err(error) => return Ok(Fine::Better(format!("what was learnt about it cannot be read: {error}"))),
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
                "it refuses all mail, or all mail of a project, and this mail waits ({said}); make sure that \
                 this machine and the senders may use it"
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

async fn learnt(config: &Config, name: String) -> Result<Option<next_hop::Known>, String> {
    if matches!(config.location(), Ok(Location::Sqlite(file)) if !file.exists()) {
        return Ok(None);
    }
    let setup = setup::open(config).map_err(|e| format!("{e:#}"))?;
    if setup.db.examine().await.is_err()
        || !matches!(migrate::standing(&setup.db).await, Ok(Standing::Current))
    {
        return Ok(None);
    }
    let now = setup.clock.now();
    let found = setup.db.read(body!(async |rx| next_hop::get(rx, &name, now).await)).await;
    found.map_err(|e| e.to_string())
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

/// Whether mail can be handed over.
async fn reach(config: &Config, transport: &Transport) -> Result<Fine, String> {
    match transport {
        Transport::Capture => {
            Ok(Fine::Ok("capture: mail is kept in the mailbox, nothing leaves this machine".into()))
        }
        Transport::Direct(direct) => direct::source(config, direct).await,
        Transport::Smtp(relay) => {
            match tokio::time::timeout(Duration::from_secs(15), Connection::open(relay)).await {
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
                Ok(Err(error)) => {
                    let hint = tls_hint(relay.security, &error);
                    Err(format!("{}:{}: {error}{hint}", relay.host, relay.port))
                }
                Err(_) => Err(format!("{}:{} does not answer", relay.host, relay.port)),
            }
        }
    }
}

/// What to do where TLS was begun on a port that begins without.
fn tls_hint(security: Security, error: &OpenError) -> &'static str {
    if security == Security::ImplicitTls
        && error.stage == OpenStage::Tls
        && error.error.contains("InvalidContentType")
    {
        "; the port begins without TLS: smtps:// is for port 465, and smtp:// for 587 and 25, where TLS begins later"
    } else {
        ""
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
