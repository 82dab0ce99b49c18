//! Reports are stored within their shares, and forgotten.

use std::collections::{HashMap, HashSet};

use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::pacing::limits::large_reporters;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::sending::domain;

/// Most reports of one sender about a domain that are stored of those that begin on one day. All who prove nothing are
/// one.
const MOST_REPORTS: i64 = 100;
/// Most rows of a sender, domain and day that name their source. What is beyond it is summed by outcome alone.
const MOST_SOURCES: usize = 300;
/// Most senders of reports about a domain on one day that are no large receivers.
const MOST_OTHERS: i64 = 200;
/// Most reports of all of them.
const MOST_REPORTS_OF_OTHERS: i64 = 1_000;
/// Most rows of all of them that name their source.
const MOST_SOURCES_OF_OTHERS: usize = 3_000;
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
    /// The organisation that is proved to have sent it, by domain; `None` where nothing proves it.
    pub sender: Option<String>,
    /// Who reports, as the report has it.
    pub reporter: String,
    /// The report's id, unique for sender and reporter.
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
    let sender = report.sender.as_deref().unwrap_or_default();
    if !has_room(tx, project, report.domain, day, sender).await? {
        return Ok(Added::Full);
    }
    let added = tx
        .execute(
            "insert into dmarc_reports (project_id, domain_id, sender, reporter, report_id, day, begin_at, end_at, policy, \
             records, messages, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
             on conflict (project_id, domain_id, sender, reporter, report_id) do nothing",
            args![
                project,
                report.domain,
                sender,
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
    let (known, room) = outcomes(tx, project, report.domain, day, sender).await?;
    let sums = bounded(known, room, sums);
    let texts = |of: fn(&Outcome) -> &str| {
        Arg::Texts(sums.iter().map(|(outcome, _)| Some(of(outcome).into())).collect())
    };
    let flags =
        |of: fn(&Outcome) -> bool| Arg::Bools(sums.iter().map(|(outcome, _)| Some(of(outcome))).collect());
    tx.each(
        "insert into dmarc_sums (project_id, domain_id, day, sender, source, header_from, disposition, dkim, spf, ours, \
         messages) select $8, $9, $10, $11, r.source, r.header_from, r.disposition, r.dkim, r.spf, r.ours, r.messages \
         from {rows r: source text, header_from text, disposition text, dkim bool, spf bool, ours bool, messages int} \
         where true on conflict (project_id, domain_id, day, sender, source, header_from, disposition, dkim, spf, ours) \
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
            sender.into(),
        ],
    )
    .await?;
    Ok(Added::Stored)
}

/// The domains of large receivers, as an argument.
fn large() -> Arg<'static> {
    Arg::Texts(large_reporters().into_iter().map(|domain| Some(domain.into())).collect())
}

/// Whether a sender shares the room of a day with others: it is proved, and none of the large receivers.
fn is_other(sender: &str) -> bool {
    !sender.is_empty() && !large_reporters().contains(&sender)
}

/// Whether one more report of a sender about a domain and day is stored. A known one counts too: it came once more.
async fn has_room(
    tx: &Tx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    day: i64,
    sender: &str,
) -> Result<bool> {
    let sql = "select cast(coalesce(sum(case when sender = $4 then 1 else 0 end), 0) as {int}), \
               cast(coalesce(sum(case when sender <> '' and not sender {in $5} then 1 else 0 end), 0) as {int}), \
               count(distinct case when sender <> '' and not sender {in $5} then sender end) \
               from dmarc_reports where project_id = $1 and domain_id = $2 and day = $3";
    let args = &[project.into(), domain.into(), day.into(), sender.into(), large()];
    let (own, of_others, others) =
        tx.one(sql, args, |r| Ok((r.get::<i64>(0)?, r.get::<i64>(1)?, r.get::<i64>(2)?))).await?;
    let has_share = own > 0 || others < MOST_OTHERS;
    Ok(own < MOST_REPORTS && (!is_other(sender) || has_share && of_others < MOST_REPORTS_OF_OTHERS))
}

/// The outcomes of a sender, domain and day that have rows, and how many more may name their source.
async fn outcomes(
    tx: &Tx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    day: i64,
    sender: &str,
) -> Result<(HashSet<Outcome>, usize)> {
    let rows = tx
        .all(
            "select source, header_from, disposition, dkim, spf, ours from dmarc_sums \
             where project_id = $1 and domain_id = $2 and day = $3 and sender = $4",
            args![project, domain, day, sender],
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
    let named = rows.iter().filter(|outcome| !outcome.source.is_empty()).count();
    let mut room = MOST_SOURCES.saturating_sub(named);
    if is_other(sender) {
        let sql = "select count(*) from dmarc_sums where project_id = $1 and domain_id = $2 and day = $3 \
                   and sender <> '' and not sender {in $4} and source <> ''";
        let args = &[project.into(), domain.into(), day.into(), large()];
        let of_others = tx.one(sql, args, |r| r.get::<i64>(0)).await? as usize;
        room = room.min(MOST_SOURCES_OF_OTHERS.saturating_sub(of_others));
    }
    Ok((rows.into_iter().collect(), room))
}

/// The sums, each outcome once. What has no row, and would be beyond the room for more, loses its source.
fn bounded(mut known: HashSet<Outcome>, mut room: usize, sums: &[(Outcome, i64)]) -> Vec<(Outcome, i64)> {
    let mut bounded: HashMap<Outcome, i64> = HashMap::new();
    for (outcome, messages) in sums {
        let mut outcome = outcome.clone();
        if !known.contains(&outcome) {
            if room > 0 {
                room -= 1;
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

/// Forgets what is about days before `before`, some rows at a time; how many.
pub async fn forget(tx: &mut Tx<'_>, project: ProjectNumber, before: i64, limit: i64) -> Result<u64> {
    let reports = tx
        .execute(
            "delete from dmarc_reports where project_id = $1 and (domain_id, sender, reporter, report_id) in \
             (select f.domain_id, f.sender, f.reporter, f.report_id from dmarc_reports f \
             where f.project_id = $1 and f.day < $2 order by f.day limit $3)",
            args![project, before, limit],
        )
        .await?;
    let sums = tx
        .execute(
            "delete from dmarc_sums where project_id = $1 \
             and (domain_id, day, sender, source, header_from, disposition, dkim, spf, ours) in \
             (select f.domain_id, f.day, f.sender, f.source, f.header_from, f.disposition, f.dkim, f.spf, f.ours \
             from dmarc_sums f where f.project_id = $1 and f.day < $2 order by f.day limit $3)",
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
        let kept = bounded(HashSet::new(), MOST_SOURCES, &sums);
        assert_eq!(kept.len(), MOST_SOURCES + 2);
        let others: Vec<_> = kept.iter().filter(|(outcome, _)| outcome.source.is_empty()).collect();
        assert!(others.iter().all(|(outcome, messages)| *messages == 50 && outcome.header_from.is_empty()));
        // those that have a row go on to have it
        let known: HashSet<_> = (0..MOST_SOURCES).map(|nth| outcome(nth, true)).collect();
        let again = [(outcome(3, true), 1), (outcome(3, true), 4), (outcome(5000, true), 2)];
        let kept = bounded(known, 0, &again);
        assert_eq!(kept.len(), 2);
        assert!(kept.contains(&(outcome(3, true), 5)));
    }

    #[test]
    fn large_receivers_and_those_who_prove_nothing_share_with_nobody() {
        assert!(!is_other("google.com") && !is_other(""));
        assert!(is_other("mail.google.com.example") && is_other("example.org"));
    }
}
