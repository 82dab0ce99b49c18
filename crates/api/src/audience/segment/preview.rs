//! `/segments/preview`: who meets a condition that is being edited.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_core::issue::Issue;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::audience::contact::ContactView;
use crate::auth::ProjectAccess;
use crate::auth::needs::SearchContacts;
use crate::error::{ErrorEnvelope, Failure};
use crate::filter::{FilterTree, check_object};
use crate::schema::{Body, Payload, WholeNumber, check_range};

/// Most contacts of a sample.
const MOST_SHOWN: i64 = 20;

/// A condition to try.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = PreviewSegmentRequest)]
pub(crate) struct PreviewRequest {
    #[schema(value_type = FilterTree)]
    condition: Value,
    /// How many of the contacts are shown, 0 by default.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 20)]
    sample: Option<WholeNumber>,
}

impl Payload for PreviewRequest {
    fn check(&self) -> Vec<Issue> {
        let sample = self.sample.and_then(|sample| check_range("sample", sample, 0, MOST_SHOWN));
        check_object(Some(&self.condition)).into_iter().chain(sample).collect()
    }
}

/// Who meets a condition.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SegmentPreviewView {
    /// How many contacts meet the condition; at least so many if `exact` is false.
    count: i64,
    /// False if counting took more than five seconds, or the limit of slow reads if that is less, and was given up.
    exact: bool,
    /// The newest of the contacts, as many as were asked for.
    sample: Vec<ContactView>,
}

/// Preview a segment
///
/// Counts the contacts that meet a condition, for an editor that shows the count while the condition is written. Stores
/// nothing. A request that the client gives up ends at once; send the next one when the condition changed.
#[utoipa::path(post, path = "/segments/preview", tag = "Segments", operation_id = "previewSegment", security(("secretKey" = []), ("session" = [])),
    request_body = PreviewRequest,
    responses(
        (status = 200, body = SegmentPreviewView),
        (status = 400, description = "The condition is not valid", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn preview(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<SearchContacts>,
    Body(body): Body<PreviewRequest>,
) -> Result<Json<SegmentPreviewView>, Failure> {
    let sample = body.sample.map_or(0, |sample| sample.0) as usize;
    let found = app.preview_segment(&project, &body.condition, sample).await?;
    let sample = found.sample.into_iter().map(ContactView::from).collect();
    Ok(Json(SegmentPreviewView { count: found.count, exact: found.exact, sample }))
}
