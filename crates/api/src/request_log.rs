//! Tells the log of requests of a request to a project.

use std::net::IpAddr;
use std::time::Duration;

use mailwright_app::App;
use mailwright_app::project::request_log::{Asker, Logged};
use mailwright_core::ids::ProjectNumber;
use mailwright_core::request_log::shown_path;
use mailwright_core::time::Timestamp;

/// What pages and programs ask again and again, beside how far a job is.
const POLLED: [&str; 3] = ["/activity/recent-count", "/requests", "/requests/{id}"];

/// A request that was answered.
pub(crate) struct Answered<'a> {
    pub(crate) method: &'static str,
    pub(crate) route: &'a str,
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    pub(crate) code: Option<&'static str>,
    pub(crate) took: Duration,
    pub(crate) request_id: &'a str,
    pub(crate) address: IpAddr,
    /// When it came.
    pub(crate) at: Timestamp,
}

/// Tells the log of a request. One that is not kept costs no memory.
pub(crate) fn log(app: &App, (project, asker): (ProjectNumber, Asker), answered: &Answered<'_>) {
    let is_polled = answered.route.ends_with("/{jobId}") || POLLED.contains(&answered.route);
    app.log_request((project, asker), (answered.status, is_polled), answered.at, |id| Logged {
        id,
        asker: Some(asker),
        method: answered.method.into(),
        route: answered.route.to_owned(),
        path: shown_path(answered.route, answered.path),
        status: answered.status,
        code: answered.code.map(Into::into),
        micros: i64::try_from(answered.took.as_micros()).unwrap_or(i64::MAX),
        request_id: answered.request_id.to_owned(),
        address: app.logs_addresses().then(|| answered.address.to_string()),
    });
}
