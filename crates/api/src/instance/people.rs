//! The pages for people: `/` leads browsers to `/app/`, and everything below that answers with pages.
//!
//! The API has the root of the URL space (ADR 47). Below `/app/` is the dashboard. A program that was built without it
//! shows a page there that says how to get it and where things are.

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use mailwright_app::{App, SignInRefusal};
use mailwright_core::locale::Locale;
use maud::{Markup, html};

use super::dashboard;
use crate::accept::prefers_html;
use crate::page::Page;
use crate::params::Params;

/// What people open. None of it is part of the API.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(root))
        .route("/app", get(async |State(app): State<App>| Redirect::permanent(&below(&app, "/app/"))))
        .route("/app/", get(start).fallback(nothing_here))
        .route("/app/{*rest}", get(beneath).fallback(nothing_here))
}

/// The start page.
async fn start(State(app): State<App>) -> Response {
    dashboard::page(app.settings().base_url.path()).unwrap_or_else(|| welcome(!app.mail_leaves()))
}

/// A file of the dashboard, or one of its pages. Which pages there are, the dashboard knows alone: it gets every address
/// that a browser opens, and no other one, so that a file that is gone is not taken for a page.
async fn beneath(
    State(app): State<App>,
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    params: Params,
) -> Response {
    // what is not UTF-8 is the name of nothing
    let Ok(Path(path)) = path else { return nothing_here(State(app)).await };
    if let Some(file) = dashboard::file(&path, &headers) {
        return file;
    }
    let is_file = path.starts_with("assets/") || !prefers_html(&headers);
    let page = if is_file { None } else { dashboard::page(app.settings().base_url.path()) };
    match page {
        Some(page) => page,
        None if path == "auth/login" => not_signed_in(params.text("message")),
        None => nothing_here(State(app)).await,
    }
}

/// A path of ours as browsers see it, also where a proxy publishes the service under a path.
fn below(app: &App, path: &str) -> String {
    format!("{}{path}", app.settings().base_url.path())
}

async fn root(State(app): State<App>, headers: HeaderMap) -> Response {
    let path = if prefers_html(&headers) { "/app/" } else { "/docs" };
    let mut response = Redirect::temporary(&below(&app, path)).into_response();
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn welcome(captures: bool) -> Response {
    let about = html! {
        "This is an instance of Mailwright. It sends email for projects, and keeps their contacts, templates and campaigns. \
         Programs use it through its API. This program was built without the dashboard: to have it here, install \
         Node.js 20.19 or later, and build with "
        code { "make build" }
        "."
    };
    let links = html! {
        ul {
            li { a href="../docs" { "API reference" } ", and the same as " a href="../openapi.json" { "OpenAPI" } }
            @if captures {
                li { a href="../inbox" { "Captured mail" } ": this instance keeps mail instead of sending it" }
            }
            li { a href="../health" { "Health" } " of the service" }
        }
    };
    shown(StatusCode::OK, "Mailwright", about, links)
}

/// Where the way back from a provider ends when it does not sign in. It shows texts of the service alone: anybody can
/// make a link to this page.
fn not_signed_in(message: Option<&str>) -> Response {
    let Some(why) = message.and_then(SignInRefusal::from_name) else {
        let about = html! {
            "Programs sign in with " code { "POST /auth/login" } ", as the reference says. "
            "This program was built without the dashboard."
        };
        return shown(
            StatusCode::OK,
            "Sign in",
            about,
            html! { p { a href="../../docs#logIn" { "API reference" } } },
        );
    };
    shown(
        StatusCode::OK,
        "You are not signed in",
        html! { (why.text()) },
        html! { p { a href="../" { "Start page" } } },
    )
}

async fn nothing_here(State(app): State<App>) -> Response {
    let about = html! { "The address is wrong, or what was here is gone." };
    let start = below(&app, "/app/");
    shown(
        StatusCode::NOT_FOUND,
        "There is no such page",
        about,
        html! { p { a href=(start) { "Start page" } } },
    )
}

fn shown(status: StatusCode, heading: &str, about: Markup, more: Markup) -> Response {
    let (sentence, form) = (about.into_string(), more.into_string());
    let page = Page { status, locale: Locale::En, title: heading, heading, sentence: &sentence, form: &form };
    page.into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    async fn text(response: Response) -> String {
        assert!(
            response.headers()[header::CONTENT_SECURITY_POLICY]
                .to_str()
                .unwrap()
                .starts_with("default-src 'none'")
        );
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn without_the_dashboard_the_first_page_says_how_to_get_it() {
        for captures in [true, false] {
            let page = text(welcome(captures)).await;
            assert!(page.contains("make build") && page.contains("Node.js 20.19"), "{page}");
            assert!(page.contains("href=\"../docs\"") && page.contains("href=\"../health\""), "{page}");
            assert_eq!(page.contains("href=\"../inbox\""), captures, "{page}");
        }
    }

    #[tokio::test]
    async fn without_the_dashboard_a_failed_sign_in_shows_texts_of_the_service_alone() {
        assert!(text(not_signed_in(Some("other-way"))).await.contains("signs in another way"));
        // anybody can make a link: nothing of it is shown
        let plain = text(not_signed_in(None)).await;
        for odd in ["<script>alert(1)</script>", "Call this number", "OTHER-WAY"] {
            assert_eq!(text(not_signed_in(Some(odd))).await, plain, "{odd}");
        }
    }
}
