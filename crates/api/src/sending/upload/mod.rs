//! `/uploads`: pictures for mails.

mod range;
pub(crate) mod served;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use mailwright_app::App;
use mailwright_app::sending::upload::{MAX_BYTES, MAX_PICTURES, Upload};
use mailwright_core::audit::Actor;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::needs::{ReadCampaigns, WriteCampaigns};
use crate::auth::{PathAccess, ProjectAccess};
use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::form;
use crate::json::Json;
use crate::params::{Params, PathTexts, RowLimit};

/// A picture to upload.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it documents the form, which is read part by part")]
pub(crate) struct PictureForm {
    /// JPEG, PNG, GIF or WebP, at most 10 MB. Its content says what it is, not its name.
    #[schema(value_type = String, format = Binary)]
    image: Vec<u8>,
}

/// An uploaded picture.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UploadView {
    /// Where everybody can get it. The address stays the same for as long as the picture is not deleted.
    url: String,
    /// The project's id and the SHA-256 of the picture as it is served, such as `<projectId>/<hash>.png`.
    key: String,
    /// The file name that the uploader gave.
    filename: String,
    /// `image/jpeg`, `image/png`, `image/gif` or `image/webp`.
    content_type: &'static str,
    /// Bytes, as it is served.
    size: i64,
    /// Pixels.
    width: i64,
    /// Pixels.
    height: i64,
    /// 1, unless it is animated.
    frames: i64,
    uploaded_by: UploaderView,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

/// Who uploaded a picture.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UploaderView {
    /// `user` or `key`.
    r#type: &'static str,
    id: Option<String>,
}

impl UploadView {
    fn new(app: &App, project: &Project, upload: Upload) -> Self {
        Self {
            url: app.picture_url(project.id, &upload.name),
            key: format!("{}/{}", project.id, upload.name),
            content_type: upload.name.kind.as_str(),
            filename: upload.file_name,
            size: upload.size,
            width: upload.width,
            height: upload.height,
            frames: upload.frames,
            uploaded_by: upload.by.into(),
            created_at: upload.at,
        }
    }
}

impl From<Actor> for UploaderView {
    fn from(actor: Actor) -> Self {
        match actor {
            Actor::User { id, .. } => Self { r#type: "user", id: Some(id.to_string()) },
            Actor::Key { id, .. } => Self { r#type: "key", id: Some(id.to_string()) },
            Actor::Operator => Self { r#type: "operator", id: None },
            Actor::Service => Self { r#type: "service", id: None },
        }
    }
}

/// The pictures of a project.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UploadPage {
    /// Newest first.
    data: Vec<UploadView>,
    /// Where the next page starts; null on the last page.
    #[schema(required = true)]
    cursor: Option<String>,
    /// Whether more follow.
    has_more: bool,
    /// How many pictures there are in all, on the first page; 0 on later ones.
    total: i64,
    /// What all pictures of the project take.
    usage: UploadSums,
    /// The most that they may take.
    quota: UploadSums,
}

/// Pictures, added up.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UploadSums {
    pictures: i64,
    bytes: i64,
}

/// Upload a picture
///
/// The picture is made safe: what is not needed to show it is left out (place and camera, comments, texts), it is turned as
/// its camera says, and one that is wider or higher than 2,000 pixels is scaled down. A picture that the project has is not
/// stored again.
#[utoipa::path(post, path = "/uploads/image", tag = "Uploads", operation_id = "uploadImage", security(("secretKey" = []), ("session" = [])),
    request_body(content = PictureForm, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "It is stored", body = UploadView),
        (status = 400, description = "The part is missing, or the picture is refused: `details.reason` says why", body = ErrorEnvelope),
        (status = 409, description = "The project has no room for it", body = ErrorEnvelope),
        (status = 413, description = "The picture is larger than 10 MB", body = ErrorEnvelope),
        (status = 503, description = "Too many pictures are being read, or the store does not answer", body = ErrorEnvelope),
    ))]
pub(crate) async fn upload(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteCampaigns>,
    request: Request,
) -> Result<Json<UploadView>> {
    let none =
        || ApiError::bad_request("No picture was uploaded: send a multipart form with a part named image.");
    let file = form::read(request, "image", &[], MAX_BYTES).await?.file.ok_or_else(none)?;
    let name = file.name.as_deref();
    let upload = app.upload_picture(&project, &caller.actor, file.content.into(), name).await?;
    Ok(Json(UploadView::new(&app, &project, upload)))
}

/// List uploaded pictures
///
/// Newest first, with what they take of the project's quota.
#[utoipa::path(get, path = "/uploads", tag = "Uploads", operation_id = "listUploads", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
    ),
    responses(
        (status = 200, body = UploadPage),
        (status = 400, description = "The cursor does not belong to this list", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadCampaigns>,
    params: Params,
) -> Result<Json<UploadPage>> {
    let after = params.cursor()?;
    let is_first = after.is_none();
    let page = app.uploads(&project, after, params.bounded::<RowLimit>() as usize).await?;
    let cursor = page.pictures.last().filter(|_| page.has_more).map(|last| last.id.to_string());
    let data = page.pictures.into_iter().map(|upload| UploadView::new(&app, &project, upload)).collect();
    Ok(Json(UploadPage {
        data,
        cursor,
        has_more: page.has_more,
        total: if is_first { page.usage.pictures } else { 0 },
        usage: UploadSums { pictures: page.usage.pictures, bytes: page.usage.bytes },
        quota: UploadSums { pictures: MAX_PICTURES, bytes: app.settings().uploads.bytes_per_project },
    }))
}

/// Delete an uploaded picture
///
/// The path is `/uploads/` and the picture's key. It is not served any more; mails that show it show a gap.
#[utoipa::path(delete, path = "/uploads/{projectId}/{file}", tag = "Uploads", operation_id = "deleteUpload", security(("secretKey" = []), ("session" = [])),
    params(
        ("projectId" = String, Path),
        ("file" = String, Path, description = "The SHA-256 of the picture and the ending of its type, such as `<hash>.png`")),
    responses((status = 204), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    PathAccess(project, caller, _): PathAccess<WriteCampaigns>,
    PathTexts(_, file): PathTexts,
) -> Result<StatusCode> {
    app.delete_upload(&project, &caller.actor, &file).await?;
    Ok(StatusCode::NO_CONTENT)
}
