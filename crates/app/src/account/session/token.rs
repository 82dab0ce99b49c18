//! The token of a session: a JSON Web Token that names the session's row and is signed with a key of the instance.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use mailwright_core::ids::{SessionId, UserId};
use mailwright_core::time::Timestamp;
use serde_json::{Value, json};

use crate::App;
use crate::error::Result;

/// How long a session lasts.
pub const LASTS: Duration = Duration::from_hours(7 * 24);
/// Purpose for which the signing key is derived.
const PURPOSE: &str = "session";
/// The only header that is made and accepted.
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// The token of a session, for the browser's cookie. Never printed.
#[derive(Clone)]
pub struct SessionToken(String);

impl std::fmt::Debug for SessionToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl SessionToken {
    /// The text for the cookie.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl App {
    pub(super) fn session_token(&self, id: SessionId, user: UserId, now: Timestamp) -> Result<SessionToken> {
        let claims = json!({
            "sub": user, "sid": id, "iat": now.0 / 1000, "exp": now.plus(LASTS).0 / 1000,
        });
        let signed = format!("{}.{}", BASE64.encode(HEADER), BASE64.encode(claims.to_string()));
        let signature = self.0.secret.sign(PURPOSE, signed.as_bytes())?;
        Ok(SessionToken(format!("{signed}.{}", BASE64.encode(signature))))
    }

    /// The session that a token names, if it was made here and has not expired.
    /// [`Keyring::session`](crate::project::key::Keyring::session) says whether the session still exists.
    pub fn session_from_token(&self, token: &str) -> Option<SessionId> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let signature = BASE64.decode(signature).ok()?;
        if BASE64.decode(header).ok()? != HEADER.as_bytes()
            || !self.0.secret.is_signature(PURPOSE, signed.as_bytes(), &signature)
        {
            return None;
        }
        let claims: Value = serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()?;
        let live = claims["exp"].as_i64()? > self.0.clock.now().0 / 1000;
        if live { claims["sid"].as_str()?.parse().ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_printed() {
        assert_eq!(format!("{:?}", SessionToken("abc".into())), "***");
    }
}
