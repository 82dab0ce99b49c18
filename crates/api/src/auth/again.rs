//! Checks the credentials of a request again when its body has come.
//!
//! A client can hold back the body of a request for minutes. The key, session or role that let the request in may be
//! gone by then. So the last piece of a body is passed on only if the credentials are still good. This happens in the
//! body itself, so a handler that reads its body cannot forget it. Two kinds of requests are not checked again: those
//! whose body came together with the header, and those with a remembered key, which their transaction looks up.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::Request;
use axum::http::request::Parts;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use mailwright_app::App;
use mailwright_app::project::key::Identity;
use mailwright_core::ids::{ProjectNumber, SessionId};
use mailwright_core::role::Capability;

use super::key::secret;
use super::needs::Needs;
use super::permit::{permit, refuse_disabled, writes};
use super::place::{Place, of_place};
use super::session::member;
use crate::body::{self, Refused};
use crate::error::ApiError;

/// What an endpoint asks of its caller.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    capability: Capability,
    /// Whether a disabled project refuses it.
    writes: bool,
}

impl Need {
    pub(super) fn of<C: Needs>(parts: &Parts) -> Self {
        Self { capability: C::CAPABILITY, writes: !C::ALSO_DISABLED && writes(parts) }
    }

    pub(super) fn met_by(self, caller: &Identity) -> Result<(), ApiError> {
        permit(&caller.holder, self.capability)?;
        refuse_disabled(self.writes, &caller.project)
    }
}

/// The credential with which a request was accepted.
pub(super) enum Entrance {
    /// A secret key.
    Key { token: String, place: Place, number: ProjectNumber, need: Need },
    /// The session of a member.
    Member { session: SessionId, place: Place, number: ProjectNumber, need: Need },
    /// A session alone.
    User {
        session: SessionId,
        /// Whether the address has to be proven, where the instance asks for that.
        verified: bool,
    },
}

impl Entrance {
    /// Whether it still lets the request in.
    async fn look_again(&self, app: &App) -> Result<(), ApiError> {
        match self {
            Self::Key { token, place, number, need } => {
                let caller = of_place(secret(app.keyring().find(token).await?)?, place)?;
                is_same(&caller, *number)?;
                need.met_by(&caller)
            }
            Self::Member { session, place, number, need } => {
                let found = app.keyring().session(*session, place.asked()).await?;
                let found = found.ok_or_else(ApiError::unauthorized)?;
                if app.requires_verification(&found.user) {
                    return Err(ApiError::unverified());
                }
                let caller = member(found, place)?;
                is_same(&caller, *number)?;
                need.met_by(&caller)
            }
            Self::User { session, verified } => {
                let found = app.keyring().session(*session, None).await?;
                let found = found.ok_or_else(ApiError::unauthorized)?;
                if *verified && app.requires_verification(&found.user) {
                    Err(ApiError::unverified())
                } else {
                    Ok(())
                }
            }
        }
    }
}

/// The credential of a request whose answer goes on.
pub(crate) struct Entered(pub(super) Entrance);

impl Entered {
    /// Whether it still lets the request in.
    pub(crate) async fn look_again(&self, app: &App) -> Result<(), ApiError> {
        self.0.look_again(app).await
    }
}

/// Refuses a request whose project was reset meanwhile: the handler holds the project's old number.
fn is_same(caller: &Identity, number: ProjectNumber) -> Result<(), ApiError> {
    if caller.project.number == number {
        return Ok(());
    }
    Err(mailwright_app::Error::ProjectReset.into())
}

/// The credentials with which a request was accepted, carried from the extractors to its body. Every request has them
/// as an extension.
#[derive(Clone, Default)]
struct Entrances(Arc<Mutex<Vec<Entrance>>>);

impl Entrances {
    fn take(&self) -> Vec<Entrance> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Notes what let a request in, for when its body has come.
pub(super) fn note(parts: &Parts, entrance: Entrance) {
    if let Some(entrances) = parts.extensions.get::<Entrances>() {
        entrances.0.lock().unwrap_or_else(PoisonError::into_inner).push(entrance);
    }
}

/// A body that is being read.
struct Watched {
    pieces: BodyDataStream,
    entrances: Entrances,
    app: App,
    /// How many bytes are to come, as far as the client said so.
    left: Option<usize>,
    has_waited: bool,
}

impl Watched {
    /// The next piece, or the end. The last piece is kept back until the credentials of the request were accepted
    /// again.
    async fn next(&mut self) -> Option<Result<Bytes, axum::Error>> {
        let piece = if let Some(piece) = self.pieces.next().now_or_never() {
            piece
        } else {
            self.has_waited = true;
            self.pieces.next().await
        };
        let is_complete = match &piece {
            Some(Ok(piece)) => {
                self.left = self.left.map(|left| left.saturating_sub(piece.len()));
                self.left == Some(0)
            }
            Some(Err(_)) => return piece,
            None => true,
        };
        if is_complete && self.has_waited {
            for entrance in self.entrances.take() {
                if let Err(refused) = entrance.look_again(&self.app).await {
                    return Some(Err(axum::Error::new(Refused(refused))));
                }
            }
        }
        piece
    }
}

/// Has the end of a request's body wait for another look at who sent it.
pub(crate) fn watch(request: &mut Request, app: &App) {
    if request.body().is_end_stream() {
        return;
    }
    let entrances = Entrances::default();
    let watched = Watched {
        left: body::length(request.headers()),
        pieces: std::mem::take(request.body_mut()).into_data_stream(),
        entrances: entrances.clone(),
        app: app.clone(),
        has_waited: false,
    };
    let pieces = futures_util::stream::unfold(watched, |mut watched| async move {
        watched.next().await.map(|piece| (piece, watched))
    });
    *request.body_mut() = Body::from_stream(pieces);
    request.extensions_mut().insert(entrances);
}
