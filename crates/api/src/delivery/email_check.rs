//! `/emails/check`, and the same for templates and campaigns: what receivers will find of a mail that is not sent yet.

use axum::extract::State;
use mailwright_app::delivery::checks::{Asked, EmailCheck, Expected, Spam, SpamReport, SpamRule, Variables};
use mailwright_app::{App, Resource};
use mailwright_core::custom_data::Data;
use mailwright_core::ids::{CampaignId, ContactId};
use mailwright_core::mail_check::Expectation;
use mailwright_core::project::Project;
use mailwright_core::role::Capability;
use serde::Serialize;
use utoipa::ToSchema;

use super::checks::{CheckedLinkView, MailWarningView};
use crate::auth::ProjectAccess;
use crate::auth::needs::WriteCampaigns;
use crate::envelope::Success;
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::json::Json;
use crate::params::{self, PathText};
use crate::schema::Body;
use crate::sending::send::check::{CheckEmailRequest, CheckSavedRequest};

/// What receivers will find of a mail that is not sent yet.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EmailCheckView {
    authentication: ExpectedAuthentication,
    /// Bytes of the whole mail, with its signature.
    size: usize,
    /// Bytes of its HTML.
    html_size: usize,
    /// Its links in their order, at most 500.
    links: Vec<CheckedLinkView>,
    /// How many pictures it shows.
    pictures: usize,
    /// The addresses of those without `alt`, at most 500, each of at most 200 characters.
    undescribed: Vec<String>,
    /// Whether it has more links or pictures than are looked at.
    is_cut: bool,
    /// What makes mail programs distrust it, or take something out of it.
    warnings: Vec<MailWarningView>,
    /// What SpamAssassin makes of it; null where the operator has none asked.
    spam: Option<SpamView>,
    variables: CheckedVariables,
}

/// What receivers will find of a mail's authentication, by the last check of its domain's records.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExpectedAuthentication {
    dkim: Expectation,
    spf: Expectation,
    dmarc: Expectation,
    /// What the domain asks receivers to do with mail that fails DMARC: `none`, `quarantine` or `reject`; null where no
    /// such record is known.
    dmarc_policy: Option<String>,
    reasons: ExpectedReasons,
    /// Whether the project may send from the domain; null where the project does not have it.
    is_domain_verified: Option<bool>,
    /// Whether the mail has the header `List-Unsubscribe`.
    has_list_unsubscribe: bool,
    /// Whether one request unsubscribes its reader (RFC 8058). It takes a service that is reached by https.
    is_one_click: bool,
}

/// Why receivers will find that, in words.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExpectedReasons {
    dkim: String,
    spf: String,
    dmarc: String,
}

/// What SpamAssassin makes of a mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum SpamView {
    /// It was asked.
    Judged(SpamReportView),
    /// It did not answer.
    Unjudged(SpamErrorView),
}

/// The judgement of SpamAssassin.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpamReportView {
    /// Points of all rules; less than zero when the mail looks wanted.
    score: f64,
    /// From how many points on a mail is spam there.
    threshold: f64,
    is_spam: bool,
    /// The rules that hit, at most 300.
    rules: Vec<SpamRuleView>,
}

/// Why there is no judgement.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SpamErrorView {
    error: String,
}

/// A rule of SpamAssassin that hit.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SpamRuleView {
    /// Such as `MISSING_DATE`.
    name: String,
    /// Its points, to a tenth.
    points: f64,
    /// What it is about.
    description: String,
}

/// What is wrong with the variables of a mail: the first 500 names of each.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CheckedVariables {
    /// Names that no mail of the project knows by itself, and that came with no value.
    unknown: Vec<String>,
    /// Names that this reader has no value for, with nothing written in their place.
    empty: Vec<String>,
}

