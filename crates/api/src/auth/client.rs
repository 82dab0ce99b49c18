//! Where a request came from.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use mailwright_app::account::client_key::ClientKey;
use mailwright_app::project::key::Identity;
use mailwright_app::project::request_log::Asker;
use mailwright_core::audit::Actor;

use crate::error::ApiError;
use crate::visit::{Learnt, Visit};

/// The address that a request came from.
pub(crate) struct Client(pub(crate) ClientKey);

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        visit(parts).map(|visit| Self(visit.client))
    }
}

/// Notes whose request it is, for the log of requests.
pub(super) fn note_asker(parts: &Parts, caller: &Identity) {
    let asker = match &caller.actor {
        Actor::Key { id, .. } => Asker::Key(*id),
        Actor::User { id, .. } => Asker::Person(*id),
        Actor::Operator | Actor::Service => return,
    };
    if let Some(learnt) = parts.extensions.get::<Learnt>() {
        learnt.note_asker(caller.project.number, asker);
    }
}

/// The facts that the middleware attached to a request.
pub(super) fn visit(parts: &Parts) -> Result<&Visit, ApiError> {
    let unframed = || mailwright_app::Error::Internal("a request did not go through the middleware".into());
    parts.extensions.get::<Visit>().ok_or_else(|| unframed().into())
}

/// The address that a request came from, as it is.
pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        visit(parts).map(|visit| Self(visit.address))
    }
}
