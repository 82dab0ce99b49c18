//! `/suppressions/addresses/import` and `/suppressions/addresses/export`: suppressed addresses as CSV.

use std::borrow::Cow;

use crate::json::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use mailwright_app::App;
use mailwright_app::audience::suppression::{Entry, Imported, List};
use mailwright_core::csv;
use mailwright_core::import::RowFailure;
use mailwright_core::suppression::file::write_header;
use serde::Serialize;
use utoipa::ToSchema;

use crate::audience::import::file;
use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadContacts, WriteContacts};
use crate::background::job::{JobView, QueuedJob, not_found};
use crate::error::{ErrorEnvelope, Failure};
use crate::params::PathText;

/// Addresses that are read at a time.
const PAGE: usize = 1_000;

/// A file of addresses to suppress.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it documents the form, which is read part by part")]
pub(crate) struct SuppressionImportForm {
    /// CSV in UTF-8, at most 5 MB, with a header that has a column `email`, and may have `reason` and `expiresAt`. Other
    /// columns are ignored.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// The result of an import of addresses.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuppressionImportResult {
    /// Rows of the file, empty ones left out.
    total_rows: u64,
    /// Addresses that were added, or given another reason or end.
    added_count: u64,
    /// Rows whose address has an entry that stays as it was, or occurs again.
    unchanged_count: u64,
    /// Rows that failed.
    failure_count: u64,
    /// The first 1,000 failures.
    errors: Vec<RowFailure>,
}

impl From<Imported> for SuppressionImportResult {
    fn from(imported: Imported) -> Self {
        let counts = imported.counts;
        Self {
            total_rows: counts.rows,
            added_count: counts.added,
            unchanged_count: counts.rows.saturating_sub(counts.added + counts.failed),
            failure_count: counts.failed,
            errors: imported.failures,
        }
    }
}

/// Import suppressed addresses
///
/// Reads a CSV file in the background. A row without a reason gets the reason `import`.
#[utoipa::path(post, path = "/suppressions/addresses/import", tag = "Suppressions", operation_id = "importSuppressedAddresses", security(("secretKey" = []), ("session" = [])),
    request_body(content = SuppressionImportForm, content_type = "multipart/form-data"),
    responses(
        (status = 202, description = "Queued", body = QueuedJob),
        (status = 400, description = "The file is missing or is not CSV", body = ErrorEnvelope),
        (status = 413, description = "The file is larger than 5 MB", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope),
    ))]
pub(crate) async fn import(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    request: Request,
) -> Result<(StatusCode, Json<QueuedJob>), Failure> {
    let file = file(request).await?;
    let id = app.import_suppressions(&project, &caller.actor, file).await?;
    Ok((StatusCode::ACCEPTED, Json(QueuedJob::new("The addresses are being imported.", id))))
}

/// Get the status of an import of addresses
#[utoipa::path(get, path = "/suppressions/addresses/import/{jobId}", tag = "Suppressions", operation_id = "getSuppressionImport", security(("secretKey" = []), ("session" = [])),
    params(("jobId" = String, Path)),
    responses((status = 200, body = JobView<SuppressionImportResult>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn status(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Json<JobView<SuppressionImportResult>>, Failure> {
    let job = id.parse().map_err(|_| not_found(&id))?;
    let status = app.suppression_import(&project, job).await?.ok_or_else(|| not_found(&id))?;
    Ok(Json(JobView::new(status, SuppressionImportResult::from)))
}

/// Export suppressed addresses
///
/// The whole list as CSV, in the order of the addresses, with the columns `email`, `reason`, `createdAt`, `expiresAt` and
/// `emailId`. It can be imported again. An answer that breaks off before its end is not complete.
#[utoipa::path(get, path = "/suppressions/addresses/export", tag = "Suppressions", operation_id = "exportSuppressedAddresses", security(("secretKey" = []), ("session" = [])),
    responses((status = 200, description = "The list", content_type = "text/csv", body = String)))]
pub(crate) async fn export(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
) -> Response {
    let first = Some(List { limit: PAGE, ..List::default() });
    let pages = try_unfold((app, project, first), async |(app, project, list)| {
        let Some(list) = list else { return Ok::<_, mailwright_app::Error>(None) };
        let mut text = String::new();
        if list.after.is_none() {
            write_header(&mut text);
        }
        let page = app.suppressions(&project, list).await?;
        for entry in page.entries {
            write(&mut text, &entry);
        }
        let next = page.next.map(|last| List { limit: PAGE, after: Some(last), ..List::default() });
        Ok(Some((text, (app, project, next))))
    });
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"suppressions.csv\""),
    ];
    (headers, Body::from_stream(pages)).into_response()
}

fn write(text: &mut String, entry: &Entry) {
    let time = |at: Option<mailwright_core::time::Timestamp>| at.map_or(String::new(), |at| at.to_string());
    let cells = [
        entry.email.to_string(),
        entry.reason.to_string(),
        time(Some(entry.created_at)),
        time(entry.expires_at),
        entry.mail.map_or(String::new(), |id| id.to_string()),
    ];
    csv::write(text, cells.into_iter().map(Cow::Owned));
}
