//! Stores opens and clicks after they were answered: many together, within a second.
//!
//! The queue is bounded. While it is full, the next visitor waits for a moment, then gets the answer and is not counted:
//! nobody is kept from a page because the database is slow. A mail has at most [`MAX_PER_MINUTE`] opens and clicks a minute, so that
//! nobody fills the table by asking for a picture again and again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_store::body;
use mailwright_store::feedback::hit::{self, NewHit};
use quick_cache::sync::{Cache, EntryAction, EntryResult};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::App;
use crate::background::tasks::Tasks;

/// Most hits that wait to be stored.
const QUEUE: usize = 50_000;
/// Most hits stored in one transaction. With fewer the fixed cost of each would limit the rate; with more, other writes
/// would wait longer for it on SQLite.
const BATCH: usize = 4_000;
/// How many transactions of hits are under way. The next waits while one is written, or judging would have the turn between
/// any two of them on SQLite.
const AT_ONCE: usize = 2;
/// How long hits are gathered, unless there are enough for a transaction already.
const GATHERED: Duration = Duration::from_millis(100);
/// How long a visitor waits for a place in the queue.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long it is waited after hits could not be stored.
const PAUSE: Duration = Duration::from_millis(500);
/// How often a batch is tried after the service was asked to stop.
const LAST_TRIES: u32 = 6;
/// Most opens of one mail that one process stores in a minute, and most clicks.
const MAX_PER_MINUTE: u32 = 100;
/// Mails whose hits are counted at the same time.
const COUNTED: usize = 20_000;

type Noted = (ProjectNumber, NewHit);

/// The queue of hits.
pub(super) struct Recorder {
    sender: mpsc::Sender<Noted>,
    receiver: Mutex<Option<mpsc::Receiver<Noted>>>,
    /// The minute of the newest open or click of a mail, and how many it has had in it. `true` for clicks.
    counted: Cache<(EmailId, bool), (i64, u32)>,
    /// Requests are over.
    over: CancellationToken,
}

impl Default for Recorder {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let receiver = Mutex::new(Some(receiver));
        Self { sender, receiver, counted: Cache::new(COUNTED), over: CancellationToken::new() }
    }
}

impl Recorder {
    /// Puts a hit into the queue. Returns whether it is there, or is one of too many of its mail.
    pub(super) async fn note(&self, project: ProjectNumber, hit: NewHit) -> bool {
        if self.is_too_many(&hit) {
            return true;
        }
        tokio::time::timeout(PATIENCE, self.sender.send((project, hit))).await.is_ok_and(|sent| sent.is_ok())
    }

    /// Counts the hit with those of its mail. The count is exact however many arrive at once.
    fn is_too_many(&self, hit: &NewHit) -> bool {
        let minute = hit.at.0.div_euclid(60_000);
        let key = (hit.email, hit.link.is_some());
        let counted = self.counted.entry(&key, None, |_, (counted, count)| {
            let before = if *counted == minute { *count } else { 0 };
            (*counted, *count) = (minute, before.saturating_add(1));
            EntryAction::Retain(before)
        });
        match counted {
            EntryResult::Retained(before) => before >= MAX_PER_MINUTE,
            EntryResult::Vacant(place) => {
                // it is no loss when the place is gone: the next hit is counted as the first
                let _ = place.insert((minute, 1));
                false
            }
            EntryResult::Removed(..) | EntryResult::Replaced(..) | EntryResult::Timeout => false,
        }
    }
}

impl App {
    /// Starts storing opens and clicks. Every process that answers requests does so.
    pub fn start_recorder(&self, tasks: &Tasks) {
        let receiver = &self.0.feedback.recorder.receiver;
        let taken = receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(receiver) = taken else { return };
        tasks.keep("opens and clicks", run(self.clone(), tasks.clone(), receiver));
    }

    /// Stores what is in the queue, and nothing more. To be called when no request is answered any more, and before the
    /// end of the background work is waited for.
    pub fn stop_recorder(&self) {
        self.0.feedback.recorder.over.cancel();
    }
}

async fn run(app: App, tasks: Tasks, mut receiver: mpsc::Receiver<Noted>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let first = tokio::select! {
            biased;
            first = receiver.recv() => first,
            () = app.0.feedback.recorder.over.cancelled() => None,
        };
        let Some(first) = first.or_else(|| receiver.try_recv().ok()) else { return };
        let mut batch = vec![first];
        if receiver.len() < BATCH - 1 {
            tokio::time::sleep(GATHERED).await;
        }
        while batch.len() < BATCH
            && let Ok(next) = receiver.try_recv()
        {
            batch.push(next);
        }
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (app, of) = (app.clone(), tasks.clone());
        tasks.keep("opens and clicks that are stored", async move {
            store(&app, &of, batch).await;
            drop(place);
        });
    }
}

/// Stores hits, however long the database takes to come back.
async fn store(app: &App, tasks: &Tasks, batch: Vec<Noted>) {
    let due_at = app.clock().now().plus(app.settings().tracking.settle);
    let mut projects: BTreeMap<ProjectNumber, Vec<NewHit>> = BTreeMap::new();
    for (project, hit) in batch {
        projects.entry(project).or_default().push(hit);
    }
    let projects = Arc::new(projects);
    let mut tries = 0;
    loop {
        let projects = Arc::clone(&projects);
        let written = app.write_large(body!(async |tx| {
            for (project, hits) in projects.iter() {
                hit::add(tx, *project, hits, due_at).await?;
            }
            Ok(())
        }));
        let Err(error) = written.await else { return };
        tries += 1;
        if tasks.is_stopping() && tries >= LAST_TRIES {
            tracing::error!(%error, "opens and clicks could not be stored before the service stopped");
            return;
        }
        tracing::warn!(%error, "opens and clicks could not be stored, trying again");
        tokio::time::sleep(PAUSE).await;
    }
}
