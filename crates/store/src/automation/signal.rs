//! Signals: what happened to a contact that its executions are told of. Each is a row that the engine removes in the
//! transaction that gives it to the executions of the contact.

use mailwright_core::custom_data::Data;
use mailwright_core::ids::{ContactId, EventId, ExecutionId, ProjectNumber, SignalId};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::world::{Answered, Happening};
use serde_json::{Value as Json, json};

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

/// What a signal tells.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// An event of the contact.
    Event(Happening),
    /// The contact changed.
    Changed,
    /// The request of a WEBHOOK step came to an end.
    Answered(Answered),
}

/// A signal.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// Identifier.
    pub id: SignalId,
    /// Whom it is about.
    pub contact: ContactId,
    /// The execution that is told; all of the contact's without it.
    pub execution: Option<ExecutionId>,
    /// What happened.
    pub news: News,
    /// When.
    pub at: Timestamp,
}

fn read(row: &Row<'_>) -> Result<Signal> {
    let at = row.get(7)?;
    let event: Option<EventId> = row.get(2)?;
    let news = if let Some(id) = event {
        let name = row.get::<Option<String>>(3)?.unwrap_or_default();
        News::Event(Happening { id, name, data: row.get::<Option<Data>>(4)?.unwrap_or_default(), at })
    } else if let Some(mut answer) = row.get::<Option<Json>>(6)? {
        let error = answer["error"].as_str().map(str::to_owned);
        News::Answered(Answered { output: answer["output"].take(), error })
    } else {
        News::Changed
    };
    Ok(Signal { id: row.get(0)?, contact: row.get(1)?, execution: row.get(5)?, news, at })
}

/// The contacts of a project that have signals, those with the oldest first; as often as they have signals.
pub async fn contacts(rx: &Rx<'_>, project: ProjectNumber, limit: i64) -> Result<Vec<ContactId>> {
    rx.all(
        "select contact_id from workflow_signals where project_id = $1 order by id limit $2",
        args![project, limit],
        |r| r.get(0),
    )
    .await
}

/// The contacts of a project that have signals, behind one in the order of their ids: so that nobody waits for those who
/// have many.
pub async fn contacts_after(
    rx: &Rx<'_>,
    project: ProjectNumber,
    after: ContactId,
    limit: i64,
) -> Result<Vec<ContactId>> {
    rx.all(
        "with recursive told(contact_id) as (select cast($2 as {id}) union all select (select s.contact_id from workflow_signals s \
         where s.project_id = $1 and s.contact_id > t.contact_id order by s.contact_id limit 1) from told t \
         where t.contact_id is not null) \
         select contact_id from told where contact_id > $2 limit $3",
        args![project, after, limit],
        |r| r.get(0),
    )
    .await
}

/// The most signals of a contact that are told at a time.
pub const AT_ONCE: i64 = 8;

/// The signals of some contacts, of each those up to an id, in the order in which they came.
pub async fn up_to(
    tx: &Tx<'_>,
    project: ProjectNumber,
    last: impl Iterator<Item = (ContactId, SignalId)>,
) -> Result<Vec<Signal>> {
    let (contacts, last) = last.map(|(contact, last)| (Some(contact.into()), Some(last.into()))).unzip();
    tx.each_returning(
        "select s.id, s.contact_id, s.event_id, s.event, {json_out s.data}, s.execution_id, {json_out s.answer}, \
         s.created_at from {rows r: contact_id id, last id} join workflow_signals s on s.project_id = $3 \
         and s.contact_id = r.contact_id and s.id <= r.last order by s.contact_id, s.id",
        &[Arg::Ids(contacts), Arg::Ids(last), project.into()],
        read,
    )
    .await
}

/// Removes signals that were told.
pub async fn remove<'s>(
    tx: &Tx<'_>,
    project: ProjectNumber,
    signals: impl Iterator<Item = &'s Signal>,
) -> Result<()> {
    let ids: Vec<_> = signals.map(|signal| Some(signal.id.into())).collect();
    if !ids.is_empty() {
        let sql = "delete from workflow_signals where project_id = $1 and id {in $2}";
        tx.execute(sql, &[project.into(), Arg::Ids(ids)]).await?;
    }
    Ok(())
}

/// Removes the signals of a contact up to one, whatever they hold.
pub async fn drop_up_to(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    last: SignalId,
) -> Result<()> {
    tx.execute(
        "delete from workflow_signals where project_id = $1 and contact_id = $2 and id <= $3",
        args![project, contact, last],
    )
    .await?;
    Ok(())
}

/// Stores signals.
pub async fn add(tx: &Tx<'_>, project: ProjectNumber, signals: &[Signal]) -> Result<()> {
    let event = |signal: &'_ Signal| match &signal.news {
        News::Event(event) => Some(event.clone()),
        News::Changed | News::Answered(_) => None,
    };
    let events: Vec<Option<Happening>> = signals.iter().map(event).collect();
    let answer = |signal: &Signal| match &signal.news {
        News::Answered(answered) => {
            Some(json!({ "output": answered.output, "error": answered.error }).to_string().into())
        }
        News::Event(_) | News::Changed => None,
    };
    tx.each(
        "insert into workflow_signals (project_id, id, contact_id, event_id, event, data, execution_id, answer, \
         created_at) select $9, r.id, r.contact_id, r.event_id, r.event, r.data, r.execution_id, r.answer, \
         r.created_at from {rows r: id id, contact_id id, event_id id, event text, data json, execution_id id, \
         answer json, created_at int}",
        &[
            Arg::Ids(signals.iter().map(|signal| Some(signal.id.into())).collect()),
            Arg::Ids(signals.iter().map(|signal| Some(signal.contact.into())).collect()),
            Arg::Ids(events.iter().map(|event| event.as_ref().map(|event| event.id.into())).collect()),
            Arg::Texts(
                events.iter().map(|event| event.as_ref().map(|event| event.name.as_str().into())).collect(),
            ),
            Arg::Jsons(
                events
                    .iter()
                    .map(|event| event.as_ref().map(|e| crate::json_text(&e.data).into()))
                    .collect(),
            ),
            Arg::Ids(signals.iter().map(|signal| signal.execution.map(Into::into)).collect()),
            Arg::Jsons(signals.iter().map(answer).collect()),
            Arg::Ints(signals.iter().map(|signal| Some(signal.at.0)).collect()),
            project.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Tells executions how their requests ended.
pub async fn answer(
    tx: &Tx<'_>,
    project: ProjectNumber,
    answers: Vec<(ExecutionId, ContactId, Answered, Timestamp)>,
) -> Result<()> {
    let signal = |(execution, contact, answered, at): (_, _, _, Timestamp)| Signal {
        id: SignalId::new(at, rand::random()),
        contact,
        execution: Some(execution),
        news: News::Answered(answered),
        at,
    };
    add(tx, project, &answers.into_iter().map(signal).collect::<Vec<_>>()).await
}
