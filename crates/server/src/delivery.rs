//! `mailwright delivery`: what an operator wants done with mail that waits.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use mailwright_app::delivery::interventions::Wanted;
use mailwright_core::address::DomainName;
use mailwright_core::audit::Actor;
use mailwright_core::ids::InterventionId;
use mailwright_core::intervention::{Intervention, InterventionKind, MAX_NAME, MAX_REASON, Scope};
use serde_json::json;

use crate::config::Config;
use crate::warm_up::{self, WarmUpCommand};
use crate::{print, setup};

/// What can be done with mail that waits.
#[derive(Debug, Subcommand)]
pub(crate) enum DeliveryCommand {
    /// Have mail wait until `mailwright delivery end`.
    Pause(Which),
    /// Have mail leave by another transport.
    Reroute {
        #[command(flatten)]
        which: Which,
        /// The name of the transport.
        #[arg(long)]
        to: String,
    },
    /// Give up the mail that waits now.
    Expire(Which),
    /// End what was begun: mail that was paused is tried again within seconds.
    End {
        /// The id that `mailwright delivery list` shows.
        id: String,
    },
    /// Look at the warm-up of new addresses and domains, or change it.
    WarmUp {
        #[command(subcommand)]
        command: WarmUpCommand,
    },
    /// Print what is in force.
    List {
        /// Print a JSON object a line.
        #[arg(long)]
        json: bool,
    },
}

/// Which mail is meant. With several options, that which all of them mean.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The project, by its id or by the name that `mailwright bootstrap` gave it.
    #[arg(long)]
    project: Option<String>,
    /// The recipients' domain.
    #[arg(long)]
    domain: Option<String>,
    /// The site that takes the mail, as the log names it, where mail is brought to the recipients' own servers.
    #[arg(long, conflicts_with = "domain")]
    site: Option<String>,
    /// Why: mails that wait, and the audit log of the project, show it.
    #[arg(long)]
    reason: Option<String>,
}

pub(crate) async fn delivery(config: &Config, command: DeliveryCommand) -> Result<ExitCode> {
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    let (kind, which, transport) = match command {
        DeliveryCommand::Pause(which) => (InterventionKind::Pause, which, None),
        DeliveryCommand::Expire(which) => (InterventionKind::Expire, which, None),
        DeliveryCommand::Reroute { which, to } => (InterventionKind::Reroute, which, Some(to)),
        DeliveryCommand::End { id } => {
            let id: InterventionId = id.parse().context("this is not an id")?;
            app.end_intervention(None, &Actor::Operator, id).await?;
            print("It is ended. Mail that was paused is tried again.")?;
            return Ok(ExitCode::SUCCESS);
        }
        DeliveryCommand::WarmUp { command } => return warm_up::warm_up(&app, command).await,
        DeliveryCommand::List { json } => {
            for (found, _) in app.interventions(None).await? {
                print(&if json { as_json(&found).to_string() } else { line(&found) })?;
            }
            return Ok(ExitCode::SUCCESS);
        }
    };
    let project = match &which.project {
        Some(project) => Some(app.find_project(project).await?.number),
        None => None,
    };
    let domain =
        which.domain.as_deref().map(|text| DomainName::parse(text).context("--domain is not a domain name"));
    let domain = domain.transpose()?.map(|domain| domain.to_string());
    if which.site.as_deref().is_some_and(|site| site.is_empty() || site.len() > MAX_NAME) {
        bail!("--site must have 1 to {MAX_NAME} characters");
    }
    if which.reason.as_deref().is_some_and(|reason| reason.chars().count() > MAX_REASON) {
        bail!("--reason must have at most {MAX_REASON} characters");
    }
    let scope = Scope { project, domain, site: which.site };
    let made = app.intervene(Wanted { kind, scope, transport, reason: which.reason }).await?;
    print(&line(&made))?;
    Ok(ExitCode::SUCCESS)
}

fn line(of: &Intervention) -> String {
    let mut line = format!("{}  {}  {}", of.id, of.created_at, of.kind);
    let project = of.scope.project.map(|project| project.0.to_string());
    for (name, value) in [
        ("project", project.as_deref()),
        ("domain", of.scope.domain.as_deref()),
        ("site", of.scope.site.as_deref()),
        ("to", of.transport.as_deref()),
        ("reason", of.reason.as_deref()),
    ] {
        if let Some(value) = value {
            line.push_str(&format!("  {name}={value}"));
        }
    }
    line.push_str(&format!("  by={}", of.created_by));
    line
}

fn as_json(of: &Intervention) -> serde_json::Value {
    json!({
        "id": of.id, "kind": of.kind.as_str(), "project": of.scope.project.map(|project| project.0),
        "domain": of.scope.domain, "site": of.scope.site, "transport": of.transport, "reason": of.reason,
        "createdBy": of.created_by, "createdAt": of.created_at,
    })
}
