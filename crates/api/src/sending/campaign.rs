//! `/campaigns`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::App;
use mailwright_app::sending::campaign::{Fields, Overview};
use mailwright_core::campaign::{AudienceType, Campaign, CampaignStatus, Ledger, rate};
use mailwright_core::email::{EmailStatus, Reason, RecipientState};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectId, SegmentId};
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::role::Capability;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_store::sending::campaign::ledger::{Page, Place};
use mailwright_store::sending::campaign::run::equation;
use mailwright_store::sending::campaign::{List, Sort};
use mailwright_store::sending::email::Email as Mail;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::audience::segment::SegmentView;
use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadCampaigns, WriteCampaigns};
use crate::envelope::{Success, Time};
use crate::error::{ApiError, ErrorEnvelope, Failure, Result};
use crate::fields::{Description, Email, Html, Name, SenderName, Subject};
use crate::filter::FilterTree;
use crate::params::{self, Direction, NamedSort, NoParams, PageNumber, PageSize, Params, PathText, RowLimit};
use crate::schema::{Body, Payload};

/// A campaign.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CampaignView {
    id: CampaignId,
    /// Internal name.
    name: String,
    /// Internal note.
    description: Option<String>,
    subject: String,
    /// HTML, with variables.
    body: String,
    from: String,
    from_name: Option<String>,
    reply_to: Option<String>,
    r#type: TemplateType,
    status: CampaignStatus,
    audience_type: AudienceType,
    segment_id: Option<SegmentId>,
    /// The segment of that id.
    segment: Option<SegmentView>,
    #[schema(value_type = Option<FilterTree>)]
    audience_condition: Option<Value>,
    /// When it is to start, or was.
    #[schema(value_type = Option<String>, format = DateTime)]
    scheduled_for: Time,
    /// Mails it makes: counted when it is saved, exact once its audience is frozen.
    total_recipients: i64,
    /// Mails that the next hop took.
    sent_count: i64,
    delivered_count: i64,
    opened_count: i64,
    clicked_count: i64,
    bounced_count: i64,
    complained_count: i64,
    unsubscribed_count: i64,
    project_id: ProjectId,
    /// When it started.
    #[schema(value_type = Option<String>, format = DateTime)]
    sent_at: Time,
    /// Since when it is paused; its status is SENDING all the same.
    #[schema(value_type = Option<String>, format = DateTime)]
    paused_at: Time,
    /// When the last of its mails was settled.
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Time,
    /// Why it was cancelled or paused, or did not start, where nobody asked for it.
    note: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl CampaignView {
    fn new(overview: Overview, project: &Project) -> Self {
        let total_recipients = overview.recipients();
        let Overview { campaign, ledger, segment } = overview;
        Self {
            segment: segment.map(|segment| SegmentView::new(segment, project)),
            id: campaign.id,
            audience_type: campaign.audience.kind(),
            segment_id: campaign.audience.segment(),
            audience_condition: campaign.audience.condition().cloned(),
            name: campaign.name,
            description: campaign.description,
            subject: campaign.subject,
            body: campaign.body,
            from: campaign.from,
            from_name: campaign.from_name,
            reply_to: campaign.reply_to,
            r#type: campaign.kind,
            status: campaign.status,
            scheduled_for: campaign.scheduled_for,
            total_recipients,
            sent_count: ledger.count(RecipientState::Accepted),
            delivered_count: ledger.delivered,
            opened_count: ledger.opened,
            clicked_count: ledger.clicked,
            bounced_count: ledger.bounced,
            complained_count: ledger.complained,
            unsubscribed_count: ledger.unsubscribed,
            project_id: project.id,
            sent_at: campaign.sent_at,
            paused_at: campaign.paused_at,
            finished_at: campaign.finished_at,
            note: campaign.note,
            created_at: campaign.created_at,
            updated_at: campaign.updated_at,
        }
    }
}

/// A page of campaigns (contract, Endpoints, convention 4).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CampaignPage {
    data: Vec<CampaignView>,
    page: i64,
    page_size: i64,
    total: i64,
    total_pages: i64,
}

/// List campaigns
#[utoipa::path(get, path = "/campaigns", tag = "Campaigns", operation_id = "listCampaigns", security(("secretKey" = []), ("session" = [])),
    params(
        ("page" = inline(Option<PageNumber>), Query, description = "Which page"),
        ("pageSize" = inline(Option<PageSize>), Query, description = "Rows of a page"),
        ("status" = Option<CampaignStatus>, Query, description = "Only this status"),
        ("search" = Option<String>, Query, description = "Substring of name, subject or sender address, in any case"),
        ("sort" = inline(Option<NamedSort>), Query, description = "By what the list is sorted"),
        ("dir" = inline(Option<Direction>), Query, description = "Which way"),
    ),
    responses((status = 200, body = CampaignPage), (status = 400, description = "A status that there is not", body = ErrorEnvelope)))]
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
            CampaignStatus::ALL,
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

