//! Background jobs: long work of a project, done in steps that survive a crash.
//!
//! A job is a row with a lease (see [`mailwright_store::background::job`]). A round gives each project with a due job a
//! turn. In its turn a process claims the project's next job and does step after step. Each step is one transaction of
//! some hundred rows that also notes how far the work came. After half a second the job is given back if other projects
//! wait. A job without progress in [`MAX_ATTEMPTS`] claims is given up, because work that crashes the process must not
//! do so for ever.
//!
//! **A new kind of job** is a variant of [`JobKind`], a type that implements [`JobHandler`], and a line in
//! `job_kinds.rs`. It is queued with [`App::queue_job`].

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use mailwright_core::audit::Actor;
use mailwright_core::ids::{JobId, ProjectNumber};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::background::job::{self as store, ClaimRef, Claimed, Job, NewJob, Progress, Release};
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::{Error as StoreError, Patience, Rx, Tx, retrying};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::App;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::{Error, Result};

/// How often the worker looks for jobs that no waker announced.
const SWEEP: Duration = Duration::from_millis(500);
/// How long a job is worked on before the worker looks whether other projects wait.
const TURN: Duration = Duration::from_millis(500);
/// How often a job may be claimed without a step being done: what crashes the process must not do so for ever.
const MAX_ATTEMPTS: i64 = 10;
/// How long a step is tried again that another transaction got in the way of.
const PATIENCE: Patience = Patience { tries: 10, time: TURN };
/// Most unfinished jobs of a project.
const MAX_QUEUED: i64 = 100;
/// The reason that the owner of a job sees if the job failed by a bug.
const UNEXPECTED: &str = "An unexpected error stopped the job.";

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
}

/// Makes the handler of a job from its input. An error ends the job: it is the reason its owner is shown.
pub(crate) type Open = fn(&Claimed, Vec<u8>) -> Result<Box<dyn JobHandler>, String>;

/// Starts the worker.
pub(crate) fn start(app: &App, tasks: &Tasks, open: Open) {
    let worker = Worker { app: app.clone(), tasks: tasks.clone(), open };
    Runner::new(app, "jobs", SWEEP).woken_by(&app.0.background.jobs).start(tasks, worker);
}

struct Worker {
    app: App,
    tasks: Tasks,
    open: Open,
}

impl Work for Worker {
    /// Gives each project that has a job due its turn.
    async fn round(&mut self) -> Result<Next> {
        let due = self.due().await?;
        let this = &*self;
        let turns = due.into_iter().map(|project| this.caught_turn(project));
        let turns = stream::iter(turns).buffer_unordered(this.app.settings().jobs.at_once);
        // all of them: a stream that is left early drops the turns that are under way
        let worked = turns.fold(false, |any, worked| async move { any | worked }).await;
        Ok(if worked { Next::Now } else { Next::Woken })
    }
}

impl Worker {
    async fn due(&self) -> mailwright_store::Result<Vec<ProjectNumber>> {
        let now = self.now();
        self.app.0.db.read(body!(async |rx| store::due_projects(rx, now).await)).await
    }

    fn now(&self) -> Timestamp {
        self.app.clock().now()
    }

    /// A turn that catches panics, so that the worker goes on. After a panic the job's lease ends, and the claim counts
    /// as an attempt.
    async fn caught_turn(&self, project: ProjectNumber) -> bool {
        match AssertUnwindSafe(self.turn(project)).catch_unwind().await {
            Ok(Ok(worked)) => worked,
            Ok(Err(error)) => {
                tracing::warn!(%error, project = project.0, "a job could not be worked on, its lease will end");
                false
            }
            Err(_) => {
                tracing::error!(project = project.0, "a job panicked, its lease will end");
                false
            }
        }
    }

    /// Works on a project's next job until it is done, or others wait. Returns whether there was one.
    async fn turn(&self, project: ProjectNumber) -> Result<bool> {
        let (now, lease) = (self.now(), self.lease());
        let db = &self.app.0.db;
        let claimed =
            db.write_in_background(body!(async |tx| store::claim(tx, project, now, lease).await)).await?;
        let Some(job) = claimed else { return Ok(false) };
        let outcome = self.work(&job).await;
        self.settle(&job, outcome).await?;
        Ok(true)
    }

    fn lease(&self) -> Timestamp {
        self.now().plus(self.app.settings().jobs.lease)
    }

