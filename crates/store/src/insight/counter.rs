//! Sums that are kept up to date in the transaction that changes the rows that they count: contacts, fields, events by
//! name, mails by status, a campaign's mails by state, and others.
//!
//! A transaction gathers its changes in [`Sums`] and writes them once, in the order of their keys. A counter is divided
//! into shards by connection, so that transactions do not wait for each other's counters.

use std::collections::BTreeMap;

use futures_util::future::join;
use mailwright_core::activity::Place;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::names;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::activity_log::{self as log, Entries};

names! {
    /// The kinds of counters.
    #[derive(PartialOrd, Ord)]
    pub enum Counter {
        /// Contacts; the name is empty.
        Contacts = "contacts",
        /// Contacts that were removed or got another address; the name is empty. It only grows.
        AddressRevisions = "address_revisions",
        /// Subscribed contacts; the name is empty.
        Subscribed = "subscribed",
        /// Contacts that have a custom field; the name is the field's.
        Field = "field",
        /// Events; the name is the event's.
        Event = "event",
        /// Events by hour; see [`crate::audience::event_counts`].
        EventHour = "event_hour",
        /// Events by day, as they were counted before; see [`crate::audience::event_counts`].
        EventDay = "event_day",
        /// What happened in each quarter of an hour; see [`crate::insight::rollup`].
        Quarter = "quarter",
        /// Contacts by the month in which they were created, and of these who opened mails in a month; see
        /// [`crate::insight::cohorts`].
        Cohort = "cohort",
        /// What became of the mails of each day by domain of the recipients; see [`crate::insight::domains`].
        DomainDay = "domain_day",
        /// Emails by status; the name is the status.
        Email = "email",
        /// Captured mails; the name is empty.
        Mailbox = "mailbox",
        /// Bytes of captured mails; the name is empty.
        MailboxBytes = "mailbox_bytes",
        /// Mails made from a template; the name is the template's id.
        Template = "template",
        /// What was learnt of the mails made from a template; the name is `<template>:<activity>`.
        TemplateFigure = "template_figure",
        /// Clicks on the links of a campaign; see `crate::feedback::heat`.
        Link = "link",
        /// Mails of a campaign; see `sending/campaign/ledger/key.rs`.
        Campaign = "campaign",
        /// Figures of a workflow and its steps; see `crate::automation::figures`.
        Workflow = "workflow",
        /// Executions of a workflow's version that are stored; the name is `<workflow>:<version>`.
        WorkflowVersion = "workflow_version",
        /// How mails were received: `sent`, `bounced`, `complained`, and the same for each day (see
        /// `crate::delivery::delivery_stats`).
        DeliveryStats = "delivery_stats",
        /// Mails of a month by category, for those who pay; see [`crate::project::billing::usage`].
        Usage = "usage",
    }
}

/// Changes of counters, in the order in which their rows are locked, and the entries of the feed that belong to them.
#[derive(Debug, Default)]
pub struct Sums {
    counters: BTreeMap<(ProjectNumber, Counter, String), i64>,
    entries: Entries,
}

impl Sums {
    /// Adds to a counter.
    pub fn add(&mut self, project: ProjectNumber, counter: Counter, name: &str, delta: i64) {
        if delta != 0 {
            *self.counters.entry((project, counter, name.to_owned())).or_default() += delta;
        }
    }

    /// Notes an entry of the feed for those who follow it.
    pub fn note(&mut self, project: ProjectNumber, place: Place) {
        self.entries.entry(project).or_default().push(place);
    }

    /// Adds them to the counters, and the entries to the log of the feed.
    pub(crate) async fn save(self, tx: &Tx<'_>) -> Result<()> {
        let Self { counters, entries } = self;
        let (added, logged) = join(add(tx, counters), log::append(tx, &entries)).await;
        added.and(logged)
    }
}

async fn add(tx: &Tx<'_>, counters: BTreeMap<(ProjectNumber, Counter, String), i64>) -> Result<()> {
    let rows: Vec<_> = counters.into_iter().filter(|(_, delta)| *delta != 0).collect();
    tx.each(
            "insert into counters (project_id, kind, name, shard, value) \
             select r.project_id, r.kind, r.name, {shard}, r.delta \
             from {rows r: project_id int, kind text, name text, delta int} where true \
             on conflict (project_id, kind, name, shard) do update set value = counters.value + excluded.value",
            &[
                Arg::Ints(rows.iter().map(|((p, ..), _)| Some(p.0)).collect()),
                Arg::Texts(rows.iter().map(|((_, c, _), _)| Some(c.as_str().into())).collect()),
                Arg::Texts(rows.iter().map(|((.., n), _)| Some(n.as_str().into())).collect()),
                Arg::Ints(rows.iter().map(|(_, delta)| Some(*delta)).collect()),
            ],
        )
        .await?;
    Ok(())
}

