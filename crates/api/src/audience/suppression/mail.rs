//! `/suppressions/emails`: the mails that were held back.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::sending::suppressed::Suppressed;
use mailwright_app::{App, Resource};
use mailwright_core::email::EmailStatus;
use mailwright_core::ids::{ContactId, EmailId};
use mailwright_core::suppression::Match;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{self, Params, PathText, RowLimit};

/// A mail that was held back.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuppressedEmailView {
    id: EmailId,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(required = true)]
    contact_id: Option<ContactId>,
    /// Address of the recipient.
    recipient_address: String,
    /// The subject, with variables.
    subject: String,
    /// The subject as the recipient would have seen it; null once the content is gone.
    rendered_subject: Option<String>,
    /// What held it back.
    #[schema(value_type = Option<Match>)]
    suppression: Option<Value>,
    status: EmailStatus,
}

impl From<Suppressed> for SuppressedEmailView {
    fn from(mail: Suppressed) -> Self {
        Self {
            id: mail.email.id,
            created_at: mail.email.created_at,
            contact_id: mail.email.contact,
            recipient_address: mail.email.recipient.unwrap_or_default(),
            subject: mail.email.subject,
            rendered_subject: mail.subject,
            suppression: mail.email.suppression,
            status: mail.email.status,
        }
    }
}

/// A page of mails that were held back.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuppressedEmails {
    emails: Vec<SuppressedEmailView>,
    /// The `cursor` of the next page; null on the last one.
    #[schema(required = true)]
    next_cursor: Option<String>,
}

/// List suppressed mails
///
/// Newest first.
#[utoipa::path(get, path = "/suppressions/emails", tag = "Suppressions", operation_id = "listSuppressedEmails", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `nextCursor` of the previous page"),
    ),
    responses((status = 200, body = SuppressedEmails), (status = 400, description = "Invalid cursor", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
) -> Result<Json<SuppressedEmails>> {
    let limit = params.bounded::<RowLimit>() as usize;
    let page = app.suppressed_emails(&project, params.cursor()?, limit).await?;
    Ok(Json(SuppressedEmails {
        emails: page.emails.into_iter().map(Into::into).collect(),
        next_cursor: page.next.map(|last| last.to_string()),
    }))
}

/// A mail that was held back, with what it says.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuppressedEmail {
    #[serde(flatten)]
    email: SuppressedEmailView,
    from: String,
    /// The HTML as the recipient would have seen it, without footer and tracking; null once the content is gone.
    rendered_body: Option<String>,
}

/// Get a suppressed mail
#[utoipa::path(get, path = "/suppressions/emails/{id}", tag = "Suppressions", operation_id = "getSuppressedEmail", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = SuppressedEmail), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathText(id): PathText,
) -> Result<Json<SuppressedEmail>> {
    let mut mail = app.suppressed_email(&project, params::id(&id, Resource::Email)?).await?;
    let (from, rendered_body) = (mail.email.from.clone(), mail.body.take());
    Ok(Json(SuppressedEmail { email: mail.into(), from, rendered_body }))
}
