//! Filters in the database: the SQL that a [`Filter`] becomes, the contacts that it finds, and the facts that let
//! [`Filter::matches`] judge contacts in memory.
//!
//! The SQL means what `core::filter` says; `tests/filter/` compares the two on both engines. Every value and every name
//! is a bound argument. Every condition is true or false, never null, so its meaning does not depend on where it stands
//! in the filter. [`compile`] makes the condition on `contacts c`, [`custom_data`] the part about JSON, where the
//! engines differ most. [`facts()`] loads the facts of a batch of contacts with four queries, so that many filters can
//! be judged over it.
//!
//! What makes queries fast:
//!
//! - **Events.** An event condition becomes a set of contacts or a look-up for each contact, whichever reads less. The
//!   counters know how many events of a name there are, and a short look at the index how many are recent
//!   ([`EventCounts`]). The time of an event is the time in its id, so one index of names and ids serves both.
//! - **Creation time.** Contact ids begin with the creation time. A filter on creation time, or on a last event before
//!   some date, limits the id range, and the query scans only that range ([`created_range`]).
//! - **Counts** may scan the table: they are the queries that enable sequential scans on PostgreSQL
//!   (`Rx::query_with_seqscan`). On SQLite a count reads the table from end to end if most of its rows are the
//!   project's, and a filter on events only is counted in memory ([`event_sets`]).
//! - **Pages** walk the contacts from the newest and end when they are full. A filter that matches hardly anybody walks
//!   all contacts. If the filter requires a rare event, the page is driven by the index of that event instead
//!   ([`driving_event`]). The total beside a page of a large project's segment is the count that the segment shows,
//!   because counting takes longer than the page.

mod compile;
mod created_range;
mod custom_data;
mod driving_event;
mod event_sets;
pub(crate) mod facts;
mod lists;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::contact::Contact;
use mailwright_core::filter::{Condition, EventTest, Filter, References};
use mailwright_core::ids::{ContactId, EventId, ProjectNumber, SegmentId};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::audience::contact::record::{COLUMNS, read};
use crate::database::error::{Error, Result};
use crate::database::tx::Rx;
use crate::insight::counter::{self, Counter};

use created_range::CreatedRange;
use driving_event::DrivingEvent;
use values::Values;

pub use compile::condition;
pub use facts::{FactsOf, facts, facts_before};
pub use lists::{list, total};

pub use crate::database::error::MAX_COMPILED;

/// The segments that a filter names, directly or through other segments.
#[derive(Debug, Clone, Default)]
pub struct Segments {
    stored: BTreeSet<SegmentId>,
    trees: BTreeMap<SegmentId, Arc<Filter>>,
}

impl Segments {
    /// No segments. A segment that a filter names and that is missing here has no members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a segment whose members are stored: a static one, or one that is tracked.
    pub fn members(&mut self, id: SegmentId) {
        self.stored.insert(id);
    }

    /// Adds a segment whose members are the contacts that its filter finds.
    pub fn tree(&mut self, id: SegmentId, tree: Arc<Filter>) {
        self.trees.insert(id, tree);
    }

    /// The filters of those segments that have no stored members: for [`mailwright_core::filter::Resolved`].
    pub fn trees(&self) -> &BTreeMap<SegmentId, Arc<Filter>> {
        &self.trees
    }

    /// What a filter names, with what the filters of the segments name that are evaluated on the way.
    pub fn references(&self, tree: &Filter) -> References {
        let mut references = References::default();
        self.reached(tree).into_iter().for_each(|tree| references.extend(tree.references()));
        references
    }

    /// What filters name, with what the filters of all these segments name.
    #[must_use]
    pub fn all_references(&self, mut references: References) -> References {
        self.trees.values().for_each(|tree| references.extend(tree.references()));
        references
    }

    /// A filter and those of the segments that are evaluated on the way, each once.
    fn reached<'t>(&'t self, tree: &'t Filter) -> Vec<&'t Filter> {
        let mut seen = BTreeSet::new();
        let mut reached = vec![tree];
        let mut next = 0;
        while let Some(tree) = reached.get(next) {
            let named = tree.references().segments.into_iter().filter(|id| seen.insert(*id));
            let found: Vec<_> = named.filter_map(|id| self.trees.get(&id).map(Arc::as_ref)).collect();
            reached.extend(found);
            next += 1;
        }
        reached
    }
}

/// Up to so many events, the contacts that have one are collected once; beyond that, it is asked for each contact
/// whether it has one. To collect them takes about a millisecond for each thousand, before the first row is found.
const FEW: i64 = 50_000;
/// From so many on, the first contacts that have one are found soon by walking the contacts from the newest.
const FILL_A_PAGE: i64 = 5_000;
/// The same as [`FEW`] for a query that looks at every contact anyway.
const FEW_OF_ALL: i64 = 300_000;