/// The value of one counter.
pub async fn value(rx: &Rx<'_>, project: ProjectNumber, counter: Counter, name: &str) -> Result<i64> {
    rx.one(
        "select cast(coalesce(sum(value), 0) as {int}) from counters where project_id = $1 and kind = $2 and name = $3",
        args![project, counter.as_str(), name],
        |r| r.get(0),
    )
    .await
}

/// Every counter of a kind by name, those at zero left out.
pub async fn values(rx: &mut Rx<'_>, project: ProjectNumber, counter: Counter) -> Result<Vec<(String, i64)>> {
    rx.all(
        "select name, cast(sum(value) as {int}) from counters where project_id = $1 and kind = $2 \
         group by name having sum(value) <> 0 order by name",
        args![project, counter.as_str()],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Some counters of a kind by name; those that do not exist are left out.
pub async fn some<'n>(
    rx: &Rx<'_>,
    project: ProjectNumber,
    counter: Counter,
    names: impl IntoIterator<Item = &'n String>,
) -> Result<Vec<(String, i64)>> {
    rx.all(
        "select name, cast(sum(value) as {int}) from counters where project_id = $1 and kind = $2 and name {in $3} \
         group by name",
        &[
            project.into(),
            counter.as_str().into(),
            Arg::Texts(names.into_iter().map(|name| Some(name.as_str().into())).collect()),
        ],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// The counters of a kind whose names begin with `prefix`, which ends with a character of ASCII.
pub async fn beginning(
    rx: &Rx<'_>,
    project: ProjectNumber,
    counter: Counter,
    prefix: &str,
) -> Result<Vec<(String, i64)>> {
    between(rx, project, counter, (prefix, &end_of(prefix))).await
}

/// The counters of a kind whose names begin with one of some prefixes, each of which ends with a character of ASCII; those
/// at zero left out. No prefix may begin with another.
///
/// PostgreSQL takes each prefix apart (`lateral`, kept so by `offset 0`). As a join, its plan for any number of prefixes
/// compares each of them with every counter of the kind: 108 ms for 800 campaigns rather than 4 ms.
pub(crate) async fn beginning_with(
    rx: &Rx<'_>,
    project: ProjectNumber,
    counter: Counter,
    prefixes: &[String],
) -> Result<Vec<(String, i64)>> {
    let sql = if rx.is_postgres() {
        "select c.name, cast(sum(c.value) as {int}) from {rows r: first text, beyond text} cross join lateral ( \
           select name, value from counters where project_id = $3 and kind = $4 \
           and name >= r.first and name < r.beyond offset 0 \
         ) c group by c.name having sum(c.value) <> 0 order by c.name"
    } else {
        "select c.name, cast(sum(c.value) as {int}) from {rows r: first text, beyond text} \
         join counters c on c.project_id = $3 and c.kind = $4 and c.name >= r.first and c.name < r.beyond \
         group by c.name having sum(c.value) <> 0 order by c.name"
    };
    rx.each_returning(
        sql,
        &[
            Arg::Texts(prefixes.iter().map(|prefix| Some(prefix.as_str().into())).collect()),
            Arg::Texts(prefixes.iter().map(|prefix| Some(end_of(prefix).into())).collect()),
            project.into(),
            counter.as_str().into(),
        ],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// The first text after all those that begin with a digit.
pub(crate) const BEYOND_DIGITS: &str = ":";

/// The counters of a kind whose names are from one text on and before another.
pub(crate) async fn between(
    rx: &Rx<'_>,
    project: ProjectNumber,
    counter: Counter,
    (from, to): (&str, &str),
) -> Result<Vec<(String, i64)>> {
    rx.all(
        "select name, cast(sum(value) as {int}) from counters where project_id = $1 and kind = $2 \
         and name >= $3 and name < $4 group by name",
        args![project, counter.as_str(), from, to],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Counters that were removed.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Their shards: name and value.
    pub(crate) shards: Vec<(String, i64)>,
    /// Whether there are more.
    pub(crate) has_more: bool,
}

/// Removes the first counters of a kind whose names are before a text, with about so many shards.
///
/// They are removed up to a name. For a list of names PostgreSQL compares each of them with every counter of the kind: with
/// some ten thousand counters that took more than twenty seconds.
pub(crate) async fn take_before(
    tx: &Tx<'_>,
    project: ProjectNumber,
    counter: Counter,
    before: &str,
    most: i64,
) -> Result<Taken> {
    let beyond = tx
        .optional(
            "select name from counters where project_id = $1 and kind = $2 and name < $3 order by name limit 1 offset $4",
            args![project, counter.as_str(), before, most],
            |r| r.get::<String>(0),
        )
        .await?;
    let shards = tx
        .all(
            "delete from counters where project_id = $1 and kind = $2 and name < $3 returning name, value",
            args![project, counter.as_str(), beyond.as_deref().unwrap_or(before)],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    Ok(Taken { shards, has_more: beyond.is_some() })
}

/// Forgets the counters of a kind whose names lie between two texts, some at a time; how many rows.
pub async fn forget_between(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    counter: Counter,
    (from, to): (&str, &str),
) -> Result<u64> {
    tx.execute(
        "delete from counters where project_id = $1 and kind = $2 and (name, shard) in \
         (select name, shard from counters where project_id = $1 and kind = $2 and name >= $3 and name < $4 limit 500)",
        args![project, counter.as_str(), from, to],
    )
    .await
}

/// Forgets a counter.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, counter: Counter, name: &str) -> Result<()> {
    tx.execute(
        "delete from counters where project_id = $1 and kind = $2 and name = $3",
        args![project, counter.as_str(), name],
    )
    .await?;
    Ok(())
}

/// Forgets every counter whose name begins with `prefix`, which ends with a character of ASCII.
pub(crate) async fn forget_all(
    tx: &Tx<'_>,
    project: ProjectNumber,
    counter: Counter,
    prefix: &str,
) -> Result<()> {
    tx.execute(
        "delete from counters where project_id = $1 and kind = $2 and name >= $3 and name < $4",
        args![project, counter.as_str(), prefix, end_of(prefix)],
    )
    .await?;
    Ok(())
}

/// The first text after all those that begin with `prefix`, which ends with a character of ASCII.
pub(crate) fn end_of(prefix: &str) -> String {
    let mut end = prefix.to_owned();
    let last = end.pop().unwrap_or('\0');
    end.push(char::from(last as u8 + 1));
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body;
    use crate::database::db::Db;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;
    use crate::database::migrate::migrate;
    use crate::database::migrate::tests::Database;
    use mailwright_core::time::Timestamp;

    const PROJECT: ProjectNumber = ProjectNumber(7);
    const KIND: Counter = Counter::Quarter;

    /// Fifty counters of two shards each, and those of others.
    async fn fill(db: &Db) {
        let insert =
            "insert into counters (project_id, kind, name, shard, value) values ($1, $2, $3, $4, $5)";
        let written = db.write(body!(async |tx| {
            for number in 0..100_i64 {
                let name = format!("{:02}", number / 2);
                tx.execute(insert, args![PROJECT, KIND.as_str(), &name, number % 2, number]).await?;
                tx.execute(insert, args![ProjectNumber(8), KIND.as_str(), &name, number % 2, 1_i64]).await?;
                tx.execute(insert, args![PROJECT, Counter::Event.as_str(), &name, number % 2, 1_i64]).await?;
            }
            Ok::<_, crate::Error>(())
        }));
        written.await.unwrap();
    }

    async fn take(db: &Db, before: &'static str, most: i64) -> Taken {
        db.write(body!(async |tx| take_before(tx, PROJECT, KIND, before, most).await)).await.unwrap()
    }

    async fn left(db: &Db) -> [usize; 3] {
        let read = db.read(body!(async |rx| {
            let mut found = [0; 3];
            let of = [(PROJECT, KIND), (ProjectNumber(8), KIND), (PROJECT, Counter::Event)];
            for (count, (project, kind)) in found.iter_mut().zip(of) {
                *count = between(rx, project, kind, ("", BEYOND_DIGITS)).await?.len();
            }
            Ok(found)
        }));
        read.await.unwrap()
    }

    /// Counters are taken in steps, each with all of its shards, and those of nobody else.
    async fn check(db: Db) {
        fill(&db).await;
        let first = take(&db, "30", 15).await;
        assert!(first.has_more);
        assert_eq!(first.shards.len(), 14, "whole names: {first:?}");
        assert_eq!(first.shards.iter().map(|(_, value)| value).sum::<i64>(), (0..14).sum::<i64>());
        assert_eq!(left(&db).await, [43, 50, 50]);
        let (mut taken, mut steps) = (first.shards.len(), 1);
        while steps == 1 || taken < 60 {
            let next = take(&db, "30", 15).await;
            taken += next.shards.len();
            steps += 1;
            assert_eq!(next.has_more, taken < 60, "{next:?}");
        }
        assert_eq!(left(&db).await, [20, 50, 50]);
        let none = take(&db, "30", 15).await;
        assert!(none.shards.is_empty() && !none.has_more);
    }

    #[tokio::test]
    async fn counters_are_taken_in_steps_with_all_their_shards() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("test.sqlite"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate(&db, Timestamp(1)).await.unwrap();
        check(db).await;
    }

    #[tokio::test]
    async fn counters_are_taken_in_steps_with_all_their_shards_on_postgres() {
        let database = Database::create("counters");
        let db = database.open();
        migrate(&db, Timestamp(1)).await.unwrap();
        check(db).await;
    }
}
