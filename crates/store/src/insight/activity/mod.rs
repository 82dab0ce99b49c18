//! The feed of everything that happens in a project, newest first.
//!
//! Nothing is stored for it: it is read from the events, and from the contacts, executions and campaigns. Each of these
//! has an index in the order of time. A page asks each for as many rows as it may need from its place on, in that order,
//! and the newest of all are among them. So a page costs the same however much there is.

mod detail;
mod place;

use futures_util::future::{try_join, try_join_all};
use mailwright_core::activity::{EventNames, Place, Source};
use mailwright_core::ids::{CampaignId, ContactId, EventId, ProjectNumber, TemplateId, WorkflowId};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;

pub use detail::{Campaign, Entry, Event, Execution, Mail, What, entries};

/// What entries have to be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Anything.
    Project,
    /// A contact.
    Contact(ContactId),
    /// A campaign and its mails.
    Campaign(CampaignId),
    /// A workflow, its executions and mails.
    Workflow(WorkflowId),
    /// Mails of a template.
    Template(TemplateId),
}

/// Which entries somebody asks for.
#[derive(Debug, Clone)]
pub struct Query {
    /// What they are about.
    pub scope: Scope,
    /// Which events are among them.
    pub events: EventNames,
    /// Which other things are.
    pub sources: Vec<Source>,
    /// They are at this place or behind it.
    pub from: Place,
    /// They are before this place.
    pub before: Place,
}

/// The places of the newest entries, at most so many.
pub async fn places(rx: &Rx<'_>, project: ProjectNumber, query: &Query, limit: usize) -> Result<Vec<Place>> {
    let events = async {
        if query.events.is_none() {
            return Ok(Vec::new());
        }
        place::of_events(rx, project, query, limit as i64).await
    };
    let others = query.sources.iter().map(|source| place::of(rx, project, *source, query, limit as i64));
    let (mut found, others) = try_join(events, try_join_all(others)).await?;
    found.extend(others.into_iter().flatten());
    found.retain(|place| *place >= query.from && *place < query.before);
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.truncate(limit);
    Ok(found)
}

/// Most events that [`count_since`] counts.
pub const MOST_COUNTED: i64 = 10_000;

/// How many events there are since a time, at most [`MOST_COUNTED`].
pub async fn count_since(rx: &Rx<'_>, project: ProjectNumber, since: Timestamp) -> Result<i64> {
    rx.one(
        "select count(*) from (select 1 from events where project_id = $1 and id >= $2 limit $3) as lately",
        args![project, EventId::first_of(since), MOST_COUNTED],
        |r| r.get(0),
    )
    .await
}
