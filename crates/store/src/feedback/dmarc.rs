//! Aggregate reports about the mail of sender domains (RFC 7489): which came in, and the sums of what they say by day (UTC),
//! source and outcome.
//!
//! What a report says is summed when it comes, so that a domain that many receivers report of needs no more room than its
//! sources. Rows of a domain that was removed stay until they are too old: nothing finds them.

use std::collections::{HashMap, HashSet};

use mailwright_core::dmarc::DmarcPolicy;
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::sending::domain;

/// Most reports about a domain that are stored of those that begin on one day.
pub const MOST_REPORTS: i64 = 1_000;
/// Most rows of a domain and day that name their source. What is beyond it is summed by outcome alone.
pub const MOST_SOURCES: usize = 1_000;
/// Most reporters that are listed.
const MOST_REPORTERS: i64 = 100;
/// Most pairs of a source and a domain in `From` that are read for a list of sources.
const MOST_DOMAINS: i64 = 1_000;
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// The day of an instant, in days since 1970.
pub fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY)
}

/// A report that came in.
#[derive(Debug, Clone)]
pub struct Report {
    /// The domain that it is about.
    pub domain: DomainId,
    /// Who reports.
    pub reporter: String,
    /// The report's id, unique for the reporter.
    pub report_id: String,
    /// When the time begins that it is about.
    pub begin: Timestamp,
    /// When it ends.
    pub end: Timestamp,
    /// The policy that the reporter found, by name.
    pub policy: &'static str,
    /// How many records it has.
    pub records: i64,
    /// How many mails these are about.
    pub messages: i64,
}

/// What a sum is of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Outcome {
    /// The address that the mails came from; empty where it is not told apart.
    pub source: String,
    /// The domain of `From`; empty where it is not told apart, or was not reported.
    pub header_from: String,
    /// What the receiver did, by name.
    pub disposition: String,
    /// Whether DKIM passed for a domain that fits.
    pub dkim: bool,
    /// Whether SPF passed for a domain that fits.
    pub spf: bool,
    /// Whether the mails are known to be those of this service.
    pub ours: bool,
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is stored.
    Stored,
    /// It was stored before.
    Known,
    /// There are too many of its day.
    Full,
    /// The domain is gone.
    NoDomain,
}

/// The project that has a sender domain with this name and id. Numbers of projects change, the id of a domain does not.
pub async fn owner(rx: &Rx<'_>, name: &str, id: DomainId) -> Result<Option<ProjectNumber>> {
    rx.optional(
        "select d.project_id from domain_names n join domains d on d.project_id = n.project_id and d.name = n.name \
         where n.name = $1 and d.id = $2",
        args![name, id],
        |r| r.get(0),
    )
    .await
}

/// Stores a report with what it says, unless it is known. The sums that come first get rows of their own before others.
pub async fn add(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    report: &Report,
    sums: &[(Outcome, i64)],
    now: Timestamp,
) -> Result<Added> {
    // the bounds are counted and kept by one transaction at a time
    if domain::get_for_update(tx, project, report.domain).await?.is_none() {
        return Ok(Added::NoDomain);
    }
    let day = day(report.begin);
    let count = tx
        .one(
            "select count(*) from dmarc_reports where project_id = $1 and domain_id = $2 and day = $3",
            args![project, report.domain, day],
            |r| r.get::<i64>(0),
        )
        .await?;
    if count >= MOST_REPORTS {
        return Ok(Added::Full);
    }
    let added = tx
        .execute(
            "insert into dmarc_reports (project_id, domain_id, reporter, report_id, day, begin_at, end_at, policy, records, \
             messages, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
             on conflict (project_id, domain_id, reporter, report_id) do nothing",
            args![
                project,
                report.domain,
                &report.reporter,
                &report.report_id,
                day,
                report.begin,
                report.end,
                report.policy,
                report.records,
                report.messages,
                now,
            ],
        )
        .await?;
    if added == 0 {
        return Ok(Added::Known);
    }
    let known = outcomes(tx, project, report.domain, day).await?;
    let sums = bounded(known, sums);
    let texts = |of: fn(&Outcome) -> &str| {
        Arg::Texts(sums.iter().map(|(outcome, _)| Some(of(outcome).into())).collect())
    };
    let flags =
        |of: fn(&Outcome) -> bool| Arg::Bools(sums.iter().map(|(outcome, _)| Some(of(outcome))).collect());
    tx.each(
        "insert into dmarc_sums (project_id, domain_id, day, source, header_from, disposition, dkim, spf, ours, messages) \
         select $8, $9, $10, r.source, r.header_from, r.disposition, r.dkim, r.spf, r.ours, r.messages \
         from {rows r: source text, header_from text, disposition text, dkim bool, spf bool, ours bool, messages int} \
         where true on conflict (project_id, domain_id, day, source, header_from, disposition, dkim, spf, ours) \
         do update set messages = dmarc_sums.messages + excluded.messages",
        &[
            texts(|outcome| &outcome.source),
            texts(|outcome| &outcome.header_from),
            texts(|outcome| &outcome.disposition),
            flags(|outcome| outcome.dkim),
            flags(|outcome| outcome.spf),
            flags(|outcome| outcome.ours),
            Arg::Ints(sums.iter().map(|(_, messages)| Some(*messages)).collect()),
            project.into(),
            report.domain.into(),
            day.into(),
        ],
    )
    .await?;
    Ok(Added::Stored)
}

