//! Every route, with its document.

use axum::Router;
use mailwright_app::App;
use utoipa::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
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
use crate::automation::{
    enrolment, execution, fields as workflow_fields, list as workflows, of_contact as executions_of_contact,
    simulation, stats, step, transition, versions, webhook_secret, why, workflow,
};
use crate::delivery::{checks, email_check, interventions, mailbox, reputation, sites};
use crate::feedback::{heat, hit, received, sns, tracking};
use crate::insight::{activity, analytics, cohorts, recipients, stream, upcoming};
use crate::instance::{config, docs, health};
use crate::project::{self, attention, audit, billing, invitation, key, member, request};
use crate::sending::upload::served;
use crate::sending::{
    campaign, content_version, dmarc, domain, draft, email, held, mail_policy, send, template,
    template_figures, upload,
};

/// Makes the operations of one path, with their documents.
type Operations = fn() -> UtoipaMethodRouter<App>;

/// All operations, in the order of the document.
fn all() -> impl Iterator<Item = UtoipaMethodRouter<App>> {
    let areas = [content_routes(), campaign_routes(), insight_routes(), workflow_routes(), account_routes()];
    areas.into_iter().flatten().map(|operations| operations())
}

/// The routes alone. The document of each operation is dropped before the next one is made: all of them together take ten
/// megabytes, which a process would keep.
pub(crate) fn router() -> Router<App> {
    all().fold(Router::new(), |router, (_, paths, operations)| {
        paths.paths.into_keys().fold(router, |router, path| router.route(&path, operations.clone()))
    })
}

/// The document of all routes.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    let document = OpenApiRouter::with_openapi(docs::Document::openapi());
    all().fold(document, OpenApiRouter::routes).into_openapi()
}

/// The routes of what happened in a project.
fn insight_routes() -> &'static [Operations] {
    &[
        || routes!(activity::list),
        || routes!(activity::types_of_feed),
        || routes!(activity::stats),
        || routes!(activity::recent_count),
        || routes!(stream::follow),
        || routes!(upcoming::list),
        || routes!(analytics::timeseries),
        || routes!(analytics::top_campaigns),
        || routes!(analytics::campaign_stats),
        || routes!(analytics::top_events),
        || routes!(recipients::domains),
        || routes!(recipients::links),
        || routes!(cohorts::list),
    ]
}

/// The routes of what a project sends, and to whom.
fn content_routes() -> &'static [Operations] {
    &[
        // public API
        || routes!(send::send),
        || routes!(track::track),
        || routes!(verification::verify),
        || routes!(verification::verify_many),
        || routes!(verification_job::segment),
        || routes!(verification_job::upload),
        || routes!(verification_job::status),
        || routes!(verification_job::results),
        || routes!(verification_job::export),
        || routes!(contact::list, contact::upsert),
        || routes!(contact::get, contact::update, contact::delete),
        || routes!(contact::lookup),
        || routes!(contact_search::search),
        || routes!(contact_field::list),
        || routes!(contact_field::values),
        || routes!(contact_field::usage),
        || routes!(contact_field::delete),
        || routes!(import::list, import::upload),
        || routes!(import_preview::preview),
        || routes!(import::status),
        || routes!(import::errors),
        || routes!(bulk::list),
        || routes!(bulk::subscribe),
        || routes!(bulk::unsubscribe),
        || routes!(bulk::delete),
        || routes!(bulk::status),
        || routes!(bulk::undo),
        || routes!(consent::list),
        || routes!(standing::get),
        || routes!(export::export),
        || routes!(erasure::erase),
        || routes!(erasure::erase_address),
        || routes!(erasure::check),
        || routes!(erasure::get),
        || routes!(topic::list, topic::create),
        || routes!(topic::get, topic::update, topic::delete),
        || routes!(topic::of_contact, topic::set_of_contact),
        || routes!(template::list, template::create),
        || routes!(template::get, template::update, template::delete),
        || routes!(template::duplicate),
        || routes!(template_figures::usage),
        || routes!(template_figures::stats),
        || routes!(template::test),
        || routes!(email_check::template),
        || routes!(draft::check),
        || routes!(draft::preview),
        || routes!(content_version::of_template),
        || routes!(content_version::get_of_template),
        || routes!(content_version::restore_of_template),
        || routes!(upload::upload),
        || routes!(upload::list),
        || routes!(served::picture, upload::delete),
    ]
}

