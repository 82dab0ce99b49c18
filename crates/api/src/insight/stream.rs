//! `/activity/stream`: the feed as it happens, as server-sent events.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use mailwright_app::App;
use mailwright_app::insight::activity::Entry;
use mailwright_app::insight::stream::{Follower, Told, Wanted};
use mailwright_core::activity_log::Bookmark;
use tokio::time::Instant;

use super::activity::{scope, types};
use super::entry::ActivityView;
use crate::auth::needs::ReadMail;
use crate::auth::{Entered, LastingAccess};
use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::params::{Params, StreamSeconds};

/// After how long without an event the client is told how far it has read. The credentials are looked at again as often.
const PULSE: Duration = Duration::from_secs(10);
/// After how many milliseconds a client connects again.
const RETRY: u32 = 1_000;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Follow what happens
///
/// The entries of the feed as they happen, as server-sent events: `data` is an entry of `/activity`, `id` says where to
/// go on. A client that sends the last `id` as `Last-Event-ID` (or as the parameter `lastEventId`) gets everything since
/// then, each entry once, for as many hours as the operator has set (72). Entries are in the order in which they were
/// stored. A stream ends after `seconds`, and whenever the service stops; go on with `Last-Event-ID`.
#[utoipa::path(get, path = "/activity/stream", tag = "Activity", operation_id = "followActivity", security(("secretKey" = []), ("session" = [])),
    params(
        ("Last-Event-ID" = Option<String>, Header, description = "The last id that was read; without it the stream has what happens from now on"),
        ("lastEventId" = Option<String>, Query, description = "The same for clients that cannot set the header, which wins"),
        ("seconds" = inline(Option<StreamSeconds>), Query, description = "After how many seconds the stream ends; then go on with another one"),
        ("types" = Option<String>, Query, description = "Only entries of these types, separated by commas"),
        ("contactId" = Option<String>, Query, description = "Only what is about a contact"),
        ("campaignId" = Option<String>, Query, description = "Only what is about a campaign"),
        ("workflowId" = Option<String>, Query, description = "Only what is about a workflow"),
        ("templateId" = Option<String>, Query, description = "Only what is about mails of a template")),
    responses((status = 200, description = "The events", content_type = "text/event-stream", body = String),
        (status = 400, description = "Invalid parameter", body = ErrorEnvelope),
        (status = 410, description = "What happened since then is not kept any more", body = ErrorEnvelope)))]
pub(crate) async fn follow(
    State(app): State<App>,
    LastingAccess(project, entered, _): LastingAccess<ReadMail>,
    headers: HeaderMap,
    params: Params,
) -> Result<Response> {
    let wanted = Wanted { scope: scope(&params)?, types: types(&params), from: bookmark(&headers, &params)? };
    let follower = app.follow(&project, wanted, write).await?;
    let (now, lasts) = (Instant::now(), Duration::from_secs(params.bounded::<StreamSeconds>() as u64));
    let first = format!("retry: {RETRY}\nid: {}\n\n", follower.bookmark());
    let stream =
        Stream { app, entered, follower, first: Some(first), pulse_at: now + PULSE, ends_at: now + lasts };
    let events = unfold(stream, async |mut stream| {
        let event = stream.next().await?;
        Some((Ok::<_, std::convert::Infallible>(event), stream))
    });
    // a proxy must pass each event on at once
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(events)).into_response())
}

fn bookmark(headers: &HeaderMap, params: &Params) -> Result<Option<Bookmark>> {
    let given = match headers.get(LAST_EVENT_ID) {
        Some(value) => Some(value.to_str().unwrap_or("?")).filter(|text| !text.is_empty()),
        None => params.text("lastEventId"),
    };
    let Some(text) = given else { return Ok(None) };
    text.parse().map(Some).map_err(|_| ApiError::bad_request("Last-Event-ID is not an id of this stream."))
}

fn write(entry: Entry) -> String {
    serde_json::to_string(&ActivityView::from(entry)).unwrap_or_default()
}

/// A stream that is open.
struct Stream {
    app: App,
    entered: Entered,
    follower: Follower,
    first: Option<String>,
    pulse_at: Instant,
    ends_at: Instant,
}

impl Stream {
    /// What is sent next; `None` at the end. It is asked for when the client has taken what was sent before.
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let now = Instant::now();
        if now >= self.ends_at {
            return None;
        }
        if now >= self.pulse_at {
            self.pulse_at = now + PULSE;
            // the key or the session may be gone
            self.entered.look_again(&self.app).await.ok()?;
        }
        let until = self.pulse_at.min(self.ends_at);
        match self.follower.next(until.saturating_duration_since(now)).await {
            Ok(Told::Events(events)) => Some(events),
            // an id without data is no event, but clients remember it
            Ok(Told::Nothing(read)) => Some(format!(": nothing new\nid: {read}\n\n")),
            Ok(Told::End) => None,
            Err(error) => {
                tracing::warn!(%error, "a stream of the feed ends");
                None
            }
        }
    }
}
