//! Commands about what becomes of mails: the lists that tell machines from people, and the bounces that no rule knows.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::config::Config;
use crate::printable::printable;
use crate::{print, setup};

/// What can be done with the opens and clicks that are stored.
#[derive(Debug, Subcommand)]
pub(crate) enum TrackingCommand {
    /// Fetch the lists of networks that providers publish, by which opens and clicks of machines are told from those of
    /// people. Running processes use them within 5 minutes. Ends with 2 when some list could not be fetched.
    Refresh(Refresh),
    /// Judge the stored opens and clicks of a project again, by what is known of machines now. The running service does
    /// it, and corrects the counters.
    Reclassify(Reclassify),
}

#[derive(Debug, Args)]
pub(crate) struct Refresh {
    /// Fetch from a mirror, which has each list at its host and path: `http://mirror/www.bing.com/toolbox/bingbot.json`.
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Reclassify {
    /// Name or id of the project. A name refers to a project that the `bootstrap` command created with it.
    #[arg(long)]
    project: String,
}

#[derive(Debug, Args)]
pub(crate) struct Bounces {
    /// Maximum number of texts.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=5000))]
    limit: u16,
}

pub(crate) async fn tracking(config: &Config, command: TrackingCommand) -> Result<ExitCode> {
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    let code = match command {
        TrackingCommand::Refresh(Refresh { mirror }) => {
            let mut code = ExitCode::SUCCESS;
            for list in app.refresh_machine_lists(mirror.as_deref()).await? {
                let said = match list.networks {
                    Ok(networks) => format!("{networks:>7} networks  {}", list.list),
                    Err(error) => {
                        code = ExitCode::from(2);
                        format!("could not be fetched: {error}  {}", list.list)
                    }
                };
                print(&printable(&said))?;
            }
            code
        }
        TrackingCommand::Reclassify(Reclassify { project }) => {
            let project = app.find_project(&project).await?;
            app.judge_hits_again(project.number).await?;
            print("The stored opens and clicks will be judged again by the running service.")?;
            ExitCode::SUCCESS
        }
    };
    drop(app);
    setup.db.close().await;
    Ok(code)
}

/// Shows what receivers said that no rule knows.
pub(crate) async fn bounces(config: &Config, args: Bounces) -> Result<ExitCode> {
    let setup = setup::open_existing(config).await?;
    let app = setup.app(config).await?;
    let texts = app.unknown_bounces(i64::from(args.limit)).await?;
    if texts.is_empty() {
        print("Every bounce so far was understood.")?;
    }
    for text in texts {
        print(&format!("{:>7}  {}  {}", text.times, text.last_at, printable(&text.said)))?;
    }
    drop(app);
    setup.db.close().await;
    Ok(ExitCode::SUCCESS)
}
