//! What is restored: a backup in a folder, or continuous copies in a folder or a bucket.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mailwright_app::copies::{self, Destination, Plan};
use mailwright_core::time::Timestamp;
use mailwright_store::database::migrate;

use crate::config::Config;
use crate::manifest::{MANIFEST, Manifest};
use crate::print;
use crate::setup::DATABASE;

/// What is restored.
pub(super) enum Source {
    /// A backup.
    Backup { manifest: Manifest, folder: PathBuf },
    /// A moment of continuous copies.
    Copies { destination: Destination, plan: Box<Plan> },
}

impl Source {
    /// Finds out what there is at a place. Refuses what this program cannot restore.
    pub(super) async fn open(config: &Config, from: &str, at: Option<Timestamp>) -> Result<Self> {
        if is_copies(from) {
            let destination = destination(config, from)?;
            let plan = copies::plan(&destination, at).await?;
            refuse_newer(from, plan.manifest.last_migration, &plan.manifest.program)?;
            return Ok(Self::Copies { destination, plan: Box::new(plan) });
        }
        if at.is_some() {
            bail!("--at is for continuous copies, and {from} holds none; a backup is of one moment");
        }
        let folder = PathBuf::from(from);
        let manifest = Manifest::read(&folder)?;
        if manifest.engine != "sqlite" {
            bail!(
                "{from} is the backup of an instance on {}; set MAILWRIGHT_DATABASE_URL, and see docs/backup.md",
                manifest.engine
            );
        }
        refuse_newer(from, manifest.last_migration, &manifest.program)?;
        if !manifest.files.iter().any(|file| file.path == DATABASE) {
            bail!("{from} holds no database");
        }
        Ok(Self::Backup { manifest, folder })
    }

    /// Looks at what can be looked at before anything is written.
    pub(super) fn verify(&self) -> Result<()> {
        match self {
            Self::Backup { manifest, folder } => manifest.verify(folder),
            // each object is verified when it is read
            Self::Copies { .. } => Ok(()),
        }
    }

    /// Puts the files into a folder.
    pub(super) async fn fill(&self, folder: &Path) -> Result<()> {
        match self {
            Self::Backup { manifest, folder: from } => {
                manifest.files.iter().try_for_each(|file| file.copy_to(from, folder))
            }
            Self::Copies { destination, plan } => {
                Ok(copies::fetch(destination, plan, folder, DATABASE).await?)
            }
        }
    }

    /// Whether the secret is kept apart.
    pub(super) fn is_secret_apart(&self) -> bool {
        let secret = match self {
            Self::Backup { manifest, .. } => &manifest.secret,
            Self::Copies { plan, .. } => &plan.manifest.secret,
        };
        secret == "environment"
    }

    /// The moment of continuous copies that is restored.
    pub(super) fn moment(&self) -> Option<Timestamp> {
        match self {
            Self::Backup { .. } => None,
            Self::Copies { plan, .. } => Some(plan.moment),
        }
    }
}

fn refuse_newer(from: &str, last_migration: i64, program: &str) -> Result<()> {
    if last_migration > migrate::last_step() {
        bail!(
            "{from} was made by Mailwright {program}, which is newer than this program; restore it with that version"
        );
    }
    Ok(())
}

/// Whether a place holds continuous copies, or could.
fn is_copies(from: &str) -> bool {
    let folder = Path::new(from);
    from.starts_with("s3://") || (folder.join("generations").is_dir() && !folder.join(MANIFEST).exists())
}

fn destination(config: &Config, from: &str) -> Result<Destination> {
    let opened = Destination::open(&config.place_of_copies(from)?, &config.dns()?, false);
    opened.with_context(|| format!("{from} cannot be read"))
}

/// Prints what moments can be restored.
pub(super) async fn list(config: &Config, from: &str) -> Result<()> {
    if !is_copies(from) {
        bail!("{from} holds no continuous copies");
    }
    let destination = destination(config, from)?;
    let spans = copies::spans(&destination).await?;
    if spans.is_empty() {
        print(&format!("There are no complete copies in {from}."))?;
    }
    spans.iter().try_for_each(|span| print(&span.to_string()))
}
