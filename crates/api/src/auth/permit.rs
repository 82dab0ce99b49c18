//! What a caller may do: capabilities, disabled projects, and the limit on requests.

use axum::http::Method;
use axum::http::request::Parts;
use mailwright_app::project::key::Identity;
use mailwright_app::project::rate_limit::Allowance;
use mailwright_app::{App, KeyKind};
use mailwright_core::audit::Actor;
use mailwright_core::ids::UserId;
use mailwright_core::project::Project;
use mailwright_core::role::{Capability, Holder};

use super::client::visit;
use crate::body::{self, Standing};
use crate::error::ApiError;
use crate::visit::Learnt;

/// Asks the one table of roles and scopes.
pub(super) fn permit(holder: &Holder, capability: Capability) -> Result<(), ApiError> {
    if holder.may(capability) {
        return Ok(());
    }
    Err(ApiError::forbidden(match holder {
        Holder::Member(_) => {
            "Your role in this project does not allow this. Ask an administrator or the owner."
        }
        Holder::Key(_) => "This key cannot call this endpoint: its scopes do not allow it, or no key can.",
    }))
}

/// Refuses writes to a disabled project, and counts the request.
pub(super) async fn admit(app: &App, parts: &Parts, caller: &Identity) -> Result<(), ApiError> {
    refuse_disabled(writes(parts), &caller.project)?;
    count(app, parts, caller).await
}

/// Whether a request changes anything.
pub(super) fn writes(parts: &Parts) -> bool {
    parts.method != Method::GET && parts.method != Method::HEAD
}

/// Refuses writes to a disabled project.
pub(super) fn refuse_disabled(writes: bool, project: &Project) -> Result<(), ApiError> {
    if project.disabled && writes {
        return Err(ApiError::project_disabled());
    }
    Ok(())
}

/// Counts a request of a person about the own account, and refuses what is beyond the limit.
pub(super) fn count_person(app: &App, parts: &Parts, person: UserId) -> Result<(), ApiError> {
    refuse_beyond(parts, app.limiter().take_person(person))
}

fn refuse_beyond(parts: &Parts, taken: Option<Allowance>) -> Result<(), ApiError> {
    let Some(allowance) = taken else { return Ok(()) };
    if let Some(learnt) = parts.extensions.get::<Learnt>() {
        learnt.note(allowance);
    }
    if allowance.allowed { Ok(()) } else { Err(ApiError::rate_limited(allowance.reset, allowance.limit)) }
}

/// Counts a request, and refuses what is beyond the limit.
pub(super) async fn count(app: &App, parts: &Parts, caller: &Identity) -> Result<(), ApiError> {
    let (limiter, project) = (app.limiter(), caller.project.number);
    let taken = match (caller.kind, &caller.actor) {
        (KeyKind::Secret, Actor::User { id, .. }) => limiter.take_member(project, *id).await,
        (KeyKind::Secret, _) => limiter.take(project).await,
        (KeyKind::Public, _) => limiter.take_public(project, visit(parts)?.client).await,
    };
    refuse_beyond(parts, taken)?;
    let standing = match caller.kind {
        KeyKind::Secret => Standing::Known,
        KeyKind::Public => Standing::Public,
    };
    body::vouch(parts, standing, Some(project));
    Ok(())
}
