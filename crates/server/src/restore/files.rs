//! Putting the files of a backup into the data directory.
//!
//! They are copied and verified beside their places, and the database is prepared there: brought up to date, its epoch
//! raised, and what waits held. Then they are moved into place, the database last. While that goes on a file says so,
//! and nothing opens the data directory.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mailwright_app::sending::held::hold_all;
use mailwright_core::time::Timestamp;
use mailwright_store::database::{migrate, sqlite};
use mailwright_store::sending::held::epoch::Epoch;
use mailwright_store::{Db, Location, StoreMetrics};

use super::source::Source;
use crate::config::Config;
use crate::setup::{self, DATABASE, UNFINISHED};

/// What the names of folders begin with in which a backup is prepared.
const STAGED: &str = "restoring-";
/// The same for those to which what was there is moved.
const ASIDE: &str = "before-restore-";

/// What was restored.
pub(super) struct Restored {
    /// The moment, of continuous copies.
    pub(super) moment: Option<Timestamp>,
    pub(super) epoch: Epoch,
    /// How many mails are held.
    pub(super) held: i64,
    /// Where what was there before is now.
    pub(super) aside: Option<PathBuf>,
    /// Whether the secret has to be given to the service.
    pub(super) needs_secret: bool,
}

pub(super) async fn restore(
    config: &Config,
    from: &str,
    at: Option<Timestamp>,
    move_aside: bool,
) -> Result<Restored> {
    let source = Source::open(config, from, at).await?;
    let data = &config.data_dir;
    setup::make_folder(data)?;
    let _alone = setup::serve_alone(config).context("the service must not run while a backup is restored")?;
    let before = entries(data)?;
    if !before.is_empty() && !move_aside {
        bail!(
            "the data directory {} is not empty; --move-aside moves what is in it into a folder there",
            data.display()
        );
    }
    remove_staged(data)?;
    source.verify()?;
    let staged = data.join(format!("{STAGED}{}", hex::encode(rand::random::<[u8; 6]>())));
    setup::make_folder(&staged)?;
    let prepared = async {
        source.fill(&staged).await?;
        prepare(&staged).await
    };
    let (epoch, held) = match prepared.await {
        Ok(prepared) => prepared,
        Err(error) => {
            let _ = std::fs::remove_dir_all(&staged);
            return Err(error);
        }
    };
    let aside = if before.is_empty() { None } else { Some(data.join(aside(epoch))) };
    put(data, &staged, &before, aside.as_deref())
        .with_context(|| format!("{} could not be restored; run this again", data.display()))?;
    let needs_secret = source.is_secret_apart() && config.secret()?.is_none();
    Ok(Restored { moment: source.moment(), epoch, held, aside, needs_secret })
}

/// The name of the folder for what was there. It is that of the moment, which no other restore has.
fn aside(epoch: Epoch) -> String {
    format!("{ASIDE}{}", epoch.raised_at.to_string().replace(':', ""))
}

/// Brings the database in a folder up to date, and holds what waits in it.
async fn prepare(folder: &Path) -> Result<(Epoch, i64)> {
    let file = folder.join(DATABASE);
    let step = tokio::task::block_in_place(|| sqlite::backup::examine(&file))
        .context("the database of the backup is damaged")?;
    if step > migrate::last_step() {
        bail!("the database of the backup is of a newer Mailwright; restore it with that version");
    }
    let db = Db::open(&Location::Sqlite(file.clone()), StoreMetrics::default())?;
    let now = setup::clock().now();
    migrate::migrate(&db, now).await?;
    let held = hold_all(&db, now).await.context("what waits cannot be held")?;
    db.close().await;
    for beside in ["-wal", "-shm"] {
        let beside = folder.join(format!("{DATABASE}{beside}"));
        if beside.exists() {
            bail!("{} is still in use", beside.display());
        }
    }
    File::open(&file).and_then(|file| file.sync_all()).context("the database is not on disk")?;
    Ok(held)
}

/// What a data directory holds but for what a restore itself makes there.
fn entries(data: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(data).with_context(|| data.display().to_string())? {
        let entry = entry.with_context(|| data.display().to_string())?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_other = [setup::LOCK, UNFINISHED, "lost+found"].contains(&&*name)
            || name.starts_with(STAGED)
            || name.starts_with(ASIDE);
        if !is_other {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Removes what an earlier restore, which was interrupted, had prepared.
fn remove_staged(data: &Path) -> Result<()> {
    for entry in std::fs::read_dir(data).with_context(|| data.display().to_string())? {
        let path = entry.with_context(|| data.display().to_string())?.path();
        let is_staged = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(STAGED));
        if is_staged {
            std::fs::remove_dir_all(&path).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

/// Moves what was there aside, and what was prepared into its place.
fn put(data: &Path, staged: &Path, before: &[PathBuf], aside: Option<&Path>) -> Result<()> {
    let unfinished = data.join(UNFINISHED);
    if !unfinished.exists() {
        let mut file = setup::create_private(&unfinished).context("a file cannot be made")?;
        file.write_all(b"A backup is being restored into this folder.\n").and_then(|()| file.sync_all())?;
        sync(data)?;
    }
    if let Some(aside) = aside {
        setup::make_folder(aside)?;
        for path in before {
            move_into(path, aside)?;
        }
        sync(aside)?;
        sync(data)?;
    }
    let mut prepared: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(staged)? {
        prepared.push(entry?.path());
    }
    prepared.sort_by_key(|path| path.ends_with(DATABASE));
    for path in &prepared {
        move_into(path, data)?;
    }
    sync(data)?;
    std::fs::remove_dir(staged)?;
    std::fs::remove_file(&unfinished)?;
    sync(data)
}

fn move_into(path: &Path, folder: &Path) -> Result<()> {
    let name = path.file_name().with_context(|| path.display().to_string())?;
    std::fs::rename(path, folder.join(name)).with_context(|| format!("{} cannot be moved", path.display()))
}

fn sync(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(|| folder.display().to_string())
}
