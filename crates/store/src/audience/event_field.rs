//! The keys that the data of events has had, by the name of the events: for those who write conditions on events.

use mailwright_core::custom_data::FieldType;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// The most keys that are known of events of one name; others are left out.
const MAX_OF_EVENT: i64 = 200;
/// The most keys that are known of all events of a project.
const MAX_OF_PROJECT: i64 = 10_000;

/// A key that the data of an event has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventField {
    /// The name of the event.
    pub event: String,
    /// The key.
    pub name: String,
    /// The type of its value.
    pub kind: FieldType,
}

/// Notes keys that may be new.
pub async fn register(tx: &Tx<'_>, fields: &[(ProjectNumber, &EventField)], now: Timestamp) -> Result<()> {
    tx.each(
        "insert into event_fields (project_id, event, name, type, created_at) \
         select r.project_id, r.event, r.name, r.type, $5 from {rows r: project_id int, event text, name text, \
         type text} where (select count(*) from (select 1 from event_fields f where f.project_id = r.project_id \
         and f.event = r.event limit $6) as of_event) < $6 \
         and (select count(*) from (select 1 from event_fields f where f.project_id = r.project_id limit $7) as \
         of_project) < $7 on conflict (project_id, event, name) do nothing",
        &[
            Arg::Ints(fields.iter().map(|(project, _)| Some(project.0)).collect()),
            Arg::Texts(fields.iter().map(|(_, field)| Some(field.event.as_str().into())).collect()),
            Arg::Texts(fields.iter().map(|(_, field)| Some(field.name.as_str().into())).collect()),
            Arg::Texts(fields.iter().map(|(_, field)| Some(field.kind.as_str().into())).collect()),
            now.into(),
            MAX_OF_EVENT.into(),
            MAX_OF_PROJECT.into(),
        ],
    )
    .await?;
    Ok(())
}

/// The keys of the events of a project, of one name if it is given, each once with one of its types.
pub async fn all(
    rx: &Rx<'_>,
    project: ProjectNumber,
    event: Option<&str>,
) -> Result<Vec<(String, FieldType)>> {
    let filter = if event.is_some() { "and event = $2" } else { "and cast($2 as text) is null" };
    rx.all(
        format!(
            "select name, min(type) from event_fields where project_id = $1 {filter} group by name order by name \
             limit {MAX_OF_PROJECT}"
        ),
        args![project, event],
        |r| Ok((r.get(0)?, r.named(1, "event_fields.type", FieldType::from_name)?)),
    )
    .await
}

/// Forgets the keys of events of a name.
pub(super) async fn forget(tx: &Tx<'_>, project: ProjectNumber, event: &str) -> Result<()> {
    tx.execute("delete from event_fields where project_id = $1 and event = $2", args![project, event])
        .await?;
    Ok(())
}
