//! Answers as JSON.
//!
//! This is not what axum brings: with it comes a feature of `serde_json` that takes an object with the one key
//! `$serde_json::private::RawValue`, in the body of any client, for JSON that is written within its text. Such an object
//! is data like any other here, and no way around the limit for nesting.

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// An answer as JSON.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => {
                ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
            }
            Err(error) => {
                tracing::error!(%error, "an answer cannot be written as JSON");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}
