//! `/workflows/fields`.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadWorkflows;
use crate::error::Result;
use crate::params::Params;

/// A field that conditions can look at.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TypedField {
    field: String,
    /// `string`, `number`, `boolean` or `date`.
    r#type: String,
    /// `Contact Fields`, `Custom Data` or `Event Data`.
    category: &'static str,
}

/// The fields that conditions can look at.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkflowFields {
    fields: Vec<String>,
    typed_fields: Vec<TypedField>,
    count: usize,
}

/// List the fields that conditions can look at
#[utoipa::path(get, path = "/workflows/fields", tag = "Workflows", operation_id = "listWorkflowFields", security(("secretKey" = []), ("session" = [])),
    params(("eventName" = Option<String>, Query, description = "Only the data of events of this name")),
    responses((status = 200, body = WorkflowFields)))]
pub(crate) async fn fields(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadWorkflows>,
    params: Params,
) -> Result<Json<WorkflowFields>> {
    let found = app.workflow_fields(&project, params.text("eventName").map(str::to_owned)).await?;
    let typed_fields: Vec<TypedField> = found
        .into_iter()
        .map(|field| TypedField {
            field: field.name,
            r#type: field.kind.as_str().to_owned(),
            category: field.category.as_str(),
        })
        .collect();
    let fields: Vec<String> = typed_fields.iter().map(|field| field.field.clone()).collect();
    Ok(Json(WorkflowFields { count: fields.len(), fields, typed_fields }))
}
