//! The API document, its reference page, and the page that shows the captured mailbox.

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use mailwright_app::App;
use mailwright_core::template_language::escape_html;
use serde_json::Value;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

/// The head of the API document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Mailwright",
        description = "Sends a project's email and keeps the audience and automation around that sending.",
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
            ("publicKey", "A key that begins with pk_. It may be published, and opens /v1/track alone."),
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
pub(crate) fn routes(document: &Value) -> Router<App> {
    let json = document.to_string();
    let page = reference(document);
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/docs") }))
        .route(
            "/openapi.json",
            get(move || {
                let json = json.clone();
                async move { ([(header::CONTENT_TYPE, "application/json")], json) }
            }),
        )
        .route(
            "/docs",
            get(move || {
                let page = page.clone();
                async move { html(page, "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'") }
            }),
        )
        .route("/inbox", get(|| async { html(include_str!("inbox.html").to_owned(), INBOX_POLICY) }))
        .route(
            "/inbox.js",
            get(|| async { ([(header::CONTENT_TYPE, "text/javascript")], include_str!("inbox.js")) }),
        )
}

/// The mailbox page runs its own script and shows mails in frames without any rights.
const INBOX_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; \
    img-src https: http: data:; frame-src 'self' blob: data:; frame-ancestors 'none'; base-uri 'none'";

fn html(page: String, policy: &'static str) -> Response {
    let mut response = Html(page).into_response();
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

/// The reference page: the document as a person reads it, without any script.
fn reference(document: &Value) -> String {
    let mut operations: Vec<(String, String)> = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let tag = operation["tags"][0].as_str().unwrap_or("Other").to_owned();
            operations.push((tag, describe(path, method, operation, &document["components"])));
        }
    }
    operations.sort_by(|a, b| a.0.cmp(&b.0));
    let mut body = String::new();
    let mut last = String::new();
    for (tag, text) in operations {
        if tag != last {
            body += &format!("<h2>{}</h2>", escape_html(&tag));
            last = tag;
        }
        body += &text;
    }
    let schemas =
        document["components"]["schemas"].as_object().into_iter().flatten().map(|(name, schema)| {
            let text = serde_json::to_string_pretty(schema).unwrap_or_default();
            format!(
                "<details id=\"{0}\"><summary>{0}</summary><pre>{1}</pre></details>",
                escape_html(name),
                escape_html(&text)
            )
        });
    let schemas: String = schemas.collect();
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Mailwright API</title><style>body{{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c1c1e}}\
         code,pre{{font:14px/1.5 ui-monospace,monospace}}pre{{background:#f4f4f5;padding:1rem;overflow:auto;border-radius:8px}}\
         section{{border-top:1px solid #ddd;padding:.5rem 0}}.m{{font-weight:700;text-transform:uppercase}}table{{border-collapse:collapse}}\
         td{{padding:.15rem .8rem .15rem 0;vertical-align:top}}</style></head><body><h1>Mailwright API</h1>\
         <p>The same as <a href=\"/openapi.json\">OpenAPI 3.1</a>. Send a key as <code>Authorization: Bearer sk_…</code>.</p>\
         {body}<h2>Schemas</h2>{schemas}</body></html>"
    )
}

/// What a reference leads to, or the part itself where it is none.
fn resolved<'d>(part: &'d Value, components: &'d Value) -> &'d Value {
    let path = part["$ref"].as_str().and_then(|path| path.strip_prefix("#/components"));
    path.and_then(|path| components.pointer(path)).unwrap_or(part)
}

fn describe(path: &str, method: &str, operation: &Value, components: &Value) -> String {
    let mut text = format!(
        "<section><p><span class=\"m\">{}</span> <code>{}</code> — {}</p>",
        escape_html(method),
        escape_html(path),
        escape_html(operation["summary"].as_str().unwrap_or_default())
    );
    if let Some(more) = operation["description"].as_str() {
        text += &format!("<p>{}</p>", escape_html(more));
    }
    let mut rows = String::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let parameter = resolved(parameter, components);
        let word = |name: &str| escape_html(parameter[name].as_str().unwrap_or_default());
        rows += &format!(
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
            word("name"),
            word("in"),
            word("description")
        );
    }
    let reference =
        |schema: &Value| schema["$ref"].as_str().and_then(|r| r.rsplit('/').next()).map(escape_html);
    if let Some(name) = reference(&operation["requestBody"]["content"]["application/json"]["schema"]) {
        rows += &format!("<tr><td>body</td><td></td><td><a href=\"#{name}\">{name}</a></td></tr>");
    }
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let response = resolved(response, components);
        let name = reference(&response["content"]["application/json"]["schema"]);
        let link = name.map(|name| format!("<a href=\"#{name}\">{name}</a> ")).unwrap_or_default();
        let what = escape_html(response["description"].as_str().unwrap_or_default());
        rows += &format!("<tr><td>{}</td><td></td><td>{link}{what}</td></tr>", escape_html(status));
    }
    text + &format!("<table>{rows}</table></section>")
}
