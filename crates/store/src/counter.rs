//! Sums that are kept up to date in the transaction that changes what they count.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::ids::ProjectNumber;

use crate::args;
use crate::error::Result;
use crate::tx::{Rx, Tx};
use crate::value::Arg;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Contacts; the name is empty.
    Contacts,
    /// Subscribed contacts; the name is empty.
    Subscribed,
    /// Contacts that have a custom field; the name is the field's.
    Field,
    /// Events; the name is the event's.
    Event,
    /// Emails by status; the name is the status.
    Email,
    /// Captured mails; the name is empty.
    Mailbox,
    /// Mails made from a template; the name is the template's id.
    Template,
}

impl Counter {
    fn as_str(self) -> &'static str {
        match self {
            Self::Contacts => "contacts",
            Self::Subscribed => "subscribed",
            Self::Field => "field",
            Self::Event => "event",
            Self::Email => "email",
            Self::Mailbox => "mailbox",
            Self::Template => "template",
        }
    }
}

/// Changes to counters, gathered over a transaction. The order is that in which rows are locked.
#[derive(Debug, Default)]
pub struct Deltas(BTreeMap<(ProjectNumber, Counter, String), i64>);

impl Deltas {
    /// Adds to a counter.
    pub fn add(&mut self, project: ProjectNumber, counter: Counter, name: &str, delta: i64) {
        if delta != 0 {
            *self.0.entry((project, counter, name.to_owned())).or_default() += delta;
        }
    }

    /// Writes the changes.
    pub async fn save(self, tx: &mut Tx<'_>) -> Result<()> {
        let rows: Vec<_> = self.0.into_iter().filter(|(_, delta)| *delta != 0).collect();
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
}

/// The value of one counter.
pub async fn value(rx: &mut Rx<'_>, project: ProjectNumber, counter: Counter, name: &str) -> Result<i64> {
    rx.one(
        "select cast(coalesce(sum(value), 0) as {int}) from counters where project_id = $1 and kind = $2 and name = $3",
        args![project, counter.as_str(), name],
        |r| r.get(0),
    )
    .await
}

/// The counters of a kind that have one of the given names.
pub async fn named(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    counter: Counter,
    names: &BTreeSet<String>,
) -> Result<Vec<(String, i64)>> {
    rx.all(
        "select name, cast(sum(value) as {int}) from counters where project_id = $1 and kind = $2 and name {in $3} \
         group by name",
        &[
            project.into(),
            counter.as_str().into(),
            Arg::Texts(names.iter().map(|name| Some(name.as_str().into())).collect()),
        ],
        |r| Ok((r.get(0)?, r.get(1)?)),
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

/// Forgets a counter.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, counter: Counter, name: &str) -> Result<()> {
    tx.execute(
        "delete from counters where project_id = $1 and kind = $2 and name = $3",
        args![project, counter.as_str(), name],
    )
    .await?;
    Ok(())
}
