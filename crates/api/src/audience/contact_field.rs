//! `/contacts/fields`.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_app::automation::usage::NamedWorkflow;
use mailwright_core::ids::CampaignId;
use mailwright_core::segment::Segment;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadContacts, WriteContacts};
use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::params::{Params, PathText, ValueLimit};

/// The fields that every contact has, with their types.
const STANDARD: [(&str, &str); 4] =
    [("createdAt", "date"), ("email", "string"), ("subscribed", "boolean"), ("updatedAt", "date")];

/// A field of the project's contacts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FieldView {
    /// Name; custom fields carry the prefix `data.`.
    field: String,
    /// `string`, `number`, `boolean` or `date`: the type of the first value seen.
    r#type: &'static str,
    is_custom: bool,
    /// Share of contacts that have the field, 0 to 1.
    coverage: f64,
}

/// The fields of the project's contacts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FieldList {
    fields: Vec<FieldView>,
    count: usize,
}

/// List fields
#[utoipa::path(get, path = "/contacts/fields", tag = "Contacts", operation_id = "listContactFields", security(("secretKey" = []), ("session" = [])),
    responses((status = 200, body = FieldList)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
) -> Result<Json<FieldList>> {
    let found = app.contact_fields(&project).await?;
    let coverage = |count: i64| if found.contacts > 0 { count as f64 / found.contacts as f64 } else { 0.0 };
    let standard = STANDARD.iter().map(|(name, kind)| FieldView {
        field: (*name).to_owned(),
        r#type: kind,
        is_custom: false,
        coverage: 1.0,
    });
    let custom = found.custom.iter().map(|field| FieldView {
        field: format!("data.{}", field.name),
        r#type: field.kind.as_str(),
        is_custom: true,
        coverage: coverage(field.count).clamp(0.0, 1.0),
    });
    let mut fields: Vec<_> = standard.chain(custom).collect();
    fields.sort_by(|a, b| a.field.cmp(&b.field));
    Ok(Json(FieldList { count: fields.len(), fields }))
}

/// Values of a field.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FieldValues {
    field: String,
    /// Distinct values, sorted.
    #[schema(value_type = Vec<Value>)]
    values: Vec<Value>,
    count: usize,
    limit: i64,
}

/// List the values of a field
///
/// Reads the newest 20,000 contacts.
#[utoipa::path(get, path = "/contacts/fields/{field}/values", tag = "Contacts", operation_id = "listContactFieldValues", security(("secretKey" = []), ("session" = [])),
    params(
        ("field" = String, Path, description = "The prefix `data.` may be left out"),
        ("limit" = inline(Option<ValueLimit>), Query, description = "Maximum number of values"),
    ),
    responses((status = 200, body = FieldValues)))]
pub(crate) async fn values(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(field): PathText,
    params: Params,
) -> Result<Json<FieldValues>> {
    let limit = params.bounded::<ValueLimit>();
    let values = match field.as_str() {
        "subscribed" => vec![json!(true), json!(false)],
        "email" | "createdAt" | "updatedAt" => Vec::new(),
        name if name.contains('\0') => Vec::new(),
        name => {
            app.contact_field_values(&project, name.strip_prefix("data.").unwrap_or(name), limit as usize)
                .await?
        }
    };
    Ok(Json(FieldValues { field, count: values.len(), values, limit }))
}

/// A place that refers to a field or an event name.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Reference {
    id: String,
    name: String,
}

impl Reference {
    /// Segments as such.
    pub(crate) fn segments(segments: Vec<Segment>) -> Vec<Self> {
        segments.into_iter().map(|s| Self { id: s.id.to_string(), name: s.name }).collect()
    }

    /// Workflows by id and name.
    pub(crate) fn workflows(workflows: Vec<NamedWorkflow>) -> Vec<Self> {
        workflows.into_iter().map(|found| Self { id: found.id.to_string(), name: found.name }).collect()
    }

    /// Campaigns by id and name.
    pub(crate) fn campaigns(campaigns: Vec<(CampaignId, String)>) -> Vec<Self> {
        campaigns.into_iter().map(|(id, name)| Self { id: id.to_string(), name }).collect()
    }
}

/// The places that refer to a field.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FieldUsage {
    used_in_segments: Vec<Reference>,
    used_in_campaigns: Vec<Reference>,
    used_in_workflows: Vec<Reference>,
    /// Contacts that have the field.
    contact_count: i64,
    /// Whether the field can be removed; true for custom fields.
    can_delete: bool,
}

/// Show what refers to a field
#[utoipa::path(get, path = "/contacts/fields/{field}/usage", tag = "Contacts", operation_id = "getContactFieldUsage", security(("secretKey" = []), ("session" = [])),
    params(("field" = String, Path)),
    responses((status = 200, body = FieldUsage)))]
pub(crate) async fn usage(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(field): PathText,
) -> Result<Json<FieldUsage>> {
    let custom = custom_name(&field);
    let contact_count = match custom {
        // nobody has it
        Some(name) if name.contains('\0') => 0,
        custom => app.contact_field_count(&project, custom).await?,
    };
    let name = full_name(&field);
    Ok(Json(FieldUsage {
        used_in_segments: Reference::segments(app.segments_with_field(&project, &name).await?),
        used_in_campaigns: Reference::campaigns(app.campaigns_with_field(&project, &name).await?),
        used_in_workflows: Reference::workflows(app.workflows_with_field(&project, &name).await?),
        contact_count,
        can_delete: custom.is_some(),
    }))
}

/// The name of a field as filters have it.
fn full_name(field: &str) -> String {
    match custom_name(field) {
        Some(name) => format!("data.{name}"),
        None => field.to_owned(),
    }
}

/// The name of a custom field inside `data`; `None` for a standard field.
fn custom_name(field: &str) -> Option<&str> {
    let name = field.strip_prefix("data.");
    name.or_else(|| (!STANDARD.iter().any(|(standard, _)| *standard == field)).then_some(field))
}

/// How many contacts lost the field.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FieldDeleted {
    deleted_from: usize,
}

/// Remove a field
///
/// Removes the field from every contact of the project. Segments that refer to it stay, and their conditions on it
/// match no contact any more.
#[utoipa::path(delete, path = "/contacts/fields/{field}", tag = "Contacts", operation_id = "deleteContactField", security(("secretKey" = []), ("session" = [])),
    params(("field" = String, Path, description = "`data.<name>`")),
    responses((status = 200, body = FieldDeleted), (status = 400, description = "The field is not a custom field", body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(field): PathText,
) -> Result<Json<FieldDeleted>> {
    let name =
        field.strip_prefix("data.").filter(|name| !name.is_empty() && !name.contains('\0')).ok_or_else(
            || ApiError::bad_request("Only custom fields can be removed: name one as data.<field>."),
        )?;
    Ok(Json(FieldDeleted { deleted_from: app.delete_contact_field(&project, &caller.actor, name).await? }))
}
