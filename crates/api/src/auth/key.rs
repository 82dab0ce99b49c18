//! API keys.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use mailwright_app::project::key::Identity;
use mailwright_app::{App, KeyKind};
use mailwright_core::role::Capability;

use super::client::{note_asker, visit};
use super::permit::{admit, permit};
use crate::error::ApiError;
use crate::visit::Learnt;

/// The scheme of credentials that are a token alone (RFC 6750).
const BEARER: &str = "Bearer";

/// The owner of a key when the key was last looked up. The key may have been revoked since, or the project may have
/// been reset: a handler that answers without a transaction in which the key is looked up again calls
/// [`confirm`](Self::confirm).
pub(crate) struct Remembered {
    pub(crate) caller: Identity,
    /// `None` for a session, which was looked up for this request.
    pub(super) token: Option<String>,
}

impl std::fmt::Debug for Remembered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remembered").field("project", &self.caller.project.number).finish_non_exhaustive()
    }
}

impl Remembered {
    /// The owner of a token, from memory unless the project was disabled when it was last looked up.
    pub(super) async fn recall(app: &App, token: &str) -> Result<Option<Identity>, ApiError> {
        let found = app.keyring().recall(token).await?;
        if found.as_ref().is_some_and(|caller| caller.project.disabled) {
            return Ok(app.keyring().find(token).await?);
        }
        Ok(found)
    }

    pub(super) fn new(caller: Identity, token: &str) -> Self {
        Self { caller, token: Some(token.to_owned()) }
    }

    /// A secret key with a capability.
    pub(super) async fn secret_key(
        app: &App,
        parts: &Parts,
        capability: Capability,
    ) -> Result<Self, ApiError> {
        let token = bearer(&parts.headers).ok_or_else(ApiError::missing_auth)?;
        let caller = secret(guarded(app, parts, token, Self::recall(app, token)).await?)?;
        permit(&caller.holder, capability)?;
        admit(app, parts, &caller).await?;
        Ok(Self::new(caller, token))
    }

    /// Looks the key up again. An error if it does not open its project for writing any more. A caller when the project
    /// was reset since the key was remembered: nothing can have been done for the caller of then, so what the request
    /// asks for is to be done for this one.
    pub(crate) async fn confirm(&self, app: &App) -> Result<Option<Identity>, ApiError> {
        let Some(token) = &self.token else { return Ok(None) };
        match app.keyring().find(token).await? {
            None => Err(ApiError::invalid_key("The API key is not valid.")),
            Some(caller) if caller.project.disabled => Err(ApiError::project_disabled()),
            Some(caller) => Ok((caller.project.number != self.caller.project.number).then_some(caller)),
        }
    }
}

/// Refuses keys where a person is wanted.
pub(super) fn keys_do_not_open(parts: &Parts) -> Result<(), ApiError> {
    if parts.headers.contains_key(AUTHORIZATION) {
        return Err(ApiError::invalid_key(
            "This endpoint does not accept API keys: it is for a signed-in user.",
        ));
    }
    Ok(())
}

/// Looks a key up, unless its client has tried too many that are not valid: each costs a look-up. A key that is known
/// goes through all the same, since one address may have many people behind it.
pub(super) async fn guarded(
    app: &App,
    parts: &Parts,
    token: &str,
    look_up: impl Future<Output = Result<Option<Identity>, ApiError>>,
) -> Result<Option<Identity>, ApiError> {
    let client = visit(parts)?.client;
    if let Some(left) = app.limiter().invalid_keys(client)
        && !left.allowed
        && !app.keyring().knows(token)
    {
        if let Some(learnt) = parts.extensions.get::<Learnt>() {
            learnt.note(left);
        }
        return Err(ApiError::too_many_invalid_keys(left.reset, left.limit));
    }
    let found = look_up.await?;
    match &found {
        Some(caller) => note_asker(parts, caller),
        None => app.limiter().note_invalid_key(client),
    }
    Ok(found)
}

/// Accepts a secret key only.
pub(super) fn secret(found: Option<Identity>) -> Result<Identity, ApiError> {
    match found {
        Some(caller) if caller.kind == KeyKind::Secret => Ok(caller),
        Some(_) => Err(ApiError::invalid_key("This endpoint requires a secret key, not a public key.")),
        None => Err(ApiError::invalid_key("The API key is not valid. This endpoint requires a secret key.")),
    }
}

/// The token of exactly `Bearer <token>`, which is how the contract has keys of projects written.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = credentials(headers)?;
    (scheme == BEARER).then_some(token)
}

/// The same for what is no part of the contract: the case of the scheme does not matter (RFC 9110 section 11.1).
pub(crate) fn bearer_in_any_case(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = credentials(headers)?;
    scheme.eq_ignore_ascii_case(BEARER).then_some(token)
}

/// The scheme and the token.
fn credentials(headers: &HeaderMap) -> Option<(&str, &str)> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    (!token.is_empty() && !token.contains(char::is_whitespace)).then_some((scheme, token))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_case_of_the_scheme_matters_for_keys_of_projects_alone() {
        for (written, exact, any) in [
            ("Bearer abc", Some("abc"), Some("abc")),
            ("bearer abc", None, Some("abc")),
            ("BEARER abc", None, Some("abc")),
            ("Bearer abc def", None, None),
            ("Bearer  abc", None, None),
            ("Bearer ", None, None),
            ("Bearer", None, None),
            ("Basic abc", None, None),
        ] {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(written))]);
            assert_eq!((bearer(&headers), bearer_in_any_case(&headers)), (exact, any), "{written}");
        }
    }
}
