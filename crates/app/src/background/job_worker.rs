//! The worker of background jobs: claims, steps, and what follows from how they end. See `job.rs`.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use mailwright_core::ids::ProjectNumber;
use mailwright_core::job::JobState;
use mailwright_core::time::Timestamp;
use mailwright_store::background::job::{self as store, ClaimRef, Claimed, Release};
use mailwright_store::body;
use mailwright_store::{Error as StoreError, Patience, Tx, retrying};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::App;
use crate::background::job::{Ask, Batch, JobHandler, Part, StepResult, UNEXPECTED};
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often the worker looks for jobs that no waker announced.
const SWEEP: Duration = Duration::from_millis(500);
/// How long a job is worked on before the worker looks whether other projects wait.
const TURN: Duration = Duration::from_millis(500);
/// How often a job may be claimed without a step being done: what crashes the process must not do so for ever.
const MAX_ATTEMPTS: i64 = 10;
/// How long a step is tried again that another transaction got in the way of.
const PATIENCE: Patience = Patience { tries: 10, time: TURN };
/// Jobs that ask others at the same time in one process, each of another project.
const ASKING: usize = 8;
/// How long a job waits when there is no place among them.
const NO_PLACE: Duration = Duration::from_secs(1);

/// Makes the handler of a job from its input. An error ends the job: it is the reason its owner is shown.
pub(crate) type Open = fn(&Claimed, Vec<u8>) -> Result<Box<dyn JobHandler>, String>;

/// Starts the worker.
pub(crate) fn start(app: &App, tasks: &Tasks, open: Open) {
    let asking = Arc::new(Semaphore::new(ASKING));
    let worker = Worker { app: app.clone(), tasks: tasks.clone(), open, asking };
    Runner::new(app, "jobs", SWEEP).woken_by(&app.0.background.jobs).start(tasks, worker);
}

#[derive(Clone)]
struct Worker {
    app: App,
    tasks: Tasks,
    open: Open,
    /// The places of jobs that ask others.
    asking: Arc<Semaphore>,
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
        let claimed = db
            .write_in_background_of(project, body!(async |tx| store::claim(tx, project, now, lease).await))
            .await?;
        let Some(job) = claimed else { return Ok(false) };
        match self.work(&job, false).await {
            Ok(Outcome::Asks(progress)) => self.ask_apart(Claimed { progress, ..job }).await?,
            outcome => self.settle(&job, outcome).await?,
        }
        Ok(true)
    }

    /// Goes on with a job that asks others beside the rounds, which would wait for it: those others may be slow.
    async fn ask_apart(&self, job: Claimed) -> Result<()> {
        let Ok(place) = Arc::clone(&self.asking).try_acquire_owned() else {
            let (claim, project, now) = (job.claim, job.claim.project, self.now());
            let later = Release { state: JobState::Waiting, due_at: now.plus(NO_PLACE), counts: false };
            let db = &self.app.0.db;
            let released = db.write_in_background_of(
                project,
                body!(async |tx| store::release(tx, claim, later, now).await),
            );
            return Ok(released.await?);
        };
        let worker = self.clone();
        self.tasks.spawn("job that asks others", async move {
            let outcome = worker.work(&job, true).await;
            drop(place);
            if let Err(error) = worker.settle(&job, outcome).await {
                tracing::warn!(%error, job = %job.claim.id, "a job could not be given back, its lease will end");
            }
        });
        Ok(())
    }

    fn lease(&self) -> Timestamp {
        self.now().plus(self.app.settings().jobs.lease)
    }

    /// Does steps until there is a reason to stop. One that asks others is a reason, unless `asks`.
    async fn work(&self, job: &Claimed, asks: bool) -> Result<Outcome, StoreError> {
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
            if matches!(part, Part::Ask(_)) && !asks {
                return Ok(Outcome::Asks(progress));
            }
            let step = self.step(job.claim, part).await?;
            if step.is_last {
                return Ok(Outcome::Done);
            }
            progress = step.progress.progress;
            if self.tasks.is_stopping() {
                return Ok(Outcome::Interrupted);
            }
            if self.now() >= turn_ends {
                let others_wait =
                    if asks { self.asking.available_permits() == 0 } else { !self.due().await?.is_empty() };
                if others_wait {
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
            Part::Ask(ask) => Done::With(self.ask(claim, &*ask).await?),
        };
        let once = || {
            let (done, now, lease) = (done.clone(), self.now(), self.lease());
            db.write_in_background_of(
                claim.project,
                body!(async |tx| commit(tx, claim, done, now, lease).await),
            )
        };
        retrying(PATIENCE, once).await
    }

    /// Has others be asked, and keeps the claim meanwhile.
    async fn ask(&self, claim: ClaimRef, ask: &dyn Ask) -> Result<Arc<dyn Batch>, StoreError> {
        let mut asked = ask.run(&self.app);
        let pause = self.app.settings().jobs.lease / 3;
        loop {
            tokio::select! {
                batch = &mut asked => return batch,
                goes_on = self.tasks.pause(pause) => {
                    if !goes_on {
                        return Err(StoreError::Interrupted("the service stops".into()));
                    }
                    let lease = self.lease();
                    let extended = self.app.0.db.write_in_background_of(claim.project, body!(
                        async |tx| store::extend(tx, claim, lease).await
                    ));
                    extended.await?;
                }
            }
        }
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
            Ok(Outcome::Interrupted | Outcome::Asks(_)) => {
                Release { state: JobState::Waiting, due_at: now, counts: false }
            }
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
        let released = db.write_in_background_of(
            claim.project,
            body!(async |tx| store::release(tx, claim, release, now).await),
        );
        Ok(released.await?)
    }

    async fn give_up(&self, claim: ClaimRef, reason: String) -> Result<()> {
        let now = self.now();
        let given_up = self
            .app
            .0
            .db
            .write_in_background_of(
                claim.project,
                body!(async |tx| store::fail(tx, claim, &reason, now).await),
            )
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
    /// It has to ask others, from this progress on.
    Asks(Value),
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
