//! `/campaigns/{id}/send` and the other steps of a campaign: cancel, pause, resume, retry, test.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_core::email::RecipientState;
use mailwright_core::ids::CampaignId;

use super::body::{Retriable, RetryCampaignRequest, SendCampaignRequest, TestCampaignRequest, date};
use super::view::{CampaignView, RetriedCampaign, SentCampaign, SentTest};
use crate::auth::ProjectAccess;
use crate::auth::needs::WriteCampaigns;
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::params::{self, NoParams, PathText};
use crate::schema::Body;

/// Send or schedule a campaign
///
/// Sends it now, or at a time in the future. A scheduled campaign can be scheduled anew.
#[utoipa::path(post, path = "/campaigns/{id}/send", tag = "Campaigns", operation_id = "sendCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = SendCampaignRequest,
    responses(
        (status = 200, body = SentCampaign), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The date is invalid or in the past, the audience is empty, or the campaign was sent already", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 422, description = "Unknown field or parameter", body = ErrorEnvelope)))]
pub(crate) async fn send(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
    _: NoParams,
    Body(body): Body<SendCampaignRequest>,
) -> Result<Json<SentCampaign>, Failure> {
    let id: CampaignId = params::uuid(&id)?;
    let at = date(body.scheduled_for.as_ref())?;
    let sent = app.send_campaign(&project, &caller.actor, id, at).await?;
    let message = match at {
        Some(at) => format!("The campaign is scheduled for {at}."),
        None => "The campaign is being sent.".to_owned(),
    };
    Ok(Json(SentCampaign { success: true, data: CampaignView::new(sent, &project), message }))
}

/// Cancel a campaign
///
/// A scheduled campaign becomes a draft again. If the campaign is being sent, the mails that wait are skipped.
#[utoipa::path(post, path = "/campaigns/{id}/cancel", tag = "Campaigns", operation_id = "cancelCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = CampaignView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The campaign is neither scheduled nor being sent", body = ErrorEnvelope)))]
pub(crate) async fn cancel(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
) -> Result<Json<CampaignView>> {
    let cancelled = app.cancel_campaign(&project, &caller.actor, params::uuid(&id)?).await?;
    Ok(Json(CampaignView::new(cancelled, &project)))
}

/// Pause a campaign
///
/// No more of its mails are claimed; mails that are being handed over are not stopped.
#[utoipa::path(post, path = "/campaigns/{id}/pause", tag = "Campaigns", operation_id = "pauseCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = CampaignView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The campaign is not being sent, or is paused already", body = ErrorEnvelope)))]
pub(crate) async fn pause(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
) -> Result<Json<CampaignView>> {
    let paused = app.pause_campaign(&project, &caller.actor, params::uuid(&id)?).await?;
    Ok(Json(CampaignView::new(paused, &project)))
}

/// Resume a campaign that is paused
#[utoipa::path(post, path = "/campaigns/{id}/resume", tag = "Campaigns", operation_id = "resumeCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = CampaignView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The campaign is not paused", body = ErrorEnvelope)))]
pub(crate) async fn resume(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
) -> Result<Json<CampaignView>> {
    let resumed = app.resume_campaign(&project, &caller.actor, params::uuid(&id)?).await?;
    Ok(Json(CampaignView::new(resumed, &project)))
}

/// Send mails of a campaign again
///
/// Sends exactly the mails that failed, or those of them with `reason`; with `{"state": "IN_DOUBT"}` the mails of which
/// nobody knows whether they were taken. The campaign is `SENDING` again until each of them has its outcome.
#[utoipa::path(post, path = "/campaigns/{id}/retry", tag = "Campaigns", operation_id = "retryCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = RetryCampaignRequest,
    responses(
        (status = 200, body = RetriedCampaign), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "There is nothing to retry, or the campaign was not sent", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified any more", body = ErrorEnvelope),
        (status = 409, description = "A retry is under way", body = ErrorEnvelope)))]
pub(crate) async fn retry(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
    Body(body): Body<RetryCampaignRequest>,
) -> Result<Json<RetriedCampaign>, Failure> {
    let id: CampaignId = params::uuid(&id)?;
    let recipient_state = match body.state {
        None | Some(Retriable::Failed) => RecipientState::Failed,
        Some(Retriable::InDoubt) => RecipientState::InDoubt,
    };
    let (campaign, requeued) =
        app.retry_campaign(&project, &caller.actor, id, recipient_state, body.reason).await?;
    Ok(Json(RetriedCampaign { campaign: CampaignView::new(campaign, &project), requeued }))
}

/// Send a test of a campaign
///
/// Sends the campaign to any address, with `[TEST]` before the subject and the data of the contact who has that
/// address. The test does not count in the campaign's statistics.
#[utoipa::path(post, path = "/campaigns/{id}/test", tag = "Campaigns", operation_id = "testCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = TestCampaignRequest,
    responses(
        (status = 200, body = SentTest), (status = 404, body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn test(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
    Body(body): Body<TestCampaignRequest>,
) -> Result<Json<SentTest>, Failure> {
    let id: CampaignId = params::uuid(&id)?;
    let to = body.email.0;
    let email = app.test_campaign(&project, id, to.clone()).await?;
    Ok(Json(SentTest::new(&to, email)))
}
