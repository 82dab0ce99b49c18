//! The extractors.

use std::marker::PhantomData;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::header::{AUTHORIZATION, ORIGIN};
use axum::http::request::Parts;
use mailwright_app::project::key::Identity;
use mailwright_app::{App, KeyKind};
use mailwright_core::audit::Actor;
use mailwright_core::ids::SessionId;
use mailwright_core::project::Project;
use mailwright_core::role::{Capability, Holder};
use mailwright_store::account::user::User;

use super::again::{Entered, Entrance, Need, note};
use super::cookie::session_cookie;
use super::key::{Remembered, bearer, guarded, keys_do_not_open, secret};
use super::needs::{self, Needs};
use super::permit::{admit, count, count_person, permit};
use super::place::{Place, of_place};
use super::session::{as_member, comes_from_own_site, signed_in, whoever_signed_in};
use crate::error::ApiError;

/// The caller that was let into a project.
#[derive(Debug)]
pub(crate) struct Caller {
    /// Who it is, for the audit log.
    pub(crate) actor: Actor,
    /// What it is allowed.
    pub(crate) holder: Holder,
}

impl Caller {
    /// Refuses a caller that may not do something that only some requests of an endpoint ask for.
    pub(crate) fn must_be_allowed(&self, capability: Capability) -> Result<(), ApiError> {
        permit(&self.holder, capability)
    }
}

/// A project endpoint: a secret key, or a session with `X-Project-Id`, or with the parameter `projectId` where a browser
/// asks by an address alone, as for a frame or a file. The request is within the limit, and may write if it wants to.
pub(crate) struct ProjectAccess<C>(pub(crate) Project, pub(crate) Caller, pub(crate) PhantomData<C>);

/// The same for an answer that goes on: the credential has to be looked at again.
pub(crate) struct LastingAccess<C>(pub(crate) Project, pub(crate) Entered, pub(crate) PhantomData<C>);

/// The same as [`ProjectAccess`] for an endpoint whose path names the project. A caller without access does not learn whether it exists.
pub(crate) struct PathAccess<C>(pub(crate) Project, pub(crate) Caller, pub(crate) PhantomData<C>);

/// The same for people alone: keys do not open it.
pub(crate) struct MemberAccess<C>(pub(crate) Project, pub(crate) Caller, pub(crate) PhantomData<C>);

/// An endpoint about the signed-in user.
pub(crate) struct SignedInUser {
    /// The user.
    pub(crate) user: User,
    /// The session that the request came with.
    pub(crate) session: SessionId,
}

/// The same also while the user's address is not verified.
pub(crate) struct AnyUser(pub(crate) User);

/// `/v1/send`: a secret key, for a use case whose transaction looks it up again.
pub(crate) struct SendKey(pub(crate) Remembered);

/// `/v1/track`: a public key, or a secret key from a server; looked up again like that of `/v1/send`.
pub(crate) struct TrackKey(pub(crate) Remembered);

/// `/events/track`: a secret key, looked up again like that of `/v1/send`, or a session with `X-Project-Id`.
pub(crate) struct RecordAccess(pub(crate) Remembered);

impl<S, C> FromRequestParts<S> for ProjectAccess<C>
where
    S: Send + Sync,
    App: FromRef<S>,
    C: Needs,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let found = enter::<C>(&App::from_ref(state), parts, Place::of_request(parts)).await?;
        let (project, caller) = split(found);
        Ok(Self(project, caller, PhantomData))
    }
}

impl<S, C> FromRequestParts<S> for LastingAccess<C>
where
    S: Send + Sync,
    App: FromRef<S>,
    C: Needs,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let place = Place::of_request(parts);
        let (found, entrance) = let_in::<C>(&App::from_ref(state), parts, place).await?;
        Ok(Self(found.project, Entered(entrance), PhantomData))
    }
}

impl<S, C> FromRequestParts<S> for PathAccess<C>
where
    S: Send + Sync,
    App: FromRef<S>,
    C: Needs,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let place = Place::of_path(parts, state).await;
        let found = enter::<C>(&App::from_ref(state), parts, place).await?;
        let (project, caller) = split(found);
        Ok(Self(project, caller, PhantomData))
    }
}

