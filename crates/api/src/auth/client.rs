//! Where a request came from.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use mailwright_app::account::client_key::ClientKey;

use crate::error::ApiError;
use crate::visit::Visit;

/// The address that a request came from.
pub(crate) struct Client(pub(crate) ClientKey);

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        visit(parts).map(|visit| Self(visit.client))
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
