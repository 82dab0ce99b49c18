//! The `Idempotency-Key` header.

use axum::http::HeaderMap;
use mailwright_app::App;
use mailwright_app::project::key::Identity;
use mailwright_app::sending::idempotency::IdempotencyKey;

use crate::error::ApiError;

/// Reads the `Idempotency-Key` of a request and refuses one that is taken, before the body is looked at.
pub(crate) async fn idempotency_key(
    app: &App,
    caller: &Identity,
    headers: &HeaderMap,
    path: &'static str,
) -> Result<Option<IdempotencyKey>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = IdempotencyKey::parse(value.as_bytes(), path)?;
    app.check_key(caller, &key).await?;
    Ok(Some(key))
}
