//! The API document, and the page that shows the captured mailbox.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use mailwright_app::App;
use mailwright_app::settings::BaseUrl;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

/// The head of the API document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Mailwright",
        description = "Sends email for projects, and keeps their contacts, events, templates, segments and campaigns.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    modifiers(&Keys)
)]
pub(crate) struct Document;

struct Keys;

impl Modify for Keys {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        for (name, what) in [
            ("secretKey", "A key that begins with sk_. Keep it on servers."),
            ("publicKey", "A key that begins with pk_. It may be published; only /v1/track accepts it."),
        ] {
            let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(what)).build();
            components.add_security_scheme(name, SecurityScheme::Http(scheme));
        }
        let cookie = ApiKeyValue::with_description(
            crate::auth::SESSION_COOKIE,
            "Set by POST /auth/login; over HTTPS its name begins with __Host-, or under a path with __Secure-. Project endpoints also take the project's id, in X-Project-Id.",
        );
        components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    }
}

/// Pages that are not part of the API.
pub(crate) fn routes(base_url: BaseUrl) -> Router<App> {
    let json = Arc::new(LazyLock::new(move || {
        let (document, _) = crate::document_and_order(base_url.as_str());
        Bytes::from(document.to_string())
    }));
    let show =
        move || std::future::ready(([(header::CONTENT_TYPE, "application/json")], Bytes::clone(&json)));
    Router::new()
        .route("/openapi.json", get(show))
        .route("/inbox", get(|| async { html(include_str!("inbox.html").to_owned(), INBOX_POLICY) }))
        .route(
            "/inbox.js",
            get(|| async { ([(header::CONTENT_TYPE, "text/javascript")], include_str!("inbox.js")) }),
        )
}

/// The mailbox page runs its own script and shows mails in frames without any rights.
const INBOX_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; \
    img-src data:; frame-src 'self' blob: data:; frame-ancestors 'none'; base-uri 'none'";

fn html(page: String, policy: &'static str) -> Response {
    let mut response = Html(page).into_response();
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}
