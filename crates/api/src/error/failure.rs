//! The answers of a handler that has no result.

use crate::json::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::ApiError;

/// The body of a few refusals, which have had this shape since before the envelope of errors.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LegacyError {
    /// What went wrong.
    error: String,
}

/// The answers of a handler that has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The envelope.
    Standard(ApiError),
    /// The legacy body, where the contract names it.
    Legacy(String),
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self::Standard(error)
    }
}

impl<E> From<E> for Failure
where
    mailwright_app::Error: From<E>,
{
    fn from(error: E) -> Self {
        Self::Standard(mailwright_app::Error::from(error).into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self {
            Self::Standard(error) => error.into_response(),
            Self::Legacy(error) => (StatusCode::BAD_REQUEST, Json(LegacyError { error })).into_response(),
        }
    }
}