/// A parameter that is one of some names; any other is refused.
fn one_of<T: Copy>(
    params: &Params,
    parameter: &str,
    parse: fn(&str) -> Option<T>,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<Option<T>> {
    let Some(text) = params.text(parameter) else { return Ok(None) };
    parse(text).map(Some).ok_or_else(|| {
        let known = all.iter().map(|value| name(*value)).collect::<Vec<_>>().join(", ");
        ApiError::bad_request(format!("{parameter} must be one of {known}."))
    })
}

/// Most bytes of a body with a campaign in it.
const MAX_BODY: usize = 25 * 1024 * 1024;

/// A campaign to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateCampaignRequest {
    name: Name,
    description: Option<Description>,
    subject: Subject,
    body: Html,
    /// Its domain must be verified.
    from: Email,
    from_name: Option<SenderName>,
    reply_to: Option<Email>,
    /// `MARKETING` by default.
    r#type: Option<TemplateType>,
    audience_type: AudienceType,
    /// Required for an audience of type `SEGMENT`.
    segment_id: Option<SegmentId>,
    /// Required for an audience of type `FILTERED`: a filter tree.
    #[schema(value_type = Option<FilterTree>)]
    audience_condition: Option<Value>,
}

impl Payload for CreateCampaignRequest {
    const MAX_BODY: usize = MAX_BODY;
}

/// Create a campaign
///
/// It is a draft until it is sent.
#[utoipa::path(post, path = "/campaigns", tag = "Campaigns", operation_id = "createCampaign", security(("secretKey" = []), ("session" = [])),
    request_body = CreateCampaignRequest,
    responses(
        (status = 201, body = Success<CampaignView>),
        (status = 400, description = "An error in the template's language, with line and column", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 404, description = "There is no such segment", body = ErrorEnvelope),
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

/// A campaign to replace, or parts of it: fields that are left out stay as they are.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpdateCampaignRequest {
    name: Option<Name>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<Description>)]
    description: Patch<Description>,
    subject: Option<Subject>,
    body: Option<Html>,
    /// Its domain must be verified.
    from: Option<Email>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<SenderName>)]
    from_name: Patch<SenderName>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<Email>)]
    reply_to: Patch<Email>,
    r#type: Option<TemplateType>,
    audience_type: Option<AudienceType>,
    segment_id: Option<SegmentId>,
    /// A filter tree.
    #[schema(value_type = Option<FilterTree>)]
    audience_condition: Option<Value>,
}

impl Payload for UpdateCampaignRequest {
    const MAX_BODY: usize = MAX_BODY;
}

/// Replace a campaign
///
/// While it is a draft or scheduled. The audience of a scheduled campaign cannot be changed.
#[utoipa::path(put, path = "/campaigns/{id}", tag = "Campaigns", operation_id = "updateCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = UpdateCampaignRequest,
    responses(
        (status = 200, body = CampaignView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "It cannot be changed any more, or an error in the template's language", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 409, description = "It was changed at the same moment, again and again", body = ErrorEnvelope),
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
        (status = 409, description = "It is scheduled or under way", body = ErrorEnvelope)))]
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

/// When a campaign is to be sent. A field of another name is refused: a misspelt one would send to everybody at once.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SendCampaignRequest {
    /// When to start: any date in the future that JavaScript's `Date` reads, in UTC where it has no offset, or milliseconds since
    /// 1970. Left out or null: now.
    #[schema(value_type = Option<Value>)]
    scheduled_for: Option<Value>,
}

impl Payload for SendCampaignRequest {}

/// A time that a request gives as whatever JavaScript's `Date` reads, or as milliseconds since 1970. Nothing and null mean
/// now; anything else that is no date is refused, since a campaign that left cannot be called back.
fn date(given: Option<&Value>) -> Result<Option<Timestamp>> {
    let parsed = match given {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => Timestamp::parse_any(text),
        Some(Value::Number(number)) => number.as_f64().and_then(instant),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => None,
    };
    parsed.map(Some).ok_or_else(|| {
        ApiError::bad_request(
            "scheduledFor must be a date of the years 0 to 9999, such as \"2030-01-31T09:30:00.000Z\". \
             Leave it out, or pass null, to send now.",
        )
    })
}

