//! `/events`.

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::audience::event::Event;
use mailwright_app::project::key::Identity;
use mailwright_app::{App, Resource};
use mailwright_core::custom_data;
use mailwright_core::event::is_too_long;
use mailwright_core::ids::{ContactId, EmailId, EventId, ProjectId};
use mailwright_core::issue::Issue;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::audience::contact_field::Reference;
use crate::audience::track::TrackRequest;
use crate::auth::needs::{ReadContacts, WriteContacts};
use crate::auth::{ProjectAccess, RecordAccess};
use crate::error::{ApiError, ErrorEnvelope, Failure, Result};
use crate::fields::{DataObject, Email, EventName};
use crate::params::{self, ContactEventLimit, EventLimit, Params, PathText};
use crate::schema::{KeptBody, Payload};

/// A stored event.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventView {
    id: EventId,
    name: String,
    /// The data that was sent with the event.
    #[schema(value_type = Option<Object>)]
    data: Option<Value>,
    project_id: ProjectId,
    contact_id: Option<ContactId>,
    /// The mail that the event is about.
    email_id: Option<EmailId>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The contact's address.
    contact: Option<EventContact>,
}

/// The contact of an event.
#[derive(Debug, Serialize, ToSchema)]
struct EventContact {
    email: String,
}

impl EventView {
    fn new(event: Event, project: &Project) -> Self {
        Self {
            id: event.id,
            name: event.name,
            data: event.data,
            project_id: project.id,
            contact_id: event.contact,
            email_id: event.email,
            created_at: event.created_at,
            contact: event.contact_email.map(|email| EventContact { email: email.to_string() }),
        }
    }
}

/// Several events.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventList {
    /// Newest first.
    events: Vec<EventView>,
}

/// An event to record: the body of `/v1/track`, or a name with the contact's id.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InternalTrack {
    /// Address of the contact; created if absent.
    email: Option<Email>,
    /// Name of the event.
    event: Option<EventName>,
    /// The same as `event`.
    name: Option<EventName>,
    /// The contact, instead of `email`.
    contact_id: Option<ContactId>,
    subscribed: Option<bool>,
    data: Option<DataObject>,
}

impl Payload for InternalTrack {
    fn check(&self) -> Vec<Issue> {
        let mut issues: Vec<_> =
            self.data.as_ref().map(|data| custom_data::check(&data.0, "data")).unwrap_or_default();
        if self.email.is_none() && self.contact_id.is_none() {
            issues
                .push(Issue::new("email", "invalid_type", "Pass email or contactId.").received("undefined"));
        }
        if self.event.is_none() && self.name.is_none() {
            issues.push(Issue::new("name", "invalid_type", "Pass name.").received("undefined"));
        }
        issues
    }
}

/// Record an event
///
/// Does the same as `/v1/track`, for the dashboard.
#[utoipa::path(post, path = "/events/track", tag = "Events", operation_id = "trackEvent", security(("secretKey" = []), ("session" = [])),
    request_body = InternalTrack,
    responses(
        (status = 201, body = EventView),
        (status = 404, description = "No contact has this id", body = ErrorEnvelope),
        (status = 422, description = "Validation failed, or a reserved name", body = ErrorEnvelope)))]
pub(crate) async fn track(
    State(app): State<App>,
    RecordAccess(key): RecordAccess,
    request: axum::extract::Request,
) -> Result<(StatusCode, Json<EventView>), Failure> {
    let mut body = KeptBody::of(request);
    let mut recorded = record(&app, &key.caller, &mut body).await;
    if recorded.is_err()
        && let Some(caller) = key.confirm(&app).await?
    {
        recorded = record(&app, &caller, &mut body).await;
    }
    Ok((StatusCode::CREATED, Json(recorded?)))
}

async fn record(app: &App, caller: &Identity, body: &mut KeptBody) -> Result<EventView, Failure> {
    let body: InternalTrack = body.parse().await?;
    let Some(name) = body.event.or(body.name) else { return Err(ApiError::bad_request("Pass name.").into()) };
    let email = match (body.email, body.contact_id) {
        (Some(email), _) => email,
        (None, Some(id)) => Email(app.contact(&caller.project, id).await?.email),
        (None, None) => return Err(ApiError::bad_request("Pass email or contactId.").into()),
    };
    let data = body.data.as_ref().map(|data| Value::Object(data.0.clone()));
    let track = TrackRequest::new(email.clone(), name, body.subscribed, body.data).into_track()?;
    let name = track.event.clone();
    let tracked = app.track(caller, track, None).await?;
    Ok(EventView {
        id: tracked.event,
        name,
        data,
        project_id: caller.project.id,
        contact_id: Some(tracked.contact),
        email_id: None,
        created_at: tracked.timestamp,
        contact: Some(EventContact { email: email.0.to_string() }),
    })
}

