//! Makes snapshots, copies pictures, and removes what is kept no longer.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_store::database::sqlite::copies::Snapshot;
use tokio::io::AsyncReadExt;

use super::catalogue::{Manifest, SnapshotName, UPLOADS};
use super::destination::{Destination, Fault};
use super::pictures::pictures_in;
use super::retention;
use super::shared::{Line, Pauses, Shared};
use crate::background::tasks::Tasks;

/// How often it is looked whether a snapshot is due.
const LOOK: Duration = Duration::from_millis(500);
/// How often new pictures are looked for.
const PICTURES: Duration = Duration::from_mins(1);
/// How often what is kept no longer is removed.
const REMOVALS: Duration = Duration::from_mins(10);
/// The first and the longest pause after a failure.
const PAUSES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(5));
/// Bytes of a part of the database.
const PART: usize = 4 * 1024 * 1024;
/// The largest file that is copied beside the database. Pictures are smaller.
const LARGEST: u64 = 10 * 1024 * 1024;

/// Why a snapshot could not be made.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("{0}")]
    Destination(#[from] Fault),
    #[error("{0}")]
    Store(#[from] mailwright_store::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

pub(super) fn start(shared: &Arc<Shared>, tasks: &Tasks) {
    let (shared, stop) = (Arc::clone(shared), tasks.clone());
    tasks.keep("snapshots of copies", async move {
        let mut keeper = Keeper { shared, pictures: None, looked: None, removed: None };
        let mut pauses = Pauses::new(PAUSES.0, PAUSES.1);
        let mut pause = LOOK;
        while stop.pause(pause).await {
            let done = tokio::select! {
                done = keeper.round() => done,
                () = stop.stopping() => break,
            };
            pause = match done {
                Ok(()) => {
                    pauses.end();
                    LOOK
                }
                Err(error) => {
                    keeper.shared.metrics.failed();
                    let pause = pauses.after_failure();
                    tracing::warn!(%error, seconds = pause.as_secs(), "a snapshot could not be kept, trying again");
                    pause
                }
            };
        }
    });
}

struct Keeper {
    shared: Arc<Shared>,
    /// The pictures at the destination, once they were listed.
    pictures: Option<BTreeSet<String>>,
    /// When new pictures, and what is kept no longer, were looked for.
    looked: Option<Instant>,
    removed: Option<Instant>,
}

impl Keeper {
    async fn round(&mut self) -> Result<(), Failed> {
        let Some(line) = self.shared.line().clone() else { return Ok(()) };
        let destination = self.shared.destination()?;
        let is_due = line
            .snapshot
            .is_none_or(|at| self.shared.clock.now().since(at) >= self.shared.settings.snapshot_every);
        if is_due {
            self.pictures(&destination).await?;
            self.snapshot(&destination, &line).await?;
        }
        let now = self.shared.clock.steady();
        let rested =
            |at: Option<Instant>, pause| at.is_none_or(|at| now.saturating_duration_since(at) >= pause);
        if rested(self.looked, PICTURES) {
            self.pictures(&destination).await?;
            self.looked = Some(now);
        }
        if rested(self.removed, REMOVALS) {
            let before = self.shared.clock.now().minus(self.shared.settings.keep);
            let removed = retention::remove(&destination, before).await?;
            let pictures = retention::remove_pictures(&destination, &self.shared.files.uploads, before).await;
            if removed > 0 {
                tracing::info!(objects = removed, "copies that are kept no longer were removed");
            }
            if pictures? > 0 {
                self.pictures = None;
            }
            self.removed = Some(now);
        }
        Ok(())
    }

    /// Copies the database, and then its copy to the destination. The manifest is last, so that what is not complete is
    /// not taken for a snapshot.
    async fn snapshot(&self, destination: &Destination, line: &Line) -> Result<(), Failed> {
        let Some(made) = self.shared.copies.snapshot().await? else { return Ok(()) };
        let shipped = self.ship(destination, &made).await;
        let _ = fs::remove_file(&made.file);
        let name = shipped?;
        self.shared.metrics.snapshot(name.committed_by);
        tracing::info!(generation = name.generation, sequence = name.sequence, "a snapshot was shipped");
        let mut current = self.shared.line();
        if let Some(current) = current.as_mut().filter(|current| current.generation == line.generation)
            && made.mark.generation == line.generation
        {
            current.snapshot = Some(name.committed_by);
        }
        Ok(())
    }

    async fn ship(&self, destination: &Destination, made: &Snapshot) -> Result<SnapshotName, Failed> {
        let mark = &made.mark;
        let name = SnapshotName {
            committed_by: mark.committed_by,
            generation: mark.generation.clone(),
            sequence: mark.sequence,
        };
        let mut file = tokio::fs::File::open(&made.file).await?;
        let (mut parts, mut bytes) = (0, 0);
        loop {
            let mut part = Vec::with_capacity(PART);
            (&mut file).take(PART as u64).read_to_end(&mut part).await?;
            if part.is_empty() {
                break;
            }
            self.shared.put(destination, &name.part(parts), &part).await?;
            parts += 1;
            bytes += part.len() as u64;
        }
        let mut files = Vec::new();
        for own in &self.shared.files.own {
            if let Some(bytes) = small(&self.shared.files.data_dir.join(own)).await? {
                self.shared.put(destination, &name.file(own), &bytes).await?;
                files.push((*own).to_owned());
            }
        }
        let manifest = Manifest {
            format: Manifest::FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            last_migration: made.last_step,
            epoch: made.epoch,
            complete_until: mark.complete_until.0,
            secret: self.shared.files.secret.to_owned(),
            parts,
            bytes,
            files,
        };
        let text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::from)?;
        self.shared.put(destination, &name.manifest(), &text).await?;
        Ok(name)
    }

    /// Copies the pictures that are not at the destination. A name is never used for another picture.
    async fn pictures(&mut self, destination: &Destination) -> Result<(), Failed> {
        let local = pictures_in(&self.shared.files.uploads)?;
        if local.is_empty() {
            return Ok(());
        }
        let known = match self.pictures.take() {
            Some(known) => known,
            None => destination.list(UPLOADS, None).await?.into_iter().collect(),
        };
        let known = self.pictures.insert(known);
        for path in local {
            let name = format!("{UPLOADS}/{path}");
            if known.contains(&name) {
                continue;
            }
            if let Some(bytes) = small(&self.shared.files.uploads.join(&path)).await? {
                self.shared.put(destination, &name, &bytes).await?;
                known.insert(name);
            }
        }
        Ok(())
    }
}

/// A file; `None` if it is gone meanwhile, or larger than any should be.
async fn small(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match tokio::fs::metadata(path).await {
        Ok(file) if file.len() > LARGEST => {
            tracing::warn!(path = %path.display(), "a file is too large to be copied");
            return Ok(None);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    match tokio::fs::read(path).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        bytes => bytes.map(Some),
    }
}
