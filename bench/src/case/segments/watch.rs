//! Looks for the events of joining, as somebody would who reads the database.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use mailwright_core::ids::{EventId, ProjectNumber};
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::Db;
use mailwright_store::body;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use uuid::Uuid;

/// Pause between two looks: what a latency may be too long by.
const LOOK: Duration = Duration::from_millis(10);
/// How far behind the newest event a look begins. One transaction at a time stores such events.
const BEHIND: Duration = Duration::from_millis(250);

/// When which contact's event of which name was there.
pub(super) type Seen = HashMap<(Uuid, String), Instant>;

/// The look-out.
pub(super) struct Watch {
    count: Arc<AtomicUsize>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<Seen>>,
}

impl Watch {
    /// Looks for events from now on.
    pub(super) fn start(db: Db, project: ProjectNumber) -> Self {
        let (stop, stopped) = oneshot::channel();
        let count = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(watch(db, project, Arc::clone(&count), stopped));
        Self { count, stop, task }
    }

    /// How many events were seen.
    pub(super) fn seen(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) async fn stop(self) -> Result<Seen> {
        let _ = self.stop.send(());
        self.task.await?
    }
}

async fn watch(
    db: Db,
    project: ProjectNumber,
    count: Arc<AtomicUsize>,
    mut stopped: oneshot::Receiver<()>,
) -> Result<Seen> {
    let mut seen = Seen::new();
    let mut newest = Clock::system().now();
    while stopped.try_recv().is_err() {
        let found = look(&db, project, newest.minus(BEHIND)).await?;
        let now = Instant::now();
        for (id, name, contact) in found {
            newest = newest.max(id.instant());
            seen.entry((contact, name)).or_insert(now);
        }
        count.store(seen.len(), Ordering::Relaxed);
        tokio::time::sleep(LOOK).await;
    }
    Ok(seen)
}

async fn look(db: &Db, project: ProjectNumber, from: Timestamp) -> Result<Vec<(EventId, String, Uuid)>> {
    let read = db.read(body!(async |rx| rx
        .all(
            "select id, name, contact_id from events where project_id = $1 and id >= $2 \
                 and name like 'segment.%.entry'",
            &[project.into(), EventId::first_of(from).into()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .await));
    Ok(read.await?)
}

/// How many events of joining there are.
pub(super) async fn entries(db: &Db, project: ProjectNumber) -> Result<usize> {
    Ok(look(db, project, Timestamp(0)).await?.len())
}
