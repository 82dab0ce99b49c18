//! `/templates/:id/usage` and `/templates/:id/stats`: what refers to a template, and what became of its mails.

use axum::extract::State;
use mailwright_app::{App, Resource};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadCampaigns;
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;
use crate::params::{self, PathText};

/// A campaign that refers to a template.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CampaignReference {
    id: String,
    name: String,
}

/// A workflow step that sends a template.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepReference {
    id: String,
    name: String,
    workflow_id: String,
    workflow_name: String,
}

/// The campaigns and steps that refer to a template.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TemplateUsage {
    campaigns: Vec<CampaignReference>,
    workflow_steps: Vec<StepReference>,
    /// Mails made from it.
    emails_sent: i64,
}

/// Show what refers to a template
#[utoipa::path(get, path = "/templates/{id}/usage", tag = "Templates", operation_id = "getTemplateUsage", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = TemplateUsage), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn usage(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
) -> Result<Json<TemplateUsage>> {
    let id = params::id(&id, Resource::Template)?;
    let emails_sent = app.template_emails(&project, id).await?;
    let steps = app.steps_with_template(&project, id).await?;
    let workflow_steps = steps.into_iter().map(|step| StepReference {
        id: step.id.to_string(),
        name: step.name,
        workflow_id: step.workflow.id.to_string(),
        workflow_name: step.workflow.name,
    });
    Ok(Json(TemplateUsage { campaigns: Vec::new(), workflow_steps: workflow_steps.collect(), emails_sent }))
}

/// What became of the mails of a template
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TemplateStats {
    /// Mails made from it.
    emails: i64,
    /// Mails that the recipients' hosts took, as far as they told.
    delivered: i64,
    /// Mails that people opened.
    opened: i64,
    /// Mails in which people followed a link.
    clicked: i64,
    /// Mails that were refused for good.
    bounced: i64,
    /// Mails that recipients called spam.
    complained: i64,
    /// Mails by whose links recipients opted out.
    unsubscribed: i64,
}

/// Show what became of the mails of a template
///
/// Each mail counts once under a name, and machines are not counted.
#[utoipa::path(get, path = "/templates/{id}/stats", tag = "Templates", operation_id = "getTemplateStats", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = TemplateStats), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn stats(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
) -> Result<Json<TemplateStats>> {
    let (emails, figures) = app.template_figures(&project, params::id(&id, Resource::Template)?).await?;
    Ok(Json(TemplateStats {
        emails,
        delivered: figures.delivered,
        opened: figures.opened,
        clicked: figures.clicked,
        bounced: figures.bounced,
        complained: figures.complained,
        unsubscribed: figures.unsubscribed,
    }))
}
