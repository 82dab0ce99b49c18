//! What the sums show of a domain. Sums of reports that prove nothing are told apart, and come last.

use mailwright_core::dmarc::DmarcPolicy;
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::pacing::limits::large_reporters;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx};
use crate::database::value::Arg;

/// Most reporters that are listed.
const MOST_REPORTERS: i64 = 100;
/// Most pairs of a source and a domain in `From` that are read for a list of sources.
const MOST_DOMAINS: i64 = 1_000;
/// The columns that [`read_sums`] reads.
const SUMS: &str = "cast(sum(messages) as {int}), \
    cast(sum(case when dkim then messages else 0 end) as {int}), \
    cast(sum(case when spf then messages else 0 end) as {int}), \
    cast(sum(case when dkim or spf then messages else 0 end) as {int}), \
    cast(sum(case when disposition = 'quarantine' then messages else 0 end) as {int}), \
    cast(sum(case when disposition = 'reject' then messages else 0 end) as {int})";

/// Mails of which reports tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// All.
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
}

/// What reports say of the mail of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceSums {
    /// Its address; empty for those together that are not told apart.
    pub source: String,
    /// Whether it is proved who sent these reports.
    pub is_proven: bool,
    /// Its mails.
    pub sums: Sums,
    /// Whether mails of this service are among them.
    pub ours: bool,
}

fn read_sums(r: &Row<'_>, first: usize) -> Result<Sums> {
    Ok(Sums {
        messages: r.get(first)?,
        dkim: r.get(first + 1)?,
        spf: r.get(first + 2)?,
        aligned: r.get(first + 3)?,
        quarantined: r.get(first + 4)?,
        rejected: r.get(first + 5)?,
    })
}

/// All sums of a domain from a day on, and how many sources they are of: first those of reports whose sender is proved,
/// then those of the others.
pub async fn totals(
    rx: &Rx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    since: i64,
) -> Result<[(Sums, i64); 2]> {
    let rows = rx
        .all(
            format!(
                "select cast(case when sender = '' then 0 else 1 end as {{int}}), {SUMS}, count(distinct source) \
                 from dmarc_sums where project_id = $1 and domain_id = $2 and day >= $3 group by 1"
            ),
            args![project, domain, since],
            |r| {
                Ok((r.get::<i64>(0)? > 0, read_sums(r, 1)?, r.get::<i64>(7)?))
            },
        )
        .await?;
    let mut totals = <[(Sums, i64); 2]>::default();
    for (is_proven, sums, sources) in rows {
        totals[usize::from(!is_proven)] = (sums, sources);
    }
    Ok(totals)
}

/// The sources of a domain's mail from a day on, at most `limit`: first those of reports whose sender is proved, of
/// these and of the others those with the most mails first. An address that both tell of is there twice.
pub async fn sources(
    rx: &Rx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    since: i64,
    limit: usize,
) -> Result<Vec<SourceSums>> {
    rx.all(
        format!(
            "select source, cast(case when sender = '' then 0 else 1 end as {{int}}), {SUMS}, \
             cast(sum(case when ours then 1 else 0 end) as {{int}}) \
             from dmarc_sums where project_id = $1 and domain_id = $2 and day >= $3 group by 1, 2 \
             order by 2 desc, 3 desc, 1 limit $4"
        ),
        args![project, domain, since, limit],
        |r| {
            Ok(SourceSums {
                source: r.get(0)?,
                is_proven: r.get::<i64>(1)? > 0,
                sums: read_sums(r, 2)?,
                ours: r.get::<i64>(8)? > 0,
            })
        },
    )
    .await
}

