//! Commands of the operator: accounts and projects.

use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use mailwright_app::App;
use mailwright_app::account::password::{LONGEST, SHORTEST};
use mailwright_app::project::audit::Trail;
use mailwright_core::address::EmailAddress;
use mailwright_core::audit::Actor;
use mailwright_core::ids::ProjectId;
use serde_json::json;

use crate::config::Config;
use crate::printable::{printable, printable_json, printable_lines};
use crate::{print, setup};

/// What can be done with an account.
#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Give an account another password and end its sessions. Without --stdin the password is generated and printed.
    ResetPassword(ResetPassword),
    /// Remove the second factor of an account whose owner lost the device and the recovery codes.
    RemoveTotp {
        /// Address of the account.
        email: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ResetPassword {
    /// Address of the account.
    email: String,
    /// Read the new password from the first line of standard input.
    #[arg(long)]
    stdin: bool,
}

/// What can be done with a project.
#[derive(Debug, Subcommand)]
pub(crate) enum ProjectCommand {
    /// Disable a project: reading still works, writing and sending do not.
    Disable(Disable),
    /// Enable a project again.
    Enable {
        /// The project's id, as `bootstrap` prints it and GET /users/@me/projects shows it to its members.
        id: String,
    },
    /// Show the audit log of a project, newest entries first, or who deleted the project.
    Audit(Audit),
}

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// The project's id, as `bootstrap` prints it and GET /users/@me/projects shows it to its members.
    id: String,
    /// Maximum number of entries.
    #[arg(long, default_value_t = 100)]
    limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Disable {
    /// The project's id, as `bootstrap` prints it and GET /users/@me/projects shows it to its members.
    id: String,
    /// Reason, shown to the members of the project.
    #[arg(long, default_value = "Disabled by the operator.")]
    reason: String,
}

pub(crate) async fn user(config: &Config, command: UserCommand) -> Result<ExitCode> {
    let args = match command {
        UserCommand::ResetPassword(args) => args,
        UserCommand::RemoveTotp { email } => return remove_totp(config, &email).await,
    };
    let email = EmailAddress::parse(&args.email).context("this is not an email address")?;
    let (password, made) =
        if args.stdin { (read_password()?, false) } else { (hex::encode(rand::random::<[u8; 12]>()), true) };
    let setup = setup::open_existing(config).await?;
    setup.app(config).await?.set_password(&email, password.clone()).await?;
    if made {
        print(&format!(
            "The new password of {email} is {password}\nIts sessions were ended. Sign in and change it."
        ))?;
    } else {
        print(&format!("The password of {email} was changed and its sessions were ended."))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn remove_totp(config: &Config, email: &str) -> Result<ExitCode> {
    let email = EmailAddress::parse(email).context("this is not an email address")?;
    let setup = setup::open_existing(config).await?;
    let removed = setup.app(config).await?.drop_second_factor(&email).await?;
    print(&if removed {
        format!("{email} signs in with the password alone now.")
    } else {
        format!("{email} has no second factor.")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The password on standard input, which keeps the rule for new ones.
pub(crate) fn read_password() -> Result<String> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        // standard output is for what the command prints
        writeln!(std::io::stderr(), "Password (it is shown while you type):")
            .context("cannot ask for the password")?;
    }
    let mut line = String::new();
    stdin.lock().read_line(&mut line).context("cannot read the password")?;
    let password = line.trim_end_matches(['\r', '\n']).to_owned();
    check_password(&password)?;
    Ok(password)
}

/// The rule for new passwords.
pub(crate) fn check_password(password: &str) -> Result<()> {
    if (SHORTEST..=LONGEST).contains(&password.chars().count()) && !password.contains('\0') {
        return Ok(());
    }
    bail!("a password must have {SHORTEST} to {LONGEST} characters");
}

pub(crate) async fn project(config: &Config, command: ProjectCommand) -> Result<ExitCode> {
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    let (changed, did, was) = match command {
        ProjectCommand::Disable(args) => {
            if args.reason.chars().count() > 500 || !mailwright_core::name::is_plain(&args.reason) {
                bail!("--reason must have 1 to 500 characters, and no control or invisible ones");
            }
            (
                app.disable_project(project_id(&args.id)?, args.reason).await?,
                "disabled",
                "is disabled already",
            )
        }
        ProjectCommand::Enable { id } => {
            (app.enable_project(project_id(&id)?).await?, "enabled", "is not disabled")
        }
        ProjectCommand::Audit(args) => return trail(&app, args).await,
    };
    print(&if changed { format!("The project was {did}.") } else { format!("The project {was}.") })?;
    Ok(ExitCode::SUCCESS)
}

async fn trail(app: &App, args: Audit) -> Result<ExitCode> {
    match app.trail(project_id(&args.id)?, args.limit).await? {
        Trail::There(entries) => {
            for entry in entries {
                let target = entry.target.as_deref().unwrap_or_default();
                let who = who(&entry.actor);
                let line = format!("{} {who} {} {target} {}", entry.created_at, entry.action, entry.details);
                print(&printable(&line))?;
            }
        }
        Trail::Deleted(gone) => {
            let details = json!({"name": gone.name});
            print(&printable(&format!("{} {} project.deleted {details}", gone.at, who(&gone.actor))))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// An actor with the name it had.
fn who(actor: &Actor) -> String {
    match actor {
        Actor::User { email, .. } => format!("{actor} ({email})"),
        Actor::Key { name: Some(name), .. } => format!("{actor} ({name})"),
        Actor::Key { name: None, .. } | Actor::Operator | Actor::Service => actor.to_string(),
    }
}

fn project_id(text: &str) -> Result<ProjectId> {
    text.parse().with_context(|| {
        format!(
            "{text:?} is not the id of a project; bootstrap prints it, and its members see it in GET /users/@me/projects"
        )
    })
}

#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// Only mails to this address.
    #[arg(long)]
    to: Option<String>,
    /// Maximum number of mails.
    #[arg(long, default_value_t = 10)]
    limit: usize,
    /// Print one JSON array.
    #[arg(long)]
    json: bool,
}

/// Links in the instance's own mails, for an operator without a mail server.
pub(crate) async fn inbox(config: &Config, args: Inbox) -> Result<ExitCode> {
    let to = args.to.as_deref().map(|to| EmailAddress::parse(to).context("--to is not an email address"));
    let setup = setup::open_existing(config).await?;
    let mails = setup.app(config).await?.own_captured(to.transpose()?.as_ref(), args.limit).await?;
    if args.json {
        let shown: Vec<_> = mails
            .iter()
            .map(|mail| {
                json!({
                    "to": mail.captured.recipient, "from": mail.captured.sender,
                    "subject": mail.captured.subject, "text": mail.text, "html": mail.html,
                })
            })
            .collect();
        print(&printable_json(&serde_json::to_string(&shown)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    for mail in &mails {
        let text = mail.text.as_deref().unwrap_or_default();
        let (to, subject) = (printable(&mail.captured.recipient), printable(&mail.captured.subject));
        print(&format!("To: {to}\nSubject: {subject}\n\n{}\n", printable_lines(text)))?;
    }
    if mails.is_empty() {
        print("No mail of the instance was captured.")?;
    }
    Ok(ExitCode::SUCCESS)
}
