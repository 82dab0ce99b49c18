//! The sections that are about all operations.

use std::time::Duration;

use mailwright_app::settings::{BaseUrl, RequestLimits};
use maud::{Markup, html};

use super::codes::CODES;
use super::prose::inline;
use super::request::Instance;
use super::shape::grouped;

/// What the page says of an instance.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// Where it is reached.
    pub(crate) base_url: BaseUrl,
    /// The cookie of a session.
    pub(crate) cookie: &'static str,
    /// Requests a minute.
    pub(crate) requests: RequestLimits,
    /// How long an idempotency key is kept.
    pub(crate) idempotency_ttl: Duration,
}

impl Facts {
    pub(super) fn instance(&self) -> Instance<'_> {
        Instance { base_url: &self.base_url, cookie: self.cookie }
    }
}

/// A section: the end of its address, its heading, and what writes it.
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) write: fn(&Facts) -> Markup,
}

/// The sections in their order.
pub(super) const SECTIONS: [Section; 8] = [
    Section { id: "base-url", title: "Base URL", write: base_url },
    Section { id: "authentication", title: "Authentication", write: authentication },
    Section { id: "errors", title: "Errors", write: errors },
    Section { id: "pagination", title: "Pagination", write: pagination },
    Section { id: "idempotency", title: "Idempotency", write: idempotency },
    Section { id: "rate-limits", title: "Rate limits", write: rate_limits },
    Section { id: "versioning", title: "Versioning", write: versioning },
    Section { id: "examples", title: "The examples", write: examples },
];

fn base_url(facts: &Facts) -> Markup {
    html! {
        p { "This instance is reached at " code #base-url-value { (facts.base_url) } "." }
        p {
            "Requests and answers are JSON in UTF-8, unless an operation says otherwise. Times are ISO 8601 in UTC with \
             milliseconds, ids are UUIDs. Endpoints below " code { "/v1/" } " answer with "
            code { "{success: true, data}" } ", the others with the resource itself, where their description says nothing else."
        }
        p { "This page is made from " a href="openapi.json" { "openapi.json" } " (OpenAPI 3.1), for programs that read it." }
    }
}

fn authentication(facts: &Facts) -> Markup {
    html! {
        p { "A program sends a key with every request. The key decides which project the request is about:" }
        pre tabindex="0" { code { "Authorization: Bearer sk_..." } }
        ul {
            li { b { "Secret keys" } " begin with " code { "sk_" } ". They open everything of their project, or what their scopes allow. Keep them on servers." }
            li { b { "Public keys" } " begin with " code { "pk_" } ". They may be published, and open " a href="#track" { code { "POST /v1/track" } } " alone." }
            li {
                b { "Sessions" } " are for people who are signed in. " a href="#logIn" { code { "POST /auth/login" } }
                " sets the cookie " code { (facts.cookie) } ". Where a session takes the place of a key, the header "
                code { "X-Project-Id" } " names the project. " code { "/v1/send" } " and " code { "/v1/track" } " take keys only."
            }
        }
        p { "A request with an " code { "Authorization" } " header is judged by its key alone, whatever cookie it carries." }
    }
}

fn errors(_: &Facts) -> Markup {
    html! {
        p { "Every error has the same body. " code { "code" } " is for programs, " code { "message" } " and " code { "suggestion" } " are for people:" }
        pre tabindex="0" { code { (ENVELOPE) } }
        p {
            "After a failed validation " code { "errors" } " names every failing field, joined by dots. "
            code { "requestId" } " is also in the header " code { "X-Request-ID" } ", and in the log beside what failed inside the service. \
             A few operations answer with 400 and " code { "{error: message}" } "; they say so."
        }
        div.scroll {
            table.fields {
                thead { tr { th scope="col" { "Code" } th scope="col" { "Status" } th scope="col" { "Meaning" } } }
                tbody {
                    @for code in CODES {
                        tr { th scope="row" { code { (code.name) } } td { (code.statuses.join(", ")) } td { (inline(code.about)) } }
                    }
                }
            }
        }
    }
}

const ENVELOPE: &str = r#"{
  "success": false,
  "error": {
    "code": "VALIDATION_ERROR",
    "message": "Request validation failed.",
    "statusCode": 422,
    "requestId": "0199f0c2-7f4e-7a3b-9c1d-2e4f6a8b0c1d",
    "errors": [
      { "field": "to", "message": "...", "code": "invalid_type", "received": "undefined" }
    ],
    "suggestion": "Add the missing fields."
  },
  "timestamp": "2026-03-01T09:00:00.000Z"
}"#;

