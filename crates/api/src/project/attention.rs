//! `/projects/:id/attention`: what of a project needs a person.

use axum::extract::State;
use mailwright_app::App;
use mailwright_app::project::attention::Attention;
use mailwright_core::attention::{AttentionKind, Severity, TargetKind};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::PathAccess;
use crate::auth::needs::ReadProject;
use crate::envelope::Time;
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;

/// What of a project needs a person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttentionList {
    /// At most 20, in the order of their kinds.
    items: Vec<AttentionItem>,
    /// Whether there is more.
    has_more: bool,
}

/// Something that needs a person.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttentionItem {
    kind: AttentionKind,
    severity: Severity,
    /// Since when; null where that is not known.
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Time,
    /// It in a few words.
    title: String,
    /// More of it, and what to do.
    detail: String,
    target: AttentionTarget,
    /// The name of the domain or the campaign that it is about; null for anything else.
    name: Option<String>,
    /// How many mails it is about; null where it is about none. Of those that wait at most 100 of a kind of mail are
    /// counted, of those held and in doubt 1000: there may be more.
    count: Option<i64>,
}

/// What something is about.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttentionTarget {
    kind: TargetKind,
    /// Its id; null where there is only one.
    id: Option<String>,
}

impl From<Attention> for AttentionItem {
    fn from(found: Attention) -> Self {
        let (kind, id) = found.target;
        Self {
            kind: found.kind,
            severity: found.severity,
            since: found.since,
            title: found.title,
            detail: found.detail,
            target: AttentionTarget { kind, id },
            name: found.name,
            count: found.count,
        }
    }
}

/// List what needs a person
///
/// What keeps the project's mail from leaving, what failed in the last seven days, and which limits are near: each kind a
/// few times at most. It is found in what the service knows already, so a page may ask whenever it is opened.
#[utoipa::path(get, path = "/projects/{id}/attention", tag = "Projects", operation_id = "getAttention", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = AttentionList), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    PathAccess(project, caller, _): PathAccess<ReadProject>,
) -> Result<Json<AttentionList>> {
    let (items, has_more) = app.attention(&project, &caller.actor).await?;
    Ok(Json(AttentionList { items: items.into_iter().map(AttentionItem::from).collect(), has_more }))
}
