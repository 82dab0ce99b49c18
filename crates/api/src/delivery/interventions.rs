//! `/delivery/interventions`: what a project wants done with its mail that waits.

use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::delivery::intervening::{COUNTED, Wanted};
use mailwright_app::{App, Resource};
use mailwright_core::address::DomainName;
use mailwright_core::ids::InterventionId;
use mailwright_core::intervention::{Intervention, InterventionKind, Scope, site_name};
use mailwright_core::issue::Issue;
use mailwright_core::role::Capability;
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ManageDomains, ReadMail};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::{DomainText, ReasonText, SiteText};
use crate::json::Json;
use crate::params::{self, PathText};
use crate::project::audit::ActorView;
use crate::schema::{Body, Payload};

/// What is wanted with mail that waits.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InterventionView {
    id: InterventionId,
    kind: InterventionKind,
    /// The recipients' domain; null for any.
    domain: Option<String>,
    /// The site that takes the mail, where it is brought to the recipients' own servers; null for any.
    site: Option<String>,
    /// The transport by which the mail leaves, of a REROUTE.
    transport: Option<String>,
    reason: Option<String>,
    /// Whether the operator of the instance made it. Only the operator can end it then.
    by_operator: bool,
    /// Who made it, as the audit log has it. Those who may not read that see no `id` and no `name`.
    begun_by: ActorView,
    /// How many mails of the project wait because of this intervention, counted up to 10,000.
    waiting: i64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl InterventionView {
    /// `sees_names` says whether the reader may see who made it.
    fn new(of: Intervention, waiting: i64, sees_names: bool) -> Self {
        let begun_by = ActorView::from(of.begun_by());
        Self {
            id: of.id,
            kind: of.kind,
            by_operator: of.is_of_operator(),
            begun_by: if sees_names { begun_by } else { begun_by.anonymous() },
            domain: of.scope.domain,
            site: of.scope.site,
            transport: of.transport,
            reason: of.reason,
            waiting: waiting.min(COUNTED),
            created_at: of.created_at,
        }
    }
}

/// What can be wanted of a project's own mail.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum OwnIntervention {
    /// It waits until the intervention is ended.
    Pause,
    /// What was accepted before is given up.
    Expire,
}

/// What is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = InterveneRequest)]
pub(crate) struct Intervene {
    kind: OwnIntervention,
    /// The recipients' domain. All mail of the project where neither a domain nor a site is given.
    domain: Option<DomainText>,
    /// The site, as reasons of mail that waits name it. Not beside a domain.
    site: Option<SiteText>,
    reason: Option<ReasonText>,
}

impl Payload for Intervene {
    fn check(&self) -> Vec<Issue> {
        let mut issues = Vec::new();
        if self.domain.as_ref().is_some_and(|domain| DomainName::parse(&domain.0).is_none()) {
            issues.push(Issue::new(
                "domain",
                "invalid_string",
                "Must be a domain name, such as example.com.",
            ));
        }
        if self.domain.is_some() && self.site.is_some() {
            issues.push(Issue::new("site", "custom", "Give a domain or a site, not both."));
        }
        issues
    }
}

/// List interventions
///
/// What is wanted with mail of the project that waits, by the project or by the operator for it.
#[utoipa::path(get, path = "/delivery/interventions", tag = "Emails", operation_id = "listInterventions", security(("secretKey" = []), ("session" = [])),
    responses((status = 200, body = Vec<InterventionView>)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ReadMail>,
) -> Result<Json<Vec<InterventionView>>> {
    let sees_names = caller.holder.may(Capability::ReadAudit);
    let found = app.interventions(&project).await?;
    Ok(Json(found.into_iter().map(|(of, waiting)| InterventionView::new(of, waiting, sees_names)).collect()))
}

/// Pause mail, or give it up
///
/// Mail of the project that waits, for a domain or a site or all of it, waits on until the intervention is ended, or is given
/// up. What is being handed over is handed over. A pause of the same mail that is in force already is not made again,
/// but returned as it is.
#[utoipa::path(post, path = "/delivery/interventions", tag = "Emails", operation_id = "intervene", security(("secretKey" = []), ("session" = [])),
    request_body = Intervene,
    responses(
        (status = 201, body = InterventionView),
        (status = 400, description = "The project has too many", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn add(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ManageDomains>,
    Body(body): Body<Intervene>,
) -> Result<(StatusCode, Json<InterventionView>), Failure> {
    let kind = match body.kind {
        OwnIntervention::Pause => InterventionKind::Pause,
        OwnIntervention::Expire => InterventionKind::Expire,
    };
    let domain = body.domain.and_then(|domain| DomainName::parse(&domain.0)).map(|domain| domain.to_string());
    let site = body.site.and_then(|site| site_name(&site.0));
    let scope = Scope { project: None, domain, site };
    let wanted = Wanted { kind, scope, transport: None, reason: body.reason.map(|reason| reason.0) };
    let (made, waiting) = app.intervene_for(&project, &caller.actor, wanted).await?;
    // it may be another's
    let sees_names = caller.holder.may(Capability::ReadAudit) || made.created_by == caller.actor.to_string();
    Ok((StatusCode::CREATED, Json(InterventionView::new(made, waiting, sees_names))))
}

/// The end of an intervention.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Ended {
    success: bool,
}

/// End an intervention
///
/// Mail that it paused is tried again within seconds. What the operator began, only the operator can end.
#[utoipa::path(delete, path = "/delivery/interventions/{id}", tag = "Emails", operation_id = "endIntervention", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = Ended),
        (status = 403, description = "The operator began it", body = ErrorEnvelope),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn end(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ManageDomains>,
    PathText(id): PathText,
) -> Result<Json<Ended>> {
    let id = params::id(&id, Resource::Intervention)?;
    app.end_intervention(Some(&project), &caller.actor, id).await?;
    Ok(Json(Ended { success: true }))
}
