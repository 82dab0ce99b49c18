//! `/preview` and `/templates/check`: mails that somebody is writing.
//!
//! A preview is what somebody wrote, shown on the service's own origin, as [`Framed`] shows mails.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use mailwright_app::App;
use mailwright_app::sending::check::{Markup, Problem, Report, Variable, Written};
use mailwright_core::custom_data;
use mailwright_core::ids::{ContactId, ProjectId, TopicId};
use mailwright_core::issue::Issue;
use mailwright_core::mail_check::CLIPPED_FROM;
use mailwright_core::role::Capability;
use mailwright_core::template::TemplateType;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::edited;
use crate::auth::needs::LookAtMail;
use crate::auth::{FormAccess, FormBody, ProjectAccess};
use crate::error::{ApiError, ErrorEnvelope, Failure};
use crate::fields::{DataObject, DraftHtml, DraftSubject, Mjml};
use crate::framed::{self, Framed};
use crate::json::Json;
use crate::schema::{Body, Payload, within_text};

/// Most bytes of a body with a mail in it.
const MAX_BODY: usize = 25 * 1024 * 1024;

/// What is answered about a mail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PreviewFormat {
    /// The HTML, for a frame.
    #[default]
    Html,
    /// The plain text.
    Text,
    /// Both, with what is wrong.
    Json,
}

/// A mail that somebody writes, and who reads it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreviewRequest {
    subject: Option<DraftSubject>,
    body: Option<DraftHtml>,
    /// Instead of a body.
    mjml: Option<Mjml>,
    /// `MARKETING` by default.
    r#type: Option<TemplateType>,
    /// The contact who reads it; nobody in particular by default.
    contact_id: Option<ContactId>,
    /// Values that the request of the mail would bring.
    data: Option<DataObject>,
    /// `html` by default.
    format: Option<PreviewFormat>,
    /// Whether pictures are loaded from elsewhere; false by default.
    images: Option<bool>,
    /// The project, where a session opens it and neither a header nor a parameter names it.
    project_id: Option<ProjectId>,
}

impl Payload for PreviewRequest {
    const MAX_BODY: usize = MAX_BODY;

    fn check(&self) -> Vec<Issue> {
        self.data.as_ref().map(|data| custom_data::check(&data.0, "data")).unwrap_or_default()
    }

    fn check_across(&self) -> Vec<Issue> {
        edited::check_either(self.body.is_some(), self.mjml.is_some())
    }
}

impl FormBody for PreviewRequest {
    fn project(&self) -> Option<ProjectId> {
        self.project_id
    }

    fn of_form(fields: Vec<(String, String)>) -> Result<Map<String, Value>, ApiError> {
        let filled = fields.into_iter().filter(|(_, text)| !text.is_empty());
        let read = filled.map(|(name, text)| {
            let value = match name.as_str() {
                "data" => within_text(text)?,
                "images" => Value::Bool(matches!(text.as_str(), "1" | "true" | "on")),
                _ => Value::String(text),
            };
            Ok((name, value))
        });
        read.collect()
    }
}

/// The same as a form.
#[expect(dead_code, reason = "it documents the form, which is read field by field")]
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PreviewForm {
    subject: Option<DraftSubject>,
    body: Option<DraftHtml>,
    /// Instead of a body.
    mjml: Option<Mjml>,
    /// `MARKETING` by default.
    r#type: Option<TemplateType>,
    /// The contact who reads it; nobody in particular by default.
    contact_id: Option<ContactId>,
    /// Values that the request of the mail would bring, as the text of a JSON object.
    data: Option<String>,
    /// `html` by default.
    format: Option<PreviewFormat>,
    /// `1`: pictures are loaded from elsewhere.
    images: Option<String>,
    /// The project, where a session opens it and neither a header nor a parameter names it.
    project_id: Option<ProjectId>,
}

/// How bad something is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MailProblem {
    /// `error`: the mail cannot be saved like this; or `warning`.
    severity: &'static str,
    /// What kind of problem it is: `invalid_template`, `invalid_mjml`, `unknown_topic`, `unknown_variable`,
    /// `constant_condition`, `no_unsubscribe_link`, `no_alt`, `insecure_link`, `dead_link` or `clipped`.
    code: &'static str,
    /// What is wrong and what to do about it.
    message: String,
    /// The field that it is in.
    field: &'static str,
    /// Line in the field, from 1, where it is known.
    line: Option<u32>,
    /// Column in characters, from 1, where it is known.
    column: Option<u32>,
}

impl From<Problem> for MailProblem {
    fn from(problem: Problem) -> Self {
        Self {
            severity: problem.severity.as_str(),
            code: problem.code,
            message: problem.message,
            field: problem.field,
            line: problem.place.map(|(line, _)| line),
            column: problem.place.map(|(_, column)| column),
        }
    }
}

/// How much HTML a mail has.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MailSize {
    bytes: usize,
    /// Whether Gmail hides what is beyond 102 KB.
    clipped: bool,
}

