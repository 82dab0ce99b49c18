//! Ships what was committed, object by object, and begins a line when there is none.

use std::sync::Arc;
use std::time::Duration;

use mailwright_store::database::sqlite::copies::{Head, Place, decode};
use tokio::time::timeout;

use super::catalogue;
use super::destination::{Destination, Fault};
use super::shared::{Line, Pauses, Shared};
use crate::background::tasks::Tasks;

/// The first and the longest pause while the destination is away.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));
/// How long the rest is shipped when the service stops.
const LAST: Duration = Duration::from_secs(5);

/// Why nothing was shipped.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("{0}")]
    Destination(#[from] Fault),
    #[error("{0}")]
    Store(#[from] mailwright_store::Error),
    #[error("{0}")]
    Spool(#[from] std::io::Error),
    #[error("{0}")]
    Line(#[from] mailwright_store::database::sqlite::copies::Trouble),
}

pub(super) fn start(shared: &Arc<Shared>, tasks: &Tasks) {
    let (shared, stop) = (Arc::clone(shared), tasks.clone());
    tasks.keep("copies", async move {
        let mut shipper = Shipper { shared, resumes: true };
        let mut pauses = Pauses::new(PAUSES.0, PAUSES.1);
        let noting = Arc::clone(&shipper.shared);
        let rounds = async {
            let mut pause = Duration::ZERO;
            while stop.pause(pause).await {
                pause = match shipper.round().await {
                    Ok(()) => {
                        if pauses.end() {
                            tracing::info!("copies are shipped again");
                        }
                        shipper.shared.settings.every
                    }
                    Err(error) => {
                        shipper.shared.metrics.failed();
                        let pause = pauses.after_failure();
                        tracing::warn!(%error, seconds = pause.as_secs(), "nothing could be shipped, trying again");
                        pause
                    }
                };
                note(&shipper.shared);
            }
        };
        // however long a round takes, it is told how old the copies are
        let noted = async {
            while stop.pause(noting.settings.every).await {
                note(&noting);
            }
        };
        tokio::select! {
            () = rounds => {}
            () = noted => {}
        }
        shipper.stop().await;
    });
}

struct Shipper {
    shared: Arc<Shared>,
    /// Whether the line that an earlier process wrote may be gone on with.
    resumes: bool,
}

/// Notes how old the copies are and what waits, and tells that a line has ended.
fn note(shared: &Shared) {
    let standing = shared.copies.standing();
    shared.metrics.age(shared.clock.now());
    shared.metrics.waiting(standing.waiting_bytes);
    if let Some(trouble) = standing.trouble
        && let Some(line) = shared.line().take()
    {
        tracing::warn!(
            generation = line.generation,
            %trouble,
            "a line of copies could not be gone on with; another one begins with a snapshot"
        );
    }
}

impl Shipper {
    async fn round(&mut self) -> Result<(), Failed> {
        let destination = self.shared.destination()?;
        // what waits belongs to a line that may have ended, and is shipped nevertheless
        self.ship(&destination).await?;
        note(&self.shared);
        if self.shared.copies.standing().generation.is_none() {
            self.begin(&destination).await?;
        }
        Ok(())
    }

    /// Ships what waits.
    async fn ship(&self, destination: &Destination) -> Result<(), Failed> {
        let copies = &self.shared.copies;
        // what is complete until then is among what waits now
        let standing = copies.standing();
        while let Some(spooled) = copies.first() {
            let bytes = tokio::fs::read(&spooled.path).await?;
            let name = catalogue::segment(&spooled.head.generation, spooled.head.name());
            self.shared.put(destination, &name, &bytes).await?;
            copies.done();
            self.shared.metrics.waiting(copies.standing().waiting_bytes);
            if spooled.head.is_last {
                self.until(&spooled.head.generation, spooled.head.complete_until);
            }
        }
        if let (Some(generation), Some(until)) = (&standing.generation, standing.complete_until) {
            self.until(generation, until);
        }
        Ok(())
    }

    /// Notes until when everything can be restored, if the line has a snapshot.
    fn until(&self, generation: &str, until: mailwright_core::time::Timestamp) {
        let line = self.shared.line();
        if line.as_ref().is_some_and(|line| line.generation == generation && line.snapshot.is_some()) {
            self.shared.metrics.until(until);
        }
    }

    /// Goes on with the line of an earlier process, or begins one.
    async fn begin(&mut self, destination: &Destination) -> Result<(), Failed> {
        if std::mem::take(&mut self.resumes) {
            let found = self.last_line(destination).await;
            if matches!(found, Err(Failed::Destination(Fault::Away(_)))) {
                self.resumes = true;
            }
            if let Some((line, place, sequence)) = found? {
                let generation = line.generation.clone();
                if self.shared.copies.begin(generation.clone(), Some((place, sequence))).await?.is_ok() {
                    tracing::info!(generation, sequence, "copies go on where they were");
                    *self.shared.line() = Some(line);
                    return Ok(());
                }
            }
        }
        let generation = catalogue::new_generation(self.shared.clock.now());
        // a destination that takes nothing is found before the log is kept for it
        self.shared.put(destination, &catalogue::begun(&generation), b"").await?;
        self.shared.copies.begin(generation.clone(), None).await??;
        self.shared.metrics.generation();
        tracing::info!(generation, "a line of copies begins with a snapshot");
        *self.shared.line() = Some(Line { generation, snapshot: None });
        Ok(())
    }

    /// The newest line at the destination, with where its last object ends; `None` if it cannot be gone on with.
    async fn last_line(&self, destination: &Destination) -> Result<Option<(Line, Place, u64)>, Failed> {
        let Some(generation) = catalogue::generations(destination).await?.pop() else { return Ok(None) };
        let Some(snapshot) = catalogue::complete(destination, &generation).await?.pop() else {
            return Ok(None);
        };
        // the last object that the snapshot has may be the last one
        let before = snapshot.sequence.saturating_sub(1);
        let names = catalogue::following(destination, &generation, before).await?;
        let is_unbroken = names.iter().zip(before + 1..).all(|(name, sequence)| name.sequence == sequence);
        let Some(last) = names.last().filter(|last| is_unbroken && last.is_last) else { return Ok(None) };
        let bytes = match destination.get(&catalogue::segment(&generation, *last)).await {
            Err(Fault::Away(error)) => return Err(Fault::Away(error).into()),
            Err(_) => return Ok(None),
            Ok(bytes) => bytes,
        };
        let Ok(Some(place)) = decode(&bytes).map(|(head, _): (Head, _)| head.place) else { return Ok(None) };
        let line = Line { generation, snapshot: Some(snapshot.committed_by) };
        Ok(Some((line, place, last.sequence)))
    }

    /// Ships the rest, and leaves the log as it is, so that the next start goes on with the line.
    async fn stop(&self) {
        let rest = async {
            self.shared.copies.look().await?;
            let destination = self.shared.destination()?;
            self.ship(&destination).await
        };
        match timeout(LAST, rest).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the last copies could not be shipped"),
            Err(_) => tracing::warn!("the last copies could not be shipped in time"),
        }
        self.shared.copies.keep_log();
    }
}
