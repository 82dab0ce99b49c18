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
mod schema;
mod sending;
mod visit;

use axum::Router;
use axum::extract::OriginalUri;
use axum::middleware::from_fn_with_state;
use mailwright_app::App;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::account::{oauth, one_time_link, session, totp, user};
use crate::audience::segment::{
    history as segment_history, members, of_contact as segments_of_contact, preview,
};
use crate::audience::subscription::{confirm, pages};
use crate::audience::suppression::{address, file, mail};
use crate::audience::{
    bulk, consent, contact, contact_field, contact_search, erasure, event, export, import, import_preview,
    segment, standing, subscription, suppression, topic, track, verification, verification_job,
};
pub use crate::automation::simulation::Simulation;
use crate::automation::{
    enrolment, execution, fields as workflow_fields, list as workflows, of_contact as executions_of_contact,
    simulation, stats, step, transition, versions, webhook_secret, why, workflow,
};
use crate::delivery::{checks, mailbox, reputation, sites};
use crate::error::ApiError;
use crate::feedback::{heat, hit, received, sns, tracking};
use crate::insight::{activity, analytics, cohorts, recipients, stream, upcoming};
use crate::instance::reference::{self, Facts};
use crate::instance::{config, docs, health, people};
pub use crate::no_room::NoRoom;
use crate::project::{attention, audit, billing, invitation, key, member, request};
use crate::sending::upload::served;
use crate::sending::{
    campaign, content_version, domain, draft, email, held, send, template, template_figures, upload,
};

/// Every route, with its document.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(docs::Document::openapi())
        .merge(content_routes())
        .merge(campaign_routes())
        .merge(insight_routes())
        .merge(workflow_routes())
        .merge(account_routes())
}

/// The routes of what happened in a project.
fn insight_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(activity::list))
        .routes(routes!(activity::types_of_feed))
        .routes(routes!(activity::stats))
        .routes(routes!(activity::recent_count))
        .routes(routes!(stream::follow))
        .routes(routes!(upcoming::list))
        .routes(routes!(analytics::timeseries))
        .routes(routes!(analytics::top_campaigns))
        .routes(routes!(analytics::campaign_stats))
        .routes(routes!(analytics::top_events))
        .routes(routes!(recipients::domains))
        .routes(routes!(recipients::links))
        .routes(routes!(cohorts::list))
}

/// The routes of what a project sends, and to whom.
fn content_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        // public API
        .routes(routes!(send::send))
        .routes(routes!(track::track))
        .routes(routes!(verification::verify))
        .routes(routes!(verification::verify_many))
        .routes(routes!(verification_job::segment))
        .routes(routes!(verification_job::upload))
        .routes(routes!(verification_job::status))
        .routes(routes!(verification_job::results))
        .routes(routes!(verification_job::export))
        .routes(routes!(contact::list, contact::upsert))
        .routes(routes!(contact::get, contact::update, contact::delete))
        .routes(routes!(contact::lookup))
        .routes(routes!(contact_search::search))
        .routes(routes!(contact_field::list))
        .routes(routes!(contact_field::values))
        .routes(routes!(contact_field::usage))
        .routes(routes!(contact_field::delete))
        .routes(routes!(import::list, import::upload))
        .routes(routes!(import_preview::preview))
        .routes(routes!(import::status))
        .routes(routes!(import::errors))
        .routes(routes!(bulk::list))
        .routes(routes!(bulk::subscribe))
        .routes(routes!(bulk::unsubscribe))
        .routes(routes!(bulk::delete))
        .routes(routes!(bulk::status))
        .routes(routes!(bulk::undo))
        .routes(routes!(consent::list))
        .routes(routes!(standing::get))
        .routes(routes!(export::export))
        .routes(routes!(erasure::erase))
        .routes(routes!(erasure::erase_address))
        .routes(routes!(erasure::check))
        .routes(routes!(erasure::get))
        .routes(routes!(topic::list, topic::create))
        .routes(routes!(topic::get, topic::update, topic::delete))
        .routes(routes!(topic::of_contact, topic::set_of_contact))
        .routes(routes!(template::list, template::create))
        .routes(routes!(template::get, template::update, template::delete))
        .routes(routes!(template::duplicate))
        .routes(routes!(template_figures::usage))
        .routes(routes!(template_figures::stats))
        .routes(routes!(template::test))
        .routes(routes!(draft::check))
        .routes(routes!(draft::preview))
        .routes(routes!(content_version::of_template))
        .routes(routes!(content_version::get_of_template))
        .routes(routes!(content_version::restore_of_template))
        .routes(routes!(upload::upload))
        .routes(routes!(upload::list))
        .routes(routes!(served::picture, upload::delete))
}