/// How many events of each name a project has, for the names that a filter looks at.
#[derive(Debug, Clone)]
pub struct EventCounts {
    few: i64,
    all: BTreeMap<String, i64>,
    /// Those among them that are many, but few since an event of the past.
    recent: BTreeSet<(String, EventId)>,
}

impl EventCounts {
    /// Whether a project has so few events of a name, since `since` if that is given, that they are best collected.
    fn are_few(&self, name: &str, since: Option<EventId>) -> bool {
        self.all.get(name).is_none_or(|count| *count <= self.few)
            || since.is_some_and(|since| self.recent.contains(&(name.to_owned(), since)))
    }

    /// How many events of a name a project has.
    fn of(&self, name: &str) -> i64 {
        self.all.get(name).copied().unwrap_or(0)
    }

    /// Whether this is for a page, and a page is full soon with contacts that have an event of this name.
    fn fill_a_page(&self, name: &str) -> bool {
        self.few == FEW && self.all.get(name).is_some_and(|count| (FILL_A_PAGE..=FEW).contains(count))
    }
}

impl FromIterator<(String, i64)> for EventCounts {
    fn from_iter<I: IntoIterator<Item = (String, i64)>>(counts: I) -> Self {
        Self { few: FEW, all: counts.into_iter().collect(), recent: BTreeSet::new() }
    }
}

/// Reads from the counters how many events of the given names a project has.
pub async fn event_counts(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    names: &BTreeSet<String>,
) -> Result<EventCounts> {
    if names.is_empty() {
        return Ok(EventCounts::from_iter([]));
    }
    let counts = counter::some(rx, project, Counter::Event, names).await?;
    Ok(counts.into_iter().collect())
}

/// Finds the names with many events of which only few are inside a window of the filter.
async fn recent_events(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    windows: BTreeSet<(&str, Duration)>,
    now: Timestamp,
    counts: &mut EventCounts,
) -> Result<()> {
    for (name, length) in windows {
        let since = EventId::first_of(now.minus(length));
        if counts.are_few(name, Some(since)) {
            continue;
        }
        let found: i64 = rx
            .one(
                "select count(*) from (select 1 from events where project_id = $1 and name = $2 and id >= $3 \
                 limit $4) as newest",
                args![project, name, since, counts.few + 1],
                |r| r.get(0),
            )
            .await?;
        if found <= counts.few {
            counts.recent.insert((name.to_owned(), since));
        }
    }
    Ok(())
}

/// The windows of time in which a filter asks for events, or for none.
fn windows<'t>(tree: &'t Filter, found: &mut BTreeSet<(&'t str, Duration)>) {
    for group in &tree.groups {
        for condition in &group.conditions {
            if let Condition::Event { name, test: EventTest::Within(length) | EventTest::NotWithin(length) } =
                condition
            {
                found.insert((name, *length));
            }
        }
        if let Some(nested) = &group.nested {
            windows(nested, found);
        }
    }
}

/// A filter made ready for one project.
struct Query<'f> {
    tree: &'f Filter,
    segments: &'f Segments,
    now: Timestamp,
    counts: EventCounts,
}

impl<'f> Query<'f> {
    async fn new(
        rx: &mut Rx<'_>,
        project: ProjectNumber,
        tree: &'f Filter,
        segments: &'f Segments,
        now: Timestamp,
        few: i64,
    ) -> Result<Self> {
        let mut asked = BTreeSet::new();
        segments.reached(tree).into_iter().for_each(|tree| windows(tree, &mut asked));
        let mut counts = event_counts(rx, project, &segments.references(tree).events).await?;
        counts.few = few;
        recent_events(rx, project, asked, now, &mut counts).await?;
        Ok(Self { tree, segments, now, counts })
    }

    /// The tables and the condition of a query for `contacts c`: those that the filter finds, beginning after one of
    /// them if it is given. Looks only at contacts of the time in which those that are found were created, and at
    /// those that have an event that few have, where the filter asks for one.
    /// `plus` stands before the columns by which SQLite is to choose no index.
    fn contacts(
        &self,
        after: Option<ContactId>,
        plus: &str,
        values: &mut Values<'_>,
    ) -> Result<(String, String)> {
        // SQLite walks a collected set from the newest anyway
        let driving_event =
            if values.postgres { DrivingEvent::of(self.tree, &self.counts, self.now) } else { None };
        let Some(driving_event) = driving_event else {
            let within = self.within(&format!("{plus}c.id"), after, values);
            let condition = self.condition(None, values)?;
            return Ok(("contacts c".to_owned(), format!("{plus}c.project_id = $1{within} and {condition}")));
        };
        let within = self.within("e.contact_id", after, values);
        let leading = driving_event.contacts(&within, values);
        let tables = format!("({leading}) as l join contacts c on c.project_id = $1 and c.id = l.id");
        Ok((tables, self.condition(Some(driving_event), values)?))
    }

