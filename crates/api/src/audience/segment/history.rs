//! `/segments/{id}/history`: how the size of a segment changed.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_app::audience::segment::DAYS_KEPT;
use serde::Serialize;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::segment_id;
use crate::auth::ProjectAccess;
use crate::auth::needs::ReadContacts;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{Bounded, Params, PathText, whole_number};

/// Days of a history.
#[derive(Debug)]
pub(crate) struct HistoryDays;

impl Bounded for HistoryDays {
    const NAME: &'static str = "days";
    const DEFAULT: i64 = 90;
    const MOST: i64 = DAYS_KEPT;
}

impl PartialSchema for HistoryDays {
    fn schema() -> RefOr<Schema> {
        whole_number::<Self>()
    }
}

impl ToSchema for HistoryDays {}

/// How many members a segment had on a day.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SegmentSize {
    /// The day, of UTC.
    #[schema(format = Date)]
    day: String,
    member_count: i64,
}

/// Show how the size of a segment changed
///
/// The `memberCount` at the end of each of the last days, the oldest first, and that of now for today. Days of which
/// nothing was noted are missing, such as those before the segment was made. 400 days are kept.
#[utoipa::path(get, path = "/segments/{id}/history", tag = "Segments", operation_id = "getSegmentHistory", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("days" = inline(Option<HistoryDays>), Query, description = "How many days, today included")),
    responses((status = 200, body = Vec<SegmentSize>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn sizes(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<Vec<SegmentSize>>> {
    let sizes = app.segment_sizes(&project, segment_id(&id)?, params.bounded::<HistoryDays>()).await?;
    // an instant begins with its day
    let shown = sizes.into_iter().map(|(day, member_count)| SegmentSize {
        day: day.to_string().chars().take(10).collect(),
        member_count,
    });
    Ok(Json(shown.collect()))
}
