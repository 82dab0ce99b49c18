//! `/campaigns`: what a campaign is and says. How it runs is in [`state`], where its mails are in [`ledger`], its
//! statistics in [`stats`].

mod body;
pub(crate) mod ledger;
pub(crate) mod state;
pub(crate) mod stats;
mod view;

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::App;
use mailwright_app::sending::campaign::Fields;
use mailwright_core::campaign::CampaignStatus;
use mailwright_core::ids::CampaignId;
use mailwright_store::sending::campaign::{List, Sort};

use self::body::{CreateCampaignRequest, UpdateCampaignRequest};
use self::view::{CampaignPage, CampaignView};
use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadCampaigns, WriteCampaigns};
use crate::envelope::Success;
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::params::{self, Direction, NamedSort, PageNumber, PageSize, Params, PathText, one_of};
use crate::schema::Body;

/// List campaigns
#[utoipa::path(get, path = "/campaigns", tag = "Campaigns", operation_id = "listCampaigns", security(("secretKey" = []), ("session" = [])),
    params(
        ("page" = inline(Option<PageNumber>), Query, description = "Page number"),
        ("pageSize" = inline(Option<PageSize>), Query, description = "Rows per page"),
        ("status" = Option<CampaignStatus>, Query, description = "Only campaigns with this status"),
        ("search" = Option<String>, Query, description = "Only campaigns whose name, subject or sender address contains this text, in any case"),
        ("sort" = inline(Option<NamedSort>), Query, description = "Sort field"),
        ("dir" = inline(Option<Direction>), Query, description = "Sort direction"),
    ),
    responses((status = 200, body = CampaignPage), (status = 400, description = "Unknown status", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    params: Params,
) -> Result<Json<CampaignPage>> {
    let (page, page_size) = (params.bounded::<PageNumber>(), params.bounded::<PageSize>());
    let list = List {
        offset: (page - 1) * page_size,
        limit: page_size,
        status: one_of(
            &params,
            "status",
            CampaignStatus::from_name,
            &CampaignStatus::ALL,
            CampaignStatus::as_str,
        )?,
        search: params.text("search").map(str::to_lowercase),
        sort: match params.choice("sort") {
            Some(NamedSort::Name) => Sort::Name,
            Some(NamedSort::UpdatedAt) => Sort::UpdatedAt,
            Some(NamedSort::CreatedAt) | None => Sort::CreatedAt,
        },
        descending: params.descending(),
    };
    let (campaigns, total) = app.campaigns(&project, list).await?;
    let data = campaigns.into_iter().map(|c| CampaignView::new(c, &project)).collect();
    Ok(Json(CampaignPage { data, page, page_size, total, total_pages: (total + page_size - 1) / page_size }))
}

/// Create a campaign
///
/// The campaign is a draft until it is sent.
#[utoipa::path(post, path = "/campaigns", tag = "Campaigns", operation_id = "createCampaign", security(("secretKey" = []), ("session" = [])),
    request_body = CreateCampaignRequest,
    responses(
        (status = 201, body = Success<CampaignView>),
        (status = 400, description = "The content has an error in the template language, with line and column", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 404, description = "The segment or the topic does not exist", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn create(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteCampaigns>,
    Body(body): Body<CreateCampaignRequest>,
) -> Result<(StatusCode, Json<Success<CampaignView>>), Failure> {
    let fields = Fields {
        name: Some(body.name.into()),
        description: body.description.map(String::from).into(),
        subject: Some(body.subject.into()),
        body: Some(body.body.into()),
        from: Some(body.from.0),
        from_name: body.from_name.map(String::from).into(),
        reply_to: body.reply_to.map(|email| email.0).into(),
        kind: body.r#type,
        tracking: body.tracking.into(),
        topic: body.topic_id.into(),
        audience: Some(body.audience_type),
        segment: body.segment_id,
        condition: body.audience_condition,
    };
    let created = app.create_campaign(&project, fields).await?;
    Ok((StatusCode::CREATED, Json(Success::new(CampaignView::new(created, &project)))))
}

/// Get a campaign
#[utoipa::path(get, path = "/campaigns/{id}", tag = "Campaigns", operation_id = "getCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = CampaignView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
) -> Result<Json<CampaignView>> {
    let campaign = app.campaign(&project, params::uuid(&id)?).await?;
    Ok(Json(CampaignView::new(campaign, &project)))
}

/// Change a campaign
///
/// Only a draft or a scheduled campaign can be changed, and not the audience of a scheduled one.
#[utoipa::path(put, path = "/campaigns/{id}", tag = "Campaigns", operation_id = "updateCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = UpdateCampaignRequest,
    responses(
        (status = 200, body = CampaignView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The campaign cannot be changed any more, or its content has an error in the template language", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 409, description = "Other requests are changing it", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
    Body(body): Body<UpdateCampaignRequest>,
) -> Result<Json<CampaignView>, Failure> {
    let id: CampaignId = params::uuid(&id)?;
    let fields = Fields {
        name: body.name.map(String::from),
        description: body.description.map(String::from),
        subject: body.subject.map(String::from),
        body: body.body.map(String::from),
        from: body.from.map(|email| email.0),
        from_name: body.from_name.map(String::from),
        reply_to: body.reply_to.map(|email| email.0),
        kind: body.r#type,
        tracking: body.tracking,
        topic: body.topic_id,
        audience: body.audience_type,
        segment: body.segment_id,
        condition: body.audience_condition,
    };
    let updated = app.update_campaign(&project, id, fields).await?;
    Ok(Json(CampaignView::new(updated, &project)))
}

/// Delete a campaign
///
/// Its mails stay.
#[utoipa::path(delete, path = "/campaigns/{id}", tag = "Campaigns", operation_id = "deleteCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 204), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "The campaign is scheduled or being sent", body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
) -> Result<StatusCode> {
    app.delete_campaign(&project, &caller.actor, params::uuid(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Copy a campaign
///
/// The copy is a draft.
#[utoipa::path(post, path = "/campaigns/{id}/duplicate", tag = "Campaigns", operation_id = "duplicateCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 201, body = CampaignView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn duplicate(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
) -> Result<(StatusCode, Json<CampaignView>)> {
    let copy = app.duplicate_campaign(&project, params::uuid(&id)?).await?;
    Ok((StatusCode::CREATED, Json(CampaignView::new(copy, &project))))
}
