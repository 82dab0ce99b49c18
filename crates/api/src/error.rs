//! Errors as clients see them: one table of code, status, message and suggestion (contract, Errors).

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mailwright_app::Resource;
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// The codes of errors. A unit test holds them against this file.
pub(crate) const CODES: [&str; 27] = [
    "BAD_REQUEST",
    "CAMPAIGN_NOT_FOUND",
    "CONFLICT",
    "CONTACT_NOT_FOUND",
    "DATABASE_ERROR",
    "EMAIL_VERIFICATION_REQUIRED",
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
    "TEMPLATE_NOT_FOUND",
    "TOTP_INVALID",
    "TOTP_REQUIRED",
    "UNAUTHORIZED",
    "UNKNOWN_HOST",
    "VALIDATION_ERROR",
];

/// Result of a handler.
pub(crate) type Result<T, E = ApiError> = std::result::Result<T, E>;

/// An error on its way out. The middleware adds request id and time (see [`crate::middleware`]).
#[derive(Debug, Clone)]
pub(crate) struct ApiError(Box<Answer>);

#[derive(Debug, Clone)]
struct Answer {
    status: StatusCode,
    code: &'static str,
    message: String,
    issues: Vec<Issue>,
    details: Option<Value>,
    suggestion: Option<&'static str>,
    retry_after: Option<i64>,
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
    /// What went wrong, for people.
    message: String,
    /// HTTP status.
    status_code: u16,
    /// Identifier of the request, also in the `X-Request-ID` header.
    request_id: String,
    /// Every failing field, for validation failures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Issue>,
    /// Context.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<&'static str>,
}

