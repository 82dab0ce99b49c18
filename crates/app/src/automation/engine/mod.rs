//! The engine: takes the contacts of workflows from step to step.
//!
//! A round finds the projects in which something is due, and starts work for each beside itself. The work takes the
//! executions of some contacts at a time, in one transaction (`batch`): it holds the contacts' rows, runs
//! `core::workflow` on what is due and what was told, and writes executions, mails, changes of contacts and requests
//! together. So a step happens exactly once, whatever dies; what another process works on is skipped.
//!
//! Few transactions run at the same time, and projects take turns for them, so a project with a million executions delays
//! the others by a batch. Within a project, executions that were enrolled with many others come after the rest.

mod batch;
mod effects;
mod people;
mod stage;
mod told;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use mailwright_core::email::Lane;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_store::automation::due;
use mailwright_store::body;
use tokio::sync::Semaphore;

use self::batch::{Batch, Done};
use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often it is looked for what is due.
const SWEEP: Duration = Duration::from_millis(250);
/// How much longer than a look the pause after it is, so that looking costs little however many projects there are.
const REST: u32 = 10;
/// How long a project rests whose steps could not be taken, as on a full disk: at first, doubling up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How many batches run at the same time.
const TOGETHER: usize = 4;

/// Starts the engine.
pub(crate) fn start(app: &App, tasks: &Tasks) {
    let engine =
        Engine { app: app.clone(), work: ProjectWork::new(tasks), turns: Arc::new(Semaphore::new(TOGETHER)) };
    Runner::new(app, "workflows", SWEEP).woken_by(&app.0.automation.steps).start(tasks, engine);
}

struct Engine {
    app: App,
    work: ProjectWork,
    /// The permits of batches, which projects take in the order in which they ask.
    turns: Arc<Semaphore>,
}

impl Work for Engine {
    async fn round(&mut self) -> Result<Next> {
        let (began, now) = (Instant::now(), self.app.0.clock.now());
        let projects = self.app.read(body!(async |rx| due::projects(rx, now).await)).await?;
        for project in projects {
            let (app, turns, work) = (self.app.clone(), Arc::clone(&self.turns), self.work.clone());
            self.work.start("workflow steps", project, async move {
                let mut pause = FIRST_PAUSE;
                while let Err(error) = app.advance_project(project, &turns, &work).await {
                    tracing::warn!(%error, project = project.0, ?pause, "steps of workflows could not be taken, trying again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            });
        }
        Ok(Next::Rested(began.elapsed() * REST))
    }
}

impl App {
    /// Takes a project's executions on, batch after batch, until nothing is due.
    async fn advance_project(
        &self,
        project: ProjectNumber,
        turns: &Semaphore,
        work: &ProjectWork,
    ) -> Result<()> {
        let (began, mut after) = (Instant::now(), batch::first());
        loop {
            let now = self.0.clock.now();
            let contacts;
            (contacts, after) =
                self.read(body!(async |rx| batch::contacts(rx, project, after, now).await)).await?;
            if contacts.is_empty() {
                return Ok(());
            }
            let turn = turns.acquire().await;
            let done = self.advance_contacts(project, &contacts).await;
            drop(turn);
            let done = match done {
                // what another transaction is at is for a later round
                Err(error) if error.is_contention() => return Ok(()),
                Err(error) if error.is_unavailable() => return Err(error),
                Err(error) => {
                    tracing::error!(%error, project = project.0, "a batch of workflow steps failed, taking contact after contact");
                    self.advance_one_by_one(project, &contacts).await?
                }
                Ok(done) => done,
            };
            if done.contacts == 0 || !work.goes_on(began) {
                return Ok(());
            }
        }
    }

    /// Takes the executions of some contacts as far as they go by themselves.
    async fn advance_contacts(&self, project: ProjectNumber, contacts: &[ContactId]) -> Result<Done> {
        let batch = Batch::new(self, project, contacts.to_vec());
        let done = self.write_in_background(body!(async |tx| Ok(batch.run(tx).await?))).await?;
        self.0.metrics.workflow_steps(done.steps as u64);
        if done.mails > 0 {
            self.dispatcher().wake(Lane::Workflow, project);
        }
        if done.requests > 0 {
            self.0.automation.requests.wake();
        }
        if done.changes > 0 {
            self.wake_segments();
        }
        Ok(done)
    }

    /// The same for each contact by itself, so that one whose executions cannot be taken on costs only itself: they fail.
    async fn advance_one_by_one(&self, project: ProjectNumber, contacts: &[ContactId]) -> Result<Done> {
        let (mut all, mut failure) = (Done::default(), None);
        for contact in contacts {
            let one = AssertUnwindSafe(self.advance_contacts(project, &[*contact])).catch_unwind().await;
            let error = match one {
                Ok(Ok(done)) => {
                    all.add(done);
                    continue;
                }
                Ok(Err(error)) if error.is_contention() => continue,
                Ok(Err(error)) if error.is_unavailable() => return Err(error),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "panic".to_owned(),
            };
            tracing::error!(error, project = project.0, %contact, "the executions of a contact cannot be taken on, they end as FAILED");
            let (contact, now) = (*contact, self.0.clock.now());
            let given_up = self
                .write_in_background(body!(async |tx| Ok(batch::give_up(tx, project, contact, now).await?)));
            match given_up.await {
                Ok(()) => all.contacts += 1,
                Err(error) if error.is_unavailable() => return Err(error),
                // the others go on all the same, and the next look comes after a pause
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(all), Err)
    }
}
