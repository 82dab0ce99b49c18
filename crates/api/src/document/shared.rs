//! What operations share: answers, headers and parameters.

use serde_json::{Map, Value, json};

/// The shared answers: name, status and what it means.
pub(super) const SHARED: [(&str, &str, &str); 13] = [
    ("BadRequest", "400", "The request is malformed: the body is not JSON, or a header is missing"),
    (
        "Unauthorized",
        "401",
        "The credential is missing, unknown, or of another kind than this endpoint takes",
    ),
    ("Forbidden", "403", "The credential does not allow this, or the project is disabled"),
    ("NotFound", "404", "Not found in this project"),
    ("TooSlow", "408", "The request body took too long to arrive"),
    ("TooLarge", "413", "The request body is larger than this endpoint takes"),
    ("PathTooLong", "414", "Path and query are too long"),
    ("Misdirected", "421", "The host name of the request is not a name of the service"),
    ("Invalid", "422", "The request is not valid; `errors` names every failing field"),
    ("RateLimited", "429", "Too many requests, or too many of this kind"),
    ("HeaderTooLarge", "431", "The header of the request is too large"),
    ("Failed", "500", "Unexpected error; the log of the service has it under the request's id"),
    ("Unavailable", "503", "The service cannot do this at the moment; try again later"),
];

/// Statuses that are answered with a page if the client wants one; the middleware itself answers them with the
/// envelope.
pub(super) const PAGES: [&str; 3] = ["429", "500", "503"];

/// Answers given before a request was read completely: they have neither a body nor a request's id.
const BARE: [&str; 2] = ["414", "431"];

pub(super) fn add_headers(headers: &mut Value, status: &str, limited: bool) {
    if BARE.contains(&status) {
        return;
    }
    let mut names = vec!["X-Request-ID"];
    if limited {
        names.extend(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]);
    }
    if matches!(status, "429" | "503") {
        names.push("Retry-After");
    }
    for name in names {
        headers[name] = json!({ "$ref": format!("#/components/headers/{name}") });
    }
}

pub(super) fn add_shared(components: &mut Value) {
    let number = |what: &str| json!({ "description": what, "schema": { "type": "integer", "minimum": 0 } });
    components["headers"] = json!({
        "X-Request-ID": {
            "description": "Id of the request: the client's own if it sent one of 1 to 128 characters of `A-Z \
                            a-z 0-9 - _ . :`, otherwise a new one",
            "schema": { "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9_.:-]+$" },
        },
        "RateLimit-Limit": number("Requests a minute"),
        "RateLimit-Remaining": number("Requests left in this window"),
        "RateLimit-Reset": number("Seconds until the next window"),
        "Retry-After": number("Seconds to wait before the next try"),
    });
    components["parameters"] = json!({
        "ProjectId": {
            "name": "X-Project-Id", "in": "header", "required": false,
            "description": "The id of the project that the request is about. Required with a session. Ignored \
                            with an API key, which has its own project.",
            "schema": { "type": "string", "format": "uuid" },
        },
    });
    let envelope = json!({ "schema": { "$ref": "#/components/schemas/ErrorEnvelope" } });
    let page = json!({ "schema": { "type": "string" } });
    let mut responses = Map::new();
    for (name, status, what) in SHARED {
        let mut headers = json!({});
        add_headers(&mut headers, status, status == "429");
        let mut response = json!({ "description": what, "headers": headers });
        if !BARE.contains(&status) {
            response["content"] = json!({ "application/json": envelope });
        }
        if PAGES.contains(&status) {
            let mut shown = response.clone();
            shown["content"]["text/html"] = page.clone();
            responses.insert(format!("{name}Page"), shown);
        }
        responses.insert(name.into(), response);
    }
    components["responses"] = responses.into();
}
