//! `/templates`.

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::sending::source::Edited;
use mailwright_app::sending::template::Fields;
use mailwright_app::{App, Resource};
use mailwright_core::ids::{ProjectId, TemplateId, TopicId};
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::template::{Template, TemplateType};
use mailwright_core::time::Timestamp;
use mailwright_store::sending::template::{List, Sort};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::campaign::view::SentTest;
use super::edited::{self, EditedView, EditorDocument};
use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadCampaigns, WriteCampaigns};
use crate::error::{ErrorEnvelope, Failure, LegacyError, Result};
use crate::fields::{Description, DisplayName, Email, Html, Mjml, Name, Subject};
use crate::params::{self, Direction, NamedSort, PageNumber, PageSize, Params, PathText};
use crate::schema::{Body, Payload, missing};

/// A template.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TemplateView {
    id: TemplateId,
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
    /// Whether opens and clicks of its mails are tracked; null leaves it to the project.
    tracking: Option<bool>,
    /// The topic that its mails belong to.
    topic_id: Option<TopicId>,
    project_id: ProjectId,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl TemplateView {
    pub(super) fn new(template: Template, project: &Project) -> Self {
        Self {
            id: template.id,
            name: template.name,
            description: template.description,
            subject: template.subject,
            body: template.body,
            from: template.from.to_string(),
            from_name: template.from_name,
            reply_to: template.reply_to.map(|to| to.to_string()),
            r#type: template.kind,
            tracking: template.tracking,
            topic_id: template.topic,
            project_id: project.id,
            created_at: template.created_at,
            updated_at: template.updated_at,
        }
    }
}

/// A template with what it is made from.
fn edited(template: Edited<Template>, project: &Project) -> EditedView<TemplateView> {
    EditedView::new(template, |template| TemplateView::new(template, project))
}

/// A page of templates.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TemplatePage {
    data: Vec<TemplateView>,
    total: i64,
    page: i64,
    page_size: i64,
    total_pages: i64,
}

/// List templates
#[utoipa::path(get, path = "/templates", tag = "Templates", operation_id = "listTemplates", security(("secretKey" = []), ("session" = [])),
    params(
        ("page" = inline(Option<PageNumber>), Query, description = "Page number"),
        ("pageSize" = inline(Option<PageSize>), Query, description = "Rows per page"),
        ("type" = Option<TemplateType>, Query, description = "Only templates of this type; an unknown type is ignored"),
        ("search" = Option<String>, Query, description = "Only templates whose name, description or subject contains this text, in any case"),
        ("sort" = inline(Option<NamedSort>), Query, description = "Sort field"),
        ("dir" = inline(Option<Direction>), Query, description = "Sort direction"),
    ),
    responses((status = 200, body = TemplatePage)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    params: Params,
) -> Result<Json<TemplatePage>> {
    let (page, page_size) = (params.bounded::<PageNumber>(), params.bounded::<PageSize>());
    let list = List {
        offset: (page - 1) * page_size,
        limit: page_size,
        kind: params.text("type").and_then(TemplateType::from_name),
        search: params.text("search").map(str::to_lowercase),
        sort: match params.choice("sort") {
            Some(NamedSort::Name) => Sort::Name,
            Some(NamedSort::UpdatedAt) => Sort::UpdatedAt,
            Some(NamedSort::CreatedAt) | None => Sort::CreatedAt,
        },
        descending: params.descending(),
    };
    let (templates, total) = app.templates(&project, list).await?;
    let data = templates.into_iter().map(|t| TemplateView::new(t, &project)).collect();
    Ok(Json(TemplatePage { data, total, page, page_size, total_pages: (total + page_size - 1) / page_size }))
}

/// A template to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreateTemplateRequest)]
pub(crate) struct CreateRequest {
    name: Name,
    description: Option<Description>,
    subject: Subject,
    /// Required, unless there is `mjml`.
    body: Option<Html>,
    /// MJML that the body is made from.
    mjml: Option<Mjml>,
    /// The document of the editor that made the MJML.
    document: Option<EditorDocument>,
    /// Its domain must be verified.
    from: Email,
    from_name: Option<DisplayName>,
    reply_to: Option<Email>,
    /// `MARKETING` by default.
    r#type: Option<TemplateType>,
    /// Whether opens and clicks of its mails are tracked. Left out or null: what the project says.
    tracking: Option<bool>,
    /// The topic that its mails belong to: contacts that are not in it do not get them.
    topic_id: Option<TopicId>,
}

/// Most bytes of a body with a template in it.
const MAX_BODY: usize = 25 * 1024 * 1024;

impl Payload for CreateRequest {
    const MAX_BODY: usize = MAX_BODY;

    fn check(&self) -> Vec<Issue> {
        let mut issues = edited::check_document(self.document.as_ref());
        issues.extend(edited::check_present(self.body.as_ref(), self.mjml.as_ref()));
        issues
    }

    fn check_across(&self) -> Vec<Issue> {
        edited::check_together(self.body.as_ref(), self.mjml.as_ref(), self.document.as_ref())
    }

    fn legacy(body: &Value) -> Option<&'static str> {
        missing(body, &[("from", "from is required")])
    }
}

