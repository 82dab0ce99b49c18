//! The errors, one function each: code, status, message and suggestion.

use axum::http::StatusCode;
use mailwright_app::Resource;
use mailwright_core::issue::Issue;
use serde_json::json;

use super::answer::ApiError;

impl ApiError {
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

    pub(super) fn code_required() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "TOTP_REQUIRED", "This account has a second factor.").suggest(
            "Send the same request again with the field code: the code of the authenticator app, or \
                      a recovery code.",
        )
    }

    pub(super) fn password_required(message: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "PASSWORD_REQUIRED", message)
            .suggest("Send the same request again with the field password: the account's password.")
    }

    pub(super) fn wrong_code() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "TOTP_INVALID", "The code is wrong, or was used before.")
            .suggest("Wait for the next code, and check that the device's clock is right.")
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", message)
            .suggest("Use an account or a key that is allowed to do this.")
    }

    pub(super) fn domain_refused() -> Self {
        let message =
            "This domain cannot be added. If it is yours, ask the operator of this instance to allow it.";
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", message).details(json!({ "reason": "domain_refused" }))
    }

    pub(crate) fn cross_site() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "FORBIDDEN",
            "This request comes from a page of another site, which must not act for the user who is signed in \
             here.",
        )
    }

    pub(crate) fn no_project() -> Self {
        Self::bad_request("The X-Project-Id header is missing, or is not the id of a project.").suggest(
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

    pub(super) fn too_many_attempts(retry_after: i64) -> Self {
        let message = format!("Too many attempts. Try again in {retry_after} seconds.");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_EXCEEDED", message)
            .retry_after(retry_after)
            .details(json!({ "retryAfter": retry_after }))
            .suggest("Wait as long as the Retry-After header says, or reset the password.")
    }

    pub(super) fn too_many_mails(retry_after: i64) -> Self {
        let message =
            format!("The limit on such mails is reached. Ask for another one in {retry_after} seconds.");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_EXCEEDED", message)
            .retry_after(retry_after)
            .details(json!({ "retryAfter": retry_after }))
            .suggest("Look for the mails that were sent. Check the spam folder as well.")
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
        let message = format!("Must have at most {most} JSON values, members and elements included.");
        Self::invalid(vec![Issue::new("", "too_big", message)])
    }

    pub(crate) fn too_many_fields(most: usize) -> Self {
        let message = format!("A form must have at most {most} fields.");
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

    pub(super) fn busy(message: String) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE", message)
            .retry_after(5)
            .suggest("Send the same request again after the time that the Retry-After header gives.")
    }

    pub(super) fn picture_refused(message: String, reason: &str) -> Self {
        Self::bad_request(message).details(json!({ "reason": reason }))
    }

    pub(crate) fn no_room() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "SERVICE_UNAVAILABLE",
            "All connections of the service are in use.",
        )
        .retry_after(1)
        .suggest("Nothing was done. Send the same request again after the time that the Retry-After header gives, and keep connections for several requests.")
    }

    pub(crate) fn misdirected(host: &str) -> Self {
        let shown: String = host.chars().take(255).collect();
        let message = format!("{shown:?} is not a name of this service.");
        Self::new(StatusCode::MISDIRECTED_REQUEST, "UNKNOWN_HOST", message).suggest(
            "Use the address of the service. Its operator sets it with MAILWRIGHT_BASE_URL, and further names with \
             MAILWRIGHT_ALLOWED_HOSTS. API keys work under any name.",
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
    pub(super) fn unusable(issues: Vec<Issue>, message: &str, suggestion: &'static str) -> Self {
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

    pub(crate) fn key_reused(key: &str, request: &str) -> Self {
        let message = format!("The idempotency key {key} was already used by {request}.");
        Self::new(StatusCode::CONFLICT, "IDEMPOTENCY_KEY_REUSED", message)
            .suggest("The first request was performed and this one was not. Use a new key for a new request.")
    }

    pub(crate) fn too_many_batches() -> Self {
        let message = "The project has two batches of addresses under way. Wait until one has been answered.";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_EXCEEDED", message).retry_after(1)
    }

    pub(crate) fn stream_expired() -> Self {
        let message = "What happened since this event of the stream is not kept any more.";
        Self::new(StatusCode::GONE, "STREAM_EXPIRED", message)
            .suggest("Read /activity for what happened since, and follow again without Last-Event-ID.")
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
            Resource::Workflow => "WORKFLOW_NOT_FOUND",
            Resource::Domain
            | Resource::Project
            | Resource::Email
            | Resource::Attachment
            | Resource::Upload
            | Resource::CapturedEmail
            | Resource::Field
            | Resource::Segment
            | Resource::User
            | Resource::Member
            | Resource::Invitation
            | Resource::Intervention
            | Resource::Key
            | Resource::Session
            | Resource::Request
            | Resource::Job
            | Resource::Step
            | Resource::Transition
            | Resource::Execution
            | Resource::Suppression
            | Resource::Erasure
            | Resource::SuppressionRule
            | Resource::Version
            | Resource::Topic
            | Resource::Content => "RESOURCE_NOT_FOUND",
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
            "This path does not support the method of the request.",
        )
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
    }
}

/// A number of bytes for people.
fn size(bytes: usize) -> String {
    if bytes < 1024 * 1024 {
        return format!("{} KB", bytes / 1024);
    }
    format!("{} MB", bytes / 1024 / 1024)
}
