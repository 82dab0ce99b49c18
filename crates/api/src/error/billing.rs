//! The errors about limits and payments.

use axum::http::StatusCode;
use serde_json::json;

use super::answer::ApiError;

impl ApiError {
    pub(super) fn limit_reached(message: String) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "BILLING_LIMIT_EXCEEDED", message).suggest(
            "Raise the limit with PUT /users/@me/projects/:id/billing-limits, subscribe, or wait until the month is over.",
        )
    }

    pub(super) fn over_limit(message: String) -> Self {
        Self::new(StatusCode::FORBIDDEN, "BILLING_LIMIT_EXCEEDED", message)
    }

    pub(super) fn not_set_up(message: String) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_SERVER_ERROR", message)
            .suggest("Ask the operator of this instance.")
    }

    pub(super) fn no_billing() -> Self {
        Self::new(StatusCode::NOT_FOUND, "RESOURCE_NOT_FOUND", "Billing is not configured on this instance.")
            .suggest("Nothing is paid for here, and there are no limits.")
    }

    pub(super) fn payment_service(reason: &str) -> Self {
        let message = "The payment service did not answer, or refused the request.";
        Self::new(StatusCode::BAD_GATEWAY, "EXTERNAL_SERVICE_ERROR", message)
            .details(json!({ "reason": reason }))
            .suggest("Try again in a few minutes. If it happens again, tell the operator of this instance.")
    }
}
