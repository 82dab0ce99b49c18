//! Starting, listing and ending sessions.

use std::time::Duration;

use mailwright_core::ids::SessionId;
use mailwright_core::time::Timestamp;
use mailwright_store::account::attempts::{self};
use mailwright_store::account::session;
use mailwright_store::account::user::{self, User};
use mailwright_store::body;
use mailwright_store::project::member;

use super::token::{LASTS, SessionToken};
use crate::App;
use crate::account::client_key::ClientKey;
use crate::account::totp;
use crate::error::{Error, Resource, Result};

/// How long an account remembers the clients that it signed in from.
const CLIENT_KNOWN: Duration = Duration::from_hours(90 * 24);
/// How long after signing in a session is enough for what cannot be undone.
pub const FRESH: Duration = Duration::from_mins(10);

/// A user who has just signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// The account.
    pub user: User,
    /// For the cookie.
    pub token: SessionToken,
    /// Whether this is the first account of the instance.
    pub first: bool,
}

impl App {
    /// Starts a session for a user whose password was checked against `checked`. An account with a
    /// second factor is opened with a code alone.
    pub(crate) async fn open_session(
        &self,
        user: User,
        checked: Option<String>,
        code: Option<String>,
        client: Option<ClientKey>,
        first: bool,
    ) -> Result<SignedIn> {
        let now = self.0.clock.now();
        let (id, of, expires_at) = (SessionId::new(now, rand::random()), user.id, now.plus(LASTS));
        let verified = user.email_verified.then(|| user.email.clone());
        let secret = self.0.secret.clone();
        let started = self.write(body!(async |tx| {
            // the password and the second factor may be changing: what is decided here is decided on what they are then
            if user::lock(tx, of).await?.is_none() {
                return Ok(false);
            }
            totp::check(tx, &secret, of, code.as_deref(), now).await?;
            // the code is used up all the same
            if !session::start(tx, id, of, checked.as_deref(), now, expires_at).await? {
                return Ok(false);
            }
            if let Some(client) = client {
                attempts::remember_client(tx, of, client.as_bytes(), now).await?;
            }
            if let Some(email) = verified {
                crate::project::member::accept_all(tx, of, &email, now).await?;
            }
            Ok(true)
        }));
        if !started.await? {
            // the password was changed meanwhile
            return Err(Error::InvalidCredentials);
        }
        let token = self.session_token(id, user.id, now)?;
        Ok(SignedIn { user, token, first })
    }

    /// The sessions of a user, the newest first.
    pub async fn sessions(&self, user: &User) -> Result<Vec<session::Listed>> {
        let (id, now) = (user.id, self.0.clock.now());
        self.read(body!(async |rx| session::of_user(rx, id, now).await)).await
    }

    /// Ends one of a user's sessions, on every node at once.
    pub async fn end_session(&self, user: &User, id: SessionId) -> Result<()> {
        let of = user.id;
        let ended = self.0.db.write(body!(async |tx| session::end_of(tx, of, id).await));
        if !ended.await? {
            return Err(Error::not_found(Resource::Session, id));
        }
        tracing::info!(user = %of, "a session was ended by its owner");
        Ok(())
    }

    /// Ends a session.
    pub async fn log_out(&self, id: SessionId) -> Result<()> {
        self.0.db.write(body!(async |tx| session::end(tx, id).await)).await?;
        Ok(())
    }

    /// Whether a session began so lately that it is enough for what cannot be undone.
    pub fn is_fresh(&self, began: Timestamp) -> bool {
        self.0.clock.now().since(began) < FRESH
    }

    /// Removes what has ended by itself.
    pub(crate) async fn sweep_sessions(&self) -> Result<()> {
        let now = self.0.clock.now();
        let window = now.minus(self.remembered_for());
        let unseen = now.minus(CLIENT_KNOWN);
        let db = &self.0.db;
        while db.write_in_background(body!(async |tx| session::sweep(tx, now).await)).await? > 0 {}
        while db.write_in_background(body!(async |tx| attempts::sweep(tx, window, unseen).await)).await? > 0 {
        }
        while db.write_in_background(body!(async |tx| member::sweep(tx, now).await)).await? > 0 {}
        Ok(())
    }
}