impl From<EmailCheck> for EmailCheckView {
    fn from(found: EmailCheck) -> Self {
        let EmailCheck { authentication, has_unsubscribe, is_one_click, seen, spam, variables } = found;
        let Expected { dkim, spf, dmarc, policy, is_domain_verified } = authentication;
        let Variables { unknown, empty } = variables;
        Self {
            authentication: ExpectedAuthentication {
                dkim: dkim.result,
                spf: spf.result,
                dmarc: dmarc.result,
                dmarc_policy: policy,
                reasons: ExpectedReasons { dkim: dkim.reason, spf: spf.reason, dmarc: dmarc.reason },
                is_domain_verified,
                has_list_unsubscribe: has_unsubscribe,
                is_one_click,
            },
            size: seen.size,
            html_size: seen.html_size,
            links: seen.links.into_iter().map(CheckedLinkView::from).collect(),
            pictures: seen.pictures,
            undescribed: seen.undescribed,
            is_cut: seen.is_cut,
            warnings: seen.warnings.into_iter().map(MailWarningView::from).collect(),
            spam: spam.map(SpamView::from),
            variables: CheckedVariables { unknown, empty },
        }
    }
}

impl From<Spam> for SpamView {
    fn from(spam: Spam) -> Self {
        match spam {
            Ok(SpamReport { score, threshold, is_spam, rules }) => {
                let rules = rules.into_iter().map(SpamRuleView::from).collect();
                Self::Judged(SpamReportView { score, threshold, is_spam, rules })
            }
            Err(error) => Self::Unjudged(SpamErrorView { error }),
        }
    }
}

impl From<SpamRule> for SpamRuleView {
    fn from(rule: SpamRule) -> Self {
        Self { name: rule.name, points: rule.points, description: rule.description }
    }
}

/// Check a mail before it is sent
///
/// Renders and signs a mail as it would be sent, and says what receivers will find: whether its authentication would pass,
/// by the last check of the domain's records, its links, pictures and size, what mail programs mind, variables without a
/// value, and what SpamAssassin makes of it, where the operator has one. The mail is one as `/v1/send` takes it without
/// `to`, a template, or a campaign. Nothing is stored or sent, and no link is followed. Whoever names a contact must be
/// allowed to read contacts. One mail of a project is judged by SpamAssassin at a time; a further one is refused with 429.
#[utoipa::path(post, path = "/emails/check", tag = "Emails", operation_id = "checkEmail", security(("secretKey" = []), ("session" = [])),
    request_body = CheckEmailRequest,
    responses(
        (status = 200, body = Success<EmailCheckView>),
        (status = 404, description = "The template, the campaign or the contact does not exist", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn email(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    Body(body): Body<CheckEmailRequest>,
) -> Result<Json<Success<EmailCheckView>>, Failure> {
    if body.names_contact() {
        caller.must_be_allowed(Capability::ReadContacts)?;
    }
    let (asked, contact, data) = body.asked(&app)?;
    check(&app, &project, asked, contact, data).await
}

/// Check a template before it is sent
///
/// The same as `POST /emails/check` with its `templateId`.
#[utoipa::path(post, path = "/templates/{id}/check", tag = "Templates", operation_id = "checkSavedTemplate", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = CheckSavedRequest,
    responses(
        (status = 200, body = Success<EmailCheckView>), (status = 404, body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn template(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
    Body(body): Body<CheckSavedRequest>,
) -> Result<Json<Success<EmailCheckView>>, Failure> {
    let id = params::id(&id, Resource::Template)?;
    if body.contact_id.is_some() {
        caller.must_be_allowed(Capability::ReadContacts)?;
    }
    check(&app, &project, Asked::Template(id), body.contact_id, body.data.unwrap_or_default().0).await
}

/// Check a campaign before it is sent
///
/// The same as `POST /emails/check` with its `campaignId`. What would keep it from being sent says its review.
#[utoipa::path(post, path = "/campaigns/{id}/check", tag = "Campaigns", operation_id = "checkCampaign", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = CheckSavedRequest,
    responses(
        (status = 200, body = Success<EmailCheckView>), (status = 404, body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn campaign(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathText(id): PathText,
    Body(body): Body<CheckSavedRequest>,
) -> Result<Json<Success<EmailCheckView>>, Failure> {
    let id: CampaignId = params::uuid(&id)?;
    if body.contact_id.is_some() {
        caller.must_be_allowed(Capability::ReadContacts)?;
    }
    check(&app, &project, Asked::Campaign(id), body.contact_id, body.data.unwrap_or_default().0).await
}

async fn check(
    app: &App,
    project: &Project,
    asked: Asked,
    contact: Option<ContactId>,
    data: Data,
) -> Result<Json<Success<EmailCheckView>>, Failure> {
    let found = app.check_email(project, asked, contact, data).await?;
    Ok(Json(Success::new(found.into())))
}
