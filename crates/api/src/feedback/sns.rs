//! `/webhooks/sns`: what Amazon SNS posts.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use mailwright_app::App;
use mailwright_app::feedback::SnsAnswer;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{ApiError, Result};
use crate::json::Json;
use crate::schema;

/// Most bytes of a message: SNS sends 256 KB at most, which the escapes of JSON make longer.
const MAX_MESSAGE: usize = 1024 * 1024;

/// What became of a message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SnsResult {
    /// Whether it is recorded.
    success: bool,
    /// Whether it was recorded before.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
    /// Why it is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Take a notification of Amazon SNS
///
/// For Amazon SNS alone, which posts here what became of mails that Amazon SES delivers. Messages of topics that the
/// instance does not list are refused, and so are those that SNS did not sign. A subscription to a listed topic is
/// confirmed.
#[utoipa::path(post, path = "/webhooks/sns", tag = "Service", operation_id = "takeSnsMessage",
    request_body(content = String, content_type = "text/plain", description = "A message of SNS"),
    responses(
        (status = 200, description = "Recorded, recorded before, or of no interest", body = SnsResult),
        (status = 400, description = "It is no message of SNS", body = SnsResult),
        (status = 403, description = "The topic is not listed, or SNS did not sign it", body = SnsResult),
        (status = 404, description = "The mail is not ours, or this instance takes no notifications", body = SnsResult),
        (status = 502, description = "The subscription could not be confirmed", body = SnsResult),
        (status = 503, description = "It cannot be recorded now, and should be sent again", body = SnsResult)))]
pub(crate) async fn notify(
    State(app): State<App>,
    request: Request,
) -> Result<(StatusCode, Json<SnsResult>)> {
    let message = schema::read(request, MAX_MESSAGE).await?;
    let (status, result) = match app.take_sns(&message).await? {
        SnsAnswer::NotTaken => return Err(ApiError::no_such_route("/webhooks/sns")),
        SnsAnswer::Recorded => (StatusCode::OK, SnsResult { success: true, duplicate: None, message: None }),
        SnsAnswer::Duplicate => {
            (StatusCode::OK, SnsResult { success: true, duplicate: Some(true), message: None })
        }
        SnsAnswer::Ignored(why) => (StatusCode::OK, SnsResult::refused(why)),
        SnsAnswer::Invalid(why) => (StatusCode::BAD_REQUEST, SnsResult::refused(why)),
        SnsAnswer::Forbidden(why) => (StatusCode::FORBIDDEN, SnsResult::refused(why)),
        SnsAnswer::Unknown => (StatusCode::NOT_FOUND, SnsResult::refused("The mail is not one of ours.")),
        SnsAnswer::Later(why) => (StatusCode::SERVICE_UNAVAILABLE, SnsResult::refused(why)),
        SnsAnswer::Unconfirmed => {
            (StatusCode::BAD_GATEWAY, SnsResult::refused("The subscription could not be confirmed."))
        }
    };
    Ok((status, Json(result)))
}

impl SnsResult {
    fn refused(why: impl Into<String>) -> Self {
        Self { success: false, duplicate: None, message: Some(why.into()) }
    }
}
