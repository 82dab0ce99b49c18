//! Workflows that a schedule starts: the members of a segment are enrolled at its times.
//!
//! `next_at` of a workflow is its next time. Whoever finds it due queues the enrolment and sets the time after it, in one
//! transaction. Times that passed while the service did not run count once, and one at which the enrolment of an earlier
//! time goes on is left out, so that enrolments do not pile up.

use std::time::Duration;

use mailwright_core::ids::{ProjectNumber, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::time_zone::Zone;
use mailwright_core::workflow::definition::Workflow;
use mailwright_core::workflow::trigger::Trigger;
use mailwright_store::automation::{version, workflow as store};
use mailwright_store::background::job;
use mailwright_store::sending::held::epoch;
use mailwright_store::{Tx, body, project};

use super::enrolment;
use crate::App;
use crate::background::runner::every;
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often it is looked for schedules that are due.
const SWEEP: Duration = Duration::from_secs(1);

pub(super) fn start(app: &App, tasks: &Tasks) {
    every(app, tasks, "workflow schedules", SWEEP, |app| async move { app.start_scheduled().await });
}

impl App {
    /// Starts the workflows whose time has come.
    async fn start_scheduled(&self) -> Result<()> {
        let now = self.0.clock.now();
        let due = self.read(body!(async |rx| store::due_schedules(rx, now).await)).await?;
        for (project, id) in due {
            let started =
                self.write_in_background(body!(async |tx| Ok(start_one(tx, project, id, now).await?)));
            match started.await {
                Ok(true) => self.wake_jobs(),
                Ok(false) => {}
                // that may be the server of the project alone
                Err(error) if error.is_unavailable() => {
                    tracing::warn!(%error, project = project.0, workflow = %id, "a scheduled workflow could not be started, trying again");
                    self.0.db.ping().await?;
                }
                Err(error) => {
                    tracing::error!(%error, project = project.0, workflow = %id, "a scheduled workflow could not be started");
                }
            }
        }
        Ok(())
    }
}

/// Queues the enrolment of a workflow that is due; whether there was one to queue.
async fn start_one(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    id: WorkflowId,
    now: Timestamp,
) -> mailwright_store::Result<bool> {
    let Some(workflow) = store::get_for_update(tx, number, id).await? else { return Ok(false) };
    let Some(planned) = store::due_since(tx, number, id, now).await? else {
        return Ok(false); // another process was faster
    };
    plan(tx, number, &workflow, now).await?;
    let definition = version::in_force(tx, number, &workflow).await?;
    let Some(Ok(Trigger::Schedule { segment, .. })) = definition.map(|found| found.trigger()) else {
        return Ok(false);
    };
    let is_running = project::get(tx, number).await?.is_some_and(|project| !project.disabled);
    if !is_running {
        return Ok(false);
    }
    if enrolment::is_under_way(tx, number, id).await? {
        tracing::info!(project = number.0, workflow = %id, "a scheduled start is left out, because the one before goes on");
        return Ok(false);
    }
    // a time in a stretch that a restore lost: whom it may have started is told by the time of the job
    let is_lost = epoch::stretch(tx).await?.is_some_and(|stretch| stretch.covers(planned));
    let at = if is_lost { planned } else { now };
    job::enqueue(tx, &enrolment::scheduled(number, id, segment, at)).await?;
    Ok(true)
}

/// Notes when a workflow starts next: never while it is not enabled, or nothing but events starts it.
pub(super) async fn plan(
    tx: &Tx<'_>,
    number: ProjectNumber,
    workflow: &Workflow,
    now: Timestamp,
) -> mailwright_store::Result<()> {
    let definition = if workflow.enabled { version::in_force(tx, number, workflow).await? } else { None };
    let next = match definition.map(|found| found.trigger()) {
        Some(Ok(Trigger::Schedule { schedule, .. })) => {
            let settings = project::automation::get(tx, number).await?;
            let zone = settings.timezone.and_then(|name| Zone::parse(&name)).unwrap_or(Zone::UTC);
            schedule.next(&zone, now)
        }
        _ => None,
    };
    store::set_next(tx, number, workflow.id, next).await
}

/// Plans all workflows of a project again, whose time zone changed. Those that are due start first.
pub(crate) async fn plan_again(
    tx: &Tx<'_>,
    number: ProjectNumber,
    now: Timestamp,
) -> mailwright_store::Result<()> {
    for id in store::scheduled(tx, number, now).await? {
        if let Some(workflow) = store::get_for_update(tx, number, id).await? {
            plan(tx, number, &workflow, now).await?;
        }
    }
    Ok(())
}
