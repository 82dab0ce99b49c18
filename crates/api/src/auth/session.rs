//! Who signed in.

use axum::http::HeaderMap;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use mailwright_app::project::key::Identity;
use mailwright_app::{App, KeyKind};
use mailwright_core::audit::Actor;
use mailwright_core::ids::{ProjectId, SessionId};
use mailwright_core::role::Holder;
use mailwright_store::account::session::Session;
use mailwright_store::account::user::User;

use super::client::{note_asker, visit};
use super::cookie::session_cookie;
use super::place::Place;
use super::site::is_own_site;
use crate::body::{self, Standing};
use crate::error::ApiError;

pub(super) fn comes_from_own_site(app: &App, parts: &Parts) -> Result<bool, ApiError> {
    Ok(is_own_site(&parts.headers, &app.settings().base_url, &visit(parts)?.edge.hosts))
}

/// The signed-in user as a member of the project that is asked for, and the session.
pub(super) async fn as_member(
    app: &App,
    parts: &Parts,
    place: &Place,
) -> Result<(Identity, SessionId), ApiError> {
    let asked = place.asked();
    let found = signed_in(app, parts, asked).await?;
    if asked.is_none() && matches!(place, Place::Header(_)) {
        return Err(ApiError::no_project());
    }
    let session = found.id;
    let caller = member(found, place)?;
    note_asker(parts, &caller);
    Ok((caller, session))
}

/// Who signed in, as a member of a place.
pub(super) fn member(found: Session, place: &Place) -> Result<Identity, ApiError> {
    let (project, role) = found.project.ok_or_else(|| place.stranger())?;
    Ok(Identity {
        kind: KeyKind::Secret,
        project,
        holder: Holder::Member(role),
        actor: Actor::User { id: found.user.id, email: found.user.email.to_string() },
        hash: None,
    })
}

/// The session that the request's cookie names, and the project asked for, if the user is a member there. The user's
/// address is verified, where it has to be.
pub(super) async fn signed_in(
    app: &App,
    parts: &Parts,
    project: Option<ProjectId>,
) -> Result<Session, ApiError> {
    let found = whoever_signed_in(app, parts, project).await?;
    if app.requires_verification(&found.user) { Err(ApiError::unverified()) } else { Ok(found) }
}

pub(super) async fn whoever_signed_in(
    app: &App,
    parts: &Parts,
    project: Option<ProjectId>,
) -> Result<Session, ApiError> {
    let token = session_cookie(app, &parts.headers).ok_or_else(ApiError::unauthorized)?;
    if !parts.method.is_safe() && !comes_from_own_site(app, parts)? {
        return Err(ApiError::cross_site());
    }
    let id = app.session_from_token(token).ok_or_else(ApiError::unauthorized)?;
    let found = app.keyring().session(id, project).await?.ok_or_else(ApiError::unauthorized)?;
    let client = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    app.keyring().note_session(id, client);
    let project = found.project.as_ref().map(|(project, _)| project.number);
    body::vouch(parts, Standing::Known, project);
    Ok(found)
}

/// Who is signed in at the browser that opens one of the service's own pages; `None` when nobody is.
pub(crate) async fn visitor(app: &App, headers: &HeaderMap) -> mailwright_app::Result<Option<User>> {
    let Some(id) = session_cookie(app, headers).and_then(|token| app.session_from_token(token)) else {
        return Ok(None);
    };
    Ok(app.keyring().session(id, None).await?.map(|found| found.user))
}
