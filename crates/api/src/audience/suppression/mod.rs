//! `/suppressions`: rules that keep mail from addresses (reference, Suppressions). The addresses of a project are below
//! `/suppressions/addresses`, the mails that were held back below `/suppressions/emails`.

pub(crate) mod address;
pub(crate) mod file;
pub(crate) mod mail;

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::audience::suppression::{RuleChange, RuleFields};
use mailwright_app::{App, Resource};
use mailwright_core::ids::SuppressionRuleId;
use mailwright_core::suppression::{Match, Rule, RuleKind};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadContacts, SearchContacts, WriteContacts};
use crate::error::{ErrorEnvelope, Result};
use crate::fields::{AddressPattern, Email, Name};
use crate::params::{self, PathText};
use crate::schema::{Body, Payload};

/// A rule that keeps mail from addresses.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuppressionRuleView {
    id: SuppressionRuleId,
    name: String,
    kind: RuleKind,
    /// In lower case.
    pattern: String,
    enabled: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<Rule> for SuppressionRuleView {
    fn from(rule: Rule) -> Self {
        Self {
            id: rule.id,
            name: rule.name,
            kind: rule.kind,
            pattern: rule.pattern,
            enabled: rule.enabled,
            created_at: rule.created_at,
            updated_at: rule.updated_at,
        }
    }
}

/// The rules of the project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SuppressionRules {
    /// In the order in which they were created.
    rules: Vec<SuppressionRuleView>,
}

/// List suppression rules
///
/// In the order in which they were created, which is the order in which they are looked at.
#[utoipa::path(get, path = "/suppressions", tag = "Suppressions", operation_id = "listSuppressionRules", security(("secretKey" = []), ("session" = [])),
    responses((status = 200, body = SuppressionRules)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
) -> Result<Json<SuppressionRules>> {
    let rules = app.suppression_rules(&project).await?;
    Ok(Json(SuppressionRules { rules: rules.into_iter().map(Into::into).collect() }))
}

/// A rule to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateSuppressionRuleRequest {
    name: Name,
    kind: RuleKind,
    /// An address, a domain, the beginning or end of what stands before the `@`, or a whole address in which `*` is any
    /// text and `?` any character. Kept in lower case.
    pattern: AddressPattern,
    /// Whether it is applied; true by default.
    enabled: Option<bool>,
}

impl Payload for CreateSuppressionRuleRequest {}

/// Create a suppression rule
///
/// Mail to an address that fits the pattern is stored with the status `SUPPRESSED` and not sent, from now on, also where
/// it waits already.
#[utoipa::path(post, path = "/suppressions", tag = "Suppressions", operation_id = "createSuppressionRule", security(("secretKey" = []), ("session" = [])),
    request_body = CreateSuppressionRuleRequest,
    responses(
        (status = 201, body = SuppressionRuleView),
        (status = 409, description = "The project has 100 rules", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn create(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    Body(body): Body<CreateSuppressionRuleRequest>,
) -> Result<(StatusCode, Json<SuppressionRuleView>)> {
    let fields = RuleFields {
        name: body.name.into(),
        kind: body.kind,
        pattern: body.pattern.into(),
        enabled: body.enabled.unwrap_or(true),
    };
    let rule = app.create_suppression_rule(&project, &caller.actor, fields).await?;
    Ok((StatusCode::CREATED, Json(rule.into())))
}

/// Changes to a rule. What is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct UpdateSuppressionRuleRequest {
    name: Option<Name>,
    kind: Option<RuleKind>,
    pattern: Option<AddressPattern>,
    enabled: Option<bool>,
}

impl Payload for UpdateSuppressionRuleRequest {}

/// The rule was changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RuleChanged {
    /// Always true.
    success: bool,
}

/// Update a suppression rule
#[utoipa::path(put, path = "/suppressions/{id}", tag = "Suppressions", operation_id = "updateSuppressionRule", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    request_body = UpdateSuppressionRuleRequest,
    responses(
        (status = 200, body = RuleChanged),
        (status = 404, body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
    Body(body): Body<UpdateSuppressionRuleRequest>,
) -> Result<Json<RuleChanged>> {
    let id = params::id(&id, Resource::SuppressionRule)?;
    let change = RuleChange {
        name: body.name.map(Into::into),
        kind: body.kind,
        pattern: body.pattern.map(Into::into),
        enabled: body.enabled,
    };
    app.update_suppression_rule(&project, &caller.actor, id, change).await?;
    Ok(Json(RuleChanged { success: true }))
}

/// Delete a suppression rule
#[utoipa::path(delete, path = "/suppressions/{id}", tag = "Suppressions", operation_id = "deleteSuppressionRule", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
) -> Result<StatusCode> {
    let id = params::id(&id, Resource::SuppressionRule)?;
    app.delete_suppression_rule(&project, &caller.actor, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An address to look at.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PreviewSuppressionRequest {
    address: Email,
    /// The kind of mail; `MARKETING` by default, which everything holds back.
    r#type: Option<TemplateType>,
}

impl Payload for PreviewSuppressionRequest {}

/// Whether mail to an address is held back.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SuppressionPreview {
    suppressed: bool,
    /// What holds it back; null if nothing does.
    #[schema(required = true)]
    r#match: Option<Match>,
}

/// Preview suppression
///
/// Says what would hold back mail to an address now: an address on the list of the project or of the instance, or the
/// first rule that fits.
#[utoipa::path(post, path = "/suppressions/preview", tag = "Suppressions", operation_id = "previewSuppression", security(("secretKey" = []), ("session" = [])),
    request_body = PreviewSuppressionRequest,
    responses((status = 200, body = SuppressionPreview), (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn preview(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<SearchContacts>,
    Body(body): Body<PreviewSuppressionRequest>,
) -> Result<Json<SuppressionPreview>> {
    let kind = body.r#type.unwrap_or(TemplateType::Marketing);
    let found = app.preview_suppression(&project, body.address.0, kind).await?;
    Ok(Json(SuppressionPreview { suppressed: found.is_some(), r#match: found }))
}