/// The outcomes of a domain and day that have rows.
async fn outcomes(
    tx: &Tx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    day: i64,
) -> Result<HashSet<Outcome>> {
    let rows = tx
        .all(
            "select source, header_from, disposition, dkim, spf, ours from dmarc_sums \
             where project_id = $1 and domain_id = $2 and day = $3",
            args![project, domain, day],
            |r| {
                Ok(Outcome {
                    source: r.get(0)?,
                    header_from: r.get(1)?,
                    disposition: r.get(2)?,
                    dkim: r.get(3)?,
                    spf: r.get(4)?,
                    ours: r.get(5)?,
                })
            },
        )
        .await?;
    Ok(rows.into_iter().collect())
}

/// The sums, each outcome once. What has no row, and would be beyond the bound, loses its source.
fn bounded(mut known: HashSet<Outcome>, sums: &[(Outcome, i64)]) -> Vec<(Outcome, i64)> {
    let mut named = known.iter().filter(|outcome| !outcome.source.is_empty()).count();
    let mut bounded: HashMap<Outcome, i64> = HashMap::new();
    for (outcome, messages) in sums {
        let mut outcome = outcome.clone();
        if !known.contains(&outcome) {
            if named < MOST_SOURCES {
                named += 1;
                known.insert(outcome.clone());
            } else {
                outcome.source.clear();
                outcome.header_from.clear();
            }
        }
        *bounded.entry(outcome).or_default() += messages;
    }
    let mut bounded: Vec<_> = bounded.into_iter().collect();
    bounded.sort_unstable();
    bounded
}

/// What reports say of the mail of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceSums {
    /// Its address; empty for those together that are not told apart.
    pub source: String,
    /// Mails.
    pub messages: i64,
    /// Those that are aligned by DKIM.
    pub dkim: i64,
    /// Those that are aligned by SPF.
    pub spf: i64,
    /// Those that are aligned by one of the two.
    pub aligned: i64,
    /// Those that were quarantined.
    pub quarantined: i64,
    /// Those that were refused.
    pub rejected: i64,
    /// Whether mails of this service are among them.
    pub ours: bool,
}

/// The sources of a domain's mail from a day on, those with the most mails first.
pub async fn sources(
    rx: &Rx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    since: i64,
) -> Result<Vec<SourceSums>> {
    rx.all(
        "select source, cast(sum(messages) as {int}) as messages, cast(sum(case when dkim then messages else 0 end) as {int}), \
         cast(sum(case when spf then messages else 0 end) as {int}), \
         cast(sum(case when dkim or spf then messages else 0 end) as {int}), \
         cast(sum(case when disposition = 'quarantine' then messages else 0 end) as {int}), \
         cast(sum(case when disposition = 'reject' then messages else 0 end) as {int}), \
         cast(sum(case when ours then 1 else 0 end) as {int}) \
         from dmarc_sums where project_id = $1 and domain_id = $2 and day >= $3 group by source order by 2 desc, 1",
        args![project, domain, since],
        |r| {
            Ok(SourceSums {
                source: r.get(0)?,
                messages: r.get(1)?,
                dkim: r.get(2)?,
                spf: r.get(3)?,
                aligned: r.get(4)?,
                quarantined: r.get(5)?,
                rejected: r.get(6)?,
                ours: r.get::<i64>(7)? > 0,
            })
        },
    )
    .await
}

