//! `/contacts/import/preview`.

use crate::json::Json;
use axum::extract::{Request, State};
use mailwright_app::App;
use mailwright_app::audience::import::Preview;
use mailwright_core::custom_data::Data;
use mailwright_core::custom_data::FieldType;
use mailwright_core::import::{MAX_UPLOAD, Row, RowFailure, SeenColumn};
use serde::Serialize;
use utoipa::ToSchema;

use super::import::{csv_of, mapping};
use crate::auth::ProjectAccess;
use crate::auth::needs::SearchContacts;
use crate::error::{ErrorEnvelope, Failure};
use crate::form;

/// A file to look at.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it documents the form, which is read part by part")]
pub(crate) struct ImportPreviewForm {
    /// CSV as an import takes it, at most 5 MB.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// What columns are for, as for an import. Without it, they are guessed.
    #[schema(value_type = Option<String>)]
    mapping: Option<String>,
}

/// A column of a file.
#[derive(Debug, Serialize, ToSchema)]
struct ColumnView {
    /// Name as it stands in the header.
    name: String,
    /// What it is for, as a mapping says it: `email`, `subscribed`, the name of a custom field, or null for a column that
    /// is left out.
    #[schema(required)]
    field: Option<String>,
    /// What its cells are: `string`, `number`, `boolean` or `date`; null if all are blank.
    #[schema(required)]
    r#type: Option<&'static str>,
    /// Up to three different cells.
    samples: Vec<String>,
}

impl From<SeenColumn> for ColumnView {
    fn from(column: SeenColumn) -> Self {
        Self {
            name: column.name,
            field: column.field,
            r#type: column.kind.map(FieldType::as_str),
            samples: column.samples,
        }
    }
}

/// A row as it would be imported.
#[derive(Debug, Serialize, ToSchema)]
struct RowView {
    /// The line on which the row begins. The header is line 1.
    row: u64,
    /// Address of the contact.
    email: String,
    /// The subscription; null if the row says nothing about it.
    #[schema(required)]
    subscribed: Option<bool>,
    /// Changes to the custom fields.
    #[schema(value_type = Object)]
    data: Data,
}

impl From<Row> for RowView {
    fn from(row: Row) -> Self {
        Self {
            row: row.line,
            email: row.email.to_string(),
            subscribed: row.subscribed,
            data: row.patch.stored,
        }
    }
}

/// What a file would become.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImportPreview {
    /// The columns, in the order of the file.
    columns: Vec<ColumnView>,
    /// Why the file cannot be imported with these columns, such as that none is for `email`; null if it can.
    #[schema(required)]
    problem: Option<String>,
    /// The first 20 rows that would be imported.
    rows: Vec<RowView>,
    /// Rows of the file, empty ones left out.
    total_rows: u64,
    /// The custom fields that the project does not have yet.
    will_create_fields: Vec<String>,
    /// Rows that would fail.
    failure_count: u64,
    /// The first 20 of these.
    errors: Vec<RowFailure>,
}

impl From<Preview> for ImportPreview {
    fn from(Preview { look, new_fields }: Preview) -> Self {
        Self {
            columns: look.columns.into_iter().map(ColumnView::from).collect(),
            problem: look.problem,
            rows: look.rows.into_iter().map(RowView::from).collect(),
            total_rows: look.total,
            will_create_fields: new_fields,
            failure_count: look.failed,
            errors: look.failures,
        }
    }
}

/// Preview an import
///
/// Reads a CSV file and says what an import would make of it. Stores nothing. If no column is named `email`, the one
/// that holds addresses is guessed: an import takes it as such only if its `mapping` says so. Whether an address can
/// receive mail, and whether the data fits the limits of the project, is seen by the import alone.
#[utoipa::path(post, path = "/contacts/import/preview", tag = "Contacts", operation_id = "previewImport", security(("secretKey" = []), ("session" = [])),
    request_body(content = ImportPreviewForm, content_type = "multipart/form-data"),
    responses(
        (status = 200, body = ImportPreview),
        (status = 400, description = "The file is missing, is not CSV, has no rows, or cannot be read", body = ErrorEnvelope),
        (status = 413, description = "The file is larger than 5 MB", body = ErrorEnvelope),
        (status = 422, description = "The mapping is not valid, or does not suit the file", body = ErrorEnvelope)))]
pub(crate) async fn preview(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<SearchContacts>,
    request: Request,
) -> Result<Json<ImportPreview>, Failure> {
    let form = form::read(request, "file", &["mapping"], MAX_UPLOAD).await?;
    let mapping = mapping(&form)?;
    let found = app.preview_import(&project, csv_of(form.file)?, mapping).await?;
    Ok(Json(found.into()))
}
