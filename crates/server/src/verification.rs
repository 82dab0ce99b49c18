//! Commands about verifying addresses: the lists of domains.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::config::Config;
use crate::printable::printable;
use crate::{print, setup};

/// What can be done with the lists by which addresses are verified.
#[derive(Debug, Subcommand)]
pub(crate) enum VerificationCommand {
    /// Fetch the newest lists of disposable domains and of providers for private persons. A list that cannot be read, or has
    /// less than half as many domains as the one that comes with the program, is refused, and the one before stays. Running
    /// processes use them within two minutes. Ends with 2 when some list was not taken.
    Refresh(Refresh),
    /// Print the lists that are in force: how many domains each has, where it is from and of when.
    Lists,
}

#[derive(Debug, Args)]
pub(crate) struct Refresh {
    /// Fetch from a mirror, which has each list at its host and path:
    /// `http://mirror/raw.githubusercontent.com/Kikobeats/free-email-domains/master/domains.json`.
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
}

pub(crate) async fn verification(config: &Config, command: VerificationCommand) -> Result<ExitCode> {
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    let mut code = ExitCode::SUCCESS;
    match command {
        VerificationCommand::Refresh(Refresh { mirror }) => {
            for list in app.refresh_verification_lists(mirror.as_deref()).await? {
                let said = match list.domains {
                    Ok(domains) => format!("{domains:>7} domains  {}  {}", list.list, list.url),
                    Err(error) => {
                        code = ExitCode::from(2);
                        format!("not taken, the one before stays: {error}  {}  {}", list.list, list.url)
                    }
                };
                print(&printable(&said))?;
            }
        }
        VerificationCommand::Lists => {
            for list in app.verification_lists().await? {
                let when = list.fetched_at.map_or(String::new(), |at| format!("  fetched {at}"));
                print(&format!("{:>7} domains  {}  {}{when}", list.domains, list.list, list.origin))?;
            }
        }
    }
    drop(app);
    setup.db.close().await;
    Ok(code)
}
