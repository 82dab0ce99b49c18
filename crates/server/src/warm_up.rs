//! `mailwright delivery warm-up`: how far new source addresses and sender domains have come.

use std::net::IpAddr;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use mailwright_app::App;
use mailwright_app::delivery::warm_up::progress::Progress;
use mailwright_app::delivery::warm_up::subject::Subject;
use mailwright_core::address::DomainName;

use crate::print;

/// What can be done with a warm-up.
#[derive(Debug, Subcommand)]
pub(crate) enum WarmUpCommand {
    /// Print the day, the volume and what left today, of each address and domain.
    List,
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
        Ok(Subject::Domain(domain.as_str().into()))
    }
}

pub(crate) async fn warm_up(app: &App, command: WarmUpCommand) -> Result<ExitCode> {
    match command {
        WarmUpCommand::List => {
            for found in app.warm_ups().await? {
                print(&line(&found))?;
            }
        }
        WarmUpCommand::Finish(which) => {
            let subject = which.subject()?;
            app.set_warm_up(&subject, true).await?;
            print(&format!("The warm-up of {subject} is over."))?;
        }
        WarmUpCommand::Restart(which) => {
            let subject = which.subject()?;
            app.set_warm_up(&subject, false).await?;
            print(&format!("The warm-up of {subject} begins again."))?;
        }
    }
    Ok(ExitCode::SUCCESS)
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
