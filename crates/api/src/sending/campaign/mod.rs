//! `/campaigns`: what a campaign is and says. How it runs is in [`state`], where its mails are in [`ledger`], its
//! statistics in [`stats`], a look at it before in [`review`].

mod body;
pub(crate) mod ledger;
pub(crate) mod review;
pub(crate) mod state;
pub(crate) mod stats;
pub(super) mod view;

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::App;
use mailwright_app::sending::campaign::{Fields, Overview};
use mailwright_app::sending::source::Edited;
use mailwright_core::campaign::CampaignStatus;
use mailwright_core::ids::CampaignId;
use mailwright_core::project::Project;
use mailwright_store::sending::campaign::{List, Sort};

use self::body::{CreateCampaignRequest, UpdateCampaignRequest};
use self::view::{CampaignPage, CampaignView};
use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadCampaigns, WriteCampaigns};
use crate::envelope::Success;
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::params::{self, Direction, NamedSort, PageNumber, PageSize, Params, PathText, one_of};
use crate::schema::Body;
use crate::sending::edited::{self, EditedView};

/// A campaign with what it is made from.
fn edited(campaign: Edited<Overview>, project: &Project) -> EditedView<CampaignView> {
    EditedView::new(campaign, |campaign| CampaignView::new(campaign, project))
}

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
        (status = 201, body = Success<EditedView<CampaignView>>),
        (status = 400, description = "The content has an error in the template language, with line and column", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 404, description = "The segment or the topic does not exist", body = ErrorEnvelope),
        (status = 422, description = "Validation failed, or the MJML cannot be rendered", body = ErrorEnvelope)))]
pub(crate) async fn create(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    Body(body): Body<CreateCampaignRequest>,
) -> Result<(StatusCode, Json<Success<EditedView<CampaignView>>>), Failure> {
    let fields = Fields {
        name: Some(body.name.into()),
        description: body.description.map(String::from).into(),
        texts: edited::texts(Some(body.subject), body.body, body.mjml, body.document),
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
    let created = app.create_campaign(&project, &caller.actor, fields).await?;
    Ok((StatusCode::CREATED, Json(Success::new(edited(created, &project)))))
}

/// Get a campaign
#[utoipa::path(get, path = "/campaigns/{id}", tag = "Campaigns", operation_id = "getCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = EditedView<CampaignView>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
) -> Result<Json<EditedView<CampaignView>>> {
    let campaign = app.edited_campaign(&project, params::uuid(&id)?).await?;
    Ok(Json(edited(campaign, &project)))
}

/// Change a campaign
///
/// Only a draft or a scheduled campaign can be changed, and not the audience of a scheduled one.
#[utoipa::path(put, path = "/campaigns/{id}", tag = "Campaigns", operation_id = "updateCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = UpdateCampaignRequest,
    responses(
        (status = 200, body = EditedView<CampaignView>), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The campaign cannot be changed any more, or its content has an error in the template language", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 409, description = "Other requests are changing it", body = ErrorEnvelope),
        (status = 422, description = "Validation failed, or the MJML cannot be rendered", body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
    Body(body): Body<UpdateCampaignRequest>,
) -> Result<Json<EditedView<CampaignView>>, Failure> {
    let id: CampaignId = params::uuid(&id)?;
    let fields = Fields {
        name: body.name.map(String::from),
        description: body.description.map(String::from),
        texts: edited::texts(body.subject, body.body, body.mjml, body.document),
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
    let updated = app.update_campaign(&project, &caller.actor, id, fields).await?;
    Ok(Json(edited(updated, &project)))
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
    responses((status = 201, body = EditedView<CampaignView>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn duplicate(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
) -> Result<(StatusCode, Json<EditedView<CampaignView>>)> {
    let copy = app.duplicate_campaign(&project, &caller.actor, params::uuid(&id)?).await?;
    Ok((StatusCode::CREATED, Json(edited(copy, &project))))
}
