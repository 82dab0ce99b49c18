//! Background jobs: long work of a project, done in steps that survive a crash.
//!
//! A job is a row with a lease (see [`mailwright_store::background::job`]). A round gives each project with a due job a
//! turn. In its turn a process claims the project's next job and does step after step. Each step is one transaction of
//! some hundred rows that also notes how far the work came. After half a second the job is given back if other projects
//! wait. A job without progress in ten claims is given up, because work that crashes the process must not do so for ever.
//! `job_worker.rs` does all this.
//!
//! **A new kind of job** is a variant of [`JobKind`], a type that implements [`JobHandler`], and a line in
//! `job_kinds.rs`. It is queued with [`App::queue_job`].

use std::sync::Arc;

use futures_util::future::BoxFuture;
use mailwright_core::audit::Actor;
use mailwright_core::ids::JobId;
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::background::job::{self as store, ClaimRef, Job, NewJob, Progress};
use mailwright_store::background::job_list;
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::{Rx, Tx};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::App;
use crate::error::{Error, Result};

/// Most unfinished jobs of a project.
const MAX_QUEUED: i64 = 100;
/// The reason that the owner of a job sees if the job failed by a bug.
pub(crate) const UNEXPECTED: &str = "An unexpected error stopped the job.";

/// A job as its owner sees it.
#[derive(Debug)]
pub struct Status<R> {
    /// Identifier.
    pub id: JobId,
    /// State of the job.
    pub state: JobState,
    /// How much of it is done, 0 to 100.
    pub percent: i64,
    /// Result of the job; `None` until it is completed.
    pub result: Option<R>,
    /// Why it was given up.
    pub failed_reason: Option<String>,
}

/// What a job does, with its input at hand.
pub(crate) trait JobHandler: Send + Sync {
    /// The next part of the work from the current progress. Nothing is written here. An error ends the job, and its
    /// owner sees it as the reason.
    fn next(&self, progress: &Value) -> Result<Part, String>;
}

/// A part of the work.
#[derive(Clone)]
pub(crate) enum Part {
    /// Work that writes, in one transaction with its progress.
    Batch(Arc<dyn Batch>),
    /// Work that only reads, and so holds up nobody who writes. Its progress is written afterwards.
    Look(Arc<dyn Look>),
    /// Work that asks others, such as name servers, before its transaction.
    Ask(Arc<dyn Ask>),
}

/// A batch of work that fits into one transaction: some hundred rows.
pub(crate) trait Batch: Send + Sync {
    /// Does it. What it writes is kept together with the progress it returns, or not at all.
    fn run<'t>(
        &'t self,
        tx: &'t mut Tx<'_>,
        claim: ClaimRef,
        now: Timestamp,
    ) -> BoxFuture<'t, mailwright_store::Result<StepResult>>;
}

/// A piece of work that only reads: some hundred rows.
pub(crate) trait Look: Send + Sync {
    /// Does it.
    fn run<'t>(&'t self, rx: &'t mut Rx<'_>) -> BoxFuture<'t, mailwright_store::Result<StepResult>>;
}

/// A piece of work that asks others before it writes: it may take longer than a lease, which is extended meanwhile.
pub(crate) trait Ask: Send + Sync {
    /// Asks, and says what is to be written.
    fn run<'t>(&'t self, app: &'t App) -> BoxFuture<'t, mailwright_store::Result<Arc<dyn Batch>>>;
}

/// The result of a part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepResult {
    /// Progress after the part.
    pub(crate) progress: Progress,
    /// Whether nothing is left to do.
    pub(crate) is_last: bool,
}

/// Progress of a kind's own as it is stored.
pub(crate) fn to_value(progress: &impl Serialize) -> Value {
    serde_json::to_value(progress).unwrap_or_default()
}

/// Progress as it was stored.
pub(crate) fn from_value<T: DeserializeOwned>(progress: &Value) -> Result<T, String> {
    T::deserialize(progress).map_err(|error| {
        tracing::error!(%error, "the progress of a job cannot be read");
        UNEXPECTED.to_owned()
    })
}

impl App {
    /// Says that a job was queued.
    pub(crate) fn wake_jobs(&self) {
        self.0.background.jobs.wake();
    }

    /// Queues a job of a project.
    pub(crate) async fn queue_job(
        &self,
        project: &Project,
        kind: JobKind,
        input: Vec<u8>,
        progress: Value,
        entry: Option<(Actor, Entry)>,
    ) -> Result<JobId> {
        let at = self.0.clock.now();
        let job =
            NewJob { project: project.number, id: JobId::new(at, rand::random()), kind, input, progress, at };
        let id = job.id;
        self.write(body!(async |tx| {
            if store::unfinished(tx, job.project).await? >= MAX_QUEUED {
                return Err(Error::QueueFull(format!(
                    "{MAX_QUEUED} jobs of this project are queued already. Try again when some of them are done."
                )));
            }
            store::enqueue(tx, &job).await?;
            if let Some((actor, entry)) = &entry {
                audit::record(tx, job.project, actor, entry, job.at).await?;
            }
            Ok(())
        })).await?;
        self.0.background.jobs.wake();
        Ok(id)
    }

    /// One of a project's jobs, if it is of one of these kinds, with its failures once it is completed.
    pub(crate) async fn job<F: DeserializeOwned>(
        &self,
        project: &Project,
        id: JobId,
        kinds: &'static [JobKind],
        most_failures: u64,
    ) -> Result<Option<(Job, Vec<F>)>> {
        let number = project.number;
        let found = self
            .read(body!(async |rx| {
                let job = store::get(rx, number, id).await?.filter(|job| kinds.contains(&job.kind));
                let failures = match &job {
                    Some(job) if job.state == JobState::Completed => {
                        store::failures(rx, number, id, most_failures).await?
                    }
                    _ => Vec::new(),
                };
                Ok(job.map(|job| (job, failures)))
            }))
            .await?;
        let Some((job, failures)) = found else { return Ok(None) };
        let failures = failures.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
        Ok(Some((job, failures.map_err(|error| Error::Internal(format!("a failure of job {id}: {error}")))?)))
    }

    /// A project's jobs of some kinds, the newest first: all that are not finished, and those finished ones that are
    /// kept.
    pub(crate) async fn jobs(&self, project: &Project, kinds: &'static [JobKind]) -> Result<Vec<Job>> {
        let number = project.number;
        self.read(body!(async |rx| job_list::list(rx, number, kinds, MAX_QUEUED + store::KEPT).await)).await
    }

    /// What one of a project's jobs of some kinds could not do so far; `None` when there is no such job.
    pub(crate) async fn job_failures<F: DeserializeOwned>(
        &self,
        project: &Project,
        id: JobId,
        kinds: &'static [JobKind],
        most: u64,
    ) -> Result<Option<Vec<F>>> {
        let number = project.number;
        let read = self.read(body!(async |rx| {
            let found = store::get(rx, number, id).await?.filter(|job| kinds.contains(&job.kind));
            match found {
                Some(_) => store::failures(rx, number, id, most).await.map(Some),
                None => Ok(None),
            }
        }));
        let Some(failures) = read.await? else { return Ok(None) };
        let failures = failures.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
        failures.map(Some).map_err(|error| Error::Internal(format!("a failure of job {id}: {error}")))
    }
}