/// The instant so many milliseconds after 1970, fractions cut off; `None` for what no timestamp can say.
fn instant(millis: f64) -> Option<Timestamp> {
    // beyond it whole numbers are not exact, and JavaScript knows no dates
    const MOST: f64 = 8.64e15;
    (millis.abs() <= MOST).then(|| Timestamp::from_millis(millis.trunc() as i64))?
}

/// What a campaign is answered with that was sent or scheduled.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SentCampaign {
    /// Always true.
    success: bool,
    data: CampaignView,
    /// What happens now, for people.
    message: String,
}

/// Send or schedule a campaign
///
/// Now, or at a time in the future. A campaign that is scheduled can be scheduled anew.
#[utoipa::path(post, path = "/campaigns/{id}/send", tag = "Campaigns", operation_id = "sendCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = SendCampaignRequest,
    responses(
        (status = 200, body = SentCampaign), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "A date that cannot be read or is over, no recipients, or a campaign that was sent", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 422, description = "A field or parameter that there is not", body = ErrorEnvelope)))]
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
/// One that is scheduled becomes a draft again. Of one that is being sent, the mails that wait are skipped.
#[utoipa::path(post, path = "/campaigns/{id}/cancel", tag = "Campaigns", operation_id = "cancelCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = CampaignView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "It is neither scheduled nor being sent", body = ErrorEnvelope)))]
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
/// No more of its mails are taken up; those on the wire end as they end.
#[utoipa::path(post, path = "/campaigns/{id}/pause", tag = "Campaigns", operation_id = "pauseCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = CampaignView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "It is not being sent, or paused already", body = ErrorEnvelope)))]
pub(crate) async fn pause(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
) -> Result<Json<CampaignView>> {
    let paused = app.pause_campaign(&project, &caller.actor, params::uuid(&id)?).await?;
    Ok(Json(CampaignView::new(paused, &project)))
}

/// Go on with a campaign that is paused
#[utoipa::path(post, path = "/campaigns/{id}/resume", tag = "Campaigns", operation_id = "resumeCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = CampaignView), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "It is not paused", body = ErrorEnvelope)))]
pub(crate) async fn resume(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
) -> Result<Json<CampaignView>> {
    let resumed = app.resume_campaign(&project, &caller.actor, params::uuid(&id)?).await?;
    Ok(Json(CampaignView::new(resumed, &project)))
}

/// Mails that can be tried once more.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Retriable {
    /// Those that failed.
    Failed,
    /// Those that may have been taken: a recipient may get a second copy.
    InDoubt,
}

/// Which mails are tried once more.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetryCampaignRequest {
    /// `FAILED` by default.
    state: Option<Retriable>,
    /// Only those that failed for this reason.
    reason: Option<Reason>,
}

impl Payload for RetryCampaignRequest {}

/// A campaign with mails that are tried once more.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RetriedCampaign {
    #[serde(flatten)]
    campaign: CampaignView,
    /// How many mails are tried once more.
    requeued: i64,
}

/// Send mails of a campaign again
///
/// Exactly those that failed, of one reason where one is given; with `{"state": "IN_DOUBT"}` those of which nobody knows
/// whether they were taken. The campaign is being sent again until each of them is settled.
#[utoipa::path(post, path = "/campaigns/{id}/retry", tag = "Campaigns", operation_id = "retryCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = RetryCampaignRequest,
    responses(
        (status = 200, body = RetriedCampaign), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "There is nothing to retry, or it was not sent", body = ErrorEnvelope),
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

/// Whom a test goes to.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TestCampaignRequest {
    email: Email,
}

impl Payload for TestCampaignRequest {}

/// A test that is on its way.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SentTest {
    /// Always true.
    success: bool,
    /// What happens now, for people.
    message: String,
    /// The mail, to be found at `/emails/{id}`.
    email: EmailId,
}

/// Send a test of a campaign
///
/// To any address, with `[TEST]` before the subject, and with the data of the contact who has that address. It is no part
/// of the campaign's stats.
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
    let message = format!("A test is being sent to {}.", body.email.0);
    let email = app.test_campaign(&project, id, body.email.0).await?;
    Ok(Json(SentTest { success: true, message, email }))
}

/// The statistics of a campaign. Rates are percentages of `sentCount`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CampaignStats {
    total_recipients: i64,
    sent_count: i64,
    delivered_count: i64,
    opened_count: i64,
    clicked_count: i64,
    bounced_count: i64,
    complained_count: i64,
    unsubscribed_count: i64,
    delivery_rate: f64,
    open_rate: f64,
    click_rate: f64,
    bounce_rate: f64,
    complaint_rate: f64,
    unsubscribe_rate: f64,
}

