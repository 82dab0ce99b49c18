//! `/contacts/import`.

use std::borrow::Cow;

use crate::json::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use mailwright_app::App;
use mailwright_app::audience::import::Imported;
use mailwright_core::csv;
use mailwright_core::import::{ImportProgress, MAX_UPLOAD, Mapping, RowFailure};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadContacts, WriteContacts};
use crate::background::job::{JobList, JobView, ListedJob, QueuedJob, not_found};
use crate::error::{ApiError, ErrorEnvelope, Failure, Result};
use crate::form::{self, Form, FormFile};
use crate::params::PathText;

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
    /// A JSON object that says what columns are for, by their names: `email`, `subscribed`, the name of a custom field,
    /// or null to leave the column out. A column that is not named is for what its own name says. Such as
    /// `{"E-Mail": "email", "Plan": "plan", "Notes": null}`.
    #[schema(value_type = Option<String>)]
    mapping: Option<String>,
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
        (status = 422, description = "The mapping is not valid, or does not suit the file", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope),
    ))]
pub(crate) async fn upload(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<WriteContacts>,
    request: Request,
) -> Result<(StatusCode, Json<QueuedJob>), Failure> {
    let form = form::read(request, "file", &["verify", "mapping"], MAX_UPLOAD).await?;
    let (verifies, mapping) = (verifies(&form)?, mapping(&form)?.unwrap_or_default());
    let id = app.queue_import(&project, csv_of(form.file)?, &mapping, verifies).await?;
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

/// How far an import came.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImportCounts {
    /// Rows that were looked at, empty ones left out; all rows once the import is completed.
    total_rows: u64,
    /// Rows that were imported.
    success_count: u64,
    /// Rows that created a contact.
    created_count: u64,
    /// Rows whose contact was there already.
    updated_count: u64,
    /// Rows that failed.
    failure_count: u64,
}

/// List imports
///
/// The newest first: all that are not finished, and the finished ones that are kept. A project keeps its last 100
/// finished jobs of all kinds.
#[utoipa::path(get, path = "/contacts/import", tag = "Contacts", operation_id = "listImports", security(("secretKey" = []), ("session" = [])),
    responses((status = 200, body = JobList<ImportCounts>)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
) -> Result<Json<JobList<ImportCounts>>> {
    let shown = |(job, counts): (_, ImportProgress)| {
        let counts = ImportCounts {
            total_rows: counts.rows,
            success_count: counts.created + counts.updated,
            created_count: counts.created,
            updated_count: counts.updated,
            failure_count: counts.failed,
        };
        ListedJob::new(job, counts)
    };
    let data = app.imports(&project).await?.into_iter().map(shown).collect();
    Ok(Json(JobList { data }))
}

/// Download the failures of an import
///
/// CSV with the columns `row`, `email` and `error`, for the first 1,000 rows that failed; also while the import is under
/// way. A cell that a spreadsheet would take for a formula begins with an apostrophe.
#[utoipa::path(get, path = "/contacts/import/{jobId}/errors", tag = "Contacts", operation_id = "downloadImportErrors", security(("secretKey" = []), ("session" = [])),
    params(("jobId" = String, Path)),
    responses(
        (status = 200, description = "The failures", content_type = "text/csv", body = String),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn errors(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Response, Failure> {
    let job = id.parse().map_err(|_| not_found(&id))?;
    let failures = app.import_failures(&project, job).await?.ok_or_else(|| not_found(&id))?;
    let mut text = String::new();
    csv::write(&mut text, ["row", "email", "error"].map(Cow::Borrowed));
    for failure in &failures {
        let cells = [
            failure.row.to_string().into(),
            csv::no_formula(&failure.email),
            csv::no_formula(&failure.error),
        ];
        csv::write(&mut text, cells);
    }
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"import-errors.csv\""),
    ];
    Ok((headers, text).into_response())
}

/// The content of the part `file`, which is CSV.
pub(super) async fn file(request: Request) -> Result<Vec<u8>, Failure> {
    csv_of(form::read(request, "file", &[], MAX_UPLOAD).await?.file)
}

pub(super) fn csv_of(file: Option<FormFile>) -> Result<Vec<u8>, Failure> {
    let no_file = "No file was uploaded: send a multipart form with a part named file.";
    let file = file.ok_or_else(|| ApiError::bad_request(no_file))?;
    if !is_csv(&file) {
        let message = "The file must be CSV: of the type text/csv, or with a name that ends with .csv.";
        return Err(ApiError::bad_request(message).into());
    }
    Ok(file.content)
}

/// Whether the part `verify` asks for it.
fn verifies(form: &Form) -> Result<bool, Failure> {
    match form.fields.get("verify").map_or("", String::as_str) {
        "true" => Ok(true),
        "false" | "" => Ok(false),
        _ => Err(ApiError::bad_request("The part verify must be true or false.").into()),
    }
}

/// What the part `mapping` says, if there is one.
pub(super) fn mapping(form: &Form) -> Result<Option<Mapping>, Failure> {
    let Some(text) = form.fields.get("mapping").filter(|text| !text.is_empty()) else { return Ok(None) };
    Mapping::parse(text).map(Some).map_err(|issues| ApiError::invalid(issues).into())
}

fn is_csv(file: &FormFile) -> bool {
    let named = file.name.as_ref().is_some_and(|name| name.to_ascii_lowercase().ends_with(".csv"));
    named || file.kind.as_deref() == Some("text/csv")
}