/// The body of the answers that the contract gives the legacy shape.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LegacyError {
    /// What went wrong.
    error: String,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
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

    fn suggest(mut self, suggestion: &'static str) -> Self {
        self.0.suggestion = Some(suggestion);
        self
    }

    fn details(mut self, details: Value) -> Self {
        self.0.details = Some(details);
        self
    }

    fn retry_after(mut self, seconds: i64) -> Self {
        self.0.retry_after = Some(seconds);
        self
    }

    pub(crate) fn missing_auth() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "MISSING_AUTH",
            "The Authorization header is missing or malformed.",
        )
        .suggest("Send the header as: Authorization: Bearer <API_KEY>")
    }

    pub(crate) fn invalid_key(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "INVALID_API_KEY", message).suggest(
            "Check that the key belongs to this instance and is of the type that the endpoint takes.",
        )
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "UNAUTHORIZED",
            "You are not signed in, or your session has ended.",
        )
        .suggest("Sign in with POST /auth/login.")
    }

    pub(crate) fn invalid_credentials() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "INVALID_CREDENTIALS",
            "The email address or the password is wrong.",
        )
    }

    fn code_required() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "TOTP_REQUIRED", "This account has a second factor.")
            .suggest("Send the same request again with code: what the authenticator program shows, or a recovery code.")
    }

    fn password_required(message: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "PASSWORD_REQUIRED", message)
            .suggest("Send the same request again with password: the account's password.")
    }

    fn wrong_code() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "TOTP_INVALID", "The code is wrong, or was used before.")
            .suggest("Wait for the next code, and check that the device's clock is right.")
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", message)
            .suggest("Use an account or a key that is allowed to do this.")
    }

    pub(crate) fn cross_site() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "FORBIDDEN",
            "This request comes from a page of another site, which must not act for whoever is signed in here.",
        )
    }

    pub(crate) fn no_project() -> Self {
        Self::bad_request("The X-Project-Id header is missing, or holds no project's id.").suggest(
            "Send the id of the project that the request is about, as GET /users/@me/projects shows it.",
        )
    }

    pub(crate) fn not_a_member() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "PROJECT_ACCESS_DENIED",
            "You are not a member of the project that X-Project-Id names.",
        )
    }

    fn too_many_attempts(retry_after: i64) -> Self {
        let message = format!("Too many attempts. Try again in {retry_after} seconds.");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_EXCEEDED", message)
            .retry_after(retry_after)
            .details(json!({ "retryAfter": retry_after }))
            .suggest("Wait as long as the Retry-After header says, or reset the password.")
    }

    fn too_many_mails(retry_after: i64) -> Self {
        let message = format!(
            "As many mails as are allowed were asked for. Ask for another one in {retry_after} seconds."
        );
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_EXCEEDED", message)
            .retry_after(retry_after)
            .details(json!({ "retryAfter": retry_after }))
            .suggest("Look for the mails that were sent, also among the unwanted ones.")
    }

    pub(crate) fn unverified() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "EMAIL_VERIFICATION_REQUIRED",
            "Your email address is not verified yet.",
        )
        .suggest("Open the link that was sent to you, or ask for another one with POST /auth/request-verification.")
    }

    pub(crate) fn project_disabled() -> Self {
        Self::new(StatusCode::FORBIDDEN, "PROJECT_DISABLED", "This project is disabled.")
            .suggest("Reading still works. Ask the operator of this instance why the project was disabled.")
    }

    pub(crate) fn malformed_json(detail: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "VALIDATION_ERROR",
            format!("The request body is not valid JSON: {detail}"),
        )
        .suggest("Check quotes, commas and braces, and that the body is encoded in UTF-8.")
    }

    pub(crate) fn form_instead_of_json() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "VALIDATION_ERROR",
            "The request body is a form, and must be JSON.",
        )
        .suggest("Send an object such as {\"email\": \"ada@example.com\"}, with the header Content-Type: application/json.")
    }

    pub(crate) fn body_too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "PAYLOAD_TOO_LARGE",
            format!("The request body is larger than {}.", size(limit)),
        )
    }

    pub(crate) fn too_many_values(most: usize) -> Self {
        let message = format!("Must consist of at most {most} values, members and elements included.");
        Self::invalid(vec![Issue::new("", "too_big", message)])
    }

    pub(crate) fn body_too_slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT", "The request body took too long to arrive.")
            .suggest("Send the body without long pauses. Nothing was done.")
    }

    pub(crate) fn no_room_for_body() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "SERVICE_UNAVAILABLE",
            "Too many large request bodies are being read at once.",
        )
        .retry_after(1)
        .suggest(
            "Nothing was done. Send the same request again after the time that the Retry-After header gives.",
        )
    }

    pub(crate) fn no_room() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "SERVICE_UNAVAILABLE",
            "The service has as many connections as it can take.",
        )
        .retry_after(1)
        .suggest("Nothing was done. Send the same request again after the time that the Retry-After header gives, and keep connections for several requests.")
    }

    pub(crate) fn misdirected(host: &str) -> Self {
        let shown: String = host.chars().take(255).collect();
        let message = format!("This service is not known under the name {shown:?}.");
        Self::new(StatusCode::MISDIRECTED_REQUEST, "UNKNOWN_HOST", message).suggest(
            "The operator sets the service's address with MAILWRIGHT_BASE_URL, and further names with MAILWRIGHT_ALLOWED_HOSTS. API keys work under any name.",
        )
    }

    pub(crate) fn invalid(issues: Vec<Issue>) -> Self {
        let suggestion = if issues.iter().any(|i| i.received.as_deref() == Some("undefined")) {
            "Add the missing fields."
        } else if issues.iter().any(|i| i.code == "invalid_type") {
            "Check the types of the fields against the API reference at /docs."
        } else {
            "Correct the fields that are listed in errors."
        };
        let mut error =
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, "VALIDATION_ERROR", "Request validation failed.");
        error.0.issues = issues;
        error.suggest(suggestion)
    }

    /// A validation failure that is answered with 400: of filters and of templates (reference 4.3, 5.5).
    fn unusable(issues: Vec<Issue>, message: &str, suggestion: &'static str) -> Self {
        let repeated = json!({ "errors": issues });
        let mut error = Self::new(StatusCode::BAD_REQUEST, "VALIDATION_ERROR", message);
        error.0.issues = issues;
        error.suggest(suggestion).details(repeated)
    }

    pub(crate) fn rate_limited(retry_after: i64, limit: i64) -> Self {
        let message = format!("More than {limit} requests in a minute. Try again in {retry_after} seconds.");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_EXCEEDED", message)
            .retry_after(retry_after)
            .details(json!({ "retryAfter": retry_after }))
            .suggest("Wait as long as the Retry-After header says, and spread requests over time.")
    }

    pub(crate) fn too_many_invalid_keys(retry_after: i64, limit: i64) -> Self {
        let message = format!(
            "More than {limit} requests in a minute came from here with keys that are not valid. Try again in {retry_after} seconds."
        );
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_EXCEEDED", message)
            .retry_after(retry_after)
            .details(json!({ "retryAfter": retry_after }))
            .suggest("Check the API key.")
    }

    pub(crate) fn not_found(resource: Resource, id: &str) -> Self {
        let code = match resource {
            Resource::Contact => "CONTACT_NOT_FOUND",
            Resource::Template => "TEMPLATE_NOT_FOUND",
            Resource::Campaign => "CAMPAIGN_NOT_FOUND",
            Resource::Domain
            | Resource::Project
            | Resource::Email
            | Resource::CapturedEmail
            | Resource::Field
            | Resource::Segment
            | Resource::User
            | Resource::Member
            | Resource::Invitation
            | Resource::Key
            | Resource::Session
            | Resource::Job => "RESOURCE_NOT_FOUND",
        };
        let error = Self::new(StatusCode::NOT_FOUND, code, format!("{} not found.", resource.as_str()))
            .details(json!({ "resource": resource.as_str(), "id": id }));
        if resource == Resource::Template {
            return error.suggest("Check the template's id, and that it belongs to the key's project.");
        }
        error
    }

    /// A way to sign in that the operator did not set up.
    pub(crate) fn not_configured(provider: &str) -> Self {
        let message = format!("Signing in with {provider} is not configured.");
        Self::new(StatusCode::NOT_FOUND, "RESOURCE_NOT_FOUND", message)
    }

    pub(crate) fn no_such_route(path: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "RESOURCE_NOT_FOUND", format!("There is nothing at {path}."))
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "METHOD_NOT_ALLOWED",
            "This path does not take that method.",
        )
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
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