/// The routes of campaigns, segments, events, suppressions, domains and mails.
fn campaign_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(campaign::list, campaign::create))
        .routes(routes!(campaign::get, campaign::update, campaign::delete))
        .routes(routes!(campaign::duplicate))
        .routes(routes!(campaign::state::send))
        .routes(routes!(campaign::state::cancel))
        .routes(routes!(campaign::state::pause))
        .routes(routes!(campaign::state::resume))
        .routes(routes!(campaign::state::retry))
        .routes(routes!(campaign::state::test))
        .routes(routes!(campaign::stats::stats))
        .routes(routes!(heat::links))
        .routes(routes!(heat::heat))
        .routes(routes!(campaign::stats::audience))
        .routes(routes!(campaign::review::review))
        .routes(routes!(campaign::ledger::ledger))
        .routes(routes!(content_version::of_campaign))
        .routes(routes!(content_version::get_of_campaign))
        .routes(routes!(content_version::restore_of_campaign))
        .routes(routes!(segment::list, segment::create))
        .routes(routes!(segment::get, segment::update, segment::delete))
        .routes(routes!(preview::preview))
        .routes(routes!(members::contacts))
        .routes(routes!(members::add_members, members::remove_members))
        .routes(routes!(members::compute))
        .routes(routes!(members::refresh))
        .routes(routes!(segment_history::sizes))
        .routes(routes!(segments_of_contact::list))
        .routes(routes!(event::track))
        .routes(routes!(event::list))
        .routes(routes!(event::stats))
        .routes(routes!(event::of_contact))
        .routes(routes!(event::names))
        .routes(routes!(event::usage))
        .routes(routes!(event::delete))
        .routes(routes!(suppression::list, suppression::create))
        .routes(routes!(suppression::update, suppression::delete))
        .routes(routes!(suppression::preview))
        .routes(routes!(address::list, address::add))
        .routes(routes!(address::add_many))
        .routes(routes!(file::import))
        .routes(routes!(file::status))
        .routes(routes!(file::export))
        .routes(routes!(address::remove))
        .routes(routes!(mail::list))
        .routes(routes!(mail::get))
        .routes(routes!(domain::list))
        .routes(routes!(domain::add))
        .routes(routes!(domain::verify))
        .routes(routes!(domain::delete))
        .routes(routes!(email::list))
        .routes(routes!(email::get))
        .routes(routes!(email::html))
        .routes(routes!(hit::list))
        .routes(routes!(held::list))
        .routes(routes!(held::decide))
        .routes(routes!(sites::list))
        .routes(routes!(received::list))
        .routes(routes!(received::get))
        .routes(routes!(received::raw))
        .routes(routes!(mailbox::list, mailbox::clear))
        .routes(routes!(mailbox::get, mailbox::delete))
        .routes(routes!(mailbox::raw))
        .routes(routes!(mailbox::html))
        .routes(routes!(mailbox::attachment))
        .routes(routes!(checks::check))
}

