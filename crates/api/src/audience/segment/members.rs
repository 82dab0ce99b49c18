//! `/segments/{id}/contacts`, `members`, `compute` and `refresh`: who is in a segment.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_core::issue::Issue;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::segment_id;
use crate::audience::contact::ContactView;
use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadContacts, WriteContacts};
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::fields::ShortText;
use crate::params::{PageNumber, PageSize, Params, PathText};
use crate::schema::{Body, Payload, check_count};

/// Most addresses of a call (reference 5.4).
pub(crate) const MAX_EMAILS: usize = 500;

/// A page of a segment's members.
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
/// Of a dynamic segment: the contacts that meet its condition now, the newest contact first. Of a static one: its
/// members, the last added first. In a project with more than 50,000 contacts `total` is the segment's `memberCount`.
#[utoipa::path(get, path = "/segments/{id}/contacts", tag = "Segments", operation_id = "listSegmentContacts", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("page" = inline(Option<PageNumber>), Query, description = "Page number"),
        ("pageSize" = inline(Option<PageSize>), Query, description = "Rows per page"),
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
    /// Whether a contact is created for an address that has none. False by default.
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
    /// Contacts of the request that are on the list now, including those that were on it before.
    added: usize,
    /// Contacts that were created.
    created: usize,
    /// Addresses that are no contacts, as they were given.
    not_found: Vec<String>,
}

/// Add members
///
/// Only for static segments. Emits no events.
#[utoipa::path(post, path = "/segments/{id}/members", tag = "Segments", operation_id = "addSegmentMembers", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = AddRequest,
    responses(
        (status = 200, body = MembersAdded), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The segment is dynamic", body = ErrorEnvelope),
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
    /// Addresses of the request that are contacts, whether they were on the list or not.
    removed: usize,
}

/// Remove members
///
/// Only for static segments. Emits no events.
#[utoipa::path(delete, path = "/segments/{id}/members", tag = "Segments", operation_id = "removeSegmentMembers", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = RemoveRequest,
    responses(
        (status = 200, body = MembersRemoved), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The segment is dynamic", body = ErrorEnvelope),
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

/// How a segment's members changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComputedView {
    /// Contacts that joined since the last call, including those that joined in the background.
    added: i64,
    /// Contacts that left since the last call.
    removed: i64,
    /// Number of members now.
    total: i64,
}

/// Compute the members of a tracked segment
///
/// Evaluates every contact, and emits an event for each that joins or leaves. A contact that joined or left in the
/// background since the last call has had its event, and is counted in this answer.
#[utoipa::path(post, path = "/segments/{id}/compute", tag = "Segments", operation_id = "computeSegment", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = ComputedView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The members of the segment are not tracked", body = ErrorEnvelope)))]
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
