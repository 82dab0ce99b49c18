//! Why a contact goes through a workflow, or does not: everything that was decided about it, in order.

use std::collections::BTreeMap;

use mailwright_core::ids::{ContactId, EventId, ExecutionId, ProjectNumber, WorkflowId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::Workflow;
use mailwright_core::workflow::kind::Refused;
use mailwright_core::workflow::trigger::Trigger;
use mailwright_store::audience::event_data;
use mailwright_store::automation::execution_list;
use mailwright_store::automation::refusal::{self, Reason};
use mailwright_store::{Rx, body};
use serde_json::Value;

use super::execution::Told;
use super::whom::Whom;
use crate::App;
use crate::error::{Error, Result};

/// Most executions that are told of.
const MOST_EXECUTIONS: i64 = 20;
/// Most refusals that are looked through.
const MOST_REFUSALS: i64 = 200;
/// Most events that are looked through.
const MOST_EVENTS: i64 = 100;

/// What was decided about a contact.
#[derive(Debug)]
pub enum Decision {
    /// An event did not begin an execution.
    Refused {
        /// The event.
        event: EventId,
        /// Its name, if it is still there.
        name: Option<String>,
        /// Why.
        why: Refused,
        /// What the conditions of the trigger saw that do not hold; null where it is not about them.
        seen: Value,
    },
    /// An execution began, by an event or otherwise, and took its steps.
    Began(Box<Told>),
}

/// A decision and its time.
#[derive(Debug)]
pub struct Decided {
    /// When.
    pub at: Timestamp,
    /// What.
    pub decision: Decision,
}

impl App {
    /// What was decided about a contact in a workflow, the oldest first.
    pub async fn why(
        &self,
        project: &Project,
        id: WorkflowId,
        whom: Whom,
    ) -> Result<(ContactId, Vec<Decided>)> {
        let workflow = self.workflow(project, id).await?;
        let number = project.number;
        let contact = self.find_contact(project, whom).await?;
        let looked = self.read(body!(async |rx| look(rx, number, &workflow, contact).await));
        let (executions, mut refused) = looked.await?;
        let mut decided = Vec::new();
        for execution in executions {
            // one that was removed meanwhile is not told of
            let told = match self.execution(project, id, execution).await {
                Err(Error::NotFound { .. }) => continue,
                told => told?,
            };
            if let Some(source) = told.standing.stored.execution.source {
                refused.remove(&source);
            }
            let at = told.standing.stored.execution.started_at;
            decided.push(Decided { at, decision: Decision::Began(Box::new(told)) });
        }
        decided.extend(refused.into_iter().map(|(event, (name, Reason { why, seen, .. }))| Decided {
            at: event.instant(),
            decision: Decision::Refused { event, name, why, seen },
        }));
        decided.sort_by_key(|one| one.at);
        Ok((contact, decided))
    }
}

/// Events that did not begin an execution, as far as is known, with their names.
type RefusedEvents = BTreeMap<EventId, (Option<String>, Reason)>;

async fn look(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    workflow: &Workflow,
    contact: ContactId,
) -> mailwright_store::Result<(Vec<ExecutionId>, RefusedEvents)> {
    let executions = execution_list::of_contact(rx, project, workflow.id, contact, MOST_EXECUTIONS).await?;
    let mut refused = RefusedEvents::new();
    // events of the trigger that are neither told of as an execution nor as refused came while it was not enabled
    if let Ok(Trigger::Event { name, .. }) = workflow.edited.trigger() {
        for event in event_data::of_contact_named(rx, project, contact, &name, MOST_EVENTS).await? {
            if event.instant() >= workflow.created_at {
                let reason = Reason { workflow: workflow.id, why: Refused::Disabled, seen: Value::Null };
                refused.insert(event, (Some(name.clone()), reason));
            }
        }
    }
    for refusal in refusal::of_contact(rx, project, contact, MOST_REFUSALS).await? {
        let of_workflow = refusal.refused.into_iter().find(|reason| reason.workflow == workflow.id);
        if let Some(reason) = of_workflow {
            let name = refused.get(&refusal.event).and_then(|(name, _)| name.clone());
            refused.insert(refusal.event, (name, reason));
        }
    }
    let ids = executions.iter().map(|stored| stored.execution.id).collect();
    for stored in &executions {
        if let Some(source) = stored.execution.source {
            refused.remove(&source);
        }
    }
    Ok((ids, refused))
}
