//! `/segments`. Their members are in [`members`], conditions that are being edited in [`preview`].

pub(crate) mod history;
pub(crate) mod members;
pub(crate) mod of_contact;
pub(crate) mod preview;

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::audience::segment::{NewSegment, SegmentPatch};
use mailwright_app::{App, Resource};
use mailwright_core::ids::{ProjectId, SegmentId};
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::segment::{Segment, SegmentType};
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadContacts, WriteContacts};
use crate::error::{ApiError, ErrorEnvelope, Failure, LegacyError, Result};
use crate::fields::{Description, Name};
use crate::filter::FilterTree;
use crate::params::{self, PathText};
use crate::schema::{Body, Payload};

/// A segment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SegmentView {
    id: SegmentId,
    /// Name; the names of its events are derived from it.
    name: String,
    /// Internal note.
    description: Option<String>,
    r#type: SegmentType,
    /// Which contacts are members; null for a static segment.
    #[schema(value_type = Option<FilterTree>)]
    condition: Option<Value>,
    /// Whether events are emitted as contacts join and leave.
    track_membership: bool,
    /// Number of members at the last count.
    member_count: i64,
    project_id: ProjectId,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl SegmentView {
    pub(crate) fn new(segment: Segment, project: &Project) -> Self {
        Self {
            id: segment.id,
            name: segment.name,
            description: segment.description,
            r#type: segment.kind,
            condition: segment.condition,
            track_membership: segment.track_membership,
            member_count: segment.member_count,
            project_id: project.id,
            created_at: segment.created_at,
            updated_at: segment.updated_at,
        }
    }
}

/// List segments
///
/// All segments, the newest first.
#[utoipa::path(get, path = "/segments", tag = "Segments", operation_id = "listSegments", security(("secretKey" = []), ("session" = [])),
    responses((status = 200, body = Vec<SegmentView>)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
) -> Result<Json<Vec<SegmentView>>> {
    let segments = app.segments(&project).await?;
    Ok(Json(segments.into_iter().map(|segment| SegmentView::new(segment, &project)).collect()))
}

/// A segment to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreateSegmentRequest)]
pub(crate) struct CreateRequest {
    name: Name,
    description: Option<Description>,
    /// `DYNAMIC` by default.
    r#type: Option<SegmentType>,
    /// Required for a dynamic segment, ignored for a static one.
    #[schema(value_type = Option<FilterTree>)]
    condition: Option<Value>,
    /// False by default.
    track_membership: Option<bool>,
}

const CONDITION_REQUIRED: &str = "condition is required for a DYNAMIC segment and must be an object";

impl Payload for CreateRequest {
    fn legacy(body: &Value) -> Option<&'static str> {
        if !body.is_object() {
            return None;
        }
        let is_dynamic = body["type"].is_null() || body["type"] == "DYNAMIC";
        (is_dynamic && !body["condition"].is_object()).then_some(CONDITION_REQUIRED)
    }
}

/// Create a segment
///
/// Contacts join a tracked segment when they change. Contacts that meet the condition already join with `compute`, or
/// some minutes later in the background.
#[utoipa::path(post, path = "/segments", tag = "Segments", operation_id = "createSegment", security(("secretKey" = []), ("session" = [])),
    request_body = CreateRequest,
    responses(
        (status = 201, body = SegmentView),
        (status = 400, description = "The condition of a dynamic segment is missing (`LegacyError`) or not valid (`ErrorEnvelope`)", body = LegacyError),
        (status = 409, description = "The project has the maximum number of segments", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn create(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteContacts>,
    Body(body): Body<CreateRequest>,
) -> Result<(StatusCode, Json<SegmentView>), Failure> {
    let kind = body.r#type.unwrap_or(SegmentType::Dynamic);
    if kind == SegmentType::Dynamic && !body.condition.as_ref().is_some_and(Value::is_object) {
        return Err(Failure::Legacy(CONDITION_REQUIRED.into()));
    }
    let new = NewSegment {
        name: body.name.into(),
        description: body.description.map(String::from),
        kind,
        condition: body.condition,
        track_membership: body.track_membership.unwrap_or(false),
    };
    let segment = app.create_segment(&project, new).await?;
    Ok((StatusCode::CREATED, Json(SegmentView::new(segment, &project))))
}

/// Get a segment
#[utoipa::path(get, path = "/segments/{id}", tag = "Segments", operation_id = "getSegment", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = SegmentView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Json<SegmentView>> {
    let segment = app.segment(&project, segment_id(&id)?).await?;
    Ok(Json(SegmentView::new(segment, &project)))
}

/// Changes to a segment. Its type stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UpdateSegmentRequest)]
pub(crate) struct UpdateRequest {
    name: Option<Name>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<Description>)]
    description: Patch<Description>,
    /// Ignored for a static segment.
    #[serde(default)]
    #[schema(value_type = Option<FilterTree>)]
    condition: Patch<Value>,
    track_membership: Option<bool>,
}

impl Payload for UpdateRequest {}

/// Change a segment
#[utoipa::path(patch, path = "/segments/{id}", tag = "Segments", operation_id = "updateSegment", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = UpdateRequest,
    responses(
        (status = 200, body = SegmentView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The condition is not valid", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
    Body(body): Body<UpdateRequest>,
) -> Result<Json<SegmentView>, Failure> {
    let id = segment_id(&id)?;
    let condition = match body.condition {
        Patch::Absent => None,
        Patch::Value(condition @ Value::Object(_)) => Some(condition),
        Patch::Null | Patch::Value(_) => {
            let issue = Issue::new("condition", "invalid_type", "Must be an object.");
            return Err(ApiError::invalid(vec![issue]).into());
        }
    };
    let patch = SegmentPatch {
        name: body.name.map(String::from),
        description: body.description.map(String::from),
        condition,
        track_membership: body.track_membership,
    };
    let segment = app.update_segment(&project, id, patch).await?;
    Ok(Json(SegmentView::new(segment, &project)))
}

/// Delete a segment
#[utoipa::path(delete, path = "/segments/{id}", tag = "Segments", operation_id = "deleteSegment", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 204), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "A campaign that is not over, another segment or a workflow uses the segment", body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
) -> Result<StatusCode> {
    app.delete_segment(&project, &caller.actor, segment_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn segment_id(text: &str) -> Result<SegmentId> {
    params::id(text, Resource::Segment)
}
