//! `/health`, `/ready` and `/metrics`.

use std::time::Duration;

use crate::auth::bearer_in_any_case;
use crate::json::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use mailwright_app::App;
use serde::Serialize;
use utoipa::ToSchema;

/// The process is alive.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`.
    status: &'static str,
    /// Milliseconds since the epoch.
    time: i64,
    version: &'static str,
}

/// Check whether the process is alive
#[utoipa::path(get, path = "/health", tag = "Service", operation_id = "getHealth", responses((status = 200, body = Health)))]
pub(crate) async fn health(State(app): State<App>) -> Json<Health> {
    Json(Health { status: "ok", time: app.clock().now().0, version: env!("CARGO_PKG_VERSION") })
}

/// Check whether the process can serve requests requests, check by check.
#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_excessive_bools, reason = "one check, one field of the answer")]
pub(crate) struct Readiness {
    /// Whether all of the following is true.
    ready: bool,
    /// The database answers.
    database: bool,
    /// Its schema is the one of this program.
    migrated: bool,
    /// The database takes writes.
    writable: bool,
    /// The background work is alive.
    worker: bool,
    /// The clock of this machine agrees with the database's. No mail is delivered while it does not.
    clock: bool,
    /// The process was not asked to stop.
    staying: bool,
}

/// How long the database has to answer. Whoever asks wants to know now.
const PATIENCE: Duration = Duration::from_secs(2);

/// Check whether the process can serve requests
#[utoipa::path(get, path = "/ready", tag = "Service", operation_id = "getReadiness",
    responses((status = 200, body = Readiness), (status = 503, description = "The process cannot serve requests", body = Readiness)))]
pub(crate) async fn ready(State(app): State<App>) -> (StatusCode, Json<Readiness>) {
    let schema = tokio::time::timeout(PATIENCE, app.is_ready()).await;
    let worker = app.worker_is_alive();
    let (database, migrated) = match schema {
        Ok(Ok(migrated)) => (true, migrated),
        Ok(Err(_)) | Err(_) => (false, false),
    };
    let writable = app.is_writable();
    let (clock, staying) = (app.clock_is_right(), !app.is_leaving());
    let ready = migrated && writable && worker && clock && staying;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready, database, migrated, writable, worker, clock, staying }))
}

/// Show metrics for Prometheus
///
/// Those that name sites are for requests with the instance's key for metrics as a bearer token.
#[utoipa::path(get, path = "/metrics", tag = "Service", operation_id = "getMetrics",
    responses((status = 200, content_type = "application/openmetrics-text", body = String)))]
pub(crate) async fn metrics(State(app): State<App>, headers: HeaderMap) -> impl IntoResponse {
    app.metrics().writable(app.is_writable());
    let key = app.settings().metrics_key.as_ref();
    let names_sites = key.zip(bearer_in_any_case(&headers)).is_some_and(|(key, given)| key.is(given));
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], app.metrics().render(names_sites))
}
