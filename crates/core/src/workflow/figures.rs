//! The figures of a workflow: sums that are kept up to date as executions change, for the workflow and for each step.

use crate::email::EmailStatus;
use crate::event::Activity;
use crate::ids::StepId;
use crate::names::names_in_json;
use crate::workflow::execution::Execution;
use crate::workflow::kind::{ExecutionStatus, StepStatus};
use crate::workflow::version::Version;

names_in_json! {
    /// What a figure counts.
    #[derive(PartialOrd, Ord)]
    pub enum Figure {
        /// Executions that began, or that came to a step.
        Entered = "entered",
        /// Executions that are not over, or stand at a step.
        Waiting = "waiting",
        /// Executions that came to the end of their way; steps that were done.
        Completed = "completed",
        /// Executions that came to an EXIT, or to the goal.
        Exited = "exited",
        /// Steps that did nothing.
        Skipped = "skipped",
        /// Executions and steps that failed.
        Failed = "failed",
        /// Executions that were cancelled.
        Cancelled = "cancelled",
        /// Executions that ended because the contact reached the goal.
        Converted = "converted",
        /// Mails that were made.
        Emails = "emails",
        /// Mails that the next hop took.
        Sent = "sent",
        /// Mails that the recipient's host took.
        Delivered = "delivered",
        /// Mails that were opened.
        Opened = "opened",
        /// Mails in which a link was followed.
        Clicked = "clicked",
        /// Mails that could not be sent.
        Unsent = "unsent",
        /// Mails that bounced.
        Bounced = "bounced",
        /// Mails that the recipient called spam.
        Complained = "complained",
        /// Mails by whose link the recipient opted out.
        Unsubscribed = "unsubscribed",
    }
}

impl Figure {
    /// The figure of a mail that came to a status when it was handed over; `None` for one that still waits.
    pub fn of_mail(status: EmailStatus) -> Option<Self> {
        match status {
            EmailStatus::Pending | EmailStatus::Sending | EmailStatus::Received => None,
            EmailStatus::Sent
            | EmailStatus::Delivered
            | EmailStatus::Opened
            | EmailStatus::Clicked
            | EmailStatus::Complained => Some(Self::Sent),
            EmailStatus::Bounced => Some(Self::Bounced),
            EmailStatus::Failed | EmailStatus::Skipped | EmailStatus::Suppressed | EmailStatus::InDoubt => {
                Some(Self::Unsent)
            }
        }
    }

    /// The figure of what was learnt of a mail after it left.
    pub fn of_activity(activity: Activity) -> Self {
        match activity {
            Activity::Sent => Self::Sent,
            Activity::Delivered => Self::Delivered,
            Activity::Opened => Self::Opened,
            Activity::Clicked => Self::Clicked,
            Activity::Bounced => Self::Bounced,
            Activity::Complained => Self::Complained,
        }
    }
}

/// What the output of a step calls the way on from it: the branch of a choice, the outcome of a wait.
pub(super) const BRANCHING: [&str; 2] = ["branch", "waitOutcome"];

/// A change of a figure: of a step, or of the workflow with `None`.
pub type Change = (Option<StepId>, Figure, i64);

/// What changes when an execution begins.
pub const BEGUN: [Change; 2] = [(None, Figure::Entered, 1), (None, Figure::Waiting, 1)];

/// What changes as an execution changes.
pub fn changes(version: &Version, before: &Execution, after: &Execution) -> Vec<Change> {
    let mut changes = of_workflow(before, after);
    let known = &before.log;
    let own = after.log.iter().enumerate().filter(|(_, record)| record.of.is_none());
    for (index, record) in own {
        let Some(step) = version.steps().get(record.step) else { continue };
        let old = known.get(index).map(|record| record.status);
        if old.is_none() {
            changes.push((Some(step.id), Figure::Entered, 1));
        }
        if old == Some(record.status) {
            continue;
        }
        changes.extend(old.map(|old| (Some(step.id), of_step(old), -1)));
        changes.push((Some(step.id), of_step(record.status), 1));
    }
    changes
}

/// The ways on that an execution took: the branches of steps that have several, and the outcomes of waits.
pub fn ways<'e>(version: &Version, before: &Execution, after: &'e Execution) -> Vec<(StepId, &'e str)> {
    let mut ways = Vec::new();
    for (index, record) in after.log.iter().enumerate().filter(|(_, record)| record.of.is_none()) {
        let Some(step) = version.steps().get(record.step) else { continue };
        let known = before.log.get(index);
        for name in BRANCHING {
            let is_known = known.is_some_and(|record| record.output[name].is_string());
            let way = record.output[name].as_str().filter(|_| !is_known);
            ways.extend(way.map(|way| (step.id, way)));
        }
    }
    ways
}

fn of_workflow(before: &Execution, after: &Execution) -> Vec<Change> {
    let mut changes = Vec::new();
    let (old, new) = (of_execution(before.status), of_execution(after.status));
    if old != new {
        changes.extend([(None, old, -1), (None, new, 1)]);
    }
    if after.is_converted && !before.is_converted {
        changes.push((None, Figure::Converted, 1));
    }
    changes
}

fn of_execution(status: ExecutionStatus) -> Figure {
    match status {
        ExecutionStatus::Running | ExecutionStatus::Waiting => Figure::Waiting,
        ExecutionStatus::Completed => Figure::Completed,
        ExecutionStatus::Exited => Figure::Exited,
        ExecutionStatus::Failed => Figure::Failed,
        ExecutionStatus::Cancelled => Figure::Cancelled,
    }
}

fn of_step(status: StepStatus) -> Figure {
    match status {
        StepStatus::Waiting | StepStatus::Running => Figure::Waiting,
        StepStatus::Completed => Figure::Completed,
        StepStatus::Skipped => Figure::Skipped,
        StepStatus::Failed => Figure::Failed,
    }
}