/// Get the statistics of a campaign
///
/// While it is being sent, they are those of the moment.
#[utoipa::path(get, path = "/campaigns/{id}/stats", tag = "Campaigns", operation_id = "getCampaignStats", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = CampaignStats), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn stats(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
) -> Result<Json<CampaignStats>> {
    let overview = app.campaign(&project, params::uuid(&id)?).await?;
    let total_recipients = overview.recipients();
    let ledger = overview.ledger;
    let sent = ledger.count(RecipientState::Accepted);
    Ok(Json(CampaignStats {
        total_recipients,
        sent_count: sent,
        delivered_count: ledger.delivered,
        opened_count: ledger.opened,
        clicked_count: ledger.clicked,
        bounced_count: ledger.bounced,
        complained_count: ledger.complained,
        unsubscribed_count: ledger.unsubscribed,
        delivery_rate: rate(ledger.delivered, sent),
        open_rate: rate(ledger.opened, sent),
        click_rate: rate(ledger.clicked, sent),
        bounce_rate: rate(ledger.bounced, sent),
        complaint_rate: rate(ledger.complained, sent),
        unsubscribe_rate: rate(ledger.unsubscribed, sent),
    }))
}

/// Who gets no mail of a campaign, and why.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Excluded {
    /// Contacts that are not subscribed.
    unsubscribed: i64,
    /// Contacts whose address refused mail for good, or complained.
    suppressed: i64,
}

/// Whom a campaign is for.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CampaignAudience {
    /// Contacts of the audience.
    audience: i64,
    /// Those that get a mail.
    recipients: i64,
    /// Those that do not.
    excluded: Excluded,
}

/// Count the audience of a campaign
///
/// Before it is sent: who would get it now, and who not. Afterwards: who was to get it when its audience was frozen.
#[utoipa::path(get, path = "/campaigns/{id}/audience", tag = "Campaigns", operation_id = "getCampaignAudience", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = CampaignAudience), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn audience(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
) -> Result<Json<CampaignAudience>> {
    let counted = app.campaign_audience(&project, params::uuid(&id)?).await?;
    let excluded = Excluded { unsubscribed: counted.unsubscribed, suppressed: counted.suppressed };
    Ok(Json(CampaignAudience { audience: counted.audience, recipients: counted.recipients(), excluded }))
}

/// The mails that stand so, for a reason where there is one.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerTotal {
    state: RecipientState,
    reason: Option<Reason>,
    count: i64,
}

/// A contact of a campaign's audience, and what became of the mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LedgerEntry {
    /// The mail, to be found at `/emails/{id}`.
    email_id: EmailId,
    contact_id: ContactId,
    /// Where it goes; null when the contact was removed, and for a key that does not open contacts.
    email: Option<String>,
    state: RecipientState,
    reason: Option<Reason>,
    status: EmailStatus,
    /// Why it is not sent, in words; null for a key that does not open contacts, because servers name the address.
    error: Option<String>,
    /// Whether a hand-over broke between the content and the reply.
    in_doubt: bool,
    attempt_count: i64,
    #[schema(value_type = Option<String>, format = DateTime)]
    sent_at: Time,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl LedgerEntry {
    /// The entry of a mail, for a caller who may see whom it is for or who may not.
    fn new(mail: Mail, may_see: bool) -> Self {
        Self {
            email_id: mail.id,
            contact_id: mail.contact,
            email: Some(mail.recipient).filter(|recipient| may_see && !recipient.is_empty()),
            state: mail.recipient_state.unwrap_or_else(|| RecipientState::of(mail.status)),
            reason: mail.reason,
            status: mail.status,
            error: mail.error.filter(|_| may_see),
            in_doubt: mail.in_doubt > 0,
            attempt_count: mail.attempts,
            sent_at: mail.times[0],
            updated_at: mail.updated_at,
        }
    }
}

/// The ledger of a campaign: audience = waiting + accepted + skipped + failed + in doubt.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CampaignLedger {
    status: CampaignStatus,
    /// Whether all its audience is frozen.
    frozen: bool,
    /// The sums of the moment: `audience`, `waiting`, `accepted`, `skipped` and `failed` by reason, `inDoubt`, and
    /// whether they are `balanced`: nothing waits and nobody is missing.
    #[schema(value_type = Object)]
    equation: Value,
    /// The equation that it ended with; null before.
    #[schema(value_type = Option<Object>)]
    balance: Option<Value>,
    /// The sums by state and reason, none at zero.
    totals: Vec<LedgerTotal>,
    /// The mails of the state that was asked for.
    data: Vec<LedgerEntry>,
    /// Where the next page starts; null on the last page.
    cursor: Option<String>,
    has_more: bool,
}