fn pagination(_: &Facts) -> Markup {
    html! {
        p {
            "Lists that change while they are read go by cursor. They answer with " code { "{data, cursor, hasMore, total}" }
            ": send " code { "cursor" } " back for the next page until " code { "hasMore" } " is false. " code { "limit" }
            " is the size of a page. Where a list counts, " code { "total" } " is on the first page only, and 0 on later ones."
        }
        p {
            "Other lists have numbered pages. They take " code { "page" } " and " code { "pageSize" } ", and answer with "
            code { "{data, page, pageSize, total, totalPages}" } "."
        }
        p { "A size beyond the largest counts as the largest, and an order that is unknown as the default." }
    }
}

fn idempotency(facts: &Facts) -> Markup {
    html! {
        p {
            a href="#send" { code { "POST /v1/send" } } " and " a href="#track" { code { "POST /v1/track" } } " take the header "
            code { "Idempotency-Key" } ": 1 to 255 printable ASCII characters. Of all requests of a project with the same key one \
            is performed. The others are answered with 409 " code { "IDEMPOTENCY_KEY_REUSED" } ", and " code { "details" }
            " says when the first one came and how it was answered. So a request whose answer got lost can be repeated."
        }
        p { "A key is kept for " (lasting(facts.idempotency_ttl)) ". Take one that names the occasion, such as " code { "order-1042-shipped" } "." }
    }
}

/// A time in the largest unit that has no rest.
fn lasting(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds.is_multiple_of(3600) => format!("{} hours", seconds / 3600),
        seconds if seconds.is_multiple_of(60) => format!("{} minutes", seconds / 60),
        seconds => format!("{seconds} seconds"),
    }
}

fn rate_limits(facts: &Facts) -> Markup {
    let limits = facts.requests;
    html! {
        @if limits.per_project == 0 {
            p { "Limits on requests a minute are switched off on this instance." }
        } @else {
            p { "On this instance there are, each minute:" }
            ul {
                li { (grouped(limits.per_project)) " requests of a project with its secret keys and by its members," }
                li { (grouped(limits.public)) " of a project with its public key," }
                li { (grouped(limits.keyless)) " of a client without a key." }
            }
        }
        p {
            "The headers " code { "RateLimit-Limit" } ", " code { "RateLimit-Remaining" } " and " code { "RateLimit-Reset" }
            " say how many there are, how many are left, and in how many seconds the next minute begins. Beyond a limit the answer \
            is 429 " code { "RATE_LIMIT_EXCEEDED" } " with " code { "Retry-After" } ". Requests that are tried from this page count as well."
        }
    }
}

fn versioning(_: &Facts) -> Markup {
    html! {
        p {
            "Public endpoints carry their version in the path: " code { "/v1/" } ". The others have none. Answers may get further \
            members, so ignore members that you do not know."
        }
    }
}

fn examples(_: &Facts) -> Markup {
    html! {
        p { "They are made from the document, for this instance, with made-up values. They read the key from the environment variable "
            code { "API_KEY" } ", and the token of a session from " code { "SESSION" } "." }
        ul {
            li { b { "curl" } ": for a POSIX shell." }
            li { b { "JavaScript" } ": " code { "fetch" } ", in a module on Node 20 or later. Never put a secret key into a page." }
            li { b { "Python" } ": the library " code { "requests" } "." }
            li { b { "Rust" } ": " code { "reqwest" } " 0.13 with the features " code { "json" } ", " code { "form" } " and "
                code { "multipart" } ", and " code { "serde_json" } ", in an asynchronous function." }
        }
    }
}
