//! What every request meets first, and what every answer has in common: request id, error envelope, limit and security
//! headers, CORS, metrics.
//!
//! A request meets, in this order: the room for its connection, the check of `Host`, the limit of clients without a
//! key, then its handler. [`Visit`] is what is known about a request before that: which client sends it.
//!
//! The answer to a request beyond a limit is held back for 100 ms (`PAUSE` in `visit.rs`). Clients that ask again at
//! once, on many connections, would otherwise keep the processors busy with refusals: the sends of other projects then
//! took up to 17 times as long as alone, at the 99th percentile, and 3 times with the pause.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use mailwright_app::project::rate_limit::Allowance;
use mailwright_core::time::Timestamp;

use crate::audience::subscription;
use crate::auth;
use crate::body;
use crate::error::ApiError;
use crate::feedback::tracking;
use crate::host;
use crate::no_room::NoRoom;
use crate::request_log::{Answered, log};
use crate::sending::mail_policy;
use crate::sending::upload::served;
use crate::visit::{Edge, Learnt, Visit};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest request id taken over from a client.
const MAX_REQUEST_ID: usize = 128;

/// Wraps every request.
pub(crate) async fn around(State(edge): State<Arc<Edge>>, mut request: Request, next: Next) -> Response {
    let app = &edge.app;
    let started = Instant::now();
    let now = app.clock().now();
    let request_id = request_id(request.headers(), now);
    let public = request.uri().path().starts_with("/v1/");
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let learnt = Learnt::default();
    let visit = Visit::new(&edge, &request);
    let (uri, address) = (request.uri().clone(), visit.address);
    let no_room = request.extensions().get::<NoRoom>().is_some();
    let rest = body::watch(&mut request, &edge.bodies, visit.client);
    auth::watch(&mut request, app);
    let mut response = if public && method == Method::OPTIONS {
        StatusCode::OK.into_response()
    } else if let Err(refused) = admit(&visit, &request, &learnt) {
        refused.into_response()
    } else {
        request.extensions_mut().insert(learnt.clone());
        request.extensions_mut().insert(visit);
        next.run(request).await
    };
    let goes_on = match rest {
        Some(_) if no_room => false,
        Some(rest) => rest.read().await,
        None => true,
    };
    let error = response.extensions_mut().remove::<ApiError>();
    let code = error.as_ref().map(ApiError::code);
    if let Some(error) = error {
        response = with_envelope(response, error, &request_id, now);
    }
    let headers = response.headers_mut();
    if !goes_on {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        headers.insert(REQUEST_ID, value);
    }
    if let Some(allowance) = learnt.allowance() {
        limit_headers(headers, allowance);
    }
    if public {
        cors_headers(headers);
    }
    security_headers(headers, app.settings().base_url.is_https());
    let took = started.elapsed();
    let (seconds, status) = (took.as_secs_f64(), response.status().as_u16());
    app.metrics().request(method_label(&method), route.as_deref().unwrap_or("none"), status, seconds);
    if let (Some(asker), Some(route)) = (learnt.asker(), route.as_deref()) {
        let (method, path) = (method_label(&method), uri.path());
        log(
            app,
            asker,
            &Answered { method, route, path, status, code, took, request_id: &request_id, address, at: now },
        );
    }
    tracing::debug!(%request_id, %method, route, status, seconds, "request answered");
    if learnt.allowance().is_some_and(|allowance| !allowance.allowed) {
        edge.pause().await;
    }
    response
}

/// Paths that ask whether the service works. They are answered in every state of the service.
const PROBES: [&str; 3] = ["/health", "/ready", "/metrics"];
/// Paths that act without a key for anybody: signing in, and pages for people.
const KEYLESS: [&str; 9] =
    ["/", "/app", "/auth", "/config", "/docs", "/inbox", "/inbox.js", "/oauth", "/openapi.json"];

/// How requests for a path are treated, whatever their credentials. The API document says so too.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub(crate) struct Manner {
    /// It is answered in every state of the service.
    pub(crate) is_probe: bool,
    /// It needs no key, so its `Host` must be a name of the service, whatever credentials the request has.
    is_keyless: bool,
    /// It is for recipients of mails, whose links may have an old name, or for mail servers, which ask a name of a sender
    /// domain.
    pub(crate) is_for_recipients: bool,
    /// Its requests are counted by client.
    pub(crate) is_counted: bool,
}

