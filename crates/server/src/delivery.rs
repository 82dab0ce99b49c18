//! `mailwright delivery`: what an operator wants done with mail that waits.

use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use mailwright_app::delivery::intervening::Wanted;
use mailwright_app::{App, Transport};
use mailwright_core::address::DomainName;
use mailwright_core::audit::Actor;
use mailwright_core::ids::InterventionId;
use mailwright_core::intervention::{Intervention, InterventionKind, MAX_NAME, MAX_REASON, Scope, site_name};
use mailwright_core::name::holds_hidden;
use mailwright_core::project::Project;
use serde_json::json;

use crate::config::Config;
use crate::printable::{printable, printable_json};
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
    /// Have mail for a site tried again that blocks us, once the cause is removed, or that is paused.
    Resume {
        /// The site, as the log names it.
        #[arg(long)]
        site: String,
        /// Why: `mailwright delivery list` shows it for a day.
        #[arg(long)]
        reason: Option<String>,
    },
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
        DeliveryCommand::Resume { site, reason } => {
            resume(&app, &site, reason).await?;
            return Ok(ExitCode::SUCCESS);
        }
        DeliveryCommand::End { id } => {
            let id: InterventionId = id.parse().context("this is not an id")?;
            let ended = app.end_intervention(None, &Actor::Operator, id).await?;
            print(what_follows_the_end(ended.kind))?;
            return Ok(ExitCode::SUCCESS);
        }
        DeliveryCommand::WarmUp { command } => return warm_up::warm_up(config, &app, command).await,
        DeliveryCommand::List { json } => {
            for (found, project) in app.all_interventions().await? {
                let project = project.as_ref();
                if json {
                    print(&printable_json(&as_json(&found, project).to_string()))?;
                } else {
                    print(&printable(&line(&found, project)))?;
                }
            }
            return Ok(ExitCode::SUCCESS);
        }
    };
    begin(config, &app, kind, which, transport).await?;
    Ok(ExitCode::SUCCESS)
}

async fn begin(
    config: &Config,
    app: &App,
    kind: InterventionKind,
    which: Which,
    transport: Option<String>,
) -> Result<()> {
    let project = match &which.project {
        Some(project) => Some(app.find_project(project).await?),
        None => None,
    };
    let domain =
        which.domain.as_deref().map(|text| DomainName::parse(text).context("--domain is not a domain name"));
    let domain = domain.transpose()?.map(|domain| domain.to_string());
    let site = which.site.as_deref().map(named_site).transpose()?;
    check_reason(which.reason.as_deref())?;
    let scope = Scope { project: project.as_ref().map(|project| project.number), domain, site };
    let made = app.intervene(Wanted { kind, scope, transport, reason: which.reason }).await?;
    print(&printable(&line(&made, project.as_ref())))?;
    let is_direct = |transport: &Transport| matches!(transport, Transport::Direct(_));
    if made.scope.site.is_some() && !config.transports()?.all.iter().any(|one| is_direct(&one.transport)) {
        // standard output is for what the command prints
        writeln!(
            std::io::stderr(),
            "No transport knows sites: none of them is direct. Until one is, this holds for no mail. Transports that \
             stand in a file are known with --config."
        )
        .context("cannot write to standard error")?;
    }
    Ok(())
}

/// The site that is meant by `--site`.
fn named_site(text: &str) -> Result<String> {
    site_name(text).with_context(|| {
        format!(
            "--site must be the name of a site, such as google.com or a.example+b.example, of at most {MAX_NAME} \
             characters"
        )
    })
}

fn check_reason(reason: Option<&str>) -> Result<()> {
    let is_fit = |reason: &str| reason.chars().count() <= MAX_REASON && !holds_hidden(reason);
    if reason.is_some_and(|reason| !is_fit(reason)) {
        bail!("--reason must have at most {MAX_REASON} characters, and no control or invisible ones");
    }
    Ok(())
}

async fn resume(app: &App, site: &str, reason: Option<String>) -> Result<()> {
    let site = named_site(site)?;
    check_reason(reason.as_deref())?;
    let resumed = app.resume_site(&site, reason).await?;
    for (source, until) in &resumed.blocks {
        let source = if source.is_empty() { "the address that the system chooses" } else { source.as_str() };
        print(&printable(&format!("The block of {source} is ended. It would have lasted until {until}.")))?;
    }
    if let Some(id) = resumed.pause {
        print(&format!("The pause {id} is ended."))?;
    }
    print(&format!("Mail for {site} is tried again within seconds."))
}

fn what_follows_the_end(kind: InterventionKind) -> &'static str {
    match kind {
        InterventionKind::Pause => "It is ended. Mail that was paused is tried again within seconds.",
        InterventionKind::Reroute => "It is ended. Mail leaves by the transports of its routes again.",
        InterventionKind::Expire => "It is ended. No more mail is given up. What was given up stays so.",
        InterventionKind::Resume => "It is ended. The site stays resumed, unless it blocks us again.",
    }
}

/// An intervention in a line. `project` is that of its scope, where it is there.
fn line(of: &Intervention, project: Option<&Project>) -> String {
    let mut line = format!("{}  {}  {}", of.id, of.created_at, of.kind);
    if of.scope.project.is_some() {
        let project = project.map(|project| format!("{} ({})", project.id, bounded(&project.name)));
        line.push_str(&format!("  project={}", project.as_deref().unwrap_or("(deleted)")));
    }
    for (name, value) in [
        ("domain", of.scope.domain.as_deref()),
        ("site", of.scope.site.as_deref()),
        ("to", of.transport.as_deref()),
        ("reason", of.reason.as_deref()),
    ] {
        if let Some(value) = value {
            line.push_str(&format!("  {name}={}", bounded(value)));
        }
    }
    line.push_str(&format!("  by={}", of.created_by));
    if let Some(name) = &of.created_name {
        line.push_str(&format!(" ({})", bounded(name)));
    }
    line
}

/// A text as it stands between others in a line: in quotation marks where it could seem to be more than one of them.
fn bounded(text: &str) -> Cow<'_, str> {
    let is_word = |c: char| c.is_alphanumeric() || "@.+-_".contains(c);
    if text.is_empty() || !text.chars().all(is_word) {
        return Cow::Owned(format!("{text:?}"));
    }
    Cow::Borrowed(text)
}

fn as_json(of: &Intervention, project: Option<&Project>) -> serde_json::Value {
    json!({
        "id": of.id, "kind": of.kind.as_str(), "project": project.map(|project| project.id),
        "projectName": project.map(|project| &project.name), "domain": of.scope.domain, "site": of.scope.site,
        "transport": of.transport, "reason": of.reason, "createdBy": of.created_by,
        "createdByName": of.created_name, "createdAt": of.created_at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_seen_where_it_ends() {
        for plain in ["a.example+b.example", "ada@example.com", "Shop-2", "Bücher"] {
            assert_eq!(bounded(plain), plain);
        }
        assert_eq!(bounded("a.example  by=operator"), "\"a.example  by=operator\"");
        assert_eq!(bounded("a\"  by=operator"), "\"a\\\"  by=operator\"");
        assert_eq!(bounded("Ada (Eve)"), "\"Ada (Eve)\"");
        assert_eq!(bounded(""), "\"\"");
    }
}
