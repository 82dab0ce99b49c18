//! What reports show of a domain, and which policy they let it go on to.

use mailwright_core::dmarc::{DAYS, DmarcPolicy, Evidence, Source, next_policy, record_with};
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::feedback::dmarc::{self as store, Reporter, SenderSums, SourceSums, Sums};
use mailwright_store::sending::domain;
use mailwright_store::{Rx, body};

use crate::App;
use crate::error::{Error, Resource, Result};
use crate::sending::domain::FoundPolicy;

/// Most sources that are listed.
const MOST_SOURCES: usize = 100;
/// Most domains of `From` that are listed of a source.
const MOST_DOMAINS: usize = 10;

/// What reports show of a domain.
#[derive(Debug, Clone)]
pub struct DmarcFigures {
    /// The domain.
    pub domain: String,
    /// The policy of its record, as far as it is known.
    pub published: Option<DmarcPolicy>,
    /// The policy to go on to, and the record that states it.
    pub proposed: Option<(DmarcPolicy, String)>,
    /// Why none is proposed.
    pub reason: Option<String>,
    /// All that is in reports whose sender is proved.
    pub totals: Sums,
    /// All that is in the others.
    pub unproven: Sums,
    /// The sources: first those of reports whose sender is proved, of these and of the others those with the most
    /// mails.
    pub sources: Vec<DmarcSource>,
    /// How many sources are not listed.
    pub more: usize,
    /// Who reported: first those who are proved to have sent their reports, the large receivers before others.
    pub reporters: Vec<Reporter>,
}

/// Where mail of a domain came from.
#[derive(Debug, Clone)]
pub struct DmarcSource {
    /// What reports say of it.
    pub sums: SourceSums,
    /// The domains in `From`, those with the most mails first; not all where there are many.
    pub domains: Vec<String>,
}

/// What is read of a domain.
struct Known {
    domain: String,
    found: FoundPolicy,
    evidence: Option<Evidence>,
    totals: [(Sums, i64); 2],
    sources: Vec<SourceSums>,
    domains: Vec<(String, bool, String)>,
    reporters: Vec<Reporter>,
}

impl App {
    /// What reports of the last days show of a domain.
    pub async fn dmarc_figures(&self, project: &Project, id: DomainId, days: i64) -> Result<DmarcFigures> {
        let (number, now) = (project.number, self.0.clock.now());
        let read = self.read_slow(number, body!(async |rx| known(rx, number, id, days, now).await));
        let known = read.await?.ok_or_else(|| Error::not_found(Resource::Domain, id))?;
        let address = self.dmarc_address(id);
        let (published, proposed) = proposal(&known.found, known.evidence.as_ref(), address.as_deref());
        let (proposed, reason) = match proposed {
            Ok(proposed) => (Some(proposed), None),
            Err(reason) => (None, Some(reason)),
        };
        let [(totals, proven), (unproven, others)] = known.totals;
        let more = usize::try_from(proven + others).unwrap_or_default().saturating_sub(known.sources.len());
        let sources = known.sources.into_iter().map(|sums| {
            let is_of = |source: &str, is_proven: bool| source == sums.source && is_proven == sums.is_proven;
            let of = known.domains.iter().filter(|(source, is_proven, _)| is_of(source, *is_proven));
            let domains = of.take(MOST_DOMAINS).map(|(.., domain)| domain.clone()).collect();
            DmarcSource { sums, domains }
        });
        Ok(DmarcFigures {
            domain: known.domain,
            published,
            proposed,
            reason,
            totals,
            unproven,
            sources: sources.collect(),
            more,
            reporters: known.reporters,
        })
    }
}

/// Reads all of it; `None` where there is no such domain.
async fn known(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    id: DomainId,
    days: i64,
    now: Timestamp,
) -> mailwright_store::Result<Option<Known>> {
    let Some(domain) = domain::get(rx, project, id).await? else { return Ok(None) };
    let today = store::day(now);
    let since = today - days;
    let sources = store::sources(rx, project, id, since, MOST_SOURCES).await?;
    let listed: Vec<String> = sources.iter().map(|sums| sums.source.clone()).collect();
    let found = FoundPolicy::of(&domain.last_check);
    let evidence = match policy(&found) {
        Some(policy) => Some(evidence(rx, project, id, policy, today).await?),
        None => None,
    };
    Ok(Some(Known {
        domain: domain.name.to_string(),
        found,
        evidence,
        totals: store::totals(rx, project, id, since).await?,
        domains: store::domains(rx, project, id, since, &listed).await?,
        sources,
        reporters: store::reporters(rx, project, id, since).await?,
    }))
}

async fn evidence(
    rx: &Rx<'_>,
    project: ProjectNumber,
    id: DomainId,
    policy: DmarcPolicy,
    today: i64,
) -> mailwright_store::Result<Evidence> {
    let (first, reporters) = store::coverage(rx, project, id, policy, today - DAYS).await?;
    let sources = store::of_senders(rx, project, id, today - DAYS).await?;
    Ok(Evidence {
        days: first.map_or(0, |first| today - first),
        reporters: usize::try_from(reporters).unwrap_or_default(),
        sources: sources.into_iter().map(source).collect(),
    })
}

fn source(sums: SenderSums) -> Source {
    let count = |count: i64| u64::try_from(count).unwrap_or_default();
    Source {
        reporter: sums.sender,
        messages: count(sums.messages),
        aligned: count(sums.aligned),
        is_ours: sums.ours,
        ip: Some(sums.source).filter(|ip| !ip.is_empty()),
    }
}

fn policy(found: &FoundPolicy) -> Option<DmarcPolicy> {
    match found {
        FoundPolicy::Record(record) => DmarcPolicy::of_record(record),
        FoundPolicy::Missing | FoundPolicy::Mismatch | FoundPolicy::Unknown => None,
    }
}

/// The published policy, and the one to go on to with its record, or why none is proposed.
fn proposal(
    found: &FoundPolicy,
    evidence: Option<&Evidence>,
    address: Option<&str>,
) -> (Option<DmarcPolicy>, std::result::Result<(DmarcPolicy, String), String>) {
    let with_record = |record: Option<&str>, policy| (policy, record_with(record, policy, address));
    match (found, policy(found), evidence) {
        (FoundPolicy::Record(record), Some(published), Some(evidence)) => {
            let next = next_policy(published, evidence);
            (Some(published), next.map(|policy| with_record(Some(record), policy)))
        }
        (FoundPolicy::Missing, ..) => (None, Ok(with_record(None, DmarcPolicy::None))),
        (FoundPolicy::Unknown, ..) => (
            None,
            Err("The domain's DMARC record is not known: it was not looked up, or there was no answer."
                .into()),
        ),
        (FoundPolicy::Mismatch | FoundPolicy::Record(_), ..) => {
            (None, Err("The domain's DMARC record is not one that receivers understand.".into()))
        }
    }
}
