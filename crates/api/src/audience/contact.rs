//! `/contacts`.

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::audience::contact::{ContactPatch, Page};
use mailwright_app::{App, Resource};
use mailwright_core::contact::Contact;
use mailwright_core::custom_data::{self, Data};
use mailwright_core::ids::ContactId;
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{List, Sort};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadContacts, SearchContacts, WriteContacts};
use crate::envelope::CursorPage;
use crate::error::{ErrorEnvelope, Failure, LegacyError, Result};
use crate::fields::{DataObject, Email, ShortText};
use crate::params::{self, ContactSort, Direction, Params, PathText, RowLimit};
use crate::schema::{Body, Payload, check_count, missing};

/// Most addresses of a lookup (contract, Limits).
pub(crate) const MAX_LOOKUP: usize = 500;

/// A contact.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContactView {
    id: ContactId,
    /// Address, unique in the project.
    email: String,
    /// Whether marketing mail may be sent.
    subscribed: bool,
    /// Custom fields.
    #[schema(value_type = Object)]
    data: Data,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<Contact> for ContactView {
    fn from(contact: Contact) -> Self {
        Self {
            id: contact.id,
            email: contact.email.to_string(),
            subscribed: contact.subscribed,
            data: contact.data,
            created_at: contact.created_at,
            updated_at: contact.updated_at,
        }
    }
}

/// List contacts
#[utoipa::path(get, path = "/contacts", tag = "Contacts", operation_id = "listContacts", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
        ("search" = Option<String>, Query, description = "Only contacts whose address contains this text, in any case"),
        ("subscribed" = Option<bool>, Query, description = "Only contacts that are subscribed (`true`) or not (`false`)"),
        ("sort" = inline(Option<ContactSort>), Query, description = "Sort field"),
        ("dir" = inline(Option<Direction>), Query, description = "Sort direction"),
    ),
    responses((status = 200, body = CursorPage<ContactView>), (status = 400, description = "The cursor does not belong to this list", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    params: Params,
) -> Result<Json<CursorPage<ContactView>>> {
    let list = List {
        limit: params.bounded::<RowLimit>() as usize,
        after: params.cursor()?,
        search: params.text("search").map(str::to_lowercase),
        holding: None,
        subscribed: params.boolean("subscribed"),
        sort: match params.choice("sort") {
            Some(ContactSort::Email) => Sort::Email,
            Some(ContactSort::CreatedAt) | None => Sort::CreatedAt,
        },
        descending: params.descending(),
    };
    let page = app.contacts(&project, list).await?;
    Ok(Json(shown(page)))
}

/// A page as the API shows it.
pub(super) fn shown(page: Page) -> CursorPage<ContactView> {
    let cursor = page.contacts.last().filter(|_| page.has_more).map(|last| last.id.to_string());
    CursorPage {
        data: page.contacts.into_iter().map(ContactView::from).collect(),
        cursor,
        has_more: page.has_more,
        total: page.total,
    }
}

/// A contact to create or update.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct UpsertRequest {
    email: Email,
    /// True by default for new contacts; existing ones keep their state when omitted. Where the project wants double
    /// opt-in, a contact that it would subscribe is asked to confirm, and is not subscribed until then.
    subscribed: Option<bool>,
    data: Option<DataObject>,
}

impl Payload for UpsertRequest {
    fn check(&self) -> Vec<Issue> {
        self.data.as_ref().map(|data| custom_data::check(&data.0, "data")).unwrap_or_default()
    }

    fn legacy(body: &Value) -> Option<&'static str> {
        missing(body, &[("email", "email is required")])
    }
}

/// A contact and what the request did to it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UpsertedView {
    #[serde(flatten)]
    contact: ContactView,
    #[serde(rename = "_meta")]
    meta: UpsertMeta,
}

/// What an upsert did.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UpsertMeta {
    /// The contact was created.
    is_new: bool,
    /// The contact existed.
    is_update: bool,
}

