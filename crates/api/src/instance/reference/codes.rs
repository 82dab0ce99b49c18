//! The codes of errors, with what they mean.

use super::model::Operation;

/// A code that an error can have.
pub(super) struct Code {
    pub(super) name: &'static str,
    pub(super) statuses: &'static [&'static str],
    pub(super) about: &'static str,
}

const fn code(name: &'static str, statuses: &'static [&'static str], about: &'static str) -> Code {
    Code { name, statuses, about }
}

/// All codes.
pub(super) const CODES: [Code; 31] = [
    code("BAD_REQUEST", &["400"], "The request makes no sense as a whole, or lacks a header."),
    code(
        "VALIDATION_ERROR",
        &["422", "400"],
        "Fields of the request are wrong; `errors` names each. With 400: the body is no JSON, or a condition or template is wrong.",
    ),
    code("MISSING_AUTH", &["401"], "There is no `Authorization` header, or it is malformed."),
    code(
        "INVALID_API_KEY",
        &["401"],
        "The key is unknown or revoked, or not of the kind that the endpoint takes.",
    ),
    code("UNAUTHORIZED", &["401"], "There is no session, or it has ended."),
    code("INVALID_CREDENTIALS", &["401"], "The address or the password is wrong."),
    code("TOTP_REQUIRED", &["401"], "The account has a second factor: send the request again with `code`."),
    code("TOTP_INVALID", &["401"], "The code is wrong, or was used before."),
    code(
        "FORBIDDEN",
        &["403"],
        "The key's scopes or the member's role do not allow it, or the request comes from another site.",
    ),
    code("PROJECT_ACCESS_DENIED", &["403"], "The credential does not belong to this project."),
    code("PROJECT_DISABLED", &["403"], "The project is disabled. Reading still works."),
    code("EMAIL_VERIFICATION_REQUIRED", &["403"], "The account's address is not verified yet."),
    code(
        "PASSWORD_REQUIRED",
        &["403"],
        "The request needs the account's `password`, because the session is not new.",
    ),
    code("CONTACT_NOT_FOUND", &["404"], "The project has no such contact."),
    code("TEMPLATE_NOT_FOUND", &["404"], "The project has no such template."),
    code("CAMPAIGN_NOT_FOUND", &["404"], "The project has no such campaign."),
    code("WORKFLOW_NOT_FOUND", &["404"], "The project has no such workflow."),
    code(
        "RESOURCE_NOT_FOUND",
        &["404"],
        "The project has nothing else of that id; or nothing is at that path.",
    ),
    code("METHOD_NOT_ALLOWED", &["405"], "The path does not take that method."),
    code("REQUEST_TIMEOUT", &["408"], "The body took too long to arrive. Nothing was done."),
    code("CONFLICT", &["409"], "Something is in the way of the request; the message says what."),
    code(
        "IDEMPOTENCY_KEY_REUSED",
        &["409"],
        "The idempotency key was used. The first request was performed and this one was not.",
    ),
    code("PAYLOAD_TOO_LARGE", &["413"], "The body is larger than the endpoint takes."),
    code("UNKNOWN_HOST", &["421"], "The service is not known under the name that the request was sent to."),
    code(
        "RATE_LIMIT_EXCEEDED",
        &["429"],
        "Too many requests, or too many of this kind. `Retry-After` says how long to wait.",
    ),
    code(
        "BILLING_LIMIT_EXCEEDED",
        &["429", "403"],
        "The project may not have so many more mails this month. With 403: the campaign has more recipients than that.",
    ),
    code(
        "EXTERNAL_SERVICE_ERROR",
        &["502"],
        "A service that this one needs did not answer, or refused the request.",
    ),
    code(
        "INTERNAL_SERVER_ERROR",
        &["500", "403"],
        "The service made a mistake, which is in its log under the request's id. With 403: the sender's domain is not verified.",
    ),
    code("STREAM_EXPIRED", &["410"], "What happened since that event of the stream is not kept any more."),
    code("SERVICE_UNAVAILABLE", &["503"], "The service has no room for the request now. Nothing was done."),
    code("DATABASE_ERROR", &["503"], "The database cannot be reached, or has too much to do."),
];

/// The codes that an answer of an operation with a status can have.
pub(super) fn of(status: &str, operation: &Operation) -> impl Iterator<Item = &'static str> {
    let callers = operation.callers;
    let is_about = |names: &[&str]| names.iter().any(|name| operation.path.contains(name));
    let fits = |code: &&Code| match code.name {
        "CONTACT_NOT_FOUND" => {
            is_about(&["/contacts", "/manage", "/subscribe", "/unsubscribe", "/track", "/executions"])
        }
        "TEMPLATE_NOT_FOUND" => is_about(&["/templates", "/send", "/campaigns", "/workflows"]),
        "CAMPAIGN_NOT_FOUND" => is_about(&["/campaigns"]),
        "WORKFLOW_NOT_FOUND" => is_about(&["/workflows"]),
        "IDEMPOTENCY_KEY_REUSED" => operation.parameters.iter().any(|one| one.name == "Idempotency-Key"),
        "INTERNAL_SERVER_ERROR" if status == "403" => is_about(&["/send", "/campaigns", "/emails"]),
        "MISSING_AUTH" | "INVALID_API_KEY" => callers.key(),
        "UNAUTHORIZED" | "EMAIL_VERIFICATION_REQUIRED" => callers.session,
        "INVALID_CREDENTIALS" | "TOTP_REQUIRED" | "TOTP_INVALID" | "PASSWORD_REQUIRED" => !callers.key(),
        "PROJECT_ACCESS_DENIED" | "PROJECT_DISABLED" => callers.key() || callers.session,
        "BILLING_LIMIT_EXCEEDED" => is_about(&["/v1/send", "/campaigns/{id}/send", "/campaigns/{id}/test"]),
        _ => true,
    };
    let found: Vec<_> = CODES.iter().filter(|code| code.statuses.contains(&status)).filter(fits).collect();
    found.into_iter().map(|code| code.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_is_explained() {
        let explained: BTreeSet<&str> = CODES.iter().map(|code| code.name).collect();
        assert_eq!(explained, BTreeSet::from(crate::error::CODES));
    }
}
