//! HTTP only: a handler extracts, calls one use case of `mailwright-app`, and shapes the answer.
//!
//! Every route is in `routes`; what all requests meet (request ids, envelope, headers) is in `middleware`. Each
//! resource has one module, grouped by area as in the crates below, with its handlers in the order of the contract.

mod accept;
mod account;
mod audience;
mod auth;
mod automation;
mod background;
mod body;
mod delivery;
mod document;
mod envelope;
mod error;
mod feedback;
mod fields;
mod filter;
mod form;
mod framed;
mod host;
mod insight;
mod instance;
mod json;
mod middleware;
mod no_room;
mod page;
mod params;
mod project;
mod request_log;
mod routes;
mod schema;
mod sending;
mod visit;

use axum::Router;
use axum::extract::OriginalUri;
use axum::middleware::from_fn_with_state;
use mailwright_app::App;

pub use crate::automation::simulation::Simulation;
use crate::error::ApiError;
use crate::instance::reference::{self, Facts};
use crate::instance::{docs, people};
pub use crate::no_room::NoRoom;

/// The service as one router.
pub fn router(app: App) -> Router {
    // most processes are never asked for the document: it is made when they are
    routes::router()
        .merge(docs::routes(app.settings().base_url.clone()))
        .merge(reference::routes(facts(&app)))
        .merge(people::routes())
        .fallback(|OriginalUri(uri): OriginalUri| async move { ApiError::no_such_route(uri.path()) })
        .method_not_allowed_fallback(|| async { ApiError::method_not_allowed() })
        .layer(from_fn_with_state(visit::Edge::new(app.clone()), middleware::around))
        .with_state(app)
}

/// What the reference page says of this instance.
fn facts(app: &App) -> Facts {
    let settings = app.settings();
    Facts {
        base_url: settings.base_url.clone(),
        cookie: auth::session_cookie_name(&settings.base_url),
        requests: settings.requests,
        idempotency_ttl: settings.idempotency_ttl,
    }
}

/// The API document: `OpenAPI` 3.1 as JSON, for an instance at its default address.
pub fn openapi() -> String {
    serde_json::to_string_pretty(&document_and_order("http://127.0.0.1:8080").0).unwrap_or_default()
}

/// The API document for an instance, and its paths in the order of `routes`.
fn document_and_order(base_url: &str) -> (serde_json::Value, Vec<String>) {
    let document = routes::document();
    let order = document.paths.paths.keys().cloned().collect();
    (document::complete(&document, base_url), order)
}

#[cfg(test)]
mod tests {
    /// The files of this crate with what they say.
    pub(crate) fn sources() -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs")
                    && !path.ends_with("tests.rs")
                {
                    let text = std::fs::read_to_string(&path).unwrap();
                    found.push((path.display().to_string(), text));
                }
            }
        }
        found
    }

    #[test]
    fn the_committed_document_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        let hint = "it changed: run `cargo run --bin mailwright -- openapi > docs/openapi.json` and look at the difference";
        assert!(committed.trim() == super::openapi().trim(), "{hint}");
    }
}
