//! `mailwright domains`: sender domains, their DNS records, and their keys.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use mailwright_app::App;
use mailwright_app::sending::domain::{DomainWithRecords, KeyState, Record};
use mailwright_core::address::DomainName;
use mailwright_core::audit::Actor;
use mailwright_core::domain::{FurtherKey, KeyRole};
use mailwright_core::project::Project;
use mailwright_mail::domain::{ExpectedRecord, RecordStatus};
use serde_json::{Value, json};

use crate::config::Config;
use crate::printable::printable;
use crate::{print, setup};

/// How `check` ends where the domain is not verified.
const NOT_VERIFIED: u8 = 2;

/// What can be done with sender domains.
#[derive(Debug, Subcommand)]
pub(crate) enum DomainsCommand {
    /// Print the domains of all projects, or of one, with what their DKIM keys do, and the records that the last check
    /// did not find.
    List {
        /// The project, by its id or by the name that `mailwright bootstrap` gave it.
        #[arg(long)]
        project: Option<String>,
        /// Print a JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Print the DNS records of a domain, what the last check found of them, and the records of former keys.
    Records {
        #[command(flatten)]
        which: Which,
        /// Print the records as lines of a zone file (RFC 1035). Those that change where mail or visitors go, or have to
        /// be completed, are comments.
        #[arg(long)]
        zone: bool,
    },
    /// Look the records of a domain up now, and print what is found. Ends with 2 when the domain is not verified.
    Check(Which),
    /// Make new DKIM keys for a domain, and print their records. They sign in the place of the old ones once a check has
    /// found these records.
    Rotate(Which),
    /// Let projects add a domain, and names below it, that is refused because of what it looks like or whose it is. Its DNS
    /// has to prove it as that of any other.
    Allow {
        /// The domain.
        domain: String,
        /// Allow it although it is that of a provider of mailboxes, or one below which others have their names.
        #[arg(long)]
        even_so: bool,
    },
    /// Take that back. Domains that were added stay.
    Disallow {
        /// The domain.
        domain: String,
    },
    /// Print the domains that are allowed.
    Allowed,
}

/// Which domain is meant.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The domain.
    domain: String,
    /// Its project, by its id or by the name that `mailwright bootstrap` gave it; needed where several have the domain.
    #[arg(long)]
    project: Option<String>,
}