/// List recent events
#[utoipa::path(get, path = "/events", tag = "Events", operation_id = "listEvents", security(("secretKey" = []), ("session" = [])),
    params(
        ("eventName" = Option<String>, Query, description = "Only events with this name"),
        ("limit" = inline(Option<EventLimit>), Query, description = "Maximum number of events"),
    ),
    responses((status = 200, body = EventList)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    params: Params,
) -> Result<Json<EventList>> {
    let name = params.text("eventName").map(str::to_owned);
    let events = app.events(&project, name, params.bounded::<EventLimit>()).await?;
    Ok(Json(EventList { events: events.into_iter().map(|e| EventView::new(e, &project)).collect() }))
}

/// The names of events.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventNames {
    /// The most frequent first.
    event_names: Vec<String>,
}

/// List event names
#[utoipa::path(get, path = "/events/names", tag = "Events", operation_id = "listEventNames", security(("secretKey" = []), ("session" = [])),
    responses((status = 200, body = EventNames)))]
pub(crate) async fn names(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
) -> Result<Json<EventNames>> {
    Ok(Json(EventNames { event_names: app.event_names(&project).await? }))
}

/// List the events of a contact
#[utoipa::path(get, path = "/events/contact/{contactId}", tag = "Events", operation_id = "listContactEvents", security(("secretKey" = []), ("session" = [])),
    params(("contactId" = String, Path), ("limit" = inline(Option<ContactEventLimit>), Query, description = "Maximum number of events")),
    responses((status = 200, body = EventList), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn of_contact(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<EventList>> {
    let id: ContactId = params::id(&id, Resource::Contact)?;
    let events = app.contact_events(&project, id, params.bounded::<ContactEventLimit>()).await?;
    Ok(Json(EventList { events: events.into_iter().map(|e| EventView::new(e, &project)).collect() }))
}

/// How often an event happened.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventCount {
    name: String,
    count: i64,
}

/// Count events by name
///
/// The most frequent first.
#[utoipa::path(get, path = "/events/stats", tag = "Events", operation_id = "getEventStats", security(("secretKey" = []), ("session" = [])),
    params(
        ("startDate" = Option<String>, Query, description = "Only events at or after this time (ISO 8601)"),
        ("endDate" = Option<String>, Query, description = "Only events up to this time (ISO 8601)"),
    ),
    responses((status = 200, body = Vec<EventCount>), (status = 400, description = "Invalid date", body = ErrorEnvelope)))]
pub(crate) async fn stats(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    params: Params,
) -> Result<Json<Vec<EventCount>>> {
    let (from, until) = (params.instant("startDate")?, params.instant("endDate")?);
    let counts = app.event_stats(&project, from, until).await?;
    Ok(Json(counts.into_iter().map(|(name, count)| EventCount { name, count }).collect()))
}

/// The places that refer to an event name.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventUsage {
    used_in_segments: Vec<Reference>,
    used_in_campaigns: Vec<Reference>,
    used_in_workflows: Vec<Reference>,
    /// Events of this name.
    total_count: i64,
    /// Contacts that have at least one of these events.
    unique_contacts: i64,
    /// Whether the events can be deleted; false for events that the service records.
    can_delete: bool,
}

/// Show what refers to an event
#[utoipa::path(get, path = "/events/{eventName}/usage", tag = "Events", operation_id = "getEventUsage", security(("secretKey" = []), ("session" = [])),
    params(("eventName" = String, Path)),
    responses((status = 200, body = EventUsage)))]
pub(crate) async fn usage(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(name): PathText,
) -> Result<Json<EventUsage>> {
    let name = stored_name(&name)?;
    let usage = app.event_usage(&project, name).await?;
    Ok(Json(EventUsage {
        used_in_segments: Reference::segments(usage.segments),
        used_in_campaigns: Reference::campaigns(usage.campaigns),
        used_in_workflows: Reference::workflows(app.workflows_with_event(&project, name).await?),
        total_count: usage.total,
        unique_contacts: usage.contacts,
        can_delete: usage.can_delete,
    }))
}

/// How many events were removed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventsDeleted {
    deleted_count: usize,
}

/// Remove events
///
/// Deletes every event with this name. Segments that refer to the name stay, and find none of these events any more.
#[utoipa::path(delete, path = "/events/{eventName}", tag = "Events", operation_id = "deleteEvents", security(("secretKey" = []), ("session" = [])),
    params(("eventName" = String, Path)),
    responses((status = 200, body = EventsDeleted), (status = 400, description = "Events that the service records cannot be deleted", body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(name): PathText,
) -> Result<Json<EventsDeleted>, Failure> {
    let deleted_count = app.delete_events(&project, &caller.actor, stored_name(&name)?).await?;
    Ok(Json(EventsDeleted { deleted_count }))
}

/// A name that an event can have.
fn stored_name(name: &str) -> Result<&str> {
    if name.contains('\0') || is_too_long(name) {
        return Err(ApiError::bad_request("No event has that name."));
    }
    Ok(name)
}
