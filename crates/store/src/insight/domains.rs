//! What became of mails by the domain of their recipients, for each day (UTC) on which they were accepted.
//!
//! A transaction adds to a counter of the day, the metric and the domain. The maintenance folds these into one row for
//! each day, `domain_days`, as it does with quarters of an hour. A row names at most
//! [`MOST_NAMED`] domains, those that came first; the others are counted together under the empty name. A domain that is
//! named in a row stays so, so that what is learnt later of its mails is counted with it.

use std::collections::BTreeMap;

use mailwright_core::ids::ProjectNumber;
use mailwright_core::rollup::{Metric, Quarter};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Rx, Tx};
use crate::insight::counter::{self, BEYOND_DIGITS, Counter, Sums, Taken};
use crate::insight::figures::{self, Figures, Stored, put, put_signed, take, take_signed};

/// Most domains that are counted by name of a day.
pub const MOST_NAMED: usize = 250;
/// Counters that one step folds.
const STEP: i64 = 2_000;

/// The figures of domains. The empty name is that of all others.
pub type Domains = BTreeMap<String, Figures>;

/// Counts something of a mail that was accepted at a time, for a recipient who may be unknown.
pub(crate) fn count(
    sums: &mut Sums,
    project: ProjectNumber,
    metric: Metric,
    (at, recipient): (Timestamp, &str),
    delta: i64,
) {
    if delta != 0 {
        let domain = recipient.rsplit_once('@').map_or("", |(_, domain)| domain);
        let name = format!("{}{:02} {domain}", beginning(Quarter::of(at).day()), metric.code());
        sums.add(project, Counter::DomainDay, &name, delta);
    }
}

/// What the names of the counters of a day begin with. Numbers of days have five digits from 1997 to 2243.
fn beginning(day: i64) -> String {
    format!("{day:05} ")
}

fn parse(name: &str) -> Option<(i64, Metric, &str)> {
    let mut parts = name.splitn(3, ' ');
    let (day, metric, domain) = (parts.next()?, parts.next()?, parts.next()?);
    Some((day.parse().ok()?, Metric::from_code(metric.parse().ok()?)?, domain))
}

/// What became of the mails of the days from one on and up to another, by domain.
pub async fn read(rx: &Rx<'_>, project: ProjectNumber, span: (i64, i64)) -> Result<Domains> {
    let mut sums = Domains::new();
    for (domain, figures) in by_day(rx, project, span).await?.into_values().flatten() {
        sums.entry(domain).or_default().add_all(&figures);
    }
    Ok(sums)
}

/// What became of the mails to one domain on each of the days from one on and up to another. Days without any are left out,
/// and days on which the domain is counted with others.
pub async fn of_domain(
    rx: &Rx<'_>,
    project: ProjectNumber,
    span: (i64, i64),
    domain: &str,
) -> Result<BTreeMap<i64, Figures>> {
    let days = by_day(rx, project, span).await?;
    Ok(days.into_iter().filter_map(|(day, mut domains)| Some((day, domains.remove(domain)?))).collect())
}

async fn by_day(
    rx: &Rx<'_>,
    project: ProjectNumber,
    (first, last): (i64, i64),
) -> Result<BTreeMap<i64, Domains>> {
    let mut found: BTreeMap<i64, Domains> = BTreeMap::new();
    let names = (&*beginning(first), &*beginning(last + 1));
    let table = ("domain_days", Counter::DomainDay);
    let Stored { days, counters } = figures::stored(rx, project, table, (first, last), names).await?;
    for (day, bytes) in days {
        found.insert(day, decode(&bytes).ok_or_else(corrupt)?);
    }
    add(&mut found, &counters);
    Ok(found)
}

/// Adds what counters say to the figures of their days.
fn add(days: &mut BTreeMap<i64, Domains>, counters: &[(String, i64)]) {
    for (name, value) in counters {
        let Some((day, metric, domain)) = parse(name) else { continue };
        let domains = days.entry(day).or_default();
        let named = domains.len() - usize::from(domains.contains_key(""));
        let has_room = named < MOST_NAMED || domains.contains_key(domain);
        let name = if has_room { domain } else { "" };
        domains.entry(name.to_owned()).or_default().add(metric, *value);
    }
}

