//! `/projects/:id/audit`: who did what.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_app::project::audit::Recorded;
use mailwright_core::audit::Actor;
use mailwright_core::ids::AuditId;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth::PathAccess;
use crate::auth::needs::ReadAudit;
use crate::envelope::CursorPage;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{Params, RowLimit};

/// An entry of the audit log.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditView {
    id: AuditId,
    actor: ActorView,
    /// The action, such as `key.created`.
    action: String,
    /// What the action was about: an id, an address or a name; null for the project itself.
    target: Option<String>,
    /// Details of the action.
    #[schema(value_type = Object)]
    details: Value,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

/// The person, key or service that did something.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ActorView {
    /// `user`, `key`, `operator` (a command on the machine of the instance) or `service` (the service by itself).
    r#type: &'static str,
    id: Option<String>,
    /// The user's address at the time, or the key's name.
    name: Option<String>,
}

impl ActorView {
    /// The actor for a reader who may not see the audit log: of which kind it is, not who.
    pub(crate) fn anonymous(self) -> Self {
        Self { id: None, name: None, ..self }
    }
}

impl From<Actor> for ActorView {
    fn from(actor: Actor) -> Self {
        match actor {
            Actor::User { id, email } => Self { r#type: "user", id: Some(id.to_string()), name: Some(email) },
            Actor::Key { id, name } => Self { r#type: "key", id: Some(id.to_string()), name },
            Actor::Operator => Self { r#type: "operator", id: None, name: None },
            Actor::Service => Self { r#type: "service", id: None, name: None },
        }
    }
}

impl From<Recorded> for AuditView {
    fn from(entry: Recorded) -> Self {
        Self {
            id: entry.id,
            actor: entry.actor.into(),
            action: entry.action,
            target: entry.target,
            details: entry.details,
            created_at: entry.created_at,
        }
    }
}

/// List the audit log
///
/// Newest first. `total` counts up to 10,000.
#[utoipa::path(get, path = "/projects/{id}/audit", tag = "Projects", operation_id = "listAudit", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
    ),
    responses((status = 200, body = CursorPage<AuditView>),
        (status = 400, description = "The cursor does not belong to this list", body = ErrorEnvelope), (status = 403, body = ErrorEnvelope), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    PathAccess(project, ..): PathAccess<ReadAudit>,
    params: Params,
) -> Result<Json<CursorPage<AuditView>>> {
    let page = app.audit(&project, params.cursor()?, params.bounded::<RowLimit>() as usize).await?;
    let cursor = page.entries.last().filter(|_| page.has_more).map(|last| last.id.to_string());
    Ok(Json(CursorPage {
        data: page.entries.into_iter().map(AuditView::from).collect(),
        cursor,
        has_more: page.has_more,
        total: page.total,
    }))
}