/// The domains in `From` of the mail of some sources, those of reports whose sender is proved first, and of these and
/// the others those with the most mails: source, whether it is proved, domain.
pub async fn domains(
    rx: &Rx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    since: i64,
    sources: &[String],
) -> Result<Vec<(String, bool, String)>> {
    let sources = Arg::Texts(sources.iter().map(|source| Some(source.as_str().into())).collect());
    rx.all(
        "select source, cast(case when sender = '' then 0 else 1 end as {int}), header_from from dmarc_sums \
         where project_id = $1 and domain_id = $2 and day >= $3 and source {in $4} and header_from <> '' \
         group by 1, 2, 3 order by 2 desc, sum(messages) desc, 3 limit $5",
        &[project.into(), domain.into(), since.into(), sources, MOST_DOMAINS.into()],
        |r| Ok((r.get(0)?, r.get::<i64>(1)? > 0, r.get(2)?)),
    )
    .await
}

/// What one sender of reports says of the mail of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderSums {
    /// Who is proved to have sent the reports, by domain.
    pub sender: String,
    /// The source's address; empty for those together that are not told apart.
    pub source: String,
    /// Its mails.
    pub messages: i64,
    /// Those that are aligned.
    pub aligned: i64,
    /// Whether mails of this service are among them.
    pub ours: bool,
}

/// The sources of a domain's mail from a day on, by each who is proved to have reported of them.
pub async fn of_senders(
    rx: &Rx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    since: i64,
) -> Result<Vec<SenderSums>> {
    rx.all(
        "select sender, source, cast(sum(messages) as {int}), \
         cast(sum(case when dkim or spf then messages else 0 end) as {int}), \
         cast(sum(case when ours then 1 else 0 end) as {int}) \
         from dmarc_sums where project_id = $1 and domain_id = $2 and day >= $3 and sender <> '' group by 1, 2",
        args![project, domain, since],
        |r| {
            Ok(SenderSums {
                sender: r.get(0)?,
                source: r.get(1)?,
                messages: r.get(2)?,
                aligned: r.get(3)?,
                ours: r.get::<i64>(4)? > 0,
            })
        },
    )
    .await
}

/// What one receiver reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reporter {
    /// Its name, as it gives it.
    pub name: String,
    /// The organisation that is proved to have sent its reports, by domain; `None` where nothing proves it.
    pub domain: Option<String>,
    /// How many reports came.
    pub reports: i64,
    /// How many mails they are about.
    pub messages: i64,
    /// When the time ends that the last one is about.
    pub last_end: Timestamp,
}

/// Who reported of a domain from a day on: large receivers, others who are proved to have sent their reports, and the
/// rest; of each kind those with the most mails first.
pub async fn reporters(
    rx: &Rx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    since: i64,
) -> Result<Vec<Reporter>> {
    let large = Arg::Texts(large_reporters().into_iter().map(|domain| Some(domain.into())).collect());
    rx.all(
        "select sender, reporter, count(*), cast(sum(messages) as {int}), max(end_at) from dmarc_reports \
         where project_id = $1 and domain_id = $2 and day >= $3 group by 1, 2 \
         order by max(case when sender = '' then 2 when sender {in $4} then 0 else 1 end), 4 desc, 2, 1 limit $5",
        &[project.into(), domain.into(), since.into(), large, MOST_REPORTERS.into()],
        |r| {
            let sender: String = r.get(0)?;
            Ok(Reporter {
                name: r.get(1)?,
                domain: Some(sender).filter(|sender| !sender.is_empty()),
                reports: r.get(2)?,
                messages: r.get(3)?,
                last_end: r.get(4)?,
            })
        },
    )
    .await
}

/// The first day of which a report is there whose reporter found this policy, and how many reporters there are from
/// `since` on. Only those count who are proved to have sent their reports.
pub async fn coverage(
    rx: &Rx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    policy: DmarcPolicy,
    since: i64,
) -> Result<(Option<i64>, i64)> {
    rx.one(
        "select min(case when policy = $3 then day end), count(distinct case when day >= $4 then sender end) \
         from dmarc_reports where project_id = $1 and domain_id = $2 and sender <> ''",
        args![project, domain, policy.as_str(), since],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}
