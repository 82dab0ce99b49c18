//! How many mails a project had in each month (UTC), by category: counters that grow in the transaction that accepts the
//! mails.
//!
//! A counter of a month and a category counts mails, and another one, which few projects have, what mails with attachments
//! count beyond that. Both are divided into shards like all counters, so that transactions of a project without a limit do
//! not wait for each other. The maintenance folds the shards of past months into one row.

use std::collections::BTreeMap;

use mailwright_core::billing::{Category, Figures};
use mailwright_core::ids::ProjectNumber;
use mailwright_core::month::Month;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::{self, Counter, Sums};

/// The end of the names of counters of what mails count beyond 1.
const EXTRA: &str = " extra";
/// Rows that one step folds.
const STEP: i64 = 2_000;

/// Mails, and what they count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Mails by category.
    pub mails: Figures,
    /// Units by category: 1 for a mail, 2 for one with attachments.
    pub units: Figures,
}

impl Used {
    /// Units of all categories.
    pub fn total_units(&self) -> i64 {
        self.units.iter().sum()
    }
}

/// Counts mails for the month of a time, some of them with attachments.
pub(crate) fn count(
    sums: &mut Sums,
    project: ProjectNumber,
    category: Category,
    at: Timestamp,
    (mails, with_attachments): (i64, i64),
) {
    let month = Month::of(at);
    sums.add(project, Counter::Usage, &format!("{month} {category}"), mails);
    if with_attachments != 0 {
        sums.add(project, Counter::Usage, &format!("{month} {category}{EXTRA}"), with_attachments);
    }
}

/// What the name of a counter says: the month, the category, and whether it counts what is beyond 1.
fn parse(name: &str) -> Option<(Month, Category, bool)> {
    let (month, rest) = name.split_once(' ')?;
    let (category, is_extra) = match rest.strip_suffix(EXTRA) {
        Some(category) => (category, true),
        None => (rest, false),
    };
    Some((Month::parse(month)?, Category::from_name(category)?, is_extra))
}

/// How many mails a project had in some months. A month without any is missing.
pub async fn of_months(
    rx: &Rx<'_>,
    project: ProjectNumber,
    months: impl IntoIterator<Item = Month>,
) -> Result<BTreeMap<Month, Used>> {
    let names = months.into_iter().flat_map(|month| {
        Category::ALL
            .into_iter()
            .flat_map(move |category| [format!("{month} {category}"), format!("{month} {category}{EXTRA}")])
    });
    let names: Vec<String> = names.collect();
    let counters = counter::some(rx, project, Counter::Usage, &names).await?;
    let mut found: BTreeMap<Month, Used> = BTreeMap::new();
    for (name, value) in counters {
        let Some((month, category, is_extra)) = parse(&name) else { continue };
        let used = found.entry(month).or_default();
        used.units[category.place()] += value;
        if !is_extra {
            used.mails[category.place()] += value;
        }
    }
    Ok(found)
}

/// Folds the shards of counters of months before that of `now` into one; whether there may be more.
pub async fn fold(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let gone = tx
        .all(
            "delete from counters where project_id = $1 and kind = $2 and (name, shard) in \
             (select name, shard from counters where project_id = $1 and kind = $2 and name < $3 and shard <> 0 \
             order by name limit $4) returning name, value",
            args![project, Counter::Usage.as_str(), Month::of(now).to_string(), STEP],
            |r| Ok((r.get::<String>(0)?, r.get::<i64>(1)?)),
        )
        .await?;
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for (name, value) in &gone {
        *sums.entry(name).or_default() += value;
    }
    tx.each(
        "insert into counters (project_id, kind, name, shard, value) \
         select r.project_id, $4, r.name, 0, r.delta from {rows r: project_id int, name text, delta int} where true \
         on conflict (project_id, kind, name, shard) do update set value = counters.value + excluded.value",
        &[
            Arg::Ints(vec![Some(project.0); sums.len()]),
            Arg::Texts(sums.keys().map(|name| Some((*name).into())).collect()),
            Arg::Ints(sums.values().map(|sum| Some(*sum)).collect()),
            Counter::Usage.as_str().into(),
        ],
    )
    .await?;
    Ok(gone.len() as i64 == STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_counters_are_read_as_they_are_written() {
        let month = Month::parse("2026-11").unwrap();
        assert_eq!(parse("2026-11 campaigns"), Some((month, Category::Campaigns, false)));
        assert_eq!(parse("2026-11 inbound extra"), Some((month, Category::Inbound, true)));
        assert_eq!(parse("2026-11 mails"), None);
    }
}
