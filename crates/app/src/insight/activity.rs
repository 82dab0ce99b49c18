//! The feed of everything that happens in a project.

use std::collections::BTreeSet;
use std::time::Duration;

use mailwright_core::activity::{ActivityType, EventNames, Place, Source};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::insight::activity::{self as store, Query};

use crate::App;
use crate::error::Result;

pub use mailwright_store::insight::activity::{Campaign, Entry, Event, Execution, Mail, Scope, What};

/// Which entries of the feed somebody asks for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What they are about.
    pub scope: Scope,
    /// Of which types; `None` for all.
    pub types: Option<BTreeSet<ActivityType>>,
    /// From when on.
    pub from: Option<Timestamp>,
    /// Before when.
    pub until: Option<Timestamp>,
    /// The last entry of the page before.
    pub after: Option<Place>,
    /// How many at most.
    pub limit: usize,
}

/// A page of the feed.
#[derive(Debug)]
pub struct ActivityPage {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// The last of the page, where more follow.
    pub next: Option<Place>,
}

/// The time before which all entries are.
const ALL: Timestamp = Timestamp(i64::MAX >> 20);

impl Wanted {
    fn query(&self) -> Query {
        let has = |source: &Source| {
            self.types.as_ref().is_none_or(|types| types.iter().any(|kind| kind.source() == *source))
        };
        let until = Place::first_of(self.until.unwrap_or(ALL).min(ALL));
        Query {
            scope: self.scope,
            events: EventNames::of(self.types.as_ref()),
            sources: Source::ALL
                .into_iter()
                .filter(|source| *source != Source::Event && has(source))
                .collect(),
            from: Place::first_of(self.from.unwrap_or(Timestamp(0)).max(Timestamp(0))),
            before: self.after.map_or(until, |after| after.min(until)),
        }
    }
}

impl App {
    /// A page of the feed, newest first.
    pub async fn activity(&self, project: &Project, wanted: Wanted) -> Result<ActivityPage> {
        let (number, query, limit) = (project.number, wanted.query(), wanted.limit);
        let found = self.read(body!(async |rx| {
            let mut places = store::places(rx, number, &query, limit + 1).await?;
            let has_more = places.len() > limit;
            places.truncate(limit);
            let next = places.last().copied().filter(|_| has_more);
            Ok(ActivityPage { entries: store::entries(rx, number, &places).await?, next })
        }));
        found.await
    }

    /// How many events happened lately, at most [`store::MOST_COUNTED`].
    pub async fn recent_count(&self, project: &Project, lately: Duration) -> Result<i64> {
        let (number, since) = (project.number, self.clock().now().minus(lately));
        self.read(body!(async |rx| store::count_since(rx, number, since).await)).await
    }
}
