//! An error on its way out: its status, its body, and how they become a response.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Result of a handler.
pub(crate) type Result<T, E = ApiError> = std::result::Result<T, E>;

/// An error on its way out. The middleware adds request id and time (see [`crate::middleware`]).
#[derive(Debug, Clone)]
pub(crate) struct ApiError(pub(super) Box<Answer>);

#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) issues: Vec<Issue>,
    pub(super) details: Option<Value>,
    pub(super) suggestion: Option<&'static str>,
    pub(super) retry_after: Option<i64>,
}

/// The body of an error answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorEnvelope {
    /// Always false.
    success: bool,
    error: ErrorBody,
    /// When the answer was made.
    #[schema(value_type = String, format = DateTime)]
    timestamp: Timestamp,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ErrorBody {
    /// Machine-readable code.
    code: &'static str,
    /// What went wrong, as a sentence.
    message: String,
    /// HTTP status.
    status_code: u16,
    /// Identifier of the request, also in the `X-Request-ID` header.
    request_id: String,
    /// Every failing field, for validation failures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Issue>,
    /// Further data about the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
    /// What the client can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<&'static str>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Answer {
            status,
            code,
            message: message.into(),
            issues: Vec::new(),
            details: None,
            suggestion: None,
            retry_after: None,
        }))
    }

    pub(super) fn suggest(mut self, suggestion: &'static str) -> Self {
        self.0.suggestion = Some(suggestion);
        self
    }

    pub(super) fn details(mut self, details: Value) -> Self {
        self.0.details = Some(details);
        self
    }

    pub(super) fn retry_after(mut self, seconds: i64) -> Self {
        self.0.retry_after = Some(seconds);
        self
    }

    /// The code.
    pub(crate) fn code(&self) -> &'static str {
        self.0.code
    }

    /// The body, now that request id and time are known.
    pub(crate) fn envelope(self, request_id: &str, now: Timestamp) -> ErrorEnvelope {
        let answer = *self.0;
        ErrorEnvelope {
            success: false,
            error: ErrorBody {
                code: answer.code,
                message: answer.message,
                status_code: answer.status.as_u16(),
                request_id: request_id.to_owned(),
                errors: answer.issues,
                details: answer.details,
                suggestion: answer.suggestion,
            },
            timestamp: now,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        if let Some(seconds) = self.0.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self);
        response
    }
}
