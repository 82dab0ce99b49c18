//! Checking and replacing the password of an account.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{SessionId, UserId};
use mailwright_store::account::attempts::{self};
use mailwright_store::account::one_time_link::{self, Purpose};
use mailwright_store::account::session;
use mailwright_store::account::user::{self, User};
use mailwright_store::body;

use crate::App;
use crate::account::client_key::ClientKey;
use crate::error::{Error, Resource, Result};

impl App {
    /// Replaces a user's password and ends every other session of the user. The clients it was used from are forgotten,
    /// except `client`: a client that keeps guessing must not keep the owner out.
    pub async fn change_password(
        &self,
        user: &User,
        current: String,
        new: String,
        session: SessionId,
        client: ClientKey,
    ) -> Result<()> {
        let hash = self.check_password(user, current, client).await?;
        if !self.replace_password(user.id, hash, new, Some((session, client))).await? {
            return Err(Error::InvalidCredentials);
        }
        Ok(())
    }

    /// Checks the password of a user who is signed in; its hash.
    pub(crate) async fn check_password(
        &self,
        user: &User,
        password: String,
        client: ClientKey,
    ) -> Result<Option<String>> {
        // whoever holds a stolen session must not find the password out with it
        let attempt = self.attempt(&format!("password of {}", user.id), client, false).await?;
        let email = user.email.clone();
        let found = self.read(body!(async |rx| user::credentials(rx, &email, b"").await)).await?;
        let hash = found.and_then(|found| found.password_hash);
        if !self.0.account.passwords.matches(password, hash.clone()).await? {
            return Err(Error::InvalidCredentials);
        }
        self.forgive(attempt).await?;
        Ok(hash)
    }

    /// Replaces the password of an account, and ends all of its sessions.
    pub async fn set_password(&self, email: &EmailAddress, new: String) -> Result<()> {
        let wanted = email.clone();
        let found = self
            .read(body!(async |rx| user::credentials(rx, &wanted, b"").await))
            .await?
            .ok_or_else(|| Error::not_found(Resource::User, email))?;
        if self.replace_password(found.user.id, found.password_hash, new, None).await? {
            Ok(())
        } else {
            Err(Error::Conflict("The password was changed at the same moment. Try again.".into()))
        }
    }

    async fn replace_password(
        &self,
        user: UserId,
        was: Option<String>,
        new: String,
        keep: Option<(SessionId, ClientKey)>,
    ) -> Result<bool> {
        let hash = self.0.account.passwords.hash(new).await?;
        let now = self.0.clock.now();
        let changed = self
            .write(body!(async |tx| {
                if !user::set_password(tx, user, was.as_deref(), &hash, now).await? {
                    return Ok(false);
                }
                session::end_all(tx, user, keep.map(|(session, _)| session)).await?;
                one_time_link::void(tx, user, Purpose::Reset, now).await?;
                attempts::forget_clients(tx, user).await?;
                if let Some((_, client)) = keep {
                    attempts::remember_client(tx, user, client.as_bytes(), now).await?;
                }
                Ok(true)
            }))
            .await?;
        if changed {
            tracing::info!(user = %user, "a password was changed");
        }
        Ok(changed)
    }
}