/// Create or update a contact
#[utoipa::path(post, path = "/contacts", tag = "Contacts", operation_id = "upsertContact", security(("secretKey" = []), ("session" = [])),
    request_body = UpsertRequest,
    responses(
        (status = 201, description = "Created", body = UpsertedView),
        (status = 200, description = "Updated", body = UpsertedView),
        (status = 400, description = "`email` is missing", body = LegacyError),
        (status = 422, description = "Validation failed", body = ErrorEnvelope),
    ))]
pub(crate) async fn upsert(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    Body(body): Body<UpsertRequest>,
) -> Result<(StatusCode, Json<UpsertedView>), Failure> {
    let data = body.data.unwrap_or_default().0;
    let upserted = app.upsert_contact(&project, &caller.actor, body.email.0, body.subscribed, data).await?;
    let status = if upserted.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let meta = UpsertMeta { is_new: upserted.is_new, is_update: !upserted.is_new };
    Ok((status, Json(UpsertedView { contact: upserted.contact.into(), meta })))
}

/// Get a contact
#[utoipa::path(get, path = "/contacts/{id}", tag = "Contacts", operation_id = "getContact", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = ContactView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Json<ContactView>> {
    Ok(Json(app.contact(&project, params::id(&id, Resource::Contact)?).await?.into()))
}

/// Changes to a contact.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UpdateContactRequest)]
pub(crate) struct UpdateRequest {
    email: Option<Email>,
    subscribed: Option<bool>,
    /// Changes to the custom fields; null clears them all.
    #[serde(default)]
    #[schema(value_type = Option<DataObject>)]
    data: Patch<DataObject>,
}

impl Payload for UpdateRequest {
    fn check(&self) -> Vec<Issue> {
        match &self.data {
            Patch::Value(data) => custom_data::check(&data.0, "data"),
            Patch::Absent | Patch::Null => Vec::new(),
        }
    }
}

/// Change a contact
#[utoipa::path(patch, path = "/contacts/{id}", tag = "Contacts", operation_id = "updateContact", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)), request_body = UpdateRequest,
    responses(
        (status = 200, body = ContactView), (status = 404, body = ErrorEnvelope),
        (status = 409, description = "Another contact has the address", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn update(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
    Body(body): Body<UpdateRequest>,
) -> Result<Json<ContactView>, Failure> {
    let id: ContactId = params::id(&id, Resource::Contact)?;
    let patch = ContactPatch {
        email: body.email.map(|email| email.0),
        subscribed: body.subscribed,
        data: body.data.map(|data| data.0),
    };
    Ok(Json(app.update_contact(&project, &caller.actor, id, patch).await?.into()))
}

/// Delete a contact
///
/// The contact is deleted permanently, with its events and mails.
#[utoipa::path(delete, path = "/contacts/{id}", tag = "Contacts", operation_id = "deleteContact", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn delete(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(id): PathText,
) -> Result<StatusCode> {
    app.delete_contact(&project, &caller.actor, params::id(&id, Resource::Contact)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Addresses to look up.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct LookupRequest {
    /// 1 to 500 addresses.
    emails: Vec<ShortText>,
}

impl Payload for LookupRequest {
    fn check(&self) -> Vec<Issue> {
        check_count("emails", self.emails.len(), MAX_LOOKUP)
    }
}

/// Which addresses are contacts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LookupResult {
    /// The addresses that are contacts, as they were given.
    found: Vec<String>,
    /// The addresses that are not, as they were given.
    not_found: Vec<String>,
}

/// Look addresses up
#[utoipa::path(post, path = "/contacts/lookup", tag = "Contacts", operation_id = "lookupContacts", security(("secretKey" = []), ("session" = [])),
    request_body = LookupRequest,
    responses((status = 200, body = LookupResult), (status = 422, description = "`emails` must have 1 to 500 addresses", body = ErrorEnvelope)))]
pub(crate) async fn lookup(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<SearchContacts>,
    Body(body): Body<LookupRequest>,
) -> Result<Json<LookupResult>, Failure> {
    let given = body.emails.into_iter().map(String::from).collect();
    let (found, not_found) = app.lookup_contacts(&project, given).await?;
    Ok(Json(LookupResult { found, not_found }))
}
