//! `POST /v1/track`.

use crate::json::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use mailwright_app::App;
use mailwright_app::audience::track::Track;
use mailwright_app::project::key::Identity;
use mailwright_core::custom_data;
use mailwright_core::event::is_reserved;
use mailwright_core::ids::{ContactId, EventId};
use mailwright_core::issue::Issue;
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::TrackKey;
use crate::envelope::Success;
use crate::error::{ApiError, ErrorEnvelope, Failure};
use crate::fields::{DataObject, Email, EventName};
use crate::schema::{KeptBody, Payload};
use crate::sending::idempotency::idempotency_key;

/// An event to record.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TrackRequest {
    /// The contact; created if absent.
    email: Email,
    /// Name of the event; not one that the service emits itself.
    event: EventName,
    /// True by default for new contacts; existing ones keep their state when omitted.
    subscribed: Option<bool>,
    /// When true, `subscribed` applies only if this request creates the contact.
    preserve_existing_subscription: Option<bool>,
    /// Changes to the contact's data and variables of the event.
    data: Option<DataObject>,
}

impl Payload for TrackRequest {
    fn check(&self) -> Vec<Issue> {
        self.data.as_ref().map(|data| custom_data::check(&data.0, "data")).unwrap_or_default()
    }
}

impl TrackRequest {
    pub(crate) fn new(
        email: Email,
        event: EventName,
        subscribed: Option<bool>,
        data: Option<DataObject>,
    ) -> Self {
        Self { email, event, subscribed, preserve_existing_subscription: None, data }
    }

    /// Refuses names that the service emits itself (contract, Events, rule 1).
    pub(crate) fn into_track(self) -> Result<Track, ApiError> {
        let event = String::from(self.event);
        if is_reserved(&event) {
            let message = "This name is reserved for events of the service. Choose another.";
            let issue = Issue::new("event", "reserved_event", message).received(event);
            return Err(mailwright_app::Error::Invalid(vec![issue]).into());
        }
        let data = self.data.map(|data| data.0);
        Ok(Track {
            email: self.email.0,
            event,
            subscribed: self.subscribed,
            preserve_existing_subscription: self.preserve_existing_subscription.unwrap_or(false),
            data,
        })
    }
}

/// What was recorded.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TrackResult {
    /// The contact.
    contact: ContactId,
    /// The event.
    event: EventId,
    /// When it was recorded.
    #[schema(value_type = String, format = DateTime)]
    timestamp: Timestamp,
}

/// Record an event
///
/// Creates the contact if it does not exist. An answer of 200 means that the event is on disk.
#[utoipa::path(post, path = "/v1/track", tag = "Public API", security(("publicKey" = []), ("secretKey" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters. Of all requests of a project with the same key, one is performed. Keys that come with the public API key are counted apart.")),
    request_body = TrackRequest,
    responses(
        (status = 200, description = "Recorded", body = Success<TrackResult>),
        (status = 400, description = "Malformed JSON", body = ErrorEnvelope),
        (status = 401, description = "Missing or invalid key", body = ErrorEnvelope),
        (status = 409, description = "The idempotency key was used before", body = ErrorEnvelope),
        (status = 422, description = "Validation failed, or a reserved name", body = ErrorEnvelope),
        (status = 429, description = "Too many requests", body = ErrorEnvelope),
    ))]
pub(crate) async fn track(
    State(app): State<App>,
    TrackKey(key): TrackKey,
    headers: HeaderMap,
    request: axum::extract::Request,
) -> Result<Json<Success<TrackResult>>, Failure> {
    let mut body = KeptBody::of(request);
    let mut recorded = record(&app, &key.caller, &headers, &mut body).await;
    if recorded.is_err()
        && let Some(caller) = key.confirm(&app).await?
    {
        recorded = record(&app, &caller, &headers, &mut body).await;
    }
    Ok(Json(Success::new(recorded?)))
}

async fn record(
    app: &App,
    caller: &Identity,
    headers: &HeaderMap,
    body: &mut KeptBody,
) -> Result<TrackResult, Failure> {
    let key = idempotency_key(app, caller, headers, "/v1/track").await?;
    let body: TrackRequest = body.parse().await?;
    let tracked = app.track(caller, body.into_track()?, key).await?;
    Ok(TrackResult { contact: tracked.contact, event: tracked.event, timestamp: tracked.timestamp })
}
