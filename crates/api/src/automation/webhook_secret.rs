//! `/projects/:id/webhook-secret`.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_app::automation::webhook::Secret;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::needs::ManageKeys;
use crate::auth::{MemberAccess, ProofRequest, RecentProof};
use crate::error::{ErrorEnvelope, Result};

/// The secret that requests of WEBHOOK steps are signed with.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookSecret {
    /// `whsec_` and Base64, as Standard Webhooks have it.
    secret: String,
}

impl From<Secret> for WebhookSecret {
    fn from(secret: Secret) -> Self {
        Self { secret: secret.to_text() }
    }
}

/// Show the secret of webhooks
///
/// Requests of WEBHOOK steps are signed with it, as Standard Webhooks say.
#[utoipa::path(get, path = "/projects/{id}/webhook-secret", tag = "Projects", operation_id = "getWebhookSecret", security(("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = WebhookSecret), (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    MemberAccess(project, ..): MemberAccess<ManageKeys>,
) -> Result<Json<WebhookSecret>> {
    Ok(Json(app.webhook_secret(&project).await?.into()))
}

/// Replace the secret of webhooks
///
/// The old one is not used any more, not even for requests that are repeated. More than ten minutes after signing in, the
/// request needs your password.
#[utoipa::path(post, path = "/projects/{id}/webhook-secret", tag = "Projects", operation_id = "regenerateWebhookSecret", security(("session" = [])),
    params(("id" = String, Path)), request_body = ProofRequest,
    responses(
        (status = 200, body = WebhookSecret),
        (status = 401, description = "Not signed in, or the password or the code is wrong", body = ErrorEnvelope),
        (status = 403, description = "Not allowed, or the password is needed", body = ErrorEnvelope),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn regenerate(
    State(app): State<App>,
    MemberAccess(project, caller, _): MemberAccess<ManageKeys>,
    _: RecentProof,
) -> Result<Json<WebhookSecret>> {
    Ok(Json(app.regenerate_webhook_secret(&project, &caller.actor).await?.into()))
}
