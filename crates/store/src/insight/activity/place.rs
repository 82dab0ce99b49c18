//! Looking up the places of entries, in the order of time.

use super::{Query, Scope};
use crate::args;
use crate::audience::event_index::{NAMES_OF_CONTACT, newest_of_names};
use crate::database::error::Result;
use crate::database::tx::{Row, Rx};
use crate::database::value::Arg;
use mailwright_core::activity::{ActivityType, EventNames, Place, Source, names_of_mail};
use mailwright_core::ids::{ContactId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::kind::ExecutionStatus;

/// How many events are looked through for each that is wanted of names that are many: most events may be of these.
const LOOKED_THROUGH_FOR_EACH: usize = 4;
/// So many names are looked up one by one at once. Of more names, more events are looked through before.
const FEW_NAMES: usize = 100;
/// So many.
const LOOKED_THROUGH: usize = 2_000;

/// The ids between which the rows are whose ids tell the time of their entry.
type Bounds = (EventId, EventId);

fn bounds(query: &Query, source: Source) -> Bounds {
    (query.from.id_bound(source).into(), query.before.id_bound(source).into())
}

/// The places of rows whose ids tell the time of their entry.
fn by_id(source: Source, ids: Vec<EventId>) -> Vec<Place> {
    ids.into_iter().map(|id| Place { at: id.instant(), id: id.into(), source }).collect()
}

/// The places of rows of which the time is read as well.
fn by_time(source: Source, rows: Vec<(Timestamp, EventId)>) -> Vec<Place> {
    rows.into_iter().map(|(at, id)| Place { at, id: id.into(), source }).collect()
}

fn id(row: &Row<'_>) -> Result<EventId> {
    row.get(0)
}

fn time_and_id(row: &Row<'_>) -> Result<(Timestamp, EventId)> {
    Ok((row.get(0)?, row.get(1)?))
}

/// The newest events.
pub(super) async fn of_events(
    rx: &Rx<'_>,
    project: ProjectNumber,
    query: &Query,
    limit: i64,
) -> Result<Vec<Place>> {
    let about: (&'static str, Arg<'_>) = match query.scope {
        Scope::Project => return of_project(rx, project, query, limit).await,
        Scope::Contact(contact) => ("contact_id", contact.into()),
        Scope::Campaign(campaign) => ("origin_id", campaign.into()),
        Scope::Workflow(workflow) => ("origin_id", workflow.into()),
        Scope::Template(template) => ("template_id", template.into()),
    };
    let names = match query.scope {
        Scope::Contact(contact) => names_of_contact(rx, project, contact, &query.events).await?,
        _ => names_of_mail().filter(|name| query.events.has(name)).map(str::to_owned).collect(),
    };
    let ids = newest_of_names(rx, project, &names, Some(about), bounds(query, Source::Event), limit).await?;
    Ok(by_id(Source::Event, ids))
}

async fn of_project(rx: &Rx<'_>, project: ProjectNumber, query: &Query, limit: i64) -> Result<Vec<Place>> {
    let (from, before) = bounds(query, Source::Event);
    let names = match (&query.events, query.events.known()) {
        (EventNames::All, _) => {
            let sql = "select id from events where project_id = $1 and id >= $2 and id < $3 order by id desc limit $4";
            let ids = rx.all(sql, args![project, from, before, limit], id).await?;
            return Ok(by_id(Source::Event, ids));
        }
        (_, Some(known)) => known.into_iter().map(str::to_owned).collect(),
        (events, None) => {
            let look = |most| look_through(rx, project, (from, before), (events, limit as usize), most);
            if let Some(found) = look(limit as usize * LOOKED_THROUGH_FOR_EACH).await? {
                return Ok(by_id(Source::Event, found));
            }
            let names = names_of_project(rx, project, events).await?;
            if names.len() > FEW_NAMES
                && let Some(found) = look(LOOKED_THROUGH).await?
            {
                return Ok(by_id(Source::Event, found));
            }
            names
        }
    };
    let ids = newest_of_names(rx, project, &names, None, (from, before), limit).await?;
    Ok(by_id(Source::Event, ids))
}

/// The newest events of some names, at most `wanted`, among the newest `most` of all names; `None` if there may be more.
async fn look_through(
    rx: &Rx<'_>,
    project: ProjectNumber,
    (from, before): Bounds,
    (events, wanted): (&EventNames, usize),
    most: usize,
) -> Result<Option<Vec<EventId>>> {
    let seen: Vec<(EventId, String)> = rx
        .all(
            "select id, name from events where project_id = $1 and id >= $2 and id < $3 order by id desc limit $4",
            args![project, from, before, most],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .await?;
    let is_all = seen.len() < most;
    let found = seen.into_iter().filter(|(_, name)| events.has(name)).map(|(id, _)| id);
    let found: Vec<_> = found.take(wanted).collect();
    Ok((is_all || found.len() == wanted).then_some(found))
}

async fn names_of_project(rx: &Rx<'_>, project: ProjectNumber, events: &EventNames) -> Result<Vec<String>> {
    let mut names: Vec<String> =
        rx.all("select name from event_names where project_id = $1", args![project], |r| r.get(0)).await?;
    // names of the service are on no list
    let moves = [ActivityType::SegmentEntered, ActivityType::SegmentExited];
    if matches!(events, EventNames::OfTypes(types) if moves.iter().any(|kind| types.contains(kind))) {
        let segments: Vec<String> = rx
            .all(
                "select distinct name from counters where project_id = $1 and kind = 'event' and name >= 'segment.' \
                 and name < 'segment/'",
                args![project],
                |r| r.get(0),
            )
            .await?;
        names.extend(segments);
    }
    names.extend(ActivityType::ALL.iter().filter_map(|kind| kind.event_name()).map(str::to_owned));
    names.retain(|name| events.has(name));
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// The names of a contact's events.
async fn names_of_contact(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    events: &EventNames,
) -> Result<Vec<String>> {
    let mut names: Vec<String> = rx
        .all(
            format!("{NAMES_OF_CONTACT} select name from names where name is not null"),
            args![project, contact],
            |r| r.get(0),
        )
        .await?;
    names.retain(|name| events.has(name));
    Ok(names)
}

/// The newest entries that are no events.
pub(super) async fn of(
    rx: &Rx<'_>,
    project: ProjectNumber,
    source: Source,
    query: &Query,
    limit: i64,
) -> Result<Vec<Place>> {
    let (from, before) = bounds(query, source);
    match (source, query.scope) {
        (Source::Contact, Scope::Project) => {
            let sql = "select id from contacts where project_id = $1 and id >= $2 and id < $3 order by id desc limit $4";
            Ok(by_id(source, rx.all(sql, args![project, from, before, limit], id).await?))
        }
        (Source::Contact, Scope::Contact(contact)) => {
            let sql = "select id from contacts where project_id = $1 and id = $2";
            Ok(by_id(source, rx.all(sql, args![project, contact], id).await?))
        }
        (Source::Started, scope) => {
            Ok(by_id(source, started(rx, project, scope, (from, before), limit).await?))
        }
        (Source::Completed, scope) => Ok(by_time(source, completed(rx, project, scope, query, limit).await?)),
        (Source::Campaign, scope) => Ok(by_time(source, campaigns(rx, project, scope, query, limit).await?)),
        (Source::Event | Source::Contact, _) => Ok(Vec::new()),
    }
}

/// The newest campaigns that were sent.
async fn campaigns(
    rx: &Rx<'_>,
    project: ProjectNumber,
    scope: Scope,
    query: &Query,
    limit: i64,
) -> Result<Vec<(Timestamp, EventId)>> {
    let bound = EventId::from(query.before.same_time_bound(Source::Campaign));
    let (column, of): (&str, Arg<'_>) = match scope {
        Scope::Project => ("cast($6 as {id}) is null", Arg::Null),
        Scope::Campaign(campaign) => ("id = $6", campaign.into()),
        Scope::Contact(_) | Scope::Workflow(_) | Scope::Template(_) => return Ok(Vec::new()),
    };
    rx.all(
        format!(
            "select sent_at, id from campaigns where project_id = $1 and sent_at is not null and sent_at >= $2 \
             and (sent_at, id) < ($3, $4) and {column} order by sent_at desc, id desc limit $5"
        ),
        &[project.into(), query.from.at.into(), query.before.at.into(), bound.into(), limit.into(), of],
        time_and_id,
    )
    .await
}

/// The executions of a contact, which has few. Without this, SQLite goes through those of the project in the order of time.
const OF_CONTACT: &str = "with mine as materialized (select id, completed_at from workflow_executions \
     where project_id = $1 and contact_id = $2)";

/// The newest executions that began.
async fn started(
    rx: &Rx<'_>,
    project: ProjectNumber,
    scope: Scope,
    (from, before): Bounds,
    limit: i64,
) -> Result<Vec<EventId>> {
    match scope {
        Scope::Project => {
            let sql = "select id from workflow_executions where project_id = $1 and id >= $2 and id < $3 \
                       order by id desc limit $4";
            rx.all(sql, args![project, from, before, limit], id).await
        }
        Scope::Contact(contact) => {
            let sql = format!(
                "{OF_CONTACT} select id from mine where id >= $3 and id < $4 order by id desc limit $5"
            );
            rx.all(sql, args![project, contact, from, before, limit], id).await
        }
        // the index has them by status
        Scope::Workflow(workflow) => {
            let newest = ExecutionStatus::ALL.map(|status| {
                format!(
                    "select id from (select id from workflow_executions where project_id = $1 and workflow_id = $2 \
                     and status = '{status}' and id >= $3 and id < $4 order by id desc limit $5) as of_{status}"
                )
            });
            let sql = format!("{} order by id desc limit $5", newest.join(" union all "));
            rx.all(sql, args![project, workflow, from, before, limit], id).await
        }
        Scope::Campaign(_) | Scope::Template(_) => Ok(Vec::new()),
    }
}

/// The newest executions that ended.
async fn completed(
    rx: &Rx<'_>,
    project: ProjectNumber,
    scope: Scope,
    query: &Query,
    limit: i64,
) -> Result<Vec<(Timestamp, EventId)>> {
    let bound = EventId::from(query.before.same_time_bound(Source::Completed));
    let (from, before) = (query.from.at, query.before.at);
    let newest = "completed_at is not null and completed_at >= $3 and (completed_at, id) < ($4, $5) \
                  order by completed_at desc, id desc limit $6";
    let (sql, of): (String, Arg<'_>) = match scope {
        Scope::Project => {
            let all = "from workflow_executions where project_id = $1 and cast($2 as {id}) is null";
            (format!("select completed_at, id {all} and {newest}"), Arg::Null)
        }
        Scope::Workflow(workflow) => {
            let all = "from workflow_executions where project_id = $1 and workflow_id = $2";
            (format!("select completed_at, id {all} and {newest}"), workflow.into())
        }
        Scope::Contact(contact) => {
            (format!("{OF_CONTACT} select completed_at, id from mine where {newest}"), contact.into())
        }
        Scope::Campaign(_) | Scope::Template(_) => return Ok(Vec::new()),
    };
    let args = [project.into(), of, from.into(), before.into(), bound.into(), limit.into()];
    rx.all(sql, &args, time_and_id).await
}
