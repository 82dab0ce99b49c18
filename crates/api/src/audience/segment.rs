//! `/segments`.

use axum::Json;
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

use crate::audience::contact::ContactView;
use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadContacts, WriteContacts};
use crate::error::{ApiError, ErrorEnvelope, Failure, LegacyError, Result};
use crate::fields::{Description, Name, ShortText};
use crate::filter::FilterTree;
use crate::params::{self, PageNumber, PageSize, Params, PathText};
use crate::schema::{Body, Payload, check_count};

/// Most addresses of a call (reference 5.4).
pub(crate) const MAX_EMAILS: usize = 500;

/// A segment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SegmentView {
    id: SegmentId,
    /// Name, from which the names of its events are made.
    name: String,
    /// Internal note.
    description: Option<String>,
    r#type: SegmentType,
    /// Which contacts are members; null for a static segment.
    #[schema(value_type = Option<FilterTree>)]
    condition: Option<Value>,
    /// Whether events are emitted as contacts join and leave.
    track_membership: bool,
    /// How many members it has, as last counted.
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
/// All of them, the newest first.
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
        (body["type"] != "STATIC" && !body["condition"].is_object()).then_some(CONDITION_REQUIRED)
    }
}

/// Create a segment
///
/// Contacts that join a tracked segment are found as they change; those that are members already join with
/// `compute`, or some minutes later on their own.
#[utoipa::path(post, path = "/segments", tag = "Segments", operation_id = "createSegment", security(("secretKey" = []), ("session" = [])),
    request_body = CreateRequest,
    responses(
        (status = 201, body = SegmentView),
        (status = 400, description = "Dynamic without a condition (`LegacyError`), or a condition that is not valid (`ErrorEnvelope`)", body = LegacyError),
        (status = 409, description = "There are too many segments", body = ErrorEnvelope),
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
        (status = 400, description = "With a condition that is not valid", body = ErrorEnvelope),
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
        (status = 409, description = "A campaign that is not over, or another segment, uses it", body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
) -> Result<StatusCode> {
    app.delete_segment(&project, &caller.actor, segment_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A page of a segment's members (contract, Endpoints, convention 4).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemberPage {
    data: Vec<ContactView>,
    total: i64,
    page: i64,
    page_size: i64,
    total_pages: i64,
}

/// List the members of a segment
///
/// Those of a dynamic segment as its condition finds them now, the newest contact first; those of a static one by when
/// they were added, the newest first. In a project with more than 50,000 contacts `total` is the segment's
/// `memberCount`.
#[utoipa::path(get, path = "/segments/{id}/contacts", tag = "Segments", operation_id = "listSegmentContacts", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("page" = inline(Option<PageNumber>), Query, description = "Which page"),
        ("pageSize" = inline(Option<PageSize>), Query, description = "Rows of a page"),
    ),
    responses((status = 200, body = MemberPage), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn contacts(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<MemberPage>> {
    let (page, page_size) = (params.bounded::<PageNumber>(), params.bounded::<PageSize>());
    let members = app.segment_contacts(&project, segment_id(&id)?, (page - 1) * page_size, page_size).await?;
    Ok(Json(MemberPage {
        data: members.contacts.into_iter().map(ContactView::from).collect(),
        total: members.total,
        page,
        page_size,
        total_pages: (members.total + page_size - 1) / page_size,
    }))
}

/// Addresses to put on the list of a static segment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AddMembersRequest)]
pub(crate) struct AddRequest {
    /// 1 to 500 addresses.
    emails: Vec<ShortText>,
    /// Whether addresses that are no contacts become contacts. False by default.
    create_missing: Option<bool>,
    /// Whether contacts that are created are subscribed. True by default.
    subscribed: Option<bool>,
}

impl Payload for AddRequest {
    fn check(&self) -> Vec<Issue> {
        check_count("emails", self.emails.len(), MAX_EMAILS)
    }
}

/// Which addresses were put on the list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MembersAdded {
    /// Contacts that are on the list now, those that were before included.
    added: usize,
    /// Contacts that were created.
    created: usize,
    /// Addresses that are no contacts, as they were given.
    not_found: Vec<String>,
}

/// Add members
///
/// To a static segment. Emits no events.
#[utoipa::path(post, path = "/segments/{id}/members", tag = "Segments", operation_id = "addSegmentMembers", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = AddRequest,
    responses(
        (status = 200, body = MembersAdded), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "For a dynamic segment", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn add_members(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
    Body(body): Body<AddRequest>,
) -> Result<Json<MembersAdded>, Failure> {
    let (create, subscribed) = (body.create_missing.unwrap_or(false), body.subscribed.unwrap_or(true));
    let given = body.emails.into_iter().map(String::from).collect();
    let added = app.add_segment_members(&project, segment_id(&id)?, given, create, subscribed).await?;
    Ok(Json(MembersAdded { added: added.added, created: added.created, not_found: added.not_found }))
}

/// Addresses to take off the list of a static segment.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RemoveRequest {
    /// 1 to 500 addresses.
    emails: Vec<ShortText>,
}

impl Payload for RemoveRequest {
    fn check(&self) -> Vec<Issue> {
        check_count("emails", self.emails.len(), MAX_EMAILS)
    }
}

/// How many addresses were taken off the list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MembersRemoved {
    /// Addresses that are contacts, on the list or not.
    removed: usize,
}

/// Remove members
///
/// From a static segment. Emits no events.
#[utoipa::path(delete, path = "/segments/{id}/members", tag = "Segments", operation_id = "removeSegmentMembers", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = RemoveRequest,
    responses(
        (status = 200, body = MembersRemoved), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "For a dynamic segment", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn remove_members(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
    Body(body): Body<RemoveRequest>,
) -> Result<Json<MembersRemoved>, Failure> {
    let given: Vec<String> = body.emails.into_iter().map(String::from).collect();
    let removed = app.remove_segment_members(&project, segment_id(&id)?, &given).await?;
    Ok(Json(MembersRemoved { removed }))
}

/// What became of a segment's members.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComputedView {
    /// Contacts that joined since the last call, those that joined on their own meanwhile included.
    added: i64,
    /// Contacts that left since then.
    removed: i64,
    /// Members there are now.
    total: i64,
}

/// Compute the members of a tracked segment
///
/// Every contact is judged; an event is emitted for each that joins or leaves. A contact whose joining or leaving was
/// noticed before has had its event, and is counted here once.
#[utoipa::path(post, path = "/segments/{id}/compute", tag = "Segments", operation_id = "computeSegment", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = ComputedView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The members are not tracked", body = ErrorEnvelope)))]
pub(crate) async fn compute(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
) -> Result<Json<ComputedView>> {
    let computed = app.compute_segment(&project, segment_id(&id)?).await?;
    Ok(Json(ComputedView { added: computed.added, removed: computed.removed, total: computed.total }))
}

/// A count of members.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemberCount {
    member_count: i64,
}

/// Count the members of a segment
///
/// Emits no events, and nobody joins or leaves.
#[utoipa::path(post, path = "/segments/{id}/refresh", tag = "Segments", operation_id = "refreshSegment", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = MemberCount), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn refresh(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
) -> Result<Json<MemberCount>> {
    Ok(Json(MemberCount { member_count: app.refresh_segment(&project, segment_id(&id)?).await? }))
}

fn segment_id(text: &str) -> Result<SegmentId> {
    params::id(text, Resource::Segment)
}
