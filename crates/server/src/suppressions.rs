//! `mailwright suppressions`: the addresses that get no mail of any project of the instance.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use mailwright_core::address::EmailAddress;
use mailwright_core::suppression::SuppressionReason;
use mailwright_core::time::Timestamp;
use serde_json::json;

use crate::config::Config;
use crate::{print, setup};

/// Addresses that are read at a time.
const PAGE: usize = 1_000;

/// What can be done with the addresses that get no mail.
#[derive(Debug, Subcommand)]
pub(crate) enum SuppressionsCommand {
    /// Keep all mail of all projects from an address.
    Add(Add),
    /// Let mail to an address leave again.
    Remove {
        /// The address.
        email: String,
    },
    /// Print the addresses, in their order.
    List {
        /// Print a JSON object a line.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The address.
    email: String,
    /// Why: hard-bounce, complaint, manual, unsubscribe-all (transactional mail still leaves) or import.
    #[arg(long, default_value = "manual", value_parser = reason)]
    reason: SuppressionReason,
    /// When it ends by itself: a date such as 2030-01-31, or with a time and an offset. Never when left out.
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
}

fn reason(text: &str) -> Result<SuppressionReason, String> {
    SuppressionReason::from_name(text).ok_or_else(|| {
        format!("must be one of {}", SuppressionReason::ALL.map(SuppressionReason::as_str).join(", "))
    })
}

fn address(text: &str) -> Result<EmailAddress> {
    EmailAddress::parse(text).context("this is not an email address")
}

pub(crate) async fn suppressions(config: &Config, command: SuppressionsCommand) -> Result<ExitCode> {
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    match command {
        SuppressionsCommand::Add(args) => {
            let email = address(&args.email)?;
            let until = args.until.as_deref();
            let ends =
                until.map(|text| Timestamp::parse(text).context("--until is not a date")).transpose()?;
            if ends.is_some_and(|ends| ends <= app.clock().now()) {
                bail!("--until must be in the future");
            }
            app.suppress_everywhere(email.clone(), args.reason, ends).await?;
            print(&format!("{email} gets no mail of any project from now on."))?;
        }
        SuppressionsCommand::Remove { email } => {
            let email = address(&email)?;
            if !app.unsuppress_everywhere(email.clone()).await? {
                bail!("{email} is not on the list");
            }
            print(&format!("{email} was taken off the list. Lists and rules of projects still hold."))?;
        }
        SuppressionsCommand::List { json: as_json } => {
            let mut after = None;
            loop {
                let page = app.suppressed_everywhere(after.take(), PAGE).await?;
                let mut text = String::new();
                for entry in &page {
                    let ends = entry.expires_at.map(|at| at.to_string());
                    text += &if as_json {
                        json!({
                            "email": entry.email, "reason": entry.reason,
                            "createdAt": entry.created_at, "expiresAt": entry.expires_at
                        })
                        .to_string()
                    } else {
                        let ends = ends.map_or(String::new(), |ends| format!("  until {ends}"));
                        format!("{}  {}  since {}{ends}", entry.email, entry.reason, entry.created_at)
                    };
                    text.push('\n');
                }
                std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")?;
                match page.last() {
                    Some(last) if page.len() == PAGE => after = Some(last.email.clone()),
                    _ => break,
                }
            }
        }
    }
    drop(app);
    setup.db.close().await;
    Ok(ExitCode::SUCCESS)
}
