//! Whether mail can leave, and what was learnt of where it goes.

use std::time::Duration;

use mailwright_app::{NamedTransport, Transport, Transports, ses_identities, ses_quota};
use mailwright_core::domain::IdentityWay;
use mailwright_core::time::Clock;
use mailwright_mail::ses::config::SesConfig;
use mailwright_mail::smtp::{Connection, OpenError, OpenStage, Reply, Security};
use mailwright_store::database::migrate::{self, Standing};
use mailwright_store::delivery::next_hop;
use mailwright_store::sending::{domain_identity, ses_identity};
use mailwright_store::{Location, body};

use super::{Fine, direct};
use crate::config::Config;
use crate::setup::{self, Setup};

/// What is found about each transport, which has its name before it where there are several.
pub(super) async fn findings(
    config: &Config,
    transports: &Transports,
) -> Vec<(&'static str, Result<Fine, String>)> {
    let mut findings = Vec::new();
    for NamedTransport { name, transport } in &transports.all {
        let named = |finding: Result<Fine, String>| {
            let named =
                |text: String| if transports.all.len() > 1 { format!("{name}: {text}") } else { text };
            match finding {
                Ok(Fine::Ok(text)) => Ok(Fine::Ok(named(text))),
                Ok(Fine::Better(text)) => Ok(Fine::Better(named(text))),
                Err(text) => Err(named(text)),
            }
        };
        let url = config.url_of(name);
        findings.push(("transport", named(reach(config, transport, &url).await)));
        findings.push(("next hop", named(next_hop(config, transport, &url).await)));
        findings.push(("EHLO name", named(Ok(ehlo_name(transport, &url)))));
        if let Transport::Ses(ses) = transport
            && let Some(way) = ses.identities
        {
            findings.push(("identities", named(identities(config, name, ses, way).await)));
        }
    }
    findings
}

/// As what we introduce ourselves. `url` says where the URL of the transport stands.
fn ehlo_name(transport: &Transport, url: &str) -> Fine {
    let connection = match transport {
        Transport::Capture => {
            return Fine::Ok("no name is needed, because mail does not leave this machine".into());
        }
        Transport::Ses(_) => return Fine::Ok("no name is needed, because SES takes mail over HTTPS".into()),
        Transport::Smtp(relay) => relay,
        Transport::Direct(direct) => &direct.connection,
    };
    match connection.helo_name.as_str() {
        "" => Fine::Better(format!(
            "the address of this machine is used, which spam filters dislike; set MAILWRIGHT_BASE_URL to a host name, \
             or add ?helo=mail.example.com to {url}"
        )),
        name if !name.contains('.') => Fine::Better(format!(
            "{name} is not a full host name, which spam filters dislike; add ?helo=mail.example.com to {url}"
        )),
        name => Fine::Ok(name.to_owned()),
    }
}

/// What the service learnt of the mail server.
async fn next_hop(config: &Config, transport: &Transport, url: &str) -> Result<Fine, String> {
    let Some(name) = transport.next_hop() else {
        let why = match transport {
            Transport::Direct(_) => "mail is brought to the recipients' own servers",
            Transport::Capture | Transport::Smtp(_) | Transport::Ses(_) => "mail does not leave this machine",
        };
        return Ok(Fine::Ok(format!("none, because {why}")));
    };
    let configured = config.delivery_connections();
    let known = match learnt(config, name).await {
        Ok(known) => known.unwrap_or_default(),
        // the line about the database says what is wrong with it
        Err(error) => return Ok(Fine::Better(format!("what was learnt about it cannot be read: {error}"))),
    };
    let said = known.detail.unwrap_or_default();
    match known.trouble.as_deref() {
        Some("login") => {
            return Err(format!(
                "it refused the login when it was last tried, and mail waits ({said}); correct name and password in \
                 {url}"
            ));
        }
        Some("quota") => {
            return Err(format!(
                "what may be sent in a day was used up when it was last asked, and mail waits ({said})"
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
    let Some(setup) = current(config).await? else { return Ok(None) };
    let now = setup.clock.now();
    let found = setup.db.read(body!(async |rx| next_hop::get(rx, &name, now).await)).await;
    found.map_err(|e| e.to_string())
}

/// The database, if it has the schema of this program.
async fn current(config: &Config) -> Result<Option<Setup>, String> {
    if matches!(config.location(), Ok(Location::Sqlite(file)) if !file.exists()) {
        return Ok(None);
    }
    let setup = setup::open(config).map_err(|e| format!("{e:#}"))?;
    let is_current = setup.db.examine().await.is_ok()
        && matches!(migrate::standing(&setup.db).await, Ok(Standing::Current));
    Ok(is_current.then_some(setup))
}

/// Whether sender domains can be registered with an account. A look changes nothing there; whether the key may register as
/// well is known from the domains.
async fn identities(
    config: &Config,
    transport: &str,
    ses: &SesConfig,
    way: IdentityWay,
) -> Result<Fine, String> {
    const NEEDED: &str = "the key needs ses:GetEmailIdentity, ses:CreateEmailIdentity, \
                          ses:PutEmailIdentityDkimSigningAttributes and ses:DeleteEmailIdentity";
    let dns = config.dns().map_err(|error| format!("{error:#}"))?;
    let looked = ses_identities(ses, &dns, Clock::system().now()).await;
    looked.map_err(|error| format!("SES does not say which domains it knows ({error}); {NEEDED}"))?;
    let name = transport.to_owned();
    let denied = match current(config).await? {
        Some(setup) => {
            let denied = setup.db.read(body!(async |rx| {
                Ok((domain_identity::denied(rx, &name).await?, ses_identity::denied(rx, &name).await?))
            }));
            denied.await
        }
        None => Ok((0, 0)),
    };
    match denied.map_err(|error| error.to_string())? {
        (0, 0) => Ok(Fine::Ok(format!("domains are registered with SES, by {way}"))),
        (0, count) => Err(format!("SES refused to remove {count} domains when it was last asked; {NEEDED}")),
        (count, _) => {
            Err(format!("SES refused to register {count} domains when it was last asked; {NEEDED}"))
        }
    }
}

/// Whether mail can be handed over.
async fn reach(config: &Config, transport: &Transport, url: &str) -> Result<Fine, String> {
    match transport {
        Transport::Capture => {
            Ok(Fine::Ok("capture: mail is kept in the mailbox, nothing leaves this machine".into()))
        }
        Transport::Direct(direct) => direct::source(config, direct, url).await,
        Transport::Ses(ses) => {
            let dns = config.dns().map_err(|error| format!("{error:#}"))?;
            let found = ses_quota(ses, &dns, Clock::system().now()).await;
            let quota = found.map_err(|error| format!("SES in {}: {error}", ses.region))?;
            let most = quota.per_day.map_or("any number".into(), |most| most.to_string());
            Ok(Fine::Ok(format!(
                "SES in {} takes {} mails a second and {most} in 24 hours, of which {} were sent",
                ses.region, quota.per_second, quota.sent
            )))
        }
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
