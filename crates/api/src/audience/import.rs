//! `/contacts/import`.

use std::convert::Infallible;

use crate::json::Json;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use mailwright_app::App;
use mailwright_app::audience::import::Imported;
use mailwright_core::import::{MAX_UPLOAD, RowFailure};
use multer::{Field, Multipart};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadContacts, WriteContacts};
use crate::background::job::{JobView, QueuedJob, not_found};
use crate::body;
use crate::body::failure;
use crate::error::{ApiError, ErrorEnvelope, Failure, Result};
use crate::params::PathText;

/// Bytes that a body may have around the file: the lines between the parts, and small other fields.
const AROUND: usize = 64 * 1024;

/// A file to import.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it documents the form, which is read part by part")]
pub(crate) struct ImportForm {
    /// CSV in UTF-8, at most 5 MB, with a header that has a column `email`. A column `subscribed` is the subscription;
    /// every other column is a custom field.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// `true`: rows whose address cannot receive mail are not imported, and their reason is among the errors. The import takes
    /// longer then, since name servers are asked.
    #[schema(value_type = Option<bool>)]
    verify: Option<bool>,
}

/// The result of an import.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImportResult {
    /// Rows of the file, empty ones left out.
    total_rows: u64,
    /// Rows that were imported.
    success_count: u64,
    /// Rows that created a contact.
    created_count: u64,
    /// Rows whose contact was there already.
    updated_count: u64,
    /// Rows that failed.
    failure_count: u64,
    /// The first 1,000 failures.
    errors: Vec<RowFailure>,
}

impl From<Imported> for ImportResult {
    fn from(imported: Imported) -> Self {
        let counts = imported.counts;
        Self {
            total_rows: counts.rows,
            success_count: counts.created + counts.updated,
            created_count: counts.created,
            updated_count: counts.updated,
            failure_count: counts.failed,
            errors: imported.failures,
        }
    }
}

/// Import contacts
///
/// Reads a CSV file in the background. Each row creates or updates a contact; of several rows with one address the last
/// one counts.
#[utoipa::path(post, path = "/contacts/import", tag = "Contacts", operation_id = "importContacts", security(("secretKey" = []), ("session" = [])),
    request_body(content = ImportForm, content_type = "multipart/form-data"),
    responses(
        (status = 202, description = "Queued", body = QueuedJob),
        (status = 400, description = "The file is missing or is not CSV, or a part cannot be read", body = ErrorEnvelope),
        (status = 413, description = "The file is larger than 5 MB", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope),
    ))]
pub(crate) async fn upload(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteContacts>,
    request: Request,
) -> Result<(StatusCode, Json<QueuedJob>), Failure> {
    let form = form(request).await?;
    let id = app.queue_import(&project, form.file, form.verifies).await?;
    Ok((StatusCode::ACCEPTED, Json(QueuedJob::new("The contacts are being imported.", id))))
}

/// Get the status of an import
#[utoipa::path(get, path = "/contacts/import/{jobId}", tag = "Contacts", operation_id = "getImportJob", security(("secretKey" = []), ("session" = [])),
    params(("jobId" = String, Path)),
    responses((status = 200, body = JobView<ImportResult>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn status(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Json<JobView<ImportResult>>, Failure> {
    let job = id.parse().map_err(|_| not_found(&id))?;
    let status = app.import_status(&project, job).await?.ok_or_else(|| not_found(&id))?;
    Ok(Json(JobView::new(status, ImportResult::from)))
}

/// What a form holds.
struct Form {
    /// The content of the part `file`, which is CSV.
    file: Vec<u8>,
    /// Whether the part `verify` asks for it.
    verifies: bool,
}

/// The content of the part `file`, which is CSV.
pub(super) async fn file(request: Request) -> Result<Vec<u8>, Failure> {
    Ok(form(request).await?.file)
}

async fn form(request: Request) -> Result<Form, Failure> {
    let boundary = boundary(request.headers());
    let body = collect(request).await?;
    let Some(boundary) = boundary else { return Err(no_file()) };
    let stream = futures_util::stream::iter([Ok::<Bytes, Infallible>(body)]);
    let mut parts = Multipart::new(stream, boundary);
    let (mut file, mut verifies) = (None, false);
    while let Some(part) = parts.next_field().await.map_err(|error| malformed(&error))? {
        match part.name() {
            Some("file") if file.is_none() => file = Some(csv_of(part).await?),
            Some("verify") => verifies = truth_of(part).await?,
            _ => {}
        }
    }
    let file = file.ok_or_else(no_file)?;
    Ok(Form { file, verifies })
}

async fn csv_of(part: Field<'_>) -> Result<Vec<u8>, Failure> {
    if !is_csv(&part) {
        let message = "The file must be CSV: of the type text/csv, or with a name that ends with .csv.";
        return Err(ApiError::bad_request(message).into());
    }
    let content = part.bytes().await.map_err(|error| malformed(&error))?;
    if content.len() > MAX_UPLOAD {
        return Err(ApiError::body_too_large(MAX_UPLOAD).into());
    }
    Ok(content.into())
}

async fn truth_of(part: Field<'_>) -> Result<bool, Failure> {
    let content = part.bytes().await.map_err(|error| malformed(&error))?;
    match &content[..] {
        b"true" => Ok(true),
        b"false" | b"" => Ok(false),
        _ => Err(ApiError::bad_request("The part verify must be true or false.").into()),
    }
}

fn boundary(headers: &HeaderMap) -> Option<String> {
    multer::parse_boundary(headers.get(CONTENT_TYPE)?.to_str().ok()?).ok()
}

fn no_file() -> Failure {
    ApiError::bad_request("No file was uploaded: send a multipart form with a part named file.").into()
}

fn malformed(error: &multer::Error) -> Failure {
    ApiError::bad_request(format!("The form cannot be read: {error}.")).into()
}

fn is_csv(part: &Field<'_>) -> bool {
    let named = part.file_name().is_some_and(|name| name.to_ascii_lowercase().ends_with(".csv"));
    named || part.content_type().is_some_and(|kind| kind.essence_str() == "text/csv")
}

/// Reads a body that has room for the largest file. What is left of one that is too large is read by the middleware and by
/// the connection, so that a client that is still sending sees the answer.
async fn collect(request: Request) -> Result<Bytes> {
    let too_large = || ApiError::body_too_large(MAX_UPLOAD);
    if body::length(request.headers()).is_some_and(|length| length > MAX_UPLOAD + AROUND) {
        return Err(too_large());
    }
    let mut stream = request.into_body().into_data_stream();
    let mut content = Vec::new();
    while let Some(piece) = futures_util::StreamExt::next(&mut stream).await {
        let piece = piece.map_err(|error| failure(&error))?;
        if content.len() + piece.len() > MAX_UPLOAD + AROUND {
            return Err(too_large());
        }
        content.extend_from_slice(&piece);
    }
    Ok(content.into())
}
