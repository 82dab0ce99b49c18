//! What happens to an execution from outside of its way: it begins, it is cancelled, it cannot go on.

use serde_json::json;

use crate::custom_data::Data;
use crate::ids::{ContactId, EventId, ExecutionId, WorkflowId};
use crate::time::Timestamp;
use crate::workflow::action::Action;
use crate::workflow::execution::Execution;
use crate::workflow::kind::{ExecutionStatus, StepStatus};
use crate::workflow::version::{TRIGGER, Version};

/// What an execution begins with.
#[derive(Debug, Clone)]
pub struct Beginning {
    /// Its identifier.
    pub id: ExecutionId,
    /// The workflow.
    pub workflow: WorkflowId,
    /// Who goes through it.
    pub contact: ContactId,
    /// The event that enrolled the contact.
    pub source: Option<EventId>,
    /// The data of that event, or what the caller gave.
    pub context: Data,
    /// When it begins.
    pub at: Timestamp,
}

/// Begins an execution, which stands at its trigger.
pub fn begin(beginning: Beginning) -> Execution {
    let Beginning { id, workflow, contact, source, context, at } = beginning;
    Execution {
        id,
        contact,
        seed: Execution::seed(workflow, contact),
        source,
        status: ExecutionStatus::Running,
        current: Some(TRIGGER),
        due_at: Some(at),
        context,
        exit_reason: None,
        is_converted: false,
        log: Vec::new(),
        started_at: at,
        completed_at: None,
    }
}

/// Cancels an execution. One that is over stays as it is.
pub fn cancel(execution: &mut Execution, reason: &str, now: Timestamp) {
    if !execution.status.is_active() {
        return;
    }
    if let Some(record) = execution.open_mut() {
        (record.status, record.completed_at) = (StepStatus::Skipped, Some(now));
        record.output = json!({ "skipped": "cancelled" });
    }
    execution.end(ExecutionStatus::Cancelled, Some(reason.to_owned()), now);
}

/// Ends an execution that cannot go on. One that is over stays as it is.
pub fn fail(execution: &mut Execution, reason: &str, now: Timestamp) {
    if !execution.status.is_active() {
        return;
    }
    if let Some(record) = execution.open_mut() {
        (record.status, record.completed_at) = (StepStatus::Failed, Some(now));
        record.error = Some(reason.to_owned());
    }
    execution.end(ExecutionStatus::Failed, Some(reason.to_owned()), now);
}

/// Whether an execution stands at a step that waits for an event of this name.
pub fn waits_for(version: &Version, execution: &Execution, event: &str) -> bool {
    let step = execution.open().and_then(|record| version.steps().get(record.step));
    matches!(step.map(|step| &step.action), Some(Ok(Action::WaitForEvent { name, .. })) if name == event)
}
