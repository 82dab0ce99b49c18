//! The reference page at `/docs`: the API document as a person reads it.
//!
//! `model` and `shape` read the document, `sample` and `values` make example values, `request` and `language` make examples of
//! them, the other files write HTML. All HTML is written by `maud`, which escapes every text; nothing here is allowed to
//! get around that. The page is made when it is first asked for, and kept. It can be read without its script, which adds
//! the search and lets requests be tried.

mod codes;
mod fields;
mod guide;
mod kept;
mod language;
mod model;
mod operation;
mod page;
mod prose;
mod request;
mod sample;
mod shape;
mod values;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::HeaderMap;
use axum::response::Redirect;
use axum::routing::get;
use mailwright_app::App;
use serde_json::Value;

pub(crate) use self::guide::Facts;
use self::kept::Kept;

/// The page loads its own script and style, and its script asks its own origin. Nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    form-action 'none'; frame-ancestors 'none'; base-uri 'none'";
/// What the page loads can do nothing when it is opened by itself.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

static STYLE: LazyLock<Kept> =
    LazyLock::new(|| Kept::new("text/css; charset=utf-8", NOTHING, include_str!("reference.css")));
static SCRIPT: LazyLock<Kept> =
    LazyLock::new(|| Kept::new("text/javascript; charset=utf-8", NOTHING, include_str!("reference.js")));

/// The page and what it loads.
pub(crate) fn routes(facts: Facts) -> Router<App> {
    let page = Arc::new(LazyLock::new(move || {
        let (mut document, order) = crate::document_and_order(facts.base_url.as_str());
        values::add(&mut document);
        Kept::new("text/html; charset=utf-8", POLICY, &render(&document, &order, &facts))
    }));
    let show = move |headers: HeaderMap| std::future::ready(page.answer(&headers));
    Router::new()
        .route("/docs", get(show))
        .route("/docs/", get(async || Redirect::permanent("../docs")))
        .route("/docs/reference.css", get(async |headers: HeaderMap| STYLE.answer(&headers)))
        .route("/docs/reference.js", get(async |headers: HeaderMap| SCRIPT.answer(&headers)))
}

fn render(document: &Value, order: &[String], facts: &Facts) -> String {
    page::page(&model::groups(document, order), facts).into_string()
}

#[cfg(test)]
mod tests {
    /// `maud` escapes what it writes, except what is said to be HTML already.
    #[test]
    fn nothing_gets_around_the_escaping() {
        let escapes = concat!("Pre", "Escaped");
        for (file, text) in crate::tests::sources() {
            assert!(!text.contains(escapes), "{file}");
        }
    }
}
