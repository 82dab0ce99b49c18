//! What clients are told about an error of a use case.

use axum::http::StatusCode;
use serde_json::json;

use super::answer::ApiError;

impl From<mailwright_app::Error> for ApiError {
    fn from(error: mailwright_app::Error) -> Self {
        use mailwright_app::Error as E;
        match error.told() {
            E::Invalid(issues) => {
                let repeated = json!({ "errors": issues });
                Self::invalid(issues).details(repeated)
            }
            E::Condition(issues) => Self::unusable(
                issues,
                "The condition is not valid.",
                "Correct the parts of the condition that are listed in errors.",
            ),
            E::Syntax(issues) => Self::unusable(
                issues,
                "The template is not valid.",
                "Correct the faults that are listed in errors, each with its line and column.",
            ),
            E::BadRequest(message) => Self::bad_request(message),
            E::NotFound { resource, id } => Self::not_found(resource, &id),
            E::Conflict(message) => Self::new(StatusCode::CONFLICT, "CONFLICT", message),
            E::ChangedMeanwhile(resource) => Self::new(
                StatusCode::CONFLICT,
                "CONFLICT",
                format!("{} is being changed by other requests. Try again.", resource.as_str()),
            ),
            // the one place where the contract pins this code to another status
            E::SenderRefused(message) => Self::new(StatusCode::FORBIDDEN, "INTERNAL_SERVER_ERROR", message),
            E::Forbidden(message) => Self::new(StatusCode::FORBIDDEN, "PROJECT_ACCESS_DENIED", message),
            E::KeyReused { key, request, at, status_code } => {
                let error = Self::key_reused(&key, &request);
                error.details(json!({
                    "key": key,
                    "originalRequest": request,
                    "originalRequestAt": at,
                    "originalStatusCode": status_code,
                }))
            }
            E::NotAllowed(message) => Self::forbidden(message),
            E::DomainRefused => Self::domain_refused(),
            E::NotSignedIn(why) => Self::forbidden(why.text()),
            E::SignedOut => Self::unauthorized(),
            E::InvalidCredentials => Self::invalid_credentials(),
            E::CodeRequired => Self::code_required(),
            E::PasswordRequired(message) => Self::password_required(message),
            E::WrongCode => Self::wrong_code(),
            E::TooManyAttempts { retry_after } => Self::too_many_attempts(retry_after),
            E::TooManyMails { retry_after } => Self::too_many_mails(retry_after),
            E::KeyRevoked => Self::invalid_key("The API key is not valid."),
            E::ProjectDisabled => Self::project_disabled(),
            E::LimitReached(message) => Self::limit_reached(message),
            E::OverLimit(message) => Self::over_limit(message),
            E::NoBilling => Self::no_billing(),
            E::NotConfigured(message) => Self::not_set_up(message),
            E::PaymentService(reason) => Self::payment_service(&reason),
            E::TooManyBatches => Self::too_many_batches(),
            E::TooManyChanges { retry_after } => {
                let message =
                    format!("This subscription was changed too often. Try again in {retry_after} seconds.");
                Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_EXCEEDED", message)
                    .retry_after(retry_after)
                    .details(json!({ "retryAfter": retry_after }))
                    .suggest("Unsubscribing works at any time.")
            }
            E::QueueFull(message) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_EXCEEDED", message).retry_after(5)
            }
            E::BookmarkGone => Self::stream_expired(),
            E::Picture(refused) => Self::picture_refused(refused.to_string(), refused.code()),
            E::Busy(message) => Self::busy(message),
            E::ProjectReset => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "SERVICE_UNAVAILABLE",
                "The project was reset during the request.",
            )
            .retry_after(1)
            .suggest("Nothing was done. Send the request again if it still applies after the reset."),
            E::TooSlow(message) => Self::new(StatusCode::SERVICE_UNAVAILABLE, "DATABASE_ERROR", message)
                .retry_after(5)
                .suggest(
                    "Ask for less (a shorter time span, a filter that matches fewer contacts), or try again when there is \
                     less load. The operator can raise the limit: slow_read_ms in [database].",
                ),
            E::Unavailable(detail) => {
                tracing::warn!(error = %detail, "a request was refused, a dependency is not available");
                let message = "The service cannot store or read data right now.";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "DATABASE_ERROR", message)
                    .retry_after(1)
                    .suggest(
                    "Send the same request again after the time that the Retry-After header gives, with an Idempotency-Key where the endpoint takes one.",
                )
            }
            error @ (E::Internal(_) | E::NoOwnSender | E::Store(_)) => {
                tracing::error!(%error, "a request failed");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "INTERNAL_SERVER_ERROR",
                    "An unexpected error occurred.",
                )
                .suggest("Try again. If it happens again, report it with the request id.")
            }
        }
    }
}
