//! Errors as clients see them: one table of code, status, message and suggestion (contract, Errors).

mod answer;
mod app;
mod billing;
mod failure;
mod kinds;
#[cfg(test)]
mod tests;

pub(crate) use self::answer::{ApiError, ErrorEnvelope, Result};
pub(crate) use self::failure::{Failure, LegacyError};

/// The codes of errors. A unit test holds them against this folder.
pub(crate) const CODES: [&str; 31] = [
    "BAD_REQUEST",
    "BILLING_LIMIT_EXCEEDED",
    "CAMPAIGN_NOT_FOUND",
    "CONFLICT",
    "CONTACT_NOT_FOUND",
    "DATABASE_ERROR",
    "EMAIL_VERIFICATION_REQUIRED",
    "EXTERNAL_SERVICE_ERROR",
    "FORBIDDEN",
    "IDEMPOTENCY_KEY_REUSED",
    "INTERNAL_SERVER_ERROR",
    "INVALID_API_KEY",
    "INVALID_CREDENTIALS",
    "METHOD_NOT_ALLOWED",
    "MISSING_AUTH",
    "PASSWORD_REQUIRED",
    "PAYLOAD_TOO_LARGE",
    "PROJECT_ACCESS_DENIED",
    "PROJECT_DISABLED",
    "RATE_LIMIT_EXCEEDED",
    "REQUEST_TIMEOUT",
    "RESOURCE_NOT_FOUND",
    "SERVICE_UNAVAILABLE",
    "STREAM_EXPIRED",
    "TEMPLATE_NOT_FOUND",
    "TOTP_INVALID",
    "TOTP_REQUIRED",
    "UNAUTHORIZED",
    "UNKNOWN_HOST",
    "VALIDATION_ERROR",
    "WORKFLOW_NOT_FOUND",
];
