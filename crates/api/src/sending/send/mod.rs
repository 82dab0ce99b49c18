//! `POST /v1/send`.

mod attachment;
mod body;
pub(crate) mod check;

use crate::json::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use mailwright_app::App;
use mailwright_app::project::key::Identity;
use mailwright_core::ids::{ContactId, EmailId};
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

pub(crate) use self::body::MAX_RECIPIENTS;
use self::body::{SendRequest, checked};
use crate::auth::SendKey;
use crate::envelope::Success;
use crate::error::{ErrorEnvelope, Failure};
use crate::schema::KeptBody;
use crate::sending::idempotency::idempotency_key;

/// A mail was accepted for each recipient.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SendResult {
    /// One element per recipient, in the order of `to`.
    emails: Vec<AcceptedEmail>,
    /// When processing began.
    #[schema(value_type = String, format = DateTime)]
    timestamp: Timestamp,
}

/// A mail that was accepted for delivery.
#[derive(Debug, Serialize, ToSchema)]
struct AcceptedEmail {
    contact: ContactRef,
    /// Identifier of the mail.
    email: EmailId,
}

/// The recipient's contact.
#[derive(Debug, Serialize, ToSchema)]
struct ContactRef {
    id: ContactId,
    /// Address in its normal form.
    email: String,
}

/// Send a transactional mail
///
/// Upserts each recipient as a contact and queues a mail of its own for each. Either all recipients are accepted or
/// none. An answer of 200 means that the mails are stored and will be handed over.
#[utoipa::path(post, path = "/v1/send", tag = "Public API", security(("secretKey" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters. Of all requests of a project with the same key, one is performed.")),
    request_body = SendRequest,
    responses(
        (status = 200, description = "Accepted", body = Success<SendResult>),
        (status = 400, description = "Malformed JSON, or a marketing template to a recipient who is not subscribed", body = ErrorEnvelope),
        (status = 401, description = "Missing or invalid key", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 404, description = "The template does not exist", body = ErrorEnvelope),
        (status = 409, description = "The idempotency key was used before", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope),
        (status = 429, description = "Too many requests", body = ErrorEnvelope),
    ))]
pub(crate) async fn send(
    State(app): State<App>,
    SendKey(key): SendKey,
    headers: HeaderMap,
    request: axum::extract::Request,
) -> Result<Json<Success<SendResult>>, Failure> {
    let mut body = KeptBody::of(request);
    let mut sent = accept(&app, &key.caller, &headers, &mut body).await;
    // without a recipient there was no transaction that would have looked
    if sent.as_ref().map_or(true, |sent| sent.emails.is_empty())
        && let Some(caller) = key.confirm(&app).await?
    {
        sent = accept(&app, &caller, &headers, &mut body).await;
    }
    Ok(Json(Success::new(sent?)))
}

async fn accept(
    app: &App,
    caller: &Identity,
    headers: &HeaderMap,
    body: &mut KeptBody,
) -> Result<SendResult, Failure> {
    let key = idempotency_key(app, caller, headers, "/v1/send").await?;
    let body: SendRequest = body.parse().await?;
    let send = checked(body, app)?;
    let (accepted, timestamp) = app.send(caller, send, key).await?;
    let emails = accepted.into_iter().map(|a| AcceptedEmail {
        contact: ContactRef { id: a.contact, email: a.address.to_string() },
        email: a.email,
    });
    Ok(SendResult { emails: emails.collect(), timestamp })
}