fn corrupt() -> Error {
    Error::Corrupt { column: 1, expected: "figures", detail: "the list of a day does not end".to_owned() }
}

/// Folds counters into the rows of their days; whether there may be more.
pub async fn fold(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<bool> {
    let taken = counter::take_before(tx, project, Counter::DomainDay, BEYOND_DIGITS, STEP);
    let Taken { shards, has_more } = taken.await?;
    let mut days: BTreeMap<i64, Domains> = BTreeMap::new();
    for day in shards.iter().filter_map(|(name, _)| parse(name)).map(|(day, ..)| day) {
        if days.contains_key(&day) {
            continue;
        }
        let sql = "select figures from domain_days where project_id = $1 and day = $2 {for_update}";
        let stored = tx.optional(sql, args![project, day], |r| r.get::<Vec<u8>>(0)).await?;
        let domains = stored.map_or(Some(Domains::new()), |bytes| decode(&bytes)).ok_or_else(corrupt)?;
        days.insert(day, domains);
    }
    add(&mut days, &shards);
    for (day, domains) in days {
        tx.execute_one(
            "insert into domain_days (project_id, day, figures) values ($1, $2, $3) \
             on conflict (project_id, day) do update set figures = excluded.figures",
            args![project, day, &encode(&domains)[..]],
        )
        .await?;
    }
    Ok(has_more)
}

/// The figures of a day as they are stored: each name with its length before it, and its figures, of which there are as
/// many as a number before all says, as numbers in LEB128.
fn encode(domains: &Domains) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, Metric::ALL.len() as u64);
    for (domain, figures) in domains {
        put(&mut bytes, domain.len() as u64);
        bytes.extend(domain.as_bytes());
        for value in Metric::ALL.into_iter().map(|metric| figures.get(metric)) {
            put_signed(&mut bytes, value);
        }
    }
    bytes
}

/// Reads what [`encode`] wrote. Metrics that this program does not know are left out; `None` for what nobody wrote.
fn decode(mut bytes: &[u8]) -> Option<Domains> {
    let mut domains = Domains::new();
    let metrics = i64::try_from(take(&mut bytes)?).ok()?;
    while !bytes.is_empty() {
        let length = usize::try_from(take(&mut bytes)?).ok()?;
        let (name, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        let mut figures = Figures::default();
        for code in 0..metrics {
            let value = take_signed(&mut bytes)?;
            if let Some(metric) = Metric::from_code(code) {
                figures.add(metric, value);
            }
        }
        domains.insert(std::str::from_utf8(name).ok()?.to_owned(), figures);
    }
    Some(domains)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_they_were_written() {
        let mut domains = Domains::new();
        for (name, value) in [("", -1), ("example.com", 300), ("bücher.example", i64::MAX)] {
            let mut figures = Figures::default();
            figures.add(Metric::Sent, value);
            figures.add(Metric::Started, 1);
            domains.insert(name.to_owned(), figures);
        }
        assert_eq!(decode(&encode(&domains)), Some(domains));
        assert_eq!(decode(&encode(&Domains::new())), Some(Domains::new()));
        for bad in [&[][..], &[11, 5, b'a'], &[11, 1, b'a'], &[1, 1, 0xff, 0], &[0x80]] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn domains_beyond_the_limit_are_counted_together() {
        let name = |number: usize| format!("{}{:02} d{number}.test", beginning(20_000), Metric::Sent.code());
        let first: Vec<_> = (0..MOST_NAMED + 10).map(|number| (name(number), 1)).collect();
        let mut days = BTreeMap::new();
        add(&mut days, &first);
        add(&mut days, &[(name(3), 5), (name(MOST_NAMED + 3), 5)]);
        let domains = &days[&20_000];
        assert_eq!(domains.len(), MOST_NAMED + 1);
        assert_eq!(domains["d3.test"].get(Metric::Sent), 6);
        assert_eq!(domains[""].get(Metric::Sent), 15);
    }
}
