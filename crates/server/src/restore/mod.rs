//! `mailwright restore`: putting a backup back, and deciding about the mails that it holds.

mod decide;
mod files;
mod source;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{ArgGroup, Args};
use mailwright_app::sending::held::hold_all;
use mailwright_core::ids::CampaignId;
use mailwright_core::time::Timestamp;
use mailwright_store::Location;
use mailwright_store::database::migrate::{self, Standing};
use mailwright_store::sending::held::epoch::Epoch;

use crate::config::Config;
use crate::{print, setup};

/// How long the sessions of a process that has just ended are waited for.
const PATIENCE: u32 = 50;
/// How often it is looked for them.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["from", "epoch", "list", "resend", "discard"])))]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct RestoreArgs {
    /// Put the backup in this folder, or a moment of the continuous copies in this folder or bucket, into the data
    /// directory. What may have been sent since then is held.
    #[arg(long, value_name = "FOLDER|s3://BUCKET")]
    from: Option<String>,
    /// With --from and continuous copies: the moment, such as 2026-01-31T09:30:00Z. Without it the last one is restored.
    #[arg(long, requires = "from", value_name = "RFC3339", value_parser = moment)]
    at: Option<Timestamp>,
    /// With --from and continuous copies: show which moments can be restored, and restore nothing.
    #[arg(long, requires = "from", conflicts_with_all = ["at", "move_aside"])]
    list_copies: bool,
    /// With --from: move what the data directory holds into a folder in it. Otherwise the data directory must be empty.
    #[arg(long, requires = "from")]
    move_aside: bool,
    /// After a PostgreSQL database was restored with its own tools, and before the first start: hold what may have been
    /// sent since the backup was made.
    #[arg(long)]
    epoch: bool,
    /// Show the mails that are held.
    #[arg(long)]
    list: bool,
    /// Send the mails that are held. Who got one already gets it twice.
    #[arg(long)]
    resend: bool,
    /// Do not send the mails that are held. Who did not get one never gets it.
    #[arg(long)]
    discard: bool,
    /// With --resend and --discard: all projects.
    #[arg(long, conflicts_with_all = ["project", "campaign", "from", "epoch", "list"])]
    all: bool,
    /// With --list, --resend and --discard: only the mails of this project, by its id, or the name that `bootstrap` gave it.
    #[arg(long, value_name = "PROJECT", conflicts_with_all = ["from", "epoch"])]
    project: Option<String>,
    /// The same for one campaign of the project, by its id.
    #[arg(long, value_name = "ID", requires = "project")]
    campaign: Option<CampaignId>,
    /// With --list: a JSON object a line.
    #[arg(long, requires = "list")]
    json: bool,
}

pub(crate) async fn restore(config: &Config, args: RestoreArgs) -> Result<ExitCode> {
    if let Some(from) = &args.from {
        let Location::Sqlite(_) = config.location()? else {
            bail!(
                "MAILWRIGHT_DATABASE_URL names a PostgreSQL database, which its own tools restore: put the dump into an \
                 empty database with pg_restore, then run `mailwright restore --epoch` (docs/backup.md)"
            );
        };
        if args.list_copies {
            source::list(config, from).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let restored = files::restore(config, from, args.at, args.move_aside).await?;
        if let Some(moment) = restored.moment {
            print(&format!("The database is as it was at {moment}."))?;
        }
        print(&told(restored.epoch, restored.held))?;
        if restored.needs_secret {
            print(
                "The secret is not in the backup: start the service with the MAILWRIGHT_SECRET of that instance.",
            )?;
        }
        if let Some(aside) = restored.aside {
            print(&format!("What the data directory held before is in {}.", aside.display()))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.epoch { raise(config).await } else { decide::decide(config, args).await }
}

fn moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).ok_or_else(|| "it must be a moment such as 2026-01-31T09:30:00Z".to_owned())
}

/// Holds what a PostgreSQL database that was restored may have sent.
async fn raise(config: &Config) -> Result<ExitCode> {
    if matches!(config.location()?, Location::Sqlite(_)) {
        bail!(
            "--epoch is for PostgreSQL; a backup of the embedded database is put back with `mailwright restore --from \
             FOLDER`"
        );
    }
    let setup = setup::open(config)?;
    setup.reach().await?;
    match migrate::standing(&setup.db).await? {
        Standing::Empty => {
            bail!("the database that MAILWRIGHT_DATABASE_URL names holds nothing of Mailwright")
        }
        Standing::Ahead => {
            bail!("a newer Mailwright wrote this database; run `restore --epoch` of that version")
        }
        Standing::Behind | Standing::Current => {}
    }
    let mut tries = 0;
    while setup.db.other_sessions().await? > 0 {
        if tries == PATIENCE {
            bail!(
                "another process of Mailwright uses this database; stop all nodes first, so that nothing is sent while \
                 it is held"
            );
        }
        tries += 1;
        tokio::time::sleep(LOOK).await;
    }
    setup.migrate().await?;
    let (epoch, held) = hold_all(&setup.db, setup.clock.now()).await.context("what waits cannot be held")?;
    setup.db.close().await;
    print(&told(epoch, held))?;
    Ok(ExitCode::SUCCESS)
}

fn told(epoch: Epoch, held: i64) -> String {
    let since = match epoch.lost_from {
        Some(from) => format!("What happened after {from} is lost."),
        None => "Nothing says when the backup was made.".into(),
    };
    format!(
        "The epoch is {} now. {since}\n{held} mails may have been sent since and are held. Look at them with `mailwright \
         restore --list`, and decide with --resend or --discard. Campaigns and workflows that go on may hold more.",
        epoch.number
    )
}