impl From<usize> for MailSize {
    fn from(bytes: usize) -> Self {
        Self { bytes, clipped: bytes > CLIPPED_FROM }
    }
}

/// How a mail will look, and what is wrong with it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreviewView {
    subject: String,
    html: String,
    text: String,
    problems: Vec<MailProblem>,
    size: MailSize,
}

/// Preview a mail
///
/// Renders a mail that is not saved as a contact would see it, with the footer, without tracking. Its links to the
/// recipient's own pages lead nowhere. `html` and `text` are answered as pages that a frame of this service can show: no
/// script in them runs, and nothing is loaded from elsewhere, but for pictures where `images` asks for them. Whoever names
/// a contact must be allowed to read contacts. Also takes a form.
#[utoipa::path(post, path = "/preview", tag = "Templates", operation_id = "previewMail", security(("secretKey" = []), ("session" = [])),
    request_body(content((PreviewRequest = "application/json"), (PreviewForm = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, content((PreviewView = "application/json"), (String = "text/html"), (String = "text/plain"))),
        (status = 404, description = "The contact does not exist", body = ErrorEnvelope),
        (status = 422, description = "Validation failed, or the MJML cannot be rendered", body = ErrorEnvelope)))]
pub(crate) async fn preview(
    State(app): State<App>,
    FormAccess(project, caller, body, _): FormAccess<LookAtMail, PreviewRequest>,
) -> Result<Response, Failure> {
    if body.contact_id.is_some() {
        caller.must_be_allowed(Capability::ReadContacts)?;
    }
    let data = body.data.unwrap_or_default().0;
    let written = written(body.subject, body.body, body.mjml, body.r#type);
    let preview = app.preview(&project, written, body.contact_id, data).await?;
    let draft = preview.draft;
    let (content_type, page) = match body.format.unwrap_or_default() {
        PreviewFormat::Html => (framed::HTML, draft.html),
        PreviewFormat::Text => (framed::TEXT, draft.text),
        PreviewFormat::Json => {
            let size = MailSize::from(draft.html.len());
            let problems = preview.report.problems.into_iter().map(MailProblem::from).collect();
            let (subject, html, text) = (draft.subject, draft.html, draft.text);
            return Ok(Json(PreviewView { subject, html, text, problems, size }).into_response());
        }
    };
    Ok(Framed { page, content_type, shows_pictures: body.images == Some(true) }.into_response())
}

fn written(
    subject: Option<DraftSubject>,
    body: Option<DraftHtml>,
    mjml: Option<Mjml>,
    kind: Option<TemplateType>,
) -> Written {
    let html = body.map(String::from).unwrap_or_default();
    Written {
        subject: subject.map(String::from).unwrap_or_default(),
        content: mjml.map_or(Markup::Html(html), |mjml| Markup::Mjml(mjml.into())),
        kind: kind.unwrap_or(TemplateType::Marketing),
    }
}

/// A mail that somebody writes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckTemplateRequest {
    subject: Option<DraftSubject>,
    body: Option<DraftHtml>,
    /// Instead of a body.
    mjml: Option<Mjml>,
    /// `MARKETING` by default.
    r#type: Option<TemplateType>,
    /// The topic that it belongs to.
    topic_id: Option<TopicId>,
}

impl Payload for CheckTemplateRequest {
    const MAX_BODY: usize = MAX_BODY;

    fn check_across(&self) -> Vec<Issue> {
        edited::check_either(self.body.is_some(), self.mjml.is_some())
    }
}

/// A name that a mail uses.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UsedVariable {
    name: String,
    /// Whether every mail knows it, or the project has such a field.
    known: bool,
}

impl From<Variable> for UsedVariable {
    fn from(variable: Variable) -> Self {
        Self { name: variable.name, known: variable.is_known }
    }
}

/// What there is to say about a mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckView {
    problems: Vec<MailProblem>,
    /// The names that it uses, the first 500.
    variables: Vec<UsedVariable>,
    size: MailSize,
    /// Whether its recipients can unsubscribe by it: by its footer, or by a link that it has.
    has_unsubscribe: bool,
}

/// Check a mail
///
/// Says what is wrong with a mail that is not saved, and what could be better. At most 20 problems of each kind are told.
#[utoipa::path(post, path = "/templates/check", tag = "Templates", operation_id = "checkTemplate", security(("secretKey" = []), ("session" = [])),
    request_body = CheckTemplateRequest,
    responses(
        (status = 200, body = CheckView),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn check(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<LookAtMail>,
    Body(body): Body<CheckTemplateRequest>,
) -> Result<Json<CheckView>, Failure> {
    let written = written(body.subject, body.body, body.mjml, body.r#type);
    let Report { problems, variables, bytes, has_unsubscribe } =
        app.check_written(&project, written, body.topic_id).await?;
    Ok(Json(CheckView {
        problems: problems.into_iter().map(MailProblem::from).collect(),
        variables: variables.into_iter().map(UsedVariable::from).collect(),
        size: bytes.into(),
        has_unsubscribe,
    }))
}
