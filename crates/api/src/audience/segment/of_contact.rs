//! `/contacts/:id/segments`.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::{App, Resource};
use mailwright_core::ids::SegmentId;
use mailwright_core::segment::{Segment, SegmentType};
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadContacts;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{self, PathText};

/// A segment that a contact is in.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SegmentOfContact {
    id: SegmentId,
    name: String,
    r#type: SegmentType,
    /// Whether events are emitted as contacts join and leave.
    track_membership: bool,
    /// Since when the contact is a member; null if the segment is dynamic and not tracked.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    since: Option<Timestamp>,
}

impl SegmentOfContact {
    fn new((segment, since): (Segment, Option<Timestamp>)) -> Self {
        Self {
            id: segment.id,
            name: segment.name,
            r#type: segment.kind,
            track_membership: segment.track_membership,
            since,
        }
    }
}

/// The segments that a contact is in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SegmentsOfContact {
    /// The newest segment first.
    data: Vec<SegmentOfContact>,
    /// False if the conditions of the project name more than 2,000 events, or look through more than 64 MB of text: then
    /// dynamic segments that are not tracked may be missing.
    complete: bool,
}

/// List a contact's segments
///
/// Static and tracked segments by their stored members, other segments by their condition as it stands now.
#[utoipa::path(get, path = "/contacts/{id}/segments", tag = "Segments", operation_id = "listContactSegments", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = SegmentsOfContact), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Json<SegmentsOfContact>> {
    let found = app.segments_of_contact(&project, params::id(&id, Resource::Contact)?).await?;
    let data = found.segments.into_iter().map(SegmentOfContact::new).collect();
    Ok(Json(SegmentsOfContact { data, complete: found.is_complete }))
}
