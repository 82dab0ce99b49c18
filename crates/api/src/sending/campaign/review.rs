//! `/campaigns/{id}/review`: a look at a campaign before it is sent.

use axum::extract::State;
use mailwright_app::App;
use mailwright_app::sending::campaign::{Estimate, MissingValue, Problem, Review};
use mailwright_core::campaign_review::{ReviewCode, ReviewSeverity};
use serde::Serialize;
use utoipa::ToSchema;

use super::stats::CampaignAudience;
use crate::auth::ProjectAccess;
use crate::auth::needs::ReadCampaigns;
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;
use crate::params::{self, PathText};

/// What a look at a campaign finds.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CampaignReview {
    /// Whether the campaign can be sent: no problem is an error.
    ready: bool,
    problems: Vec<ReviewProblem>,
    /// Whom it is for; null where that could not be counted.
    audience: Option<CampaignAudience>,
    /// What the mail writes and some recipients have no value for.
    missing_values: MissingValues,
    /// How long sending takes; null where nothing is known of that. It is an estimate.
    estimate: Option<SendingEstimate>,
}

/// Something that keeps a campaign from being sent, or that somebody should look at.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReviewProblem {
    severity: ReviewSeverity,
    code: ReviewCode,
    /// The field that it is about; null where it is about none.
    field: Option<String>,
    message: String,
}

/// What recipients have no value for.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MissingValues {
    /// How many recipients were looked at, at most 100.
    sample_size: usize,
    /// The values, those that most recipients lack first.
    variables: Vec<MissingVariable>,
}

/// A value that recipients lack.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MissingVariable {
    name: String,
    /// How many of the sample lack it.
    count: usize,
}

/// How long sending takes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SendingEstimate {
    seconds: u64,
    /// Mails a second: the limit of the project or of the instance, or what the latest campaign had, whichever is less.
    per_second: f64,
}

impl From<Problem> for ReviewProblem {
    fn from(problem: Problem) -> Self {
        let Problem { code, field, message } = problem;
        Self { severity: code.severity(), code, field, message }
    }
}

impl From<Review> for CampaignReview {
    fn from(review: Review) -> Self {
        let variable = |MissingValue { name, count }| MissingVariable { name, count };
        Self {
            ready: review.is_ready(),
            problems: review.problems.into_iter().map(ReviewProblem::from).collect(),
            audience: review.audience.map(CampaignAudience::from),
            missing_values: MissingValues {
                sample_size: review.sample,
                variables: review.missing.into_iter().map(variable).collect(),
            },
            estimate: review.estimate.map(|Estimate { per_second, lasts }| SendingEstimate {
                seconds: lasts.as_secs_f64().ceil() as u64,
                per_second,
            }),
        }
    }
}

/// Review a campaign
///
/// What would keep it from being sent, by the checks that sending makes, and what somebody may have overlooked: missing
/// values of recipients, a missing way out, its length, that nobody saw it as a mail. Nothing is changed.
#[utoipa::path(get, path = "/campaigns/{id}/review", tag = "Campaigns", operation_id = "reviewCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = CampaignReview), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn review(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
) -> Result<Json<CampaignReview>> {
    Ok(Json(app.review_campaign(&project, params::uuid(&id)?).await?.into()))
}
