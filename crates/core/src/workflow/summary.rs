//! What a rehearsal with many contacts comes to, added up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::StepId;
use crate::time::Timestamp;
use crate::workflow::execution::{Execution, StepRecord};
use crate::workflow::figures::BRANCHING;
use crate::workflow::kind::{Refused, StepStatus};
use crate::workflow::version::Version;

/// What became of the contacts at a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepSummary {
    /// Executions that came to it.
    pub entered: i64,
    /// Executions that stand at it at the end.
    pub waiting: i64,
    /// Executions that it was done for.
    pub completed: i64,
    /// Executions for which it did nothing, by why.
    pub skipped: BTreeMap<String, i64>,
    /// Executions that ended here, because it failed.
    pub failed: i64,
    /// How often each branch, or each outcome of a wait, was taken.
    pub branches: BTreeMap<String, i64>,
    /// How long the waits took that are over, in milliseconds, all together.
    pub waited_ms: i64,
    /// How long the longest of them took.
    pub longest_ms: i64,
    /// Mails that it would send, by day (UTC).
    pub mails: BTreeMap<String, i64>,
}

/// What a rehearsal comes to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Contacts that were looked at.
    pub contacts: i64,
    /// Events that happened to them, as far as the workflow looks at them.
    pub events: i64,
    /// Executions that began.
    pub entered: i64,
    /// Events that did not begin one, by why.
    pub refused: BTreeMap<String, i64>,
    /// Executions by their state at the end.
    pub statuses: BTreeMap<String, i64>,
    /// Executions that ended because the contact reached the goal.
    pub converted: i64,
    /// Mails that would be sent.
    pub mails: i64,
    /// What became of them at each step.
    pub steps: BTreeMap<StepId, StepSummary>,
}

impl Summary {
    /// Adds a contact, with how many events happened to it.
    pub fn add_contact(&mut self, events: usize) {
        self.contacts += 1;
        self.events += events as i64;
    }

    /// Adds an execution that did not begin.
    pub fn add_refused(&mut self, why: Refused) {
        *self.refused.entry(why.to_string()).or_default() += 1;
    }

    /// Adds an execution as it is at the end.
    pub fn add_execution(&mut self, version: &Version, execution: &Execution) {
        self.entered += 1;
        self.converted += i64::from(execution.is_converted);
        *self.statuses.entry(execution.status.to_string()).or_default() += 1;
        for record in &execution.log {
            let Some(step) = version.steps().get(record.step) else { continue };
            let sent = self.steps.entry(step.id).or_default().add(step.is_mail(), record);
            self.mails += i64::from(sent);
        }
    }
}

impl StepSummary {
    /// Adds what became of one execution here; whether it was sent a mail.
    fn add(&mut self, is_mail: bool, record: &StepRecord) -> bool {
        self.entered += 1;
        let text = |name: &str| record.output[name].as_str().unwrap_or("unknown").to_owned();
        match record.status {
            StepStatus::Waiting | StepStatus::Running => self.waiting += 1,
            StepStatus::Completed => self.completed += 1,
            StepStatus::Failed => self.failed += 1,
            StepStatus::Skipped => {
                let why = if record.output["goal"] == true { "goal".to_owned() } else { text("skipped") };
                *self.skipped.entry(why).or_default() += 1;
            }
        }
        for name in BRANCHING {
            if record.output[name].is_string() {
                *self.branches.entry(text(name)).or_default() += 1;
            }
        }
        let Some(ended) = record.completed_at else { return false };
        let waited = ended.0 - record.started_at.0;
        self.waited_ms += waited;
        self.longest_ms = self.longest_ms.max(waited);
        let is_sent = is_mail && record.status == StepStatus::Completed;
        if is_sent {
            *self.mails.entry(day(ended)).or_default() += 1;
        }
        is_sent
    }
}

fn day(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}
