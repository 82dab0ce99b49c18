//! The events that would have begun executions and did not.

use mailwright_core::ids::{ContactId, EventId, ProjectNumber, WorkflowId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::kind::Refused;
use serde_json::{Value as Json, json};

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// An event that did not begin an execution of some workflows.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The event.
    pub event: EventId,
    /// The contact of the event.
    pub contact: ContactId,
    /// The workflows, and why.
    pub refused: Vec<Reason>,
}

/// Why a workflow refused a contact.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// The workflow.
    pub workflow: WorkflowId,
    /// Why.
    pub why: Refused,
    /// What the conditions of the trigger's filter saw that do not hold; null where it is not about the filter.
    pub seen: Json,
}

/// Stores refusals, one for each event.
pub(super) async fn add(tx: &Tx<'_>, project: ProjectNumber, refusals: &[Refusal]) -> Result<()> {
    let list = |refusal: &Refusal| {
        let entries = refusal.refused.iter().map(|of| match &of.seen {
            Json::Null => json!([of.workflow, of.why.as_str()]),
            seen => json!([of.workflow, of.why.as_str(), seen]),
        });
        Json::Array(entries.collect()).to_string()
    };
    tx.each(
        "insert into workflow_refusals (project_id, event_id, contact_id, refused) \
         select $4, r.event_id, r.contact_id, r.refused from {rows r: event_id id, contact_id id, refused json} \
         where true on conflict (project_id, event_id) do nothing",
        &[
            Arg::Ids(refusals.iter().map(|refusal| Some(refusal.event.into())).collect()),
            Arg::Ids(refusals.iter().map(|refusal| Some(refusal.contact.into())).collect()),
            Arg::Jsons(refusals.iter().map(|refusal| Some(list(refusal).into())).collect()),
            project.into(),
        ],
    )
    .await?;
    Ok(())
}

/// The newest refusals of a contact.
pub async fn of_contact(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    limit: i64,
) -> Result<Vec<Refusal>> {
    rx.all(
        "select event_id, {json_out refused}, contact_id from workflow_refusals where project_id = $1 and contact_id = $2 \
         order by event_id desc limit $3",
        args![project, contact, limit],
        |r| {
            let entries: Json = r.get(1)?;
            let entry = |entry: &Json| {
                let workflow = entry[0].as_str()?.parse().ok()?;
                let why = Refused::from_name(entry[1].as_str()?)?;
                Some(Reason { workflow, why, seen: entry[2].clone() })
            };
            let refused = entries.as_array().into_iter().flatten().filter_map(entry).collect();
            Ok(Refusal { event: r.get(0)?, contact: r.get(2)?, refused })
        },
    )
    .await
}

/// Forgets refusals of events before `until`, some at a time; how many.
pub async fn forget(tx: &Tx<'_>, project: ProjectNumber, until: Timestamp) -> Result<u64> {
    tx.execute(
        "delete from workflow_refusals where project_id = $1 and event_id in \
         (select event_id from workflow_refusals where project_id = $1 and event_id < $2 order by event_id limit 500)",
        args![project, EventId::first_of(until)],
    )
    .await
}
