//! `/emails/{id}/hits`: the opens and clicks of a mail one by one, and who they were.

use axum::extract::State;
use mailwright_app::feedback::HitPage;
use mailwright_app::{App, Resource};
use mailwright_core::hit::{HitClass, HitReason};
use mailwright_core::ids::EventId;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::envelope::CursorPage;
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;
use crate::params::{self, Params, PathText, RowLimit};

/// An open or a click.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HitView {
    id: EventId,
    /// `open` or `click`.
    r#type: &'static str,
    /// Where the link led; null for an open, and for the link that no reader sees.
    url: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// Who it was; null until that is judged.
    class: Option<HitClass>,
    /// Why; null until it is judged.
    reason: Option<HitReason>,
    /// The same as a sentence.
    why: Option<String>,
    user_agent: String,
    /// The client's address.
    ip: Option<String>,
}

/// List the opens and clicks of a mail
///
/// Oldest first, one by one as they came in, with who they were and why. They are kept for 90 days after the mail was
/// accepted, unless the instance says otherwise.
#[utoipa::path(get, path = "/emails/{id}/hits", tag = "Emails", operation_id = "listHits", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page")),
    responses(
        (status = 200, body = CursorPage<HitView>),
        (status = 400, description = "Invalid cursor", body = ErrorEnvelope),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<CursorPage<HitView>>> {
    let limit = params.bounded::<RowLimit>() as usize;
    let page = app.hits(&project, params::id(&id, Resource::Email)?, params.cursor()?, limit).await?;
    let HitPage { hits, next, total } = page;
    let data = hits.into_iter().map(|hit| HitView {
        id: hit.id,
        r#type: if hit.is_click { "click" } else { "open" },
        url: hit.url,
        at: hit.at,
        class: hit.class,
        reason: hit.reason,
        why: hit.why,
        user_agent: hit.agent,
        ip: Some(hit.address).filter(|address| !address.is_empty()),
    });
    Ok(Json(CursorPage {
        data: data.collect(),
        has_more: next.is_some(),
        cursor: next.map(|last| last.to_string()),
        total,
    }))
}
