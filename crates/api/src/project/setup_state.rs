//! `/projects/:id/setup-state`: how far the setting-up of a project has come.

use axum::extract::State;
use mailwright_app::App;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::PathAccess;
use crate::auth::needs::ReadProject;
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;

/// Which steps of setting up a project are done.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "clients know this shape: one answer to each question")]
pub(crate) struct SetupState {
    /// Whether the project can send from a domain.
    has_verified_domain: bool,
    contact_count: i64,
    /// Whether it sent or queued a mail.
    has_sent_email: bool,
    /// When sending of its latest campaign began.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_campaign_sent_at: crate::envelope::Time,
    /// Whether a workflow is enabled.
    has_enabled_workflow: bool,
    /// Whether the project has a paid subscription.
    has_subscription: bool,
}

/// Show how far setting up has come
#[utoipa::path(get, path = "/projects/{id}/setup-state", tag = "Projects", operation_id = "getSetupState", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = SetupState), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn show(
    State(app): State<App>,
    PathAccess(project, ..): PathAccess<ReadProject>,
) -> Result<Json<SetupState>> {
    let state = app.setup_state(&project).await?;
    Ok(Json(SetupState {
        has_verified_domain: state.has_verified_domain,
        contact_count: state.contacts,
        has_sent_email: state.has_sent,
        last_campaign_sent_at: state.last_campaign_sent_at,
        has_enabled_workflow: state.has_enabled_workflow,
        has_subscription: state.has_subscription,
    }))
}
