//! Signing in with a password.

use mailwright_core::address::EmailAddress;
use mailwright_store::account::user::{self};
use mailwright_store::body;

use super::sessions::SignedIn;
use crate::App;
use crate::account::client_key::ClientKey;
use crate::error::{Error, Result};

impl App {
    /// Signs an account in. What was wrong, the address or the password, neither the answer tells nor its time.
    pub async fn log_in(
        &self,
        email: &EmailAddress,
        password: String,
        code: Option<String>,
        client: ClientKey,
    ) -> Result<SignedIn> {
        let wanted = email.clone();
        let found =
            self.read(body!(async |rx| user::credentials(rx, &wanted, client.as_bytes()).await)).await?;
        let known_client = found.as_ref().is_some_and(|found| found.known_client);
        let attempt = self.attempt(email.as_str(), client, known_client).await?;
        let hash =
            found.as_ref().and_then(|found| found.user.has_password.then(|| found.password_hash.clone())?);
        let right = self.0.account.passwords.matches(password, hash.clone()).await?;
        let Some(found) = found.filter(|_| right) else { return Err(Error::InvalidCredentials) };
        let opened = self.open_session(found.user, hash, code, Some(client), false).await;
        match &opened {
            Ok(_) => self.forgive(attempt).await?,
            // nothing was guessed wrong, but wrong codes that were counted before still count
            Err(Error::CodeRequired) => self.take_back(attempt).await?,
            Err(_) => {}
        }
        opened
    }

    /// Checks the password of an account as signing in does, without signing in.
    pub(crate) async fn check_credentials(
        &self,
        email: &EmailAddress,
        password: String,
        client: ClientKey,
    ) -> Result<()> {
        let wanted = email.clone();
        let read = self.read(body!(async |rx| user::credentials(rx, &wanted, client.as_bytes()).await));
        let found = read.await?;
        let known = found.as_ref().is_some_and(|found| found.known_client);
        let attempt = self.attempt(email.as_str(), client, known).await?;
        let hash = found.and_then(|found| found.password_hash);
        if !self.0.account.passwords.matches(password, hash).await? {
            return Err(Error::InvalidCredentials);
        }
        self.forgive(attempt).await
    }
}
