//! `/domains/{id}/dmarc`: what receivers report of a domain's mail.

use axum::extract::State;
use mailwright_app::feedback::{DmarcFigures, DmarcSource, Reporter, SourceSums, Sums};
use mailwright_app::{App, Resource};
use mailwright_core::dmarc::DmarcPolicy;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadProject;
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;
use crate::params::{self, Params, PathText, ReportDays};

/// What receivers report of a domain's mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DmarcView {
    domain: String,
    policy: DmarcPolicyView,
    /// What is in reports whose sender is proved: DKIM or SPF passed for their mails.
    totals: DmarcTotals,
    /// What is in the others. Anybody can invent them.
    unproven: DmarcTotals,
    /// Where the mail came from, at most 100: first the sources of reports whose sender is proved, of these and of the
    /// others those with the most mails.
    sources: Vec<DmarcSourceView>,
    /// How many sources are not listed.
    more: usize,
    /// Who reported, at most 100: large receivers, then others who are proved, then the rest, of each those with the
    /// most mails first.
    reporters: Vec<DmarcReporterView>,
}

/// The policy of a domain's DMARC record, and the next one.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DmarcPolicyView {
    /// What the record says; null when there is none that the last check found.
    published: Option<DmarcPolicy>,
    /// What to go on to; null where nothing is proposed.
    proposed: Option<DmarcProposal>,
    /// Why nothing is proposed.
    reason: Option<String>,
}

/// A policy to go on to.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DmarcProposal {
    policy: DmarcPolicy,
    /// The value of the record that states it.
    record: String,
}

/// Sums of what was reported. A mail is aligned when DKIM or SPF passed for a domain that fits the one in `From`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DmarcTotals {
    messages: i64,
    aligned: i64,
    dkim_aligned: i64,
    spf_aligned: i64,
    quarantined: i64,
    rejected: i64,
}

/// Where mail came from.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DmarcSourceView {
    /// Its address; null for those together that are beyond the bounds of a day.
    ip: Option<String>,
    messages: i64,
    aligned: i64,
    dkim_aligned: i64,
    spf_aligned: i64,
    /// Whether mail of this service came from there: signed with a key of the domain, or with its return path.
    is_ours: bool,
    /// Whether this is from reports whose sender is proved. What other reports say of the same address is listed apart.
    is_proven: bool,
    /// The domains in `From`, those with the most mails first, at most 10.
    domains: Vec<String>,
}

/// A receiver that reported.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DmarcReporterView {
    /// Its name, as it gives it.
    name: String,
    /// The organisation that is proved to have sent its reports, by domain; null where nothing proves it.
    domain: Option<String>,
    /// How many reports came.
    reports: i64,
    /// How many mails they are about.
    messages: i64,
    /// When the time ends that the last report is about.
    #[schema(value_type = String, format = DateTime)]
    last_end: Timestamp,
}

impl From<Sums> for DmarcTotals {
    fn from(sums: Sums) -> Self {
        Self {
            messages: sums.messages,
            aligned: sums.aligned,
            dkim_aligned: sums.dkim,
            spf_aligned: sums.spf,
            quarantined: sums.quarantined,
            rejected: sums.rejected,
        }
    }
}

impl From<DmarcSource> for DmarcSourceView {
    fn from(source: DmarcSource) -> Self {
        let DmarcSource { sums: SourceSums { source: ip, is_proven, sums, ours }, domains } = source;
        Self {
            messages: sums.messages,
            aligned: sums.aligned,
            dkim_aligned: sums.dkim,
            spf_aligned: sums.spf,
            is_ours: ours,
            is_proven,
            ip: Some(ip).filter(|ip| !ip.is_empty()),
            domains,
        }
    }
}

impl From<Reporter> for DmarcReporterView {
    fn from(reporter: Reporter) -> Self {
        let Reporter { name, domain, reports, messages, last_end } = reporter;
        Self { name, domain, reports, messages, last_end }
    }
}

impl From<DmarcFigures> for DmarcView {
    fn from(found: DmarcFigures) -> Self {
        Self {
            domain: found.domain,
            policy: DmarcPolicyView {
                published: found.published,
                proposed: found.proposed.map(|(policy, record)| DmarcProposal { policy, record }),
                reason: found.reason,
            },
            totals: found.totals.into(),
            unproven: found.unproven.into(),
            sources: found.sources.into_iter().map(Into::into).collect(),
            more: found.more,
            reporters: found.reporters.into_iter().map(Into::into).collect(),
        }
    }
}

/// What receivers report of a domain
///
/// What DMARC reports say of the mail of the last days, by source, and the policy that the domain can go on to. Days are
/// those of UTC, and a report counts on the day that it begins on.
#[utoipa::path(get, path = "/domains/{id}/dmarc", tag = "Domains", operation_id = "getDomainDmarc", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("days" = inline(Option<ReportDays>), Query, description = "Of how many days")),
    responses((status = 200, body = DmarcView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn show(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadProject>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<DmarcView>> {
    let days = params.bounded::<ReportDays>();
    let found = app.dmarc_figures(&project, params::id(&id, Resource::Domain)?, days).await?;
    Ok(Json(found.into()))
}
