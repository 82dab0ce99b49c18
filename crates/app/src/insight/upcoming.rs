//! What is going to happen in a project.

use std::collections::BTreeMap;
use std::time::Duration;

use mailwright_core::ids::WorkflowId;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::insight::upcoming as store;

use crate::App;
use crate::error::Result;

pub use mailwright_store::insight::upcoming::{Pending, Scheduled};

/// Executions of a workflow that go on, on one day.
#[derive(Debug, Clone)]
pub struct WaitingOnDay {
    /// The workflow.
    pub workflow: WorkflowId,
    /// Its name; `None` once it was removed.
    pub name: Option<String>,
    /// The date in the project's time zone, such as `2026-11-25`.
    pub date: String,
    /// The first of them.
    pub first: Timestamp,
    /// How many.
    pub executions: i64,
}

/// What is going to happen.
#[derive(Debug)]
pub struct Upcoming {
    /// Campaigns.
    pub campaigns: Vec<Scheduled>,
    /// Executions of workflows, by day.
    pub executions: Vec<WaitingOnDay>,
    /// Jobs that are under way or wait for their turn.
    pub jobs: Vec<Pending>,
    /// Whether more executions wait than are counted.
    pub has_more: bool,
}

impl App {
    /// What is going to happen in a time from now on, at most so many of each, the earliest first.
    pub async fn upcoming(&self, project: &Project, within: Duration, limit: i64) -> Result<Upcoming> {
        let (number, until) = (project.number, self.clock().now().plus(within));
        let zone = self.zone(project).await?;
        let found = self.read_slow(
            number,
            body!(async |rx| {
                let campaigns = store::campaigns(rx, number, until, limit).await?;
                let jobs = store::jobs(rx, number, limit).await?;
                Ok((campaigns, jobs, store::executions(rx, number, until).await?))
            }),
        );
        let (campaigns, jobs, (waiting, has_more)) = found.await?;
        let mut days: BTreeMap<(String, WorkflowId), WaitingOnDay> = BTreeMap::new();
        for one in waiting {
            // days of any zone begin with a quarter of an hour
            let date = zone.local(one.quarter.begin()).date().to_string();
            let day = days.entry((date.clone(), one.workflow)).or_insert_with(|| WaitingOnDay {
                workflow: one.workflow,
                name: one.name,
                date,
                first: one.first,
                executions: 0,
            });
            day.first = day.first.min(one.first);
            day.executions += one.executions;
        }
        let mut executions: Vec<_> = days.into_values().collect();
        executions.sort_by_key(|day| (day.first, day.workflow));
        executions.truncate(usize::try_from(limit).unwrap_or_default());
        Ok(Upcoming { campaigns, executions, jobs, has_more })
    }
}
