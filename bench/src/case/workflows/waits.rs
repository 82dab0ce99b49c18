//! Waits that end when they are told to, and how late that is noticed.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::{Db, body};

use super::flow::Flow;
use crate::stats::Latencies;

/// Pause between two looks: what a latency may be too long by.
const LOOK: Duration = Duration::from_millis(10);
/// The first wait ends so long after the waits were changed.
const BEFORE: Duration = Duration::from_secs(3);

/// The waiting executions of a project.
pub(super) struct Waits {
    pub(super) db: Db,
    pub(super) project: ProjectNumber,
}

impl Waits {
    /// Has some of a workflow's waits end evenly over a time, or at once.
    pub(super) async fn fall_due(&self, flow: &Flow, count: usize, length: Duration) -> Result<()> {
        let (project, id) = (self.project, flow.id);
        let from = if length.is_zero() { Clock::system().now() } else { Clock::system().now().plus(BEFORE) };
        let (count, length) = (count as i64, length.as_millis() as i64);
        self.db
            .write(body!(async |tx| {
                tx.execute(
                    "update workflow_executions set due_at = $3 + numbered.n * $4 / $5 from (select id, \
                     row_number() over (order by id) as n from workflow_executions where project_id = $1 \
                     and workflow_id = $2 and status = 'WAITING' order by id limit $5) numbered \
                     where workflow_executions.project_id = $1 and workflow_executions.id = numbered.id",
                    &[project.into(), id.into(), from.into(), length.into(), count.into()],
                )
                .await
            }))
            .await?;
        Ok(())
    }

    /// Watches until no wait that ends soon is left. Executions are taken in the order in which they are due, so that all
    /// that were due before the first one that is left are done: how late each was seen to be done, at most.
    pub(super) async fn watch(&self, stuck: Duration) -> Result<Latencies> {
        let mut left = self.due_soon().await?;
        let (mut latencies, mut moved) = (Latencies::default(), Instant::now());
        while !left.is_empty() {
            let first = self.first().await?;
            let now = Clock::system().now();
            let done = first.map_or(left.len(), |first| left.partition_point(|due| *due < first));
            for due in left.drain(..done) {
                latencies.record(now.since(due));
                moved = Instant::now();
            }
            ensure!(
                moved.elapsed() < stuck || left.first().is_some_and(|due| *due > now),
                "{} executions are due and nothing happens to them",
                left.len()
            );
            tokio::time::sleep(LOOK).await;
        }
        Ok(latencies)
    }

    /// When the waits end that end within the hour, in order.
    async fn due_soon(&self) -> Result<Vec<Timestamp>> {
        let (project, until) = (self.project, Clock::system().now().plus(Duration::from_hours(1)));
        let read = self.db.read(body!(async |rx| rx
            .all(
                "select due_at from workflow_executions where project_id = $1 and due_at <= $2 order by due_at",
                &[project.into(), until.into()],
                |row| row.get(0),
            )
            .await));
        Ok(read.await?)
    }

    async fn first(&self) -> Result<Option<Timestamp>> {
        let (project, until) = (self.project, Clock::system().now().plus(Duration::from_hours(1)));
        let read = self.db.read(body!(async |rx| rx
            .all(
                "select due_at from workflow_executions where project_id = $1 and bulk = $3 and due_at <= $2 \
                 order by due_at limit 1",
                &[project.into(), until.into(), true.into()],
                |row| row.get(0),
            )
            .await));
        Ok(read.await?.into_iter().next())
    }
}
