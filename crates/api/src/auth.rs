//! Whose request it is: extractors that carry identity. A handler names the one it needs in its signature.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::header::{AUTHORIZATION, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use mailwright_app::idempotency::IdempotencyKey;
use mailwright_app::key::Identity;
use mailwright_app::{App, KeyKind};
use mailwright_core::project::Project;

use crate::error::ApiError;
use crate::frame::RequestLimit;

/// A project endpoint: the request carries a secret key, is within the limit, and may write if it wants to.
pub(crate) struct SecretKey(pub(crate) Project);

/// `/v1/send`: like [`SecretKey`], for a use case whose transaction looks the key up again.
pub(crate) struct SendKey(pub(crate) Remembered);

/// `/v1/track`: a public key, or a secret key from a server; looked up again like that of `/v1/send`.
pub(crate) struct TrackKey(pub(crate) Remembered);

/// Whom a key belonged to when it was last looked up. It may have been revoked since: before a handler answers
/// without a transaction that looked again, it calls [`confirm`](Self::confirm).
pub(crate) struct Remembered {
    pub(crate) caller: Identity,
    token: String,
}

impl std::fmt::Debug for Remembered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remembered").field("project", &self.caller.project.number).finish_non_exhaustive()
    }
}

impl Remembered {
    /// Whom a token belongs to, from memory unless the project was disabled when it was last looked up.
    async fn recall(app: &App, token: &str) -> Result<Option<Identity>, ApiError> {
        let found = app.keyring().recall(token).await?;
        if found.as_ref().is_some_and(|caller| caller.project.disabled) {
            return Ok(app.keyring().find(token).await?);
        }
        Ok(found)
    }

    fn new(caller: Identity, token: &str) -> Self {
        Self { caller, token: token.to_owned() }
    }

    /// Looks the key up again. An error if it does not open its project for writing any more.
    pub(crate) async fn confirm(&self, app: &App) -> Result<(), ApiError> {
        match app.keyring().find(&self.token).await? {
            None => Err(ApiError::invalid_key("The API key is not valid.")),
            Some(caller) if caller.project.disabled => Err(ApiError::project_disabled()),
            Some(_) => Ok(()),
        }
    }
}

impl<S> FromRequestParts<S> for SecretKey
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let token = bearer(&parts.headers).ok_or_else(ApiError::missing_auth)?;
        let caller = secret(app.keyring().find(token).await?)?;
        admit(&app, parts, &caller).await?;
        Ok(Self(caller.project))
    }
}

impl<S> FromRequestParts<S> for SendKey
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let token = bearer(&parts.headers).ok_or_else(ApiError::missing_auth)?;
        let caller = secret(Remembered::recall(&app, token).await?)?;
        admit(&app, parts, &caller).await?;
        Ok(Self(Remembered::new(caller, token)))
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
        let token = bearer(&parts.headers).ok_or_else(ApiError::missing_auth)?;
        let Some(caller) = Remembered::recall(&app, token).await? else {
            return Err(ApiError::invalid_key(
                "The API key is not valid. This endpoint requires a public key.",
            ));
        };
        // from a server a secret key does no harm; in a browser everybody could read it
        if caller.kind == KeyKind::Secret && parts.headers.contains_key(ORIGIN) {
            return Err(ApiError::invalid_key(
                "A secret key must not be used in a browser, where everybody can read it. Use the public key, and replace the secret key if it was published.",
            ));
        }
        admit(&app, parts, &caller).await?;
        Ok(Self(Remembered::new(caller, token)))
    }
}

/// Accepts a secret key only.
fn secret(found: Option<Identity>) -> Result<Identity, ApiError> {
    match found {
        Some(caller) if caller.kind == KeyKind::Secret => Ok(caller),
        Some(_) => Err(ApiError::invalid_key("This endpoint requires a secret key, not a public key.")),
        None => Err(ApiError::invalid_key("The API key is not valid. This endpoint requires a secret key.")),
    }
}

/// The token of exactly `Bearer <token>`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
    (!token.is_empty() && !token.contains(char::is_whitespace)).then_some(token)
}

/// Refuses writes to a disabled project, and counts the request.
async fn admit(app: &App, parts: &Parts, caller: &Identity) -> Result<(), ApiError> {
    let project = &caller.project;
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
    Ok(())
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

#[cfg(test)]
mod tests {
    use mailwright_core::ids::{ProjectId, ProjectNumber};
    use mailwright_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_remembered_key_is_not_printed() {
        let project = Project {
            number: ProjectNumber(1),
            id: ProjectId::new(Timestamp(0)),
            name: String::new(),
            language: "en".into(),
            disabled: false,
        };
        let caller = Identity { kind: KeyKind::Secret, project, hash: [77; 32] };
        let shown = format!("{:?}", Remembered::new(caller, "sk_hidden"));
        assert!(!shown.contains("hidden") && !shown.contains("77"), "{shown}");
    }
}
