//! `/templates/:id/versions` and `/campaigns/:id/versions`: what they said before.

use axum::extract::State;
use mailwright_app::sending::source::{Listed, Owner, Version};
use mailwright_app::{App, Resource};
use mailwright_core::ids::{CampaignId, TemplateId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::campaign::view::CampaignView;
use super::edited::{EditedView, EditorDocument, SaverView, document_value};
use super::template::TemplateView;
use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadCampaigns, WriteCampaigns};
use crate::envelope::CursorPage;
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;
use crate::params::{self, Params, PathText, PathTexts, RowLimit};

/// A former version of a template or campaign, without what it said.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedContentVersion {
    /// Its number, from 1.
    number: i64,
    subject: String,
    /// Bytes of its HTML.
    size: i64,
    /// When it was saved.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Who saved it; null where that is not known any more.
    created_by: Option<SaverView>,
}

impl From<Listed> for ListedContentVersion {
    fn from(version: Listed) -> Self {
        let Listed { number, subject, size, saved_at, by } = version;
        Self { number, subject, size, created_at: saved_at, created_by: by.map(SaverView::from) }
    }
}

/// A former version of a template or campaign.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContentVersion {
    /// Its number, from 1.
    number: i64,
    subject: String,
    /// HTML, with variables.
    body: String,
    /// The MJML that `body` was made from; null where the HTML was written as such.
    mjml: Option<String>,
    /// The document of the editor that made the MJML.
    #[schema(value_type = Option<EditorDocument>)]
    document: Option<Value>,
    from: String,
    from_name: Option<String>,
    reply_to: Option<String>,
    /// Bytes of its HTML.
    size: i64,
    /// When it was saved.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Who saved it; null where that is not known any more.
    created_by: Option<SaverView>,
}

impl From<Version> for ContentVersion {
    fn from(version: Version) -> Self {
        Self {
            number: version.number,
            size: version.body.len() as i64,
            subject: version.subject,
            body: version.body,
            mjml: version.source.mjml,
            document: document_value(version.source.document.as_deref()),
            from: version.from.to_string(),
            from_name: version.from_name,
            reply_to: version.reply_to.map(|to| to.to_string()),
            created_at: version.saved_at,
            created_by: version.by.map(SaverView::from),
        }
    }
}

async fn page(
    app: &App,
    project: &Project,
    owner: Owner,
    params: &Params,
) -> Result<Json<CursorPage<ListedContentVersion>>> {
    let limit = params.bounded::<RowLimit>() as usize;
    let page = app.versions(project, owner, params.cursor()?, limit).await?;
    let cursor = page.versions.last().filter(|_| page.has_more).map(|last| last.number.to_string());
    Ok(Json(CursorPage {
        data: page.versions.into_iter().map(ListedContentVersion::from).collect(),
        cursor,
        has_more: page.has_more,
        total: page.total,
    }))
}

/// List a template's former versions
///
/// Newest first. Every save that changes subject, body, MJML, document, sender or reply address keeps the version that it
/// replaces. The last 50 are kept.
#[utoipa::path(get, path = "/templates/{id}/versions", tag = "Templates", operation_id = "listTemplateVersions", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
    ),
    responses((status = 200, body = CursorPage<ListedContentVersion>),
        (status = 400, description = "The cursor does not belong to this list", body = ErrorEnvelope), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn of_template(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<CursorPage<ListedContentVersion>>> {
    page(&app, &project, template(&id)?, &params).await
}

/// Get a former version of a template
#[utoipa::path(get, path = "/templates/{id}/versions/{number}", tag = "Templates", operation_id = "getTemplateVersion", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("number" = i64, Path)),
    responses((status = 200, body = ContentVersion), (status = 404, description = "There is no such template or version", body = ErrorEnvelope)))]
pub(crate) async fn get_of_template(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathTexts(id, number): PathTexts,
) -> Result<Json<ContentVersion>> {
    let version = app.version(&project, template(&id)?, params::id(&number, Resource::Version)?).await?;
    Ok(Json(version.into()))
}

/// Restore a former version of a template
///
/// The version becomes the current one, under a new number, and what was current becomes a former version.
#[utoipa::path(post, path = "/templates/{id}/versions/{number}/restore", tag = "Templates", operation_id = "restoreTemplateVersion", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("number" = i64, Path)),
    responses(
        (status = 200, body = EditedView<TemplateView>),
        (status = 403, description = "The domain of the version's sender is not verified any more", body = ErrorEnvelope),
        (status = 404, description = "There is no such template or version", body = ErrorEnvelope)))]
pub(crate) async fn restore_of_template(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathTexts(id, number): PathTexts,
) -> Result<Json<EditedView<TemplateView>>> {
    let (id, number) = (params::id(&id, Resource::Template)?, params::id(&number, Resource::Version)?);
    let restored = app.restore_template(&project, &caller.actor, id, number).await?;
    Ok(Json(EditedView::new(restored, |template| TemplateView::new(template, &project))))
}

/// List a campaign's former versions
///
/// Newest first. Every save that changes subject, body, MJML, document, sender or reply address keeps the version that it
/// replaces. The last 50 are kept.
#[utoipa::path(get, path = "/campaigns/{id}/versions", tag = "Campaigns", operation_id = "listCampaignVersions", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
    ),
    responses((status = 200, body = CursorPage<ListedContentVersion>),
        (status = 400, description = "The cursor does not belong to this list", body = ErrorEnvelope), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn of_campaign(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<CursorPage<ListedContentVersion>>> {
    page(&app, &project, campaign(&id)?, &params).await
}

/// Get a former version of a campaign
#[utoipa::path(get, path = "/campaigns/{id}/versions/{number}", tag = "Campaigns", operation_id = "getCampaignVersion", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("number" = i64, Path)),
    responses((status = 200, body = ContentVersion), (status = 404, description = "There is no such campaign or version", body = ErrorEnvelope)))]
pub(crate) async fn get_of_campaign(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    PathTexts(id, number): PathTexts,
) -> Result<Json<ContentVersion>> {
    let version = app.version(&project, campaign(&id)?, params::id(&number, Resource::Version)?).await?;
    Ok(Json(version.into()))
}

/// Restore a former version of a campaign
///
/// Only while the campaign can be changed. The version becomes the current one, under a new number, and what was current
/// becomes a former version.
#[utoipa::path(post, path = "/campaigns/{id}/versions/{number}/restore", tag = "Campaigns", operation_id = "restoreCampaignVersion", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path), ("number" = i64, Path)),
    responses(
        (status = 200, body = EditedView<CampaignView>),
        (status = 400, description = "The campaign cannot be changed any more", body = ErrorEnvelope),
        (status = 403, description = "The domain of the version's sender is not verified any more", body = ErrorEnvelope),
        (status = 404, description = "There is no such campaign or version", body = ErrorEnvelope),
        (status = 409, description = "Other requests are changing it", body = ErrorEnvelope)))]
pub(crate) async fn restore_of_campaign(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    PathTexts(id, number): PathTexts,
) -> Result<Json<EditedView<CampaignView>>> {
    let (id, number) = (params::uuid(&id)?, params::id(&number, Resource::Version)?);
    let restored = app.restore_campaign(&project, &caller.actor, id, number).await?;
    Ok(Json(EditedView::new(restored, |campaign| CampaignView::new(campaign, &project))))
}

fn template(id: &str) -> Result<Owner> {
    params::id::<TemplateId>(id, Resource::Template).map(Owner::Template)
}

fn campaign(id: &str) -> Result<Owner> {
    params::uuid::<CampaignId>(id).map(Owner::Campaign)
}
