//! What a transaction changes besides its rows, gathered over the transaction: sums, the contacts that changed, for
//! tracked segments, and the events, for workflows. If no project of the transaction has any that are concerned, that
//! costs one look at `segment_upkeep`, and one at `workflow_listeners`.

use std::collections::BTreeSet;

use futures_util::future::join3;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::lost::Stretch;
use mailwright_core::month::Month;
use mailwright_core::time::Timestamp;

use crate::audience::touched::{self, Touched};
use crate::automation::enrol::{self, Happened, Heard};
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::insight::cohorts::{self, Opened};
use crate::insight::counter::{Counter, Sums};

/// What a transaction changes besides its rows.
#[derive(Debug, Default)]
pub struct Deltas {
    sums: Sums,
    touched: Touched,
    /// More contacts that columns in memory have to follow.
    followed: Touched,
    /// Whether tracked segments are true of what was touched already.
    is_judged: bool,
    happened: Vec<Happened>,
    opened: Opened,
    lost: Option<Stretch>,
}

impl Deltas {
    /// Adds to a counter.
    pub fn add(&mut self, project: ProjectNumber, counter: Counter, name: &str, delta: i64) {
        self.sums.add(project, counter, name, delta);
    }

    /// The sums.
    pub fn sums(&mut self) -> &mut Sums {
        &mut self.sums
    }

    /// Notes that something changed that segments may look at: the contact, its events, its mails, or its place on the
    /// list of a static segment.
    pub fn touch(&mut self, project: ProjectNumber, contact: ContactId, at: Timestamp) {
        self.touched.insert((project, contact), at);
    }

    /// Notes that a contact is gone, or changed in a way that nobody joins or leaves a segment by. Columns in memory follow
    /// it.
    pub(crate) fn followed(&mut self, project: ProjectNumber, contact: ContactId, at: Timestamp) {
        self.followed.insert((project, contact), at);
    }

    /// Notes an event, which may begin executions of workflows or be waited for.
    pub(crate) fn happened(&mut self, event: Happened) {
        self.happened.push(event);
    }

    /// Notes that a contact opened a mail.
    pub(crate) fn opened(&mut self, project: ProjectNumber, contact: ContactId, at: Timestamp) {
        self.opened.insert((project, contact, Month::of(at)));
    }

    /// Notes that tracked segments need not be looked at: for who does so in the same transaction. Workflows are told of
    /// the contacts all the same.
    pub fn judged(&mut self) {
        self.is_judged = true;
    }

    /// Notes that what happens may have happened before, in a stretch that a restore lost: executions that begin by it
    /// are marked.
    pub fn lost(&mut self, stretch: Option<Stretch>) {
        self.lost = stretch;
    }

    /// Adds the sums to the counters, notes the contacts that changed, and tells workflows what happened. Contacts and
    /// events are stored by then.
    pub async fn save(self, tx: &Tx<'_>) -> Result<()> {
        self.write(tx).await?.tell(tx).await
    }

    /// The same for who stores contacts and events at the same time: workflows are told with what this returns.
    pub async fn write(mut self, tx: &Tx<'_>) -> Result<Heard> {
        cohorts::note(tx, &self.opened, &mut self.sums).await?;
        let changed: BTreeSet<ProjectNumber> = self.touched.keys().map(|(project, _)| *project).collect();
        let listeners = enrol::listeners(tx, &self.happened, &changed);
        let (noted, added, listeners) = join3(
            touched::tell(tx, &self.touched, &self.followed, self.is_judged),
            self.sums.save(tx),
            listeners,
        )
        .await;
        noted.and(added)?;
        Ok(Heard::new(listeners?, self.happened, self.touched, self.lost))
    }
}
