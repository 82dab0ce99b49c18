//! The pages for people: `/` leads browsers to `/app/`, and everything below that answers with pages.
//!
//! The API has the root of the URL space (ADR 47). The dashboard is to be served below `/app/`; until it is part of the
//! program, a page there says what this is and where things are.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get};
use mailwright_app::{App, SignInRefusal};
use mailwright_core::locale::Locale;
use maud::{Markup, html};

use crate::accept::prefers_html;
use crate::page::Page;
use crate::params::Params;

/// What people open. None of it is part of the API.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(root))
        .route("/app", get(async |State(app): State<App>| Redirect::permanent(&below(&app, "/app/"))))
        .route("/app/", get(welcome).fallback(nothing_here))
        .route("/app/auth/login", get(not_signed_in).fallback(nothing_here))
        .route("/app/{*rest}", any(nothing_here))
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

async fn welcome(State(app): State<App>) -> Response {
    let about = html! {
        "This is an instance of Mailwright. It sends email for projects, and keeps their contacts, templates and campaigns. \
         Programs use it through its API. A dashboard is not part of this version."
    };
    let links = html! {
        ul {
            li { a href="../docs" { "API reference" } ", and the same as " a href="../openapi.json" { "OpenAPI" } }
            @if !app.mail_leaves() {
                li { a href="../inbox" { "Captured mail" } ": this instance keeps mail instead of sending it" }
            }
            li { a href="../health" { "Health" } " of the service" }
        }
    };
    shown(StatusCode::OK, "Mailwright", about, links)
}

/// Where the way back from a provider ends when it does not sign in. It shows texts of the service alone: anybody can
/// make a link to this page.
async fn not_signed_in(params: Params) -> Response {
    let Some(why) = params.text("message").and_then(SignInRefusal::from_name) else {
        let about = html! {
            "Programs sign in with " code { "POST /auth/login" } ", as the reference says. "
            "A dashboard is not part of this version."
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