impl<S, C> FromRequestParts<S> for MemberAccess<C>
where
    S: Send + Sync,
    App: FromRef<S>,
    C: Needs,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let place = Place::of_path(parts, state).await;
        keys_do_not_open(parts)?;
        let (person, session) = as_member(&app, parts, &place).await?;
        let need = Need::of::<C>(parts);
        need.met_by(&person)?;
        count(&app, parts, &person).await?;
        note(parts, Entrance::Member { session, place, number: person.project.number, need });
        let (project, caller) = split(person);
        Ok(Self(project, caller, PhantomData))
    }
}

impl<S> FromRequestParts<S> for SignedInUser
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        keys_do_not_open(parts)?;
        let found = signed_in(&app, parts, None).await?;
        count_person(&app, parts, found.user.id)?;
        note(parts, Entrance::User { session: found.id, verified: true });
        Ok(Self { user: found.user, session: found.id })
    }
}

impl<S> FromRequestParts<S> for AnyUser
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        keys_do_not_open(parts)?;
        let app = App::from_ref(state);
        let found = whoever_signed_in(&app, parts, None).await?;
        count_person(&app, parts, found.user.id)?;
        note(parts, Entrance::User { session: found.id, verified: false });
        Ok(Self(found.user))
    }
}

impl<S> FromRequestParts<S> for SendKey
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Remembered::secret_key(&App::from_ref(state), parts, Capability::Send).await.map(Self)
    }
}

impl<S> FromRequestParts<S> for RecordAccess
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        if parts.headers.contains_key(AUTHORIZATION) {
            return Remembered::secret_key(&app, parts, Capability::Track).await.map(Self);
        }
        let caller = enter::<needs::Track>(&app, parts, Place::of_request(parts)).await?;
        Ok(Self(Remembered { caller, token: None }))
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
        let Some(caller) = guarded(&app, parts, token, Remembered::recall(&app, token)).await? else {
            return Err(ApiError::invalid_key(
                "The API key is not valid. This endpoint requires a public key.",
            ));
        };
        if caller.kind == KeyKind::Secret {
            // from a server a secret key does no harm; in a browser everybody could read it
            if parts.headers.contains_key(ORIGIN) {
                return Err(ApiError::invalid_key(
                    "A secret key must not be used in a browser, where everybody can read it. Use the public key, and replace the secret key if it was published.",
                ));
            }
            permit(&caller.holder, Capability::Track)?;
        }
        admit(&app, parts, &caller).await?;
        Ok(Self(Remembered::new(caller, token)))
    }
}

/// An endpoint that signs people in or out: not for other sites, which could sign their visitors in as somebody else.
pub(crate) struct SameSite;

impl<S> FromRequestParts<S> for SameSite
where
    S: Send + Sync,
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        if comes_from_own_site(&App::from_ref(state), parts)? {
            Ok(Self)
        } else {
            Err(ApiError::cross_site())
        }
    }
}

/// Lets a key or a member into a project, if the capability is there.
pub(super) async fn enter<C: Needs>(app: &App, parts: &Parts, place: Place) -> Result<Identity, ApiError> {
    let (caller, entrance) = let_in::<C>(app, parts, place).await?;
    note(parts, entrance);
    Ok(caller)
}

/// The same, with the credential for another look later.
async fn let_in<C: Needs>(app: &App, parts: &Parts, place: Place) -> Result<(Identity, Entrance), ApiError> {
    let need = Need::of::<C>(parts);
    let (caller, session) = if parts.headers.contains_key(AUTHORIZATION) {
        let token = bearer(&parts.headers).ok_or_else(ApiError::missing_auth)?;
        let look_up = async { Ok(app.keyring().find(token).await?) };
        (secret(guarded(app, parts, token, look_up).await?)?, None)
    } else if session_cookie(app, &parts.headers).is_some() {
        let (member, session) = as_member(app, parts, &place).await?;
        (member, Some(session))
    } else {
        return Err(ApiError::missing_auth());
    };
    // what is refused counts as well
    count(app, parts, &caller).await?;
    let caller = of_place(caller, &place)?;
    need.met_by(&caller)?;
    let number = caller.project.number;
    let entrance = if let Some(session) = session {
        Entrance::Member { session, place, number, need }
    } else {
        let token = bearer(&parts.headers).ok_or_else(ApiError::missing_auth)?.to_owned();
        Entrance::Key { token, place, number, need }
    };
    Ok((caller, entrance))
}

pub(super) fn split(found: Identity) -> (Project, Caller) {
    (found.project, Caller { actor: found.actor, holder: found.holder })
}