    /// Does steps until there is a reason to stop.
    async fn work(&self, job: &Claimed) -> Result<Outcome, StoreError> {
        if job.attempts > MAX_ATTEMPTS {
            return Ok(Outcome::GivenUp(UNEXPECTED.to_owned()));
        }
        let (project, id) = (job.claim.project, job.claim.id);
        let input = self.app.0.db.read(body!(async |rx| store::input(rx, project, id).await));
        let work = match (self.open)(job, input.await?.unwrap_or_default()) {
            Ok(work) => work,
            Err(reason) => return Ok(Outcome::GivenUp(reason)),
        };
        let mut progress = job.progress.clone();
        let mut turn_ends = self.now().plus(TURN);
        loop {
            let part = match work.next(&progress) {
                Ok(part) => part,
                Err(reason) => return Ok(Outcome::GivenUp(reason)),
            };
            let step = self.step(job.claim, part).await?;
            if step.is_last {
                return Ok(Outcome::Done);
            }
            progress = step.progress.progress;
            if self.tasks.is_stopping() {
                return Ok(Outcome::Interrupted);
            }
            if self.now() >= turn_ends {
                if !self.due().await?.is_empty() {
                    return Ok(Outcome::Interrupted);
                }
                turn_ends = self.now().plus(TURN);
            }
        }
    }

    /// Does one part, again when another transaction got in the way and the turn has not ended.
    async fn step(&self, claim: ClaimRef, part: Part) -> Result<StepResult, StoreError> {
        let db = &self.app.0.db;
        let done = match part {
            Part::Look(look) => {
                let looked = db.read_in_background(claim.project, body!(async |rx| look.run(rx).await));
                Done::Already(looked.await?)
            }
            Part::Batch(batch) => Done::With(batch),
        };
        let once = || {
            let (done, now, lease) = (done.clone(), self.now(), self.lease());
            db.write_in_background(body!(async |tx| commit(tx, claim, done, now, lease).await))
        };
        retrying(PATIENCE, once).await
    }

    /// Ends the claim as its outcome demands.
    async fn settle(&self, job: &Claimed, outcome: Result<Outcome, StoreError>) -> Result<()> {
        let (claim, kind, now) = (job.claim, job.kind.as_str(), self.now());
        let (project, id) = (claim.project.0, claim.id);
        let release = match outcome {
            Ok(Outcome::Done) => {
                tracing::info!(job = %id, kind, project, "a job was completed");
                return Ok(());
            }
            Ok(Outcome::GivenUp(reason)) => {
                tracing::info!(job = %id, kind, project, reason, "a job was given up");
                return self.give_up(claim, reason).await;
            }
            Ok(Outcome::Interrupted) => Release { state: JobState::Waiting, due_at: now, counts: false },
            // the commit may have happened: the next claim reads how far the work came
            Err(error) if is_passing(&error) => {
                tracing::warn!(%error, job = %id, kind, project, "a job is tried again later");
                Release { state: JobState::Delayed, due_at: now.plus(Duration::from_secs(1)), counts: false }
            }
            Err(error) if job.attempts < MAX_ATTEMPTS => {
                tracing::error!(%error, job = %id, kind, project, "a job failed, it is tried again later");
                let pause = Duration::from_secs(1 << job.attempts.clamp(0, 6));
                Release { state: JobState::Delayed, due_at: now.plus(pause), counts: true }
            }
            Err(error) => {
                tracing::error!(%error, job = %id, kind, project, "a job failed and was given up");
                return self.give_up(claim, UNEXPECTED.to_owned()).await;
            }
        };
        let db = &self.app.0.db;
        let released =
            db.write_in_background(body!(async |tx| store::release(tx, claim, release, now).await));
        Ok(released.await?)
    }

    async fn give_up(&self, claim: ClaimRef, reason: String) -> Result<()> {
        let now = self.now();
        let given_up = self
            .app
            .0
            .db
            .write_in_background(body!(async |tx| store::fail(tx, claim, &reason, now).await))
            .await;
        match given_up {
            // another process took it over, and will come to the same end
            Err(StoreError::Contention(_)) => Ok(()),
            other => Ok(other?),
        }
    }
}

/// Whether an error tells nothing of the job. A look that takes too long may do so each time.
fn is_passing(error: &StoreError) -> bool {
    let is_passing = error.is_temporary() || matches!(error, StoreError::Unknown(_));
    is_passing && !matches!(error, StoreError::TooSlow(_))
}

/// How a turn ended.
enum Outcome {
    /// The last step is done.
    Done,
    /// There is more to do, but others wait or the process stops.
    Interrupted,
    /// The job cannot be done, for a reason that its owner is shown.
    GivenUp(String),
}

/// How the work of a part is done.
#[derive(Clone)]
enum Done {
    /// In the transaction that notes the progress.
    With(Arc<dyn Batch>),
    /// Before it.
    Already(StepResult),
}

/// Does a batch and notes the progress: both or neither.
async fn commit(
    tx: &mut Tx<'_>,
    claim: ClaimRef,
    done: Done,
    now: Timestamp,
    lease: Timestamp,
) -> mailwright_store::Result<StepResult> {
    let step = match done {
        Done::With(batch) => batch.run(tx, claim, now).await?,
        Done::Already(step) => step,
    };
    if step.is_last {
        store::complete(tx, claim, &step.progress, now).await?;
    } else {
        store::advance(tx, claim, &step.progress, now, lease).await?;
    }
    Ok(step)
}
