//! Whose request it is: extractors that carry identity. A handler names the one it needs in its signature.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::header::{AUTHORIZATION, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use mailwright_app::idempotency::IdempotencyKey;
use mailwright_app::{App, KeyKind};
use mailwright_core::project::Project;

use crate::error::ApiError;
use crate::frame::RequestLimit;

/// A project endpoint: the request carries a secret key, is within the limit, and may write if it wants to.
pub(crate) struct SecretKey(pub(crate) Project);

/// `/v1/track`: a public key, or a secret key from a server.
pub(crate) struct TrackKey(pub(crate) Project);

impl<S> FromRequestParts<S> for SecretKey
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        match find(&app, &parts.headers).await? {
            Some((KeyKind::Secret, project)) => admit(&app, parts, project).await.map(Self),
            Some((KeyKind::Public, _)) => {
                Err(ApiError::invalid_key("This endpoint requires a secret key, not a public key."))
            }
            None => {
                Err(ApiError::invalid_key("The API key is not valid. This endpoint requires a secret key."))
            }
        }
    }
}

impl<S> FromRequestParts<S> for TrackKey
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        match find(&app, &parts.headers).await? {
            Some((KeyKind::Public, project)) => admit(&app, parts, project).await.map(Self),
            // from a server a secret key does no harm; in a browser everybody could read it
            Some((KeyKind::Secret, project)) if !parts.headers.contains_key(ORIGIN) => {
                admit(&app, parts, project).await.map(Self)
            }
            Some((KeyKind::Secret, _)) => Err(ApiError::invalid_key(
                "A secret key must not be used in a browser, where everybody can read it. Use the public key, and replace the secret key if it was published.",
            )),
            None => {
                Err(ApiError::invalid_key("The API key is not valid. This endpoint requires a public key."))
            }
        }
    }
}

async fn find(app: &App, headers: &HeaderMap) -> Result<Option<(KeyKind, Project)>, ApiError> {
    let token = bearer(headers).ok_or_else(ApiError::missing_auth)?;
    Ok(app.keyring().find(token).await?)
}

/// The token of exactly `Bearer <token>`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
    (!token.is_empty() && !token.contains(char::is_whitespace)).then_some(token)
}

/// Refuses writes to a disabled project, and counts the request.
async fn admit(app: &App, parts: &Parts, project: Project) -> Result<Project, ApiError> {
    if project.disabled && parts.method != Method::GET && parts.method != Method::HEAD {
        return Err(ApiError::project_disabled());
    }
    if let Some(allowance) = app.limiter().take(project.number).await {
        if let Some(limit) = parts.extensions.get::<RequestLimit>() {
            limit.note(allowance);
        }
        if !allowance.allowed {
            return Err(ApiError::rate_limited(allowance.reset, allowance.limit));
        }
    }
    Ok(project)
}

/// Reads the `Idempotency-Key` of a request and refuses one that is taken, before the body is looked at.
pub(crate) async fn idempotency_key(
    app: &App,
    project: &Project,
    headers: &HeaderMap,
    path: &'static str,
) -> Result<Option<IdempotencyKey>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = IdempotencyKey::parse(value.as_bytes(), path)?;
    app.check_key(project, &key).await?;
    Ok(Some(key))
}
