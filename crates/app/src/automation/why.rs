//! Why a contact goes through a workflow, or does not: everything that was decided about it, in order.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::ids::{ContactId, EventId, ExecutionId, ProjectNumber, WorkflowId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::Workflow;
use mailwright_core::workflow::kind::Refused;
use mailwright_core::workflow::limits::REFUSALS_KEPT;
use mailwright_store::audience::event_data;
use mailwright_store::automation::execution_list;
use mailwright_store::automation::period::{self, Period};
use mailwright_store::automation::refusal::{self, Reason};
use mailwright_store::{Rx, body};
use serde_json::Value;

use super::execution::Told;
use super::whom::Whom;
use crate::App;
use crate::error::{Error, Result};

/// Most executions that are told of, the newest.
const MOST_EXECUTIONS: usize = 20;
/// Most executions that are looked through.
const MOST_BEGUN: i64 = 1000;
/// Most refusals that are looked through, of all workflows.
const MOST_REFUSALS: i64 = 1000;
/// Most events of a name that are looked through.
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
    Began {
        /// The name of the event, if it is still there.
        name: Option<String>,
        /// The execution.
        told: Box<Told>,
    },
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
        let (number, now) = (project.number, self.0.clock.now());
        let contact = self.find_contact(project, whom).await?;
        let looked = self.read(body!(async |rx| look(rx, number, &workflow, contact, now).await)).await?;
        let mut decided = Vec::new();
        for (execution, source) in looked.begun {
            // one that was removed meanwhile is not told of
            let told = match self.execution(project, id, execution).await {
                Err(Error::NotFound { .. }) => continue,
                told => told?,
            };
            let name = source.and_then(|source| looked.names.get(&source).cloned());
            let at = told.standing.stored.execution.started_at;
            decided.push(Decided { at, decision: Decision::Began { name, told: Box::new(told) } });
        }
        decided.extend(looked.refused.into_iter().map(|(event, Reason { why, seen, .. })| Decided {
            at: event.instant(),
            decision: Decision::Refused { event, name: looked.names.get(&event).cloned(), why, seen },
        }));
        decided.sort_by_key(|one| one.at);
        Ok((contact, decided))
    }
}

/// What is known of a contact in a workflow.
struct Looked {
    /// The newest executions, with the events that began them.
    begun: Vec<(ExecutionId, Option<EventId>)>,
    /// Events that did not begin one.
    refused: BTreeMap<EventId, Reason>,
    /// The names of these events.
    names: BTreeMap<EventId, String>,
}

async fn look(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    workflow: &Workflow,
    contact: ContactId,
    now: Timestamp,
) -> mailwright_store::Result<Looked> {
    let mut begun = execution_list::sources(rx, project, workflow.id, contact, MOST_BEGUN).await?;
    let mut refused = while_disabled(rx, project, workflow, contact, now).await?;
    for refusal in refusal::of_contact(rx, project, contact, MOST_REFUSALS).await? {
        let of_workflow = refusal.refused.into_iter().find(|reason| reason.workflow == workflow.id);
        refused.extend(of_workflow.map(|reason| (refusal.event, reason)));
    }
    for (_, source) in &begun {
        source.map(|source| refused.remove(&source));
    }
    begun.truncate(MOST_EXECUTIONS);
    let sources = begun.iter().filter_map(|(_, source)| *source);
    let events: Vec<EventId> = sources.chain(refused.keys().copied()).collect();
    let names = event_data::names(rx, project, &events).await?;
    Ok(Looked { begun, refused, names })
}

/// The events that would have begun an execution if the workflow had been enabled: those of the event that began them
/// before. They are known for as long as other refusals are.
async fn while_disabled(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: &Workflow,
    contact: ContactId,
    now: Timestamp,
) -> mailwright_store::Result<BTreeMap<EventId, Reason>> {
    let periods = period::of_workflow(rx, project, workflow.id).await?;
    let edited = workflow.edited.trigger_config.as_ref().and_then(|config| config["eventName"].as_str());
    let names: BTreeSet<&str> =
        if periods.is_empty() { edited.into_iter().collect() } else { names_of(&periods).collect() };
    let since = workflow.created_at.max(now.minus(REFUSALS_KEPT));
    let mut refused = BTreeMap::new();
    for name in names {
        for event in event_data::of_contact_named(rx, project, contact, name, MOST_EVENTS).await? {
            let is_expected = periods.is_empty() || would_begin(&periods, name, event.instant());
            if event.instant() >= since && is_expected {
                let reason = Reason { workflow: workflow.id, why: Refused::Disabled, seen: Value::Null };
                refused.insert(event, reason);
            }
        }
    }
    Ok(refused)
}

fn names_of(periods: &[Period]) -> impl Iterator<Item = &str> {
    periods.iter().filter_map(|period| period.event.as_deref())
}

/// Whether an event of this name would have begun an execution at an instant at which the workflow was not enabled.
fn would_begin(periods: &[Period], name: &str, at: Timestamp) -> bool {
    let is_enabled =
        |period: &&Period| period.began_at <= at && period.ended_at.is_none_or(|ended| at < ended);
    let before = periods.iter().rev().find(|period| period.began_at <= at).or(periods.first());
    let expected = before.and_then(|period| period.event.as_deref());
    !periods.iter().any(|period| is_enabled(&period)) && expected == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_would_have_begun_what_the_time_before_began() {
        let period = |began_at, ended_at: Option<i64>, event: &str| Period {
            began_at: Timestamp(began_at),
            ended_at: ended_at.map(Timestamp),
            event: Some(event.to_owned()),
        };
        let periods = [period(10, Some(20), "old"), period(30, Some(40), "new"), period(40, None, "newest")];
        for (at, name) in
            [(5, Some("old")), (15, None), (20, Some("old")), (35, None), (40, None), (99, None)]
        {
            for found in ["old", "new", "newest"] {
                assert_eq!(
                    would_begin(&periods, found, Timestamp(at)),
                    name == Some(found),
                    "{found} at {at}"
                );
            }
        }
    }
}
