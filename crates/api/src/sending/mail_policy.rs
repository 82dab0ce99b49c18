//! `/.well-known/mta-sts.txt`: the policy about mail for a sender domain (RFC 8461), under a name of that domain.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use mailwright_app::App;

use crate::error::ApiError;
use crate::host;

/// Where senders look for it.
pub(crate) const PATH: &str = "/.well-known/mta-sts.txt";

/// The MTA-STS policy of a sender domain
///
/// For mail servers that bring mail. The domain is told by the host of the request, `mta-sts.` and the domain.
#[utoipa::path(get, path = "/.well-known/mta-sts.txt", tag = "Service", operation_id = "mailPolicy",
    responses(
        (status = 200, description = "The policy", content_type = "text/plain", body = String),
        (status = 404, description = "The host is none of a domain with a policy")))]
pub(crate) async fn policy(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let host = host::of(&uri, &headers).map(host::name).unwrap_or_default();
    let Some(policy) = app.mail_policy(&host).await? else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], policy.to_owned()).into_response())
}