/// The domains in `From` of the mail of some sources, those with the most mails first: source, domain.
pub async fn domains(
    rx: &Rx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    since: i64,
    sources: &[String],
) -> Result<Vec<(String, String)>> {
    let sources = Arg::Texts(sources.iter().map(|source| Some(source.as_str().into())).collect());
    rx.all(
        "select source, header_from from dmarc_sums where project_id = $1 and domain_id = $2 and day >= $3 \
         and source {in $4} and header_from <> '' group by source, header_from \
         order by sum(messages) desc, header_from limit $5",
        &[project.into(), domain.into(), since.into(), sources, MOST_DOMAINS.into()],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// What one receiver reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reporter {
    /// Its name.
    pub name: String,
    /// How many reports came.
    pub reports: i64,
    /// How many mails they are about.
    pub messages: i64,
    /// When the time ends that the last one is about.
    pub last_end: Timestamp,
}

/// Who reported of a domain from a day on, those with the most mails first.
pub async fn reporters(
    rx: &Rx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    since: i64,
) -> Result<Vec<Reporter>> {
    rx.all(
        "select reporter, count(*), cast(sum(messages) as {int}), max(end_at) from dmarc_reports \
         where project_id = $1 and domain_id = $2 and day >= $3 group by reporter order by 3 desc, 1 limit $4",
        args![project, domain, since, MOST_REPORTERS],
        |r| {
            Ok(Reporter { name: r.get(0)?, reports: r.get(1)?, messages: r.get(2)?, last_end: r.get(3)? })
        },
    )
    .await
}

/// The first day of which a report is there whose reporter found this policy, and how many reporters there are from
/// `since` on.
pub async fn coverage(
    rx: &Rx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    policy: DmarcPolicy,
    since: i64,
) -> Result<(Option<i64>, i64)> {
    rx.one(
        "select min(case when policy = $3 then day end), count(distinct case when day >= $4 then reporter end) \
         from dmarc_reports where project_id = $1 and domain_id = $2",
        args![project, domain, policy.as_str(), since],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Forgets what is about days before `before`, some rows at a time; how many.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, before: i64, limit: i64) -> Result<u64> {
    let reports = tx
        .execute(
            "delete from dmarc_reports where project_id = $1 and (domain_id, reporter, report_id) in \
             (select f.domain_id, f.reporter, f.report_id from dmarc_reports f \
             where f.project_id = $1 and f.day < $2 order by f.day limit $3)",
            args![project, before, limit],
        )
        .await?;
    let sums = tx
        .execute(
            "delete from dmarc_sums where project_id = $1 \
             and (domain_id, day, source, header_from, disposition, dkim, spf, ours) in \
             (select f.domain_id, f.day, f.source, f.header_from, f.disposition, f.dkim, f.spf, f.ours from dmarc_sums f \
             where f.project_id = $1 and f.day < $2 order by f.day limit $3)",
            args![project, before, limit],
        )
        .await?;
    Ok(reports + sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(source: usize, dkim: bool) -> Outcome {
        Outcome {
            source: format!("192.0.{}.{}", source / 256, source % 256),
            header_from: "shop.example".to_owned(),
            disposition: "none".to_owned(),
            dkim,
            spf: false,
            ours: false,
        }
    }

    #[test]
    fn sources_beyond_the_bound_are_summed() {
        let sums: Vec<_> = (0..MOST_SOURCES + 50).map(|nth| (outcome(nth, nth % 2 == 0), 2)).collect();
        let kept = bounded(HashSet::new(), &sums);
        assert_eq!(kept.len(), MOST_SOURCES + 2);
        let others: Vec<_> = kept.iter().filter(|(outcome, _)| outcome.source.is_empty()).collect();
        assert!(others.iter().all(|(outcome, messages)| *messages == 50 && outcome.header_from.is_empty()));
        // those that have a row go on to have it
        let known = (0..MOST_SOURCES).map(|nth| outcome(nth, true)).collect();
        let again = [(outcome(3, true), 1), (outcome(3, true), 4), (outcome(5000, true), 2)];
        let kept = bounded(known, &again);
        assert_eq!(kept.len(), 2);
        assert!(kept.contains(&(outcome(3, true), 5)));
    }
}