/// Create a template
#[utoipa::path(post, path = "/templates", tag = "Templates", operation_id = "createTemplate", security(("secretKey" = []), ("session" = [])),
    request_body = CreateRequest,
    responses(
        (status = 201, body = EditedView<TemplateView>),
        (status = 400, description = "`from` is missing (`LegacyError`), or the content has an error in the template language, with line and column (`ErrorEnvelope`)", body = LegacyError),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 404, description = "The topic does not exist", body = ErrorEnvelope),
        (status = 422, description = "Validation failed, or the MJML cannot be rendered", body = ErrorEnvelope)))]
pub(crate) async fn create(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    Body(body): Body<CreateRequest>,
) -> Result<(StatusCode, Json<EditedView<TemplateView>>), Failure> {
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
    };
    let template = app.create_template(&project, &caller.actor, fields).await?;
    Ok((StatusCode::CREATED, Json(edited(template, &project))))
}

/// Get a template
#[utoipa::path(get, path = "/templates/{id}", tag = "Templates", operation_id = "getTemplate", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = EditedView<TemplateView>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
) -> Result<Json<EditedView<TemplateView>>> {
    let template = app.get_template(&project, params::id(&id, Resource::Template)?).await?;
    Ok(Json(edited(template, &project)))
}

/// Changes to a template.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UpdateTemplateRequest)]
pub(crate) struct UpdateRequest {
    name: Option<Name>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<Description>)]
    description: Patch<Description>,
    subject: Option<Subject>,
    /// Takes away the MJML and the document that there were.
    body: Option<Html>,
    /// MJML that the body is made from.
    mjml: Option<Mjml>,
    /// The document of the editor that made the MJML. Without it there is none any more.
    document: Option<EditorDocument>,
    /// Its domain must be verified.
    from: Option<Email>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<DisplayName>)]
    from_name: Patch<DisplayName>,
    /// null clears it.
    #[serde(default)]
    #[schema(value_type = Option<Email>)]
    reply_to: Patch<Email>,
    r#type: Option<TemplateType>,
    /// null leaves it to the project.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    tracking: Patch<bool>,
    /// null takes it out of its topic.
    #[serde(default)]
    #[schema(value_type = Option<TopicId>)]
    topic_id: Patch<TopicId>,
}

impl Payload for UpdateRequest {
    const MAX_BODY: usize = MAX_BODY;

    fn check(&self) -> Vec<Issue> {
        edited::check_document(self.document.as_ref())
    }

    fn check_across(&self) -> Vec<Issue> {
        edited::check_together(self.body.as_ref(), self.mjml.as_ref(), self.document.as_ref())
    }
}

/// Change a template
#[utoipa::path(patch, path = "/templates/{id}", tag = "Templates", operation_id = "updateTemplate", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = UpdateRequest,
    responses(
        (status = 200, body = EditedView<TemplateView>), (status = 404, body = ErrorEnvelope),
        (status = 400, description = "The content has an error in the template language, with line and column", body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 422, description = "Validation failed, or the MJML cannot be rendered", body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
    Body(body): Body<UpdateRequest>,
) -> Result<Json<EditedView<TemplateView>>, Failure> {
    let id: TemplateId = params::id(&id, Resource::Template)?;
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
    };
    let template = app.update_template(&project, &caller.actor, id, fields).await?;
    Ok(Json(edited(template, &project)))
}

/// Whom a test goes to.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TestTemplateRequest {
    email: Email,
}

impl Payload for TestTemplateRequest {}

/// Send a test of a template
///
/// Sends the template to any address, with `[TEST]` before the subject and the data of the contact who has that address.
/// The test does not count in the template's statistics.
#[utoipa::path(post, path = "/templates/{id}/test", tag = "Templates", operation_id = "testTemplate", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = TestTemplateRequest,
    responses(
        (status = 200, body = SentTest), (status = 404, body = ErrorEnvelope),
        (status = 403, description = "The sender's domain is not verified", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn test(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
    Body(body): Body<TestTemplateRequest>,
) -> Result<Json<SentTest>, Failure> {
    let id = params::id(&id, Resource::Template)?;
    let to = body.email.0;
    let email = app.test_template(&project, id, to.clone()).await?;
    Ok(Json(SentTest::new(&to, email)))
}

/// Delete a template
///
/// Mails made from it keep their content.
#[utoipa::path(delete, path = "/templates/{id}", tag = "Templates", operation_id = "deleteTemplate", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 204), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "Workflows send the template", body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
) -> Result<StatusCode> {
    app.delete_template(&project, &caller.actor, params::id(&id, Resource::Template)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Copy a template
#[utoipa::path(post, path = "/templates/{id}/duplicate", tag = "Templates", operation_id = "duplicateTemplate", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 201, body = EditedView<TemplateView>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn duplicate(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
) -> Result<(StatusCode, Json<EditedView<TemplateView>>)> {
    let copy = app.duplicate_template(&project, &caller.actor, params::id(&id, Resource::Template)?).await?;
    Ok((StatusCode::CREATED, Json(edited(copy, &project))))
}