    /// The contacts that the filter finds after `after`, newest first; at most `limit`, when `offset` are passed over.
    async fn list(
        &self,
        rx: &Rx<'_>,
        project: ProjectNumber,
        after: Option<ContactId>,
        [limit, offset]: [usize; 2],
    ) -> Result<Vec<Contact>> {
        let mut args = vec![project.into()];
        let mut values = Values::new(&mut args, rx.is_postgres());
        let (tables, condition) = self.contacts(after, "", &mut values)?;
        let (limit, offset) = (values.bind(limit), values.bind(offset));
        let sql = format!(
            "select {COLUMNS} from {tables} where {condition} order by c.id desc limit {limit} offset {offset}"
        );
        rx.query_uncached(sql, &args, read).await
    }

    /// That the contact of an id was created when those that the filter finds were, and comes after `after`; begins
    /// with `and`.
    fn within(&self, column: &str, after: Option<ContactId>, values: &mut Values<'_>) -> String {
        let created_range = CreatedRange::of(self.tree, self.now);
        let end = created_range.end().into_iter().chain(after).min();
        let first = created_range.first().map(|id| format!(" and {column} >= {}", values.bind(id)));
        let end = end.map(|id| format!(" and {column} < {}", values.bind(id)));
        first.into_iter().chain(end).collect()
    }

    /// The filter's condition on `contacts c`, which are known to have `driving_event`.
    fn condition(&self, driving_event: Option<DrivingEvent<'_>>, values: &mut Values<'_>) -> Result<String> {
        compile::compile(self.tree, self.segments, &self.counts, driving_event, self.now, values)
    }
}

/// How many contacts a filter finds.
pub async fn count(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    tree: &Filter,
    segments: &Segments,
    now: Timestamp,
) -> Result<i64> {
    if !rx.is_postgres()
        && let Some(counted) = event_sets::count(rx, project, tree, now).await?
    {
        return Ok(counted);
    }
    let looks_at_rows = !segments.references(tree).fields.is_empty();
    let plus = if looks_at_rows && owns_most(rx, project).await? { "+" } else { "" };
    let query = Query::new(rx, project, tree, segments, now, FEW_OF_ALL).await?;
    let mut args = vec![project.into()];
    let mut values = Values::new(&mut args, rx.is_postgres());
    let within = query.within("c.id", None, &mut values);
    let condition = query.condition(None, &mut values)?;
    let sql =
        format!("select count(*) from contacts c where {plus}c.project_id = $1{within} and {condition}");
    let counted = rx.query_with_seqscan(sql, &args, |r| r.get::<i64>(0)).await?;
    counted.into_iter().next().ok_or(Error::NotFound)
}

/// Whether SQLite should scan the table, because most contacts belong to this project: a scan is then faster than
/// looking up each row through an index. PostgreSQL decides by its statistics.
async fn owns_most(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<bool> {
    if rx.is_postgres() {
        return Ok(false);
    }
    let contacts = contacts_of(rx, project).await?;
    // the number of the last row: of the contacts of all projects, of which only the number is looked at
    let rows = rx
        .optional("select seq, project_id from contacts order by seq desc limit 1", args![], |r| {
            r.get::<i64>(0)
        })
        .await?;
    Ok(contacts * 2 > rows.unwrap_or(0))
}

/// How many contacts a project has.
async fn contacts_of(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<i64> {
    counter::value(rx, project, Counter::Contacts, "").await
}

/// A page of the contacts a filter finds, newest first; those after `after`, if it is given.
pub async fn page(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    tree: &Filter,
    segments: &Segments,
    now: Timestamp,
    after: Option<ContactId>,
    limit: usize,
) -> Result<Vec<Contact>> {
    let query = Query::new(rx, project, tree, segments, now, FEW).await?;
    query.list(rx, project, after, [limit, 0]).await
}

/// The same for a page asked for by its number: `offset` contacts are passed over.
pub async fn page_at(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    tree: &Filter,
    segments: &Segments,
    now: Timestamp,
    offset: usize,
    limit: usize,
) -> Result<Vec<Contact>> {
    let query = Query::new(rx, project, tree, segments, now, FEW).await?;
    query.list(rx, project, None, [limit, offset]).await
}
