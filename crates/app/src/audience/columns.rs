//! Filters of large projects, judged in memory where that is possible (`store::audience::columns`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::contact::Contact;
use mailwright_core::filter::{Condition, Filter, Group, Logic, TextTest};
use mailwright_core::ids::{ContactId, ProjectNumber, SegmentId};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::columns::{Found, Page};
use mailwright_store::audience::contact::{List, Sort};
use mailwright_store::audience::filter::Segments;
use mailwright_store::audience::{contact, filter, segment};
use mailwright_store::{Door, body};

use crate::App;
use crate::background::runner::every;
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often columns follow what changes.
const LOOK: Duration = Duration::from_millis(250);
/// How often it is looked whether columns have to be saved.
const SAVE: Duration = Duration::from_secs(1);

/// A filter that finds those that another one finds and for whom a few conditions hold as well.
fn narrowed(tree: &Filter, conditions: Vec<Condition>) -> Filter {
    let group = Group { conditions, nested: Some(Box::new(tree.clone())) };
    Filter { logic: Logic::And, groups: vec![group] }
}

impl App {
    /// Starts to follow what changes, for the columns of this process. Every process that answers requests does so.
    pub fn start_columns(&self, tasks: &Tasks) {
        every(self, tasks, "columns of contacts", LOOK, |app| async move {
            app.0.audience.columns.round().await?;
            app.0.metrics.columns(app.0.audience.columns.bytes());
            app.0.metrics.searched_addresses(app.0.audience.email_search_caches.bytes());
            Ok(())
        });
        every(self, tasks, "columns that are saved", SAVE, |app| async move {
            Ok(app.0.audience.columns.save().await?)
        });
    }

    /// How many contacts a filter finds; as `door` says where the database has to count.
    pub(super) async fn count_found(
        &self,
        door: Door,
        project: ProjectNumber,
        tree: Filter,
        now: Timestamp,
    ) -> Result<i64> {
        if let Some(found) = self.in_columns(project, vec![tree.clone()], now, Page::default()).await? {
            return Ok(found.first().map_or(0, |found| found.count));
        }
        self.count_in_database(door, project, tree, now).await
    }

    /// The same by the database alone.
    pub(super) async fn count_in_database(
        &self,
        door: Door,
        project: ProjectNumber,
        tree: Filter,
        now: Timestamp,
    ) -> Result<i64> {
        self.read_by(
            door,
            body!(async |rx| {
                let segments = segment::resolve(rx, project, &tree).await?;
                filter::count(rx, project, &tree, &segments, now).await
            }),
        )
        .await
    }

    /// How many contacts a filter finds, and how many of them are subscribed; `None` where the database has to count.
    pub(crate) async fn split_found(
        &self,
        project: ProjectNumber,
        tree: &Filter,
        now: Timestamp,
    ) -> Result<Option<(i64, i64)>> {
        let both = vec![tree.clone(), narrowed(tree, vec![Condition::Subscribed(true)])];
        let found = self.in_columns(project, both, now, Page::default()).await?;
        Ok(found.and_then(|found| Some((found.first()?.count, found.last()?.count))))
    }

    /// Some of the contacts that a filter finds, the newest first, and how many there are in all; `None` where the
    /// database has to look.
    pub(super) async fn page_found(
        &self,
        project: ProjectNumber,
        tree: &Filter,
        now: Timestamp,
        page: Page,
    ) -> Result<Option<(Vec<Contact>, i64)>> {
        let found = self.in_columns(project, vec![tree.clone()], now, page).await?;
        let Some(Found { count, newest }) = found.and_then(|found| found.into_iter().next()) else {
            return Ok(None);
        };
        let read = self.read(body!(async |rx| contact::some(rx, project, &newest).await));
        let mut contacts = read.await?;
        contacts.reverse();
        Ok(Some((contacts, count)))
    }

    /// The same for a page of a list of contacts, which may narrow down what the filter finds.
    pub(super) async fn list_found(
        &self,
        project: ProjectNumber,
        tree: &Filter,
        now: Timestamp,
        list: &List,
    ) -> Result<Option<(Vec<Contact>, i64)>> {
        if list.sort != Sort::CreatedAt || !list.descending {
            return Ok(None);
        }
        if let Some(after) = list.after {
            let previous = self.read(body!(async |rx| contact::get(rx, project, after).await));
            if previous.await?.is_none() {
                return Ok(None); // perhaps of another project
            }
        }
        let search = list.search.clone().filter(|search| !search.is_empty());
        let search = search.map(|search| Condition::Email(TextTest::Contains(search)));
        let narrowed =
            narrowed(tree, list.subscribed.map(Condition::Subscribed).into_iter().chain(search).collect());
        let page = Page { after: list.after, offset: 0, limit: list.limit };
        let found = self.page_found(project, &narrowed, now, page).await?;
        // the total stands beside the first page
        Ok(found.map(|(contacts, total)| (contacts, if list.after.is_some() { 0 } else { total })))
    }

    /// The contacts of whom a segment's filter says another thing than that they are stored members, and those that `also`
    /// finds; `None` where the database has to look.
    pub(super) async fn differing_found(
        &self,
        project: ProjectNumber,
        segment: SegmentId,
        (tree, also): (Arc<Filter>, Option<Arc<Filter>>),
        now: Timestamp,
    ) -> Result<Option<Vec<ContactId>>> {
        let columns = &self.0.audience.columns;
        if !columns.is_on() {
            return Ok(None);
        }
        let segments = self.segments_of(project, [&*tree]).await?;
        let found = columns.differing(project, segment, (tree, also), &segments, now).await;
        Ok(self.judged(project, found))
    }

    async fn in_columns(
        &self,
        project: ProjectNumber,
        filters: Vec<Filter>,
        now: Timestamp,
        page: Page,
    ) -> Result<Option<Vec<Found>>> {
        let columns = &self.0.audience.columns;
        if !columns.is_on() {
            return Ok(None);
        }
        let segments = self.segments_of(project, &filters).await?;
        let found = columns.find(project, filters, &segments, now, page).await;
        Ok(self.judged(project, found))
    }

    /// The segments that filters name.
    async fn segments_of(
        &self,
        project: ProjectNumber,
        filters: impl IntoIterator<Item = &Filter>,
    ) -> Result<Segments> {
        let named: BTreeSet<SegmentId> =
            filters.into_iter().flat_map(|filter| filter.references().segments).collect();
        if named.is_empty() {
            return Ok(Segments::new());
        }
        self.read(body!(async |rx| segment::resolve_all(rx, project, named).await)).await
    }

    /// Notes what judged. Where columns fail, the database judges.
    fn judged<T>(&self, project: ProjectNumber, found: mailwright_store::Result<Option<T>>) -> Option<T> {
        let found = found.unwrap_or_else(|error| {
            tracing::debug!(%error, project = project.0, "contacts could not be judged in memory");
            None
        });
        self.0.metrics.judged(if found.is_some() { "memory" } else { "database" });
        found
    }
}