pub(crate) async fn domains(config: &Config, command: DomainsCommand) -> Result<ExitCode> {
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    match command {
        DomainsCommand::List { project, json } => list(&app, project.as_deref(), json).await?,
        DomainsCommand::Records { which, zone } => {
            let (_, found) = find(&app, &which).await?;
            for record in &found.records {
                print(&if zone { record.zone() } else { shown(record) })?;
            }
            for key in found.keys.iter().filter(|key| !zone && key.role == KeyRole::Former) {
                print(&former(key, &found.domain.name))?;
            }
        }
        DomainsCommand::Check(which) => {
            let (project, found) = find(&app, &which).await?;
            let found = app.verify_domain(&project, found.domain.id).await?;
            print_all(found.records.iter())?;
            let state = if found.domain.verified { "is verified" } else { "is not verified" };
            print(&format!("The domain {} {state}.", found.domain.name))?;
            if found.domain.vouched && found.records.iter().any(is_wrong_key) {
                print(
                    "You vouch for it, so it counts as verified. Its DKIM record is missing or wrong, so signatures fail.",
                )?;
            }
            if !found.domain.verified {
                return Ok(ExitCode::from(NOT_VERIFIED));
            }
        }
        DomainsCommand::Rotate(which) => {
            let (project, found) = find(&app, &which).await?;
            let found = app.rotate_domain_keys(&project, &Actor::Operator, found.domain.id).await?;
            let new = found.keys.iter().filter(|key| key.role == KeyRole::Next);
            let new: Vec<String> = new.map(|key| format!("{}._domainkey.", key.selector)).collect();
            let is_new = |name: &str| new.iter().any(|start| name.starts_with(start.as_str()));
            print(
                "New keys were made. Create these records. Until a check has found them, the old keys sign.",
            )?;
            print_all(found.records.iter().filter(|record| is_new(&record.expected.name)))?;
        }
        DomainsCommand::Allow { domain, even_so } => {
            let name = named(&domain)?;
            if let Some(why) = app.why_nobodys_own(&name).filter(|_| !even_so) {
                bail!("{name} is nobody's own: {why}. With --even-so projects may add it nevertheless");
            }
            let since = if app.allow_domain(name.clone()).await? { "from now on" } else { "already" };
            print(&format!("Projects may add {name}, and names below it, {since}."))?;
        }
        DomainsCommand::Disallow { domain } => {
            let name = named(&domain)?;
            if !app.disallow_domain(name.clone()).await? {
                bail!("{name} was not allowed");
            }
            print(&format!("{name} is not allowed any more. Domains that were added stay."))?;
        }
        DomainsCommand::Allowed => {
            for (name, since) in app.allowed_domains().await? {
                print(&format!("{name}  since {since}"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn named(domain: &str) -> Result<DomainName> {
    DomainName::parse(domain).context("this is not a domain name")
}

/// The domain that is meant, with its project.
async fn find(app: &App, which: &Which) -> Result<(Project, DomainWithRecords)> {
    let name = named(&which.domain)?;
    Ok(app.find_domain(&name, which.project.as_deref()).await?)
}

async fn list(app: &App, project: Option<&str>, as_json: bool) -> Result<()> {
    let project = match project {
        Some(project) => Some(app.find_project(project).await?),
        None => None,
    };
    app.each_domain(project.as_ref(), |project, found| {
        let (name, verified) = (found.domain.name.as_str(), found.domain.verified);
        let state = if verified { "verified" } else { "pending" };
        if as_json {
            let records = found.records.iter().map(|record| {
                json!({"purpose": record.expected.purpose.as_str(), "name": record.expected.name, "status": status(record)})
            });
            let records: Vec<_> = records.collect();
            return print(&json!({
                "project": project.id, "domain": name, "verified": verified, "keys": keys_in_json(found),
                "records": records,
            }).to_string());
        }
        let lacking = found.records.iter().filter(|record| record.status != Some(RecordStatus::Found));
        let lacking: Vec<_> =
            lacking.map(|record| format!("{} {}", record.expected.purpose.as_str(), status(record))).collect();
        let (keys, lacking) = (keys(found), lacking.join(", "));
        print(format!("{}  {state:<8}  {name}  {keys}  {lacking}", project.id).trim_end())
    })
    .await
}

/// What each key of a domain does.
fn keys(found: &DomainWithRecords) -> String {
    let said = found.key_states().into_iter().map(|(selector, state)| match state {
        KeyState::Signs => format!("{selector} signs"),
        KeyState::Waits => format!("{selector} waits for its record"),
        KeyState::Replaced(None) => format!("{selector} was replaced"),
        KeyState::Replaced(Some(until)) => format!("{selector} was replaced, keep its record until {until}"),
    });
    format!("keys: {}", said.collect::<Vec<_>>().join("; "))
}

fn keys_in_json(found: &DomainWithRecords) -> Vec<Value> {
    let key = |(selector, state): (&str, KeyState)| {
        let (state, remove_after) = match state {
            KeyState::Signs => ("signs", None),
            KeyState::Waits => ("waits", None),
            KeyState::Replaced(until) => ("replaced", until),
        };
        json!({"selector": selector, "state": state, "removeAfter": remove_after})
    };
    found.key_states().into_iter().map(key).collect()
}

fn print_all<'r>(records: impl Iterator<Item = &'r Record>) -> Result<()> {
    for record in records {
        print(&shown(record))?;
    }
    Ok(())
}

/// A record in a line, and what is different about it in another.
fn shown(record: &Record) -> String {
    let ExpectedRecord { purpose, kind, name, value, priority, required } = &record.expected;
    let preference = priority.map(|priority| format!("{priority} ")).unwrap_or_default();
    let required = if *required { "  (required)" } else { "" };
    let line = format!(
        "{:<12}  {:<11}  {:<5}  {name}  {preference}{value}{required}",
        purpose.as_str(),
        status(record),
        kind.as_str()
    );
    match &record.difference {
        Some(told) => format!("{line}\n{:14}{}", "", printable(&told.text)),
        None => line,
    }
}

/// The record of a key that was replaced.
fn former(key: &FurtherKey, domain: &DomainName) -> String {
    let until = key.remove_after.map(|until| format!("  keep until {until}")).unwrap_or_default();
    format!("{:<12}  {:<11}  {:<5}  {}._domainkey.{domain}{until}", "dkim", "former", "TXT", key.selector)
}

/// Whether the last check found that the record is not there that verifies the signatures.
fn is_wrong_key(record: &Record) -> bool {
    record.expected.required && matches!(record.status, Some(RecordStatus::Missing | RecordStatus::Mismatch))
}

fn status(record: &Record) -> &'static str {
    record.status.map_or("unchecked", RecordStatus::as_str)
}
