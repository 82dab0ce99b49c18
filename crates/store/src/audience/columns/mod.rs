//! The columns that filters of large projects are judged by, in the memory of this process.
//!
//! A count over custom data reads the JSON of every contact. So the first filter on some fields of a large project has
//! these fields, and whatever else it looks at, read in the background ([`load`]), and from then on filters are judged
//! in memory (`core::filter::columns`). Until then, and for what columns do not know, the database counts.
//!
//! Every transaction puts the contacts that it changes into a log ([`contact_log`](super::contact_log)), and columns
//! follow it ([`kept`]): the contacts that changed are read anew, in one snapshot together with the log, so that columns
//! are true of one moment. A count asks the log first. If few contacts changed, it reads them and is exact as of now. If
//! many did, it is exact as of a moment up to [`FRESH`] ago.
//!
//! All columns of a process take a bounded amount of memory ([`giving_way`]), also while they are read, one project at a
//! time ([`projects`]).

mod giving_way;
mod kept;
mod load;
mod projects;
mod room;
mod save;
mod start;
mod step;
mod unsaved;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::filter::Filter;
use mailwright_core::filter::columns::{Aspect, Bits, Columns};
use mailwright_core::ids::{ContactId, ProjectNumber, SegmentId};
use mailwright_core::time::{Clock, Timestamp};
use tokio::sync::watch;

use crate::audience::filter::Segments;
use crate::audience::saved_columns;
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::insight::counter::{self, Counter};

use kept::Gap;
use projects::{MOST_COLUMNS, Shared};

/// How old a moment may be that an answer is true of.
pub const FRESH: Duration = Duration::from_secs(1);
/// For how long a filter waits while columns are read that were saved, or take over what changed.
const MOMENT: Duration = Duration::from_secs(1);
/// What limits columns.
#[derive(Debug, Clone, Copy)]
pub struct ColumnLimits {
    /// Most bytes of all columns of this process together; 0 for no columns at all.
    pub bytes: usize,
    /// Projects with fewer contacts have none: the database counts quickly enough.
    pub contacts: i64,
}

/// The columns of this process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AudienceColumns(Arc<Shared>);

/// What is asked of columns; `None` where one is missing.
type Judge<T> = Arc<dyn Fn(&Columns) -> Option<T> + Send + Sync>;

/// Of when an answer has to be true.
#[derive(Debug, Clone, Copy)]
enum AsOf {
    /// Of a moment up to [`FRESH`] before the question.
    Lately,
    /// Of a moment after it.
    Now,
}

/// What columns say.
enum Answer<T> {
    Found(T),
    /// A column is missing.
    Missing,
    /// They have not taken over yet what changed.
    Behind,
}

/// What was found in columns.
#[derive(Debug)]
pub struct Found {
    /// How many contacts.
    pub count: i64,
    /// The newest of them, as many as were asked for.
    pub newest: Vec<ContactId>,
}

/// Which contacts are asked for, the newest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Page {
    /// Those after this one.
    pub after: Option<ContactId>,
    /// So many are passed over.
    pub offset: usize,
    /// So many at most.
    pub limit: usize,
}

impl AudienceColumns {
    /// No columns yet.
    pub fn new(db: Db, clock: Clock, limits: ColumnLimits) -> Self {
        Self(Arc::new(Shared::new(db, clock, limits)))
    }

    /// What filters find, judged at `now`, of the contacts as they are or were up to [`FRESH`] ago. `None` where there are
    /// no columns for it; then they are loaded in the background, if they can be. One call judges a project at a time.
    pub async fn find(
        &self,
        project: ProjectNumber,
        filters: Vec<Filter>,
        segments: &Segments,
        now: Timestamp,
        page: Page,
    ) -> Result<Option<Vec<Found>>> {
        let aspects = filters.iter().flat_map(|filter| filter.aspects(segments.trees())).collect();
        let trees = segments.trees().clone();
        let judge = move |columns: &Columns| {
            let found = filters.iter().map(|filter| {
                let found = columns.find(filter, &trees, now)?;
                Some(page_of(columns, &found, page))
            });
            found.collect()
        };
        self.ask(project, aspects, AsOf::Lately, Arc::new(judge)).await
    }

