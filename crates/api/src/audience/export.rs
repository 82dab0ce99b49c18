//! `/contacts/:id/export`.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use mailwright_app::{App, Resource};

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{self, PathText};

/// Export a person
///
/// Everything that the project has about a contact, as one JSON object: the contact, the evidence of consent, topics,
/// segments, events, mails with what they say and what became of them, mails that the contact wrote, executions of
/// workflows and their logs, suppressions. The document is written while it is read. Its last member is `complete`: a
/// document without it broke off.
#[utoipa::path(get, path = "/contacts/{id}/export", tag = "Erasure", operation_id = "exportContact", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, description = "The document", content_type = "application/json", body = Object),
        (status = 404, body = ErrorEnvelope),
        (status = 429, description = "Two exports of the project are under way", body = ErrorEnvelope)))]
pub(crate) async fn export(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathText(id): PathText,
) -> Result<Response> {
    let pieces = app.export_contact(&project, params::id(&id, Resource::Contact)?).await?;
    let headers =
        [(CONTENT_TYPE, "application/json"), (CONTENT_DISPOSITION, "attachment; filename=\"contact.json\"")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}