impl Manner {
    /// How a request for a path is treated, or one for an operation whose path is this template.
    pub(crate) fn of(method: &Method, path: &str) -> Self {
        let is_tracked = is_under(path, &[tracking::PATH]);
        let is_keyless = is_under(path, &KEYLESS);
        let is_picture = served::is_picture(method, path);
        let is_asked_elsewhere = is_tracked || is_picture || path == mail_policy::PATH;
        let is_for_recipients = is_asked_elsewhere || is_under(path, &subscription::PATHS);
        Self {
            is_probe: is_under(path, &PROBES),
            is_keyless,
            is_for_recipients,
            // proxies of mailboxes fetch the pictures of all their people from a few addresses
            // a page of the dashboard asks for dozens of its files, each of which costs a copy of what is in memory
            is_counted: (is_keyless || is_for_recipients)
                && !is_under(path, &["/app/assets"])
                && !is_tracked
                && !is_picture
                && !subscription::is_way_out(method, path),
        }
    }

    /// Whether a request can be refused for the name under which it reaches us.
    pub(crate) fn minds_its_host(self) -> bool {
        !self.is_probe && !self.is_for_recipients
    }
}

/// Whether a path is one of these or below it.
fn is_under(path: &str, roots: &[&str]) -> bool {
    roots.iter().any(|root| match path.strip_prefix(root) {
        Some(rest) => rest.is_empty() || (rest.starts_with('/') && *root != "/"),
        None => false,
    })
}

/// Refuses requests under names that are not the service's, and requests beyond a limit.
fn admit(visit: &Visit, request: &Request, learnt: &Learnt) -> Result<(), ApiError> {
    let manner = Manner::of(request.method(), request.uri().path());
    if manner.is_probe {
        return Ok(());
    }
    if request.extensions().get::<NoRoom>().is_some() {
        return Err(ApiError::no_room());
    }
    let headers = request.headers();
    // a key is no use to a page that does not have it; and links in old mails may have an old name
    let by_cookie = headers.contains_key(header::COOKIE) && !headers.contains_key(header::AUTHORIZATION);
    if manner.minds_its_host() && (manner.is_keyless || by_cookie) {
        let host = host::of(request.uri(), headers).unwrap_or_default();
        if !visit.edge.hosts.knows(host) {
            return Err(ApiError::misdirected(host));
        }
    }
    if manner.is_counted
        && let Some(allowance) = visit.edge.app.limiter().take_keyless(visit.client)
        && !allowance.allowed
    {
        learnt.note(allowance);
        return Err(ApiError::rate_limited(allowance.reset, allowance.limit));
    }
    Ok(())
}

/// The method as a label. Any token is a method in HTTP, and each value of a label is kept for good.
fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// The client's own id, if it is one that can be logged and echoed; otherwise a new one.
fn request_id(headers: &HeaderMap, now: Timestamp) -> String {
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let fine = |id: &&str| {
        (1..=MAX_REQUEST_ID).contains(&id.len())
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
    };
    given
        .filter(fine)
        .map_or_else(|| mailwright_core::ids::EventId::new(now, rand::random()).to_string(), str::to_owned)
}

fn with_envelope(response: Response, error: ApiError, request_id: &str, now: Timestamp) -> Response {
    let (mut parts, _) = response.into_parts();
    let body = serde_json::to_vec(&error.envelope(request_id, now)).unwrap_or_default();
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, body.into())
}

fn limit_headers(headers: &mut HeaderMap, allowance: &Allowance) {
    for (name, value) in [
        ("ratelimit-limit", allowance.limit),
        ("ratelimit-remaining", allowance.remaining),
        ("ratelimit-reset", allowance.reset),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from(value));
    }
}

/// Browsers may call the public API from anywhere; it carries no cookies.
fn cors_headers(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, DELETE, OPTIONS"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, Authorization, Idempotency-Key, X-Request-ID"),
        (
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            "X-Request-ID, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Pages set a policy of their own before this; answers of the API load nothing at all.
fn security_headers(headers: &mut HeaderMap, https: bool) {
    let mut default = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    // answers hold keys, tokens and people's addresses; what may be kept says so itself
    default(header::CACHE_CONTROL, "no-store");
    default(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    default(header::X_FRAME_OPTIONS, "DENY");
    default(header::REFERRER_POLICY, "no-referrer");
    default(header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'");
    default(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    if https {
        default(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_under_its_root_alone() {
        for (path, keyless) in [
            ("/", true),
            ("/auth/login", true),
            ("/oauth/github/callback", true),
            ("/docs", true),
            ("/app/templates", true),
            ("/apples", false),
            ("/authors", false),
            ("/contacts", false),
            ("/v1/send", false),
        ] {
            assert_eq!(is_under(path, &KEYLESS), keyless, "{path}");
        }
    }

    #[test]
    fn a_method_of_the_clients_own_is_no_label() {
        for (method, label) in
            [("GET", "GET"), ("OPTIONS", "OPTIONS"), ("get", "other"), ("TRACE", "other"), ("X7", "other")]
        {
            assert_eq!(method_label(&Method::from_bytes(method.as_bytes()).unwrap()), label);
        }
    }
}