/// A number of bytes for people.
fn size(bytes: usize) -> String {
    if bytes < 1024 * 1024 {
        return format!("{} KB", bytes / 1024);
    }
    format!("{} MB", bytes / 1024 / 1024)
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

/// What a handler can answer instead of a result.
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
                "Correct what is listed in errors, each with its line and column.",
            ),
            E::BadRequest(message) => Self::bad_request(message),
            E::NotFound { resource, id } => Self::not_found(resource, &id),
            E::Conflict(message) => Self::new(StatusCode::CONFLICT, "CONFLICT", message),
            E::ChangedMeanwhile(resource) => Self::new(
                StatusCode::CONFLICT,
                "CONFLICT",
                format!("{} was changed at the same moment, again and again. Try again.", resource.as_str()),
            ),
            // the one place where the contract pins this code to another status
            E::SenderRefused(message) => Self::new(StatusCode::FORBIDDEN, "INTERNAL_SERVER_ERROR", message),
            E::Forbidden(message) => Self::new(StatusCode::FORBIDDEN, "PROJECT_ACCESS_DENIED", message),
            E::KeyReused { key, request, at, status_code } => {
                let message = format!("The idempotency key {key} was already used by {request}.");
                Self::new(StatusCode::CONFLICT, "IDEMPOTENCY_KEY_REUSED", message)
                    .details(json!({
                        "key": key,
                        "originalRequest": request,
                        "originalRequestAt": at,
                        "originalStatusCode": status_code,
                    }))
                    .suggest("The first request was performed and this one was not. Use a new key for a new request.")
            }
            E::NotAllowed(message) => Self::forbidden(message),
            E::InvalidCredentials => Self::invalid_credentials(),
            E::CodeRequired => Self::code_required(),
            E::PasswordRequired(message) => Self::password_required(message),
            E::WrongCode => Self::wrong_code(),
            E::TooManyAttempts { retry_after } => Self::too_many_attempts(retry_after),
            E::TooManyMails { retry_after } => Self::too_many_mails(retry_after),
            E::KeyRevoked => Self::invalid_key("The API key is not valid."),
            E::ProjectDisabled => Self::project_disabled(),
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
            E::ProjectReset => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "SERVICE_UNAVAILABLE",
                "The project was reset while the request was made.",
            )
            .retry_after(1)
            .suggest("Send the request again if it is about what there is now."),
            E::TooSlow(message) => Self::new(StatusCode::SERVICE_UNAVAILABLE, "DATABASE_ERROR", message)
                .retry_after(5)
                .suggest(
                    "Ask for less (a shorter stretch of time, a filter that fewer contacts match), or again when less is \
                     going on. The operator can raise the limit: slow_read_ms in [database].",
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Words in capitals within quotation marks.
    fn codes(text: &str) -> BTreeSet<&str> {
        let is_code = |word: &&str| {
            word.len() > 4 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        };
        text.split('"').filter(is_code).collect()
    }

    #[test]
    fn a_lost_race_is_no_outage_and_no_bug() {
        use mailwright_app::Error;
        use mailwright_store::Error as StoreError;
        for (error, status, code) in [
            (Error::ChangedMeanwhile(Resource::Campaign), 409, "CONFLICT"),
            (StoreError::Contention("met".into()).into(), 503, "DATABASE_ERROR"),
            (StoreError::Aborted.into(), 500, "INTERNAL_SERVER_ERROR"),
            (Error::NoOwnSender, 500, "INTERNAL_SERVER_ERROR"),
        ] {
            let ApiError(answer) = error.into();
            assert_eq!((answer.status.as_u16(), answer.code), (status, code), "{answer:?}");
        }
    }

    #[test]
    fn the_codes_of_the_document_are_those_of_the_errors() {
        let file = include_str!("error.rs").split("#[cfg(test)]").next().unwrap();
        let (_, after) = file.split_once("const CODES").unwrap();
        let (_, used) = after.split_once("];").unwrap();
        assert_eq!(codes(used), BTreeSet::from(CODES));
    }
}