/// The routes of workflows.
fn workflow_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(workflows::list, workflow::create))
        .routes(routes!(workflow_fields::fields))
        .routes(routes!(workflows::bulk_update))
        .routes(routes!(workflow::get, workflow::update, workflow::delete))
        .routes(routes!(versions::duplicate))
        .routes(routes!(step::add))
        .routes(routes!(step::update, step::delete))
        .routes(routes!(transition::add))
        .routes(routes!(transition::delete))
        .routes(routes!(transition::insert_step))
        .routes(routes!(versions::publish))
        .routes(routes!(versions::list))
        .routes(routes!(versions::migrate))
        .routes(routes!(versions::migration))
        .routes(routes!(execution::list, execution::start))
        .routes(routes!(execution::cancel_all))
        .routes(routes!(execution::get, execution::cancel))
        .routes(routes!(executions_of_contact::list))
        .routes(routes!(enrolment::enrol))
        .routes(routes!(enrolment::status))
        .routes(routes!(stats::stats))
        .routes(routes!(why::why))
        .routes(routes!(simulation::simulate))
        .routes(routes!(simulation::status))
}

/// The routes of people, projects and the instance.
fn account_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        // accounts
        .routes(routes!(session::log_in))
        .routes(routes!(session::sign_up))
        .routes(routes!(session::log_out))
        .routes(routes!(oauth::config))
        .routes(routes!(one_time_link::verify_page, one_time_link::verify))
        .routes(routes!(one_time_link::request))
        .routes(routes!(one_time_link::request_reset))
        .routes(routes!(one_time_link::reset_page, one_time_link::reset))
        .routes(routes!(invitation::page, invitation::accept))
        .routes(routes!(oauth::github_outbound))
        .routes(routes!(oauth::github_callback))
        .routes(routes!(oauth::google_outbound))
        .routes(routes!(oauth::google_callback))
        .routes(routes!(user::get, user::update, user::delete))
        .routes(routes!(user::change_password))
        .routes(routes!(user::accept_invitation))
        .routes(routes!(totp::get, totp::begin, totp::remove))
        .routes(routes!(totp::confirm))
        .routes(routes!(totp::renew))
        .routes(routes!(user::sessions))
        .routes(routes!(user::end_session))
        // projects
        .routes(routes!(project::list, project::create))
        .routes(routes!(project::update, project::delete))
        .routes(routes!(project::regenerate_keys))
        .routes(routes!(project::reset))
        .routes(routes!(reputation::of_mine))
        .routes(routes!(reputation::get))
        .routes(routes!(project::setup_state::show))
        .routes(routes!(attention::list))
        .routes(routes!(billing::checkout))
        .routes(routes!(billing::portal))
        .routes(routes!(billing::limits::get, billing::limits::set))
        .routes(routes!(billing::consumption))
        .routes(routes!(billing::invoice::list))
        .routes(routes!(member::list, member::invite))
        .routes(routes!(member::update, member::remove))
        .routes(routes!(member::invitations))
        .routes(routes!(member::withdraw))
        .routes(routes!(member::confirm))
        .routes(routes!(key::list, key::create))
        .routes(routes!(key::revoke))
        .routes(routes!(audit::list))
        .routes(routes!(request::list))
        .routes(routes!(request::get))
        .routes(routes!(webhook_secret::get, webhook_secret::regenerate))
        // recipients, without a key
        .routes(routes!(subscription::get))
        .routes(routes!(subscription::subscribe))
        .routes(routes!(subscription::unsubscribe))
        .routes(routes!(pages::unsubscribe_page, pages::one_click))
        .routes(routes!(pages::subscribe_page, pages::subscribe_form))
        .routes(routes!(pages::manage_page, pages::manage_form))
        .routes(routes!(confirm::page, confirm::form))
        .routes(routes!(sns::notify))
        .routes(routes!(billing::event::take))
        .routes(routes!(billing::event::take_alias))
        .routes(routes!(tracking::picture))
        .routes(routes!(tracking::link))
        .routes(routes!(tracking::host))
        // the service itself
        .routes(routes!(config::get))
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
}

/// The service as one router.
pub fn router(app: App) -> Router {
    // most processes are never asked for the document: it is made when they are
    let (router, _) = routes().split_for_parts();
    router
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
    let (_, document) = routes().split_for_parts();
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