/// The routes of campaigns, segments, events, suppressions, domains and mails.
fn campaign_routes() -> &'static [Operations] {
    &[
        || routes!(campaign::list, campaign::create),
        || routes!(campaign::get, campaign::update, campaign::delete),
        || routes!(campaign::duplicate),
        || routes!(campaign::state::send),
        || routes!(campaign::state::cancel),
        || routes!(campaign::state::pause),
        || routes!(campaign::state::resume),
        || routes!(campaign::state::retry),
        || routes!(campaign::state::test),
        || routes!(email_check::campaign),
        || routes!(campaign::stats::stats),
        || routes!(heat::links),
        || routes!(heat::heat),
        || routes!(campaign::stats::audience),
        || routes!(campaign::review::review),
        || routes!(campaign::ledger::ledger),
        || routes!(content_version::of_campaign),
        || routes!(content_version::get_of_campaign),
        || routes!(content_version::restore_of_campaign),
        || routes!(segment::list, segment::create),
        || routes!(segment::get, segment::update, segment::delete),
        || routes!(preview::preview),
        || routes!(members::contacts),
        || routes!(members::add_members, members::remove_members),
        || routes!(members::compute),
        || routes!(members::refresh),
        || routes!(segment_history::sizes),
        || routes!(segments_of_contact::list),
        || routes!(event::track),
        || routes!(event::list),
        || routes!(event::stats),
        || routes!(event::of_contact),
        || routes!(event::names),
        || routes!(event::usage),
        || routes!(event::delete),
        || routes!(suppression::list, suppression::create),
        || routes!(suppression::update, suppression::delete),
        || routes!(suppression::preview),
        || routes!(address::list, address::add),
        || routes!(address::add_many),
        || routes!(file::import),
        || routes!(file::status),
        || routes!(file::export),
        || routes!(address::remove),
        || routes!(mail::list),
        || routes!(mail::get),
        || routes!(domain::list),
        || routes!(domain::add),
        || routes!(domain::verify),
        || routes!(dmarc::show),
        || routes!(domain::rotate_keys),
        || routes!(domain::delete),
        || routes!(email::list),
        || routes!(email_check::email),
        || routes!(email::get),
        || routes!(email::html),
        || routes!(hit::list),
        || routes!(held::list),
        || routes!(held::decide),
        || routes!(sites::list),
        || routes!(interventions::list),
        || routes!(interventions::add),
        || routes!(interventions::end),
        || routes!(received::list),
        || routes!(received::get),
        || routes!(received::raw),
        || routes!(mailbox::list, mailbox::clear),
        || routes!(mailbox::get, mailbox::delete),
        || routes!(mailbox::raw),
        || routes!(mailbox::html),
        || routes!(mailbox::attachment),
        || routes!(checks::check),
    ]
}

/// The routes of workflows.
fn workflow_routes() -> &'static [Operations] {
    &[
        || routes!(workflows::list, workflow::create),
        || routes!(workflow_fields::fields),
        || routes!(workflows::bulk_update),
        || routes!(workflow::get, workflow::update, workflow::delete),
        || routes!(versions::duplicate),
        || routes!(step::add),
        || routes!(step::update, step::delete),
        || routes!(transition::add),
        || routes!(transition::delete),
        || routes!(transition::insert_step),
        || routes!(versions::publish),
        || routes!(versions::list),
        || routes!(versions::migrate),
        || routes!(versions::migration),
        || routes!(execution::list, execution::start),
        || routes!(execution::cancel_all),
        || routes!(execution::get, execution::cancel),
        || routes!(executions_of_contact::list),
        || routes!(enrolment::enrol),
        || routes!(enrolment::status),
        || routes!(stats::stats),
        || routes!(why::why),
        || routes!(simulation::simulate),
        || routes!(simulation::status),
    ]
}

/// The routes of people, projects and the instance.
fn account_routes() -> &'static [Operations] {
    &[
        // accounts
        || routes!(session::log_in),
        || routes!(session::sign_up),
        || routes!(session::log_out),
        || routes!(oauth::config),
        || routes!(one_time_link::verify_page, one_time_link::verify),
        || routes!(one_time_link::request),
        || routes!(one_time_link::request_reset),
        || routes!(one_time_link::reset_page, one_time_link::reset),
        || routes!(invitation::page, invitation::accept),
        || routes!(oauth::github_outbound),
        || routes!(oauth::github_callback),
        || routes!(oauth::google_outbound),
        || routes!(oauth::google_callback),
        || routes!(user::get, user::update, user::delete),
        || routes!(user::change_password),
        || routes!(user::accept_invitation),
        || routes!(totp::get, totp::begin, totp::remove),
        || routes!(totp::confirm),
        || routes!(totp::renew),
        || routes!(user::sessions),
        || routes!(user::end_session),
        // projects
        || routes!(project::list, project::create),
        || routes!(project::update, project::delete),
        || routes!(project::regenerate_keys),
        || routes!(project::reset),
        || routes!(reputation::of_mine),
        || routes!(reputation::get),
        || routes!(project::setup_state::show),
        || routes!(attention::list),
        || routes!(billing::checkout),
        || routes!(billing::portal),
        || routes!(billing::limits::get, billing::limits::set),
        || routes!(billing::consumption),
        || routes!(billing::invoice::list),
        || routes!(member::list, member::invite),
        || routes!(member::update, member::remove),
        || routes!(member::invitations),
        || routes!(member::withdraw),
        || routes!(member::confirm),
        || routes!(key::list, key::create),
        || routes!(key::revoke),
        || routes!(audit::list),
        || routes!(request::list),
        || routes!(request::get),
        || routes!(webhook_secret::get, webhook_secret::regenerate),
        // recipients, without a key
        || routes!(subscription::get),
        || routes!(subscription::subscribe),
        || routes!(subscription::unsubscribe),
        || routes!(pages::unsubscribe_page, pages::one_click),
        || routes!(pages::subscribe_page, pages::subscribe_form),
        || routes!(pages::manage_page, pages::manage_form),
        || routes!(confirm::page, confirm::form),
        || routes!(sns::notify),
        || routes!(billing::event::take),
        || routes!(billing::event::take_alias),
        || routes!(tracking::picture),
        || routes!(tracking::link),
        || routes!(tracking::host),
        || routes!(mail_policy::policy),
        // the service itself
        || routes!(config::get),
        || routes!(health::health),
        || routes!(health::ready),
        || routes!(health::metrics),
    ]
}
