//! `mailwright delivery warm-up`: how far new source addresses and sender domains have come.

use std::io::Write;
use std::net::IpAddr;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use mailwright_app::delivery::warm_up::progress::Progress;
use mailwright_app::delivery::warm_up::subject::Subject;
use mailwright_app::{App, Transport};
use mailwright_core::address::DomainName;
use serde_json::json;

use crate::config::Config;
use crate::print;
use crate::printable::{printable, printable_json};

/// What can be done with a warm-up.
#[derive(Debug, Subcommand)]
pub(crate) enum WarmUpCommand {
    /// Print the day, the volume and what left today, of each address and domain.
    List {
        /// Print a JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// End it: receivers know the address or domain already.
    Finish(Which),
    /// Begin it anew.
    Restart(Which),
}

/// What warms up.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// An address of this machine, as `from` of a transport names it.
    #[arg(long)]
    address: Option<IpAddr>,
    /// A sender's domain.
    #[arg(long)]
    domain: Option<String>,
}

impl Which {
    fn subject(self) -> Result<Subject> {
        let Some(domain) = self.domain else {
            return self.address.map(Subject::Address).context("--address or --domain is needed");
        };
        let domain = DomainName::parse(&domain).context("--domain is not a domain name")?;
        Ok(Subject::of_domain(domain.as_str()))
    }
}

pub(crate) async fn warm_up(config: &Config, app: &App, command: WarmUpCommand) -> Result<ExitCode> {
    match command {
        WarmUpCommand::List { json } => {
            let all = app.warm_ups().await?;
            if all.is_empty() && !json {
                print(why_nothing_warms_up(config, app)?)?;
            }
            for found in &all {
                if json {
                    print(&printable_json(&as_json(found).to_string()))?;
                } else {
                    print(&printable(&line(found)))?;
                }
            }
        }
        WarmUpCommand::Finish(which) => {
            let subject = which.subject()?;
            app.set_warm_up(&subject, true).await?;
            print(&format!("The warm-up of {subject} is over."))?;
            warn_of_no_setting(config, app, &subject)?;
        }
        WarmUpCommand::Restart(which) => {
            let subject = which.subject()?;
            app.set_warm_up(&subject, false).await?;
            print(&format!("The warm-up of {subject} begins again."))?;
            warn_of_no_setting(config, app, &subject)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The addresses that warm up, as the transports have it.
fn addresses(config: &Config) -> Result<Vec<IpAddr>> {
    let address = |transport: &Transport| match transport {
        Transport::Direct(direct) => direct.source.filter(|_| direct.warms_up),
        Transport::Capture | Transport::Smtp(_) | Transport::Ses(_) => None,
    };
    Ok(config.transports()?.all.iter().filter_map(|one| address(&one.transport)).collect())
}

fn why_nothing_warms_up(config: &Config, app: &App) -> Result<&'static str> {
    Ok(if addresses(config)?.is_empty() && !app.settings().warm_up.domains {
        "Nothing warms up: no transport has warmup=yes, and MAILWRIGHT_WARMUP_DOMAINS is false. Transports that stand in a \
         file are known with --config."
    } else {
        "Nothing warms up yet: a warm-up begins with the first mail that leaves."
    })
}

/// Says it where a subject was named that does not warm up, whatever is noted of it.
fn warn_of_no_setting(config: &Config, app: &App, subject: &Subject) -> Result<()> {
    let (warms_up, warning) = match subject {
        Subject::Address(address) => (
            addresses(config)?.contains(address),
            "No setting makes it warm up: no transport has this address as from, with warmup=yes. Transports that stand \
             in a file are known with --config.",
        ),
        Subject::Domain(_) => (
            app.settings().warm_up.domains,
            "No setting makes it warm up: MAILWRIGHT_WARMUP_DOMAINS is false.",
        ),
    };
    if warms_up {
        return Ok(());
    }
    // standard output is for what the command prints
    writeln!(std::io::stderr(), "{warning}").context("cannot write to standard error")
}

fn as_json(of: &Progress) -> serde_json::Value {
    let (address, domain) = match &of.subject {
        Subject::Address(address) => (Some(address.to_string()), None),
        Subject::Domain(domain) => (None, Some(domain.to_string())),
    };
    json!({
        "address": address, "domain": domain, "isOver": of.standing.is_none(),
        "day": of.standing.map(|now| now.day), "volume": of.standing.map(|now| now.volume),
        "hourly": of.standing.map(|now| now.hourly), "today": of.standing.map(|now| now.today),
        "updatedAt": of.updated_at,
    })
}

fn line(of: &Progress) -> String {
    let stands = match of.standing {
        Some(now) => {
            format!("day={}  volume={}  hourly={}  today={}", now.day, now.volume, now.hourly, now.today)
        }
        None => "over".to_owned(),
    };
    format!("{}  {stands}  updated={}", of.subject, of.updated_at)
}
