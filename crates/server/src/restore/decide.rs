//! The mails that a restore holds, and the decisions about them.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use mailwright_app::App;
use mailwright_core::ids::CampaignId;
use mailwright_core::project::Project;
use mailwright_store::sending::held::{Decision, HeldEmail};
use serde_json::json;

use super::RestoreArgs;
use crate::config::Config;
use crate::printable::printable_json;
use crate::{print, setup};

/// Mails that are read at a time.
const PAGE: usize = 1_000;

pub(super) async fn decide(config: &Config, args: RestoreArgs) -> Result<ExitCode> {
    if !args.list && !args.all && args.project.is_none() {
        bail!("say which mails: --all, or --project, perhaps with --campaign");
    }
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    let projects = match &args.project {
        Some(name) => vec![app.find_project(name).await?],
        None => app.held_by_project().await?.into_iter().map(|(project, _)| project).collect(),
    };
    if args.list {
        let mut count = 0;
        for project in &projects {
            count += list(&app, project, args.campaign, args.json).await?;
        }
        if !args.json {
            print(&format!("{count} mails are held."))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let decision = if args.resend { Decision::Resend } else { Decision::Discard };
    let (mut resent, mut discarded) = (0, 0);
    for project in &projects {
        let decided = app.decide_held(project.number, args.campaign, decision).await?;
        resent += decided.resent;
        discarded += decided.discarded;
    }
    print(&format!("{resent} mails are sent, {discarded} are not."))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the held mails of a project; how many.
async fn list(app: &App, project: &Project, campaign: Option<CampaignId>, as_json: bool) -> Result<usize> {
    let (mut after, mut count) = (None, 0);
    loop {
        let page = app.held_emails(project.number, campaign, after, PAGE).await?;
        let text: String = page.iter().map(|mail| line(project, mail, as_json)).collect();
        std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")?;
        count += page.len();
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.id),
            _ => return Ok(count),
        }
    }
}

fn line(project: &Project, mail: &HeldEmail, as_json: bool) -> String {
    if as_json {
        let line = json!({
            "projectId": project.id, "id": mail.id, "to": mail.recipient, "subject": mail.subject,
            "sourceType": mail.source.as_str(), "campaignId": mail.campaign, "workflowId": mail.workflow,
            "createdAt": mail.created_at,
        });
        return format!("{}\n", printable_json(&line.to_string()));
    }
    let to = mail.recipient.as_deref().unwrap_or("(removed)");
    let of = match (mail.campaign, mail.workflow) {
        (Some(campaign), _) => format!("  campaign {campaign}"),
        (None, Some(workflow)) => format!("  workflow {workflow}"),
        (None, None) => String::new(),
    };
    format!("{}  {}  {to}  project {}{of}  {:?}\n", mail.created_at, mail.id, project.id, mail.subject)
}