/// Show the ledger of a campaign
///
/// Its sums, and with `state` the mails that stand so, page by page.
#[utoipa::path(get, path = "/campaigns/{id}/ledger", tag = "Campaigns", operation_id = "getCampaignLedger", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("state" = Option<RecipientState>, Query, description = "The mails that stand so"),
        ("reason" = Option<Reason>, Query, description = "Only those for this reason"),
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows of a page"),
        ("cursor" = Option<String>, Query, description = "The cursor of the page before"),
    ),
    responses(
        (status = 200, body = CampaignLedger), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "A state, reason or cursor that there is not", body = ErrorEnvelope)))]
pub(crate) async fn ledger(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<CampaignLedger>> {
    let may_see = caller.holder.may(Capability::ReadContacts);
    let id: CampaignId = params::uuid(&id)?;
    let state =
        one_of(&params, "state", RecipientState::from_name, RecipientState::ALL, RecipientState::as_str)?;
    let reason = one_of(&params, "reason", Reason::from_name, Reason::ALL, Reason::as_str)?;
    let after = params.cursor::<Cursor>()?.map(|cursor| cursor.0);
    let limit = params.bounded::<RowLimit>() as usize;
    let page = state.map(|recipient_state| Page { recipient_state, reason, after, limit });
    let found = app.campaign_ledger(&project, id, page).await?;
    let Overview { campaign, ledger, .. } = found.overview;
    Ok(Json(CampaignLedger {
        status: campaign.status,
        frozen: is_frozen(&campaign),
        equation: equation(&ledger),
        balance: found.balance,
        totals: totals(&ledger),
        data: found.mails.into_iter().map(|mail| LedgerEntry::new(mail, may_see)).collect(),
        has_more: found.next.is_some(),
        cursor: found.next.map(|place| Cursor(place).to_string()),
    }))
}

fn is_frozen(campaign: &Campaign) -> bool {
    campaign.frozen_at.is_some()
}

fn totals(ledger: &Ledger) -> Vec<LedgerTotal> {
    let total = |(state, reason, count): &(RecipientState, Option<Reason>, i64)| LedgerTotal {
        state: *state,
        reason: *reason,
        count: *count,
    };
    ledger.totals.iter().map(total).collect()
}

/// A place in the ledger as a text: `<reason>:<id>`.
struct Cursor(Place);

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.0.reason, self.0.id)
    }
}

impl std::str::FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let (reason, id) = text.split_once(':').ok_or(())?;
        // also one that this program does not know, which the last mail of a page can have
        if reason.len() > 64 || !reason.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(());
        }
        Ok(Self(Place { reason: reason.to_owned(), id: id.parse().map_err(|_| ())? }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cursor_is_read_back_as_it_was_written() {
        for reason in ["", "bounced", "of_the_future"] {
            let place = Place { reason: reason.to_owned(), id: EmailId::new(Timestamp(7), rand::random()) };
            let read: Cursor = Cursor(place.clone()).to_string().parse().unwrap();
            assert_eq!(read.0, place);
        }
        for text in ["", "x", "nobody:1", ":1", "no body:0199c0f0-0000-7000-8000-000000000000"] {
            assert!(text.parse::<Cursor>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn whatever_is_a_date_is_one_and_only_null_means_now() {
        assert_eq!(date(None).unwrap(), None);
        assert_eq!(date(Some(&json!(null))).unwrap(), None);
        for (given, millis) in [
            (json!(0), 0),
            (json!(-0.0), 0),
            (json!(1000), 1000),
            (json!(1000.9), 1000),
            (json!(-1.5), -1),
            (json!(253_402_300_799_999_i64), 253_402_300_799_999),
            (json!("1970-01-01T00:00:01Z"), 1000),
            (json!("0"), 946_684_800_000),
        ] {
            assert_eq!(date(Some(&given)).unwrap(), Some(Timestamp(millis)), "{given}");
        }
        for wrong in [
            json!(""),
            json!(" "),
            json!("soon"),
            json!(false),
            json!(true),
            json!({}),
            json!([]),
            json!([0]),
            json!(253_402_300_800_000_i64),
            json!(8.64e15),
            json!(1e18),
            json!(1e300),
            json!(-1e300),
            json!(u64::MAX),
            json!(i64::MIN),
            json!("+010000-01-01"),
        ] {
            assert!(date(Some(&wrong)).is_err(), "{wrong}");
        }
    }
}