    /// The contacts of whom a filter, judged at `now`, says another thing than that they are stored members of a segment,
    /// and those that `also` finds; of the contacts as they are now. `None` as in [`AudienceColumns::find`].
    pub async fn differing(
        &self,
        project: ProjectNumber,
        segment: SegmentId,
        (filter, also): (Arc<Filter>, Option<Arc<Filter>>),
        segments: &Segments,
        now: Timestamp,
    ) -> Result<Option<Vec<ContactId>>> {
        let trees = segments.trees().clone();
        let filters = [Some(&filter), also.as_ref()].into_iter().flatten();
        let mut aspects: BTreeSet<Aspect> = filters.flat_map(|filter| filter.aspects(&trees)).collect();
        aspects.insert(Aspect::Segment(segment));
        let judge = move |columns: &Columns| {
            let mut found = columns.find(&filter, &trees, now)?.differing(columns.members(segment)?);
            if let Some(also) = &also {
                found = found.or(&columns.find(also, &trees, now)?);
            }
            Some(columns.newest(&found, None).collect())
        };
        self.ask(project, aspects, AsOf::Now, Arc::new(judge)).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        project: ProjectNumber,
        aspects: BTreeSet<Aspect>,
        as_of: AsOf,
        judge: Judge<T>,
    ) -> Result<Option<T>> {
        if !self.is_on() || aspects.len() > MOST_COLUMNS {
            return Ok(None);
        }
        match self.ask_now(project, &aspects, as_of, Arc::clone(&judge)).await? {
            Answer::Found(found) => return Ok(Some(found)),
            Answer::Behind => return Ok(None),
            Answer::Missing => {}
        }
        let Some(mut over) = self.load_soon(project, &aspects).await? else { return Ok(None) };
        let asked = aspects.clone();
        let behind = self.0.db.read(body!(async |rx| saved_columns::behind(rx, project, &asked).await));
        if behind.await?.is_none() {
            return Ok(None);
        }
        _ = tokio::time::timeout(MOMENT, over.changed()).await;
        match self.ask_now(project, &aspects, as_of, judge).await? {
            Answer::Found(found) => Ok(Some(found)),
            Answer::Missing | Answer::Behind => Ok(None),
        }
    }

    /// Asks the columns that there are.
    async fn ask_now<T: Send + 'static>(
        &self,
        project: ProjectNumber,
        aspects: &BTreeSet<Aspect>,
        as_of: AsOf,
        judge: Judge<T>,
    ) -> Result<Answer<T>> {
        let Some(kept) = self.0.asked(project, aspects) else { return Ok(Answer::Missing) };
        match as_of {
            // what is not read in this time is read in the background
            AsOf::Lately => match tokio::time::timeout(MOMENT, kept.be_fresh()).await {
                Ok(fresh) => fresh?,
                Err(_) => return Ok(Answer::Behind),
            },
            AsOf::Now => kept.catch_up().await?,
        }
        let turn = kept.turn().await;
        let state = kept.read().await;
        let found = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            match state.columns() {
                Ok(columns) => judge(columns).map_or(Answer::Missing, Answer::Found),
                Err(Gap::Lost) => Answer::Missing,
                Err(Gap::Behind) => Answer::Behind,
            }
        });
        found.await.map_err(|e| Error::Panicked(e.to_string()))
    }

    /// Bytes of memory that all columns take.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Reads what changed, gives positions in the logs, and lets go what nobody used for long. To be called a few times
    /// a second.
    pub async fn round(&self) -> Result<()> {
        let mut outcome = Ok(());
        for (project, kept) in self.0.in_use() {
            // one project does not keep the others from their turn
            outcome = outcome.and(kept.catch_up().await);
            if kept.is_lost().await {
                self.0.forget(project, &kept);
            }
        }
        outcome
    }

    /// Saves columns where it is time to. To be called every few seconds.
    pub async fn save(&self) -> Result<()> {
        let mut outcome = Ok(());
        for (project, kept) in self.0.in_use() {
            self.0.let_go(project, &kept).await;
            let saved = match kept.save().await {
                Ok(others) if others.is_empty() => Ok(()),
                Ok(others) => self.0.join(project, &kept, others).await,
                Err(error) => Err(error),
            };
            outcome = outcome.and(saved);
        }
        outcome
    }

    /// Whether there may be columns at all.
    pub fn is_on(&self) -> bool {
        self.0.limits.bytes > 0
    }

    /// Has columns loaded in the background, unless they are already. Tells when that is over; `None` where it was not
    /// begun.
    async fn load_soon(
        &self,
        project: ProjectNumber,
        aspects: &BTreeSet<Aspect>,
    ) -> Result<Option<watch::Receiver<()>>> {
        let count =
            self.0.db.read(body!(async |rx| counter::value(rx, project, Counter::Contacts, "").await));
        if count.await? < self.0.limits.contacts {
            return Ok(None);
        }
        Ok(self.0.load_soon(project, aspects))
    }
}

fn page_of(columns: &Columns, found: &Bits, page: Page) -> Found {
    let newest = columns.newest(found, page.after).skip(page.offset).take(page.limit).collect();
    Found { count: found.count() as i64, newest }
}
