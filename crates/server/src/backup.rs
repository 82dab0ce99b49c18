//! `mailwright backup`: a folder that is complete or not there.
//!
//! It is written under another name beside its place, synced, and renamed. The moment is noted in the database, so that
//! a restore knows from when on things are lost.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use mailwright_core::time::Timestamp;
use mailwright_store::database::migrate::{self, Standing};
use mailwright_store::database::sqlite;
use mailwright_store::sending::held::epoch;
use mailwright_store::{Location, body};

use crate::config::Config;
use crate::manifest::{Manifest, make_parents};
use crate::print;
use crate::setup::{self, DATABASE, Setup, UPLOADS};

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// A folder for the backup, which must not be there yet. It holds the secret of the instance: keep it as confidential
    /// as the data directory.
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
}

pub(crate) async fn backup(config: &Config, args: &BackupArgs) -> Result<ExitCode> {
    let to = std::path::absolute(&args.to).context("--to is no path")?;
    let (Some(parent), Some(name)) = (to.parent(), to.file_name()) else { bail!("--to must name a folder") };
    if to.exists() {
        bail!("{} is there already; a backup makes its folder", to.display());
    }
    let location = config.location()?;
    let setup = open(config, &location).await?;
    let made_at = setup.clock.now();
    setup
        .db
        .write(body!(async |tx| epoch::mark(tx, env!("CARGO_PKG_VERSION"), made_at).await))
        .await
        .context("the moment of the backup cannot be noted in the database")?;
    setup::make_folder(parent)?;
    let draft =
        parent.join(format!(".{}.{}", name.to_string_lossy(), hex::encode(rand::random::<[u8; 6]>())));
    let made = make(config, &setup, &location, &draft, made_at).await;
    let manifest = match made {
        Ok(manifest) => manifest,
        Err(error) => {
            let _ = std::fs::remove_dir_all(&draft);
            return Err(error);
        }
    };
    std::fs::rename(&draft, &to)
        .and_then(|()| File::open(parent)?.sync_all())
        .with_context(|| format!("{} cannot be made", to.display()))?;
    setup.db.close().await;
    print(&told(&to, &location, &manifest))?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the database as it is. It is not brought up to date: an older program may be using it.
async fn open(config: &Config, location: &Location) -> Result<Setup> {
    if let Location::Sqlite(file) = location
        && !file.exists()
    {
        bail!("there is no database at {}; set MAILWRIGHT_DATA_DIR to that of the service", file.display());
    }
    let setup = setup::open(config)?;
    setup.reach().await?;
    match migrate::standing(&setup.db).await? {
        Standing::Current => Ok(setup),
        Standing::Empty => bail!("the database holds nothing of Mailwright"),
        Standing::Behind => bail!(
            "an older Mailwright wrote this database; make the backup with the version that runs, or run `mailwright \
             migrate` first"
        ),
        Standing::Ahead => bail!("a newer Mailwright wrote this database; make the backup with that version"),
    }
}

/// Fills a folder with a backup.
async fn make(
    config: &Config,
    setup: &Setup,
    location: &Location,
    folder: &Path,
    made_at: Timestamp,
) -> Result<Manifest> {
    setup::make_folder(folder)?;
    let secret = if config.secret()?.is_some() { "environment" } else { "file" };
    let engine = if setup.db.is_shared() { "postgresql" } else { "sqlite" };
    let mut manifest = Manifest::new(engine, made_at, secret);
    match location {
        Location::Sqlite(from) => {
            let to = folder.join(DATABASE);
            let copied = tokio::task::block_in_place(|| sqlite::backup::copy(from, &to, made_at))
                .context("the database cannot be copied")?;
            (manifest.last_migration, manifest.epoch) = (copied.last_step, copied.epoch);
            manifest.add(folder, DATABASE)?;
        }
        Location::Postgres { .. } => {
            let known = setup.db.read(body!(async |rx| {
                let epoch = epoch::last(rx).await?.map_or(0, |epoch| epoch.number);
                Ok((migrate::newest_step(rx).await?, epoch))
            }));
            (manifest.last_migration, manifest.epoch) = known.await?;
        }
    }
    // what belongs to the instance beside the database; what the database refers to was there before it was copied
    for name in setup::OWN_FILES {
        manifest.copy(&config.data_dir.join(name), folder, name)?;
    }
    copy_folder(&mut manifest, &config.data_dir, folder, UPLOADS)?;
    manifest.write(folder)?;
    for made in folders(folder)? {
        File::open(&made).and_then(|made| made.sync_all()).with_context(|| made.display().to_string())?;
    }
    Ok(manifest)
}

/// Copies the regular files of a folder, and of those in it.
fn copy_folder(manifest: &mut Manifest, from: &Path, to: &Path, path: &str) -> Result<()> {
    let entries = match std::fs::read_dir(from.join(path)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("{} cannot be read", from.join(path).display()))?,
    };
    for entry in entries {
        let entry = entry.with_context(|| from.join(path).display().to_string())?;
        let Ok(name) = entry.file_name().into_string() else {
            bail!("{}: a name that is no UTF-8 cannot be backed up", entry.path().display());
        };
        let inside = format!("{path}/{name}");
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => copy_folder(manifest, from, to, &inside)?,
            Ok(kind) if kind.is_file() => {
                make_parents(to, &to.join(&inside))?;
                manifest.copy(&entry.path(), to, &inside)?;
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// A folder and those in it, the innermost first.
fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry.with_context(|| folder.display().to_string())?.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(folders(&path)?);
        }
    }
    found.push(folder.to_owned());
    Ok(found)
}

fn told(to: &Path, location: &Location, manifest: &Manifest) -> String {
    let (folder, at) = (to.display(), &manifest.made_at);
    let secret = if manifest.secret == "environment" {
        "\nThe secret is not in it: keep MAILWRIGHT_SECRET apart, once and in a safe place."
    } else {
        ""
    };
    match location {
        Location::Sqlite(_) => {
            format!("The backup in {folder} is of {at}, with {} files.{secret}", manifest.files.len())
        }
        Location::Postgres { .. } => format!(
            "The moment {at} is noted in the database, and what belongs to it is in {folder}.{secret}\n\
             Dump the database now, as a user who may read all of it:\n\n  \
             (umask 077 && pg_dump --format=custom --file='{folder}/mailwright.dump' \"$MAILWRIGHT_DATABASE_URL\")\n\n\
             To restore it: stop all nodes, put the dump into an empty database with pg_restore, and run\n\
             `mailwright restore --epoch` before the first start. docs/backup.md has the steps."
        ),
    }
}
