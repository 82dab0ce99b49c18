//! `/suppressions/addresses`: the addresses of a project that get no mail.

use crate::json::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mailwright_app::audience::suppression::{Entry, List, Wanted};
use mailwright_app::{App, Resource};
use mailwright_core::address::EmailAddress;
use mailwright_core::ids::EmailId;
use mailwright_core::issue::Issue;
use mailwright_core::suppression::{MAX_BULK, SuppressionReason};
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::{ReadContacts, WriteContacts};
use crate::envelope::{CursorPage, Time};
use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::fields::{DateText, Email};
use crate::params::{self, Params, PathText, RowLimit};
use crate::schema::{Body, Payload, check_count};

/// An address that gets no mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuppressedAddress {
    email: String,
    reason: SuppressionReason,
    /// The mail that bounced or was complained about.
    email_id: Option<EmailId>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it ends by itself; null if it does not.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Time,
}

impl From<Entry> for SuppressedAddress {
    fn from(entry: Entry) -> Self {
        Self {
            email: entry.email.to_string(),
            reason: entry.reason,
            email_id: entry.mail,
            created_at: entry.created_at,
            expires_at: entry.expires_at,
        }
    }
}

/// List suppressed addresses
///
/// In the order of the addresses.
#[utoipa::path(get, path = "/suppressions/addresses", tag = "Suppressions", operation_id = "listSuppressedAddresses", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
        ("search" = Option<String>, Query, description = "Only addresses that contain this text, in any case"),
        ("reason" = Option<SuppressionReason>, Query, description = "Only addresses for this reason"),
    ),
    responses((status = 200, description = "`total` counts the whole list, up to 10,000; 0 where the list is filtered", body = CursorPage<SuppressedAddress>), (status = 400, description = "Invalid cursor or reason", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    params: Params,
) -> Result<Json<CursorPage<SuppressedAddress>>> {
    let reason = params::one_of(
        &params,
        "reason",
        SuppressionReason::from_name,
        &SuppressionReason::ALL,
        SuppressionReason::as_str,
    )?;
    let list = List {
        limit: params.bounded::<RowLimit>() as usize,
        after: params.cursor::<Cursor>()?.map(|cursor| cursor.0),
        search: params.text("search").map(str::to_lowercase),
        reason,
    };
    let page = app.suppressions(&project, list).await?;
    Ok(Json(CursorPage {
        data: page.entries.into_iter().map(Into::into).collect(),
        has_more: page.next.is_some(),
        cursor: page.next.map(|last| last.to_string()),
        total: page.total,
    }))
}

/// The last address of a page.
struct Cursor(EmailAddress);

impl std::str::FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        EmailAddress::parse(text).map(Self).ok_or(())
    }
}

/// An address that is to get no mail.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SuppressAddressRequest {
    email: Email,
    /// `manual` by default.
    reason: Option<SuppressionReason>,
    /// When it ends by itself, in the future; never by default.
    expires_at: Option<DateText>,
}

impl Payload for SuppressAddressRequest {}

/// The end of an entry, which is in the future.
fn end(app: &App, given: Option<&DateText>) -> Result<Option<Timestamp>> {
    let Some(at) = given.and_then(|text| Timestamp::parse(&text.0)) else { return Ok(None) };
    if at > app.clock().now() {
        return Ok(Some(at));
    }
    Err(ApiError::invalid(vec![Issue::new("expiresAt", "invalid_date", "Must be in the future.")]))
}

/// Suppress an address
///
/// From now on no mail is sent to it, of whatever type; with the reason `unsubscribe-all` no mail but transactional one.
/// That holds for mail that waits already as well. An entry that holds back more, or longer, stays as it is.
#[utoipa::path(post, path = "/suppressions/addresses", tag = "Suppressions", operation_id = "suppressAddress", security(("secretKey" = []), ("session" = [])),
    request_body = SuppressAddressRequest,
    responses(
        (status = 201, description = "Added, or given another reason or end", body = SuppressedAddress),
        (status = 200, description = "What there was stays", body = SuppressedAddress),
        (status = 409, description = "The project has 1,000,000 suppressed addresses", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn add(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    Body(body): Body<SuppressAddressRequest>,
) -> Result<(StatusCode, Json<SuppressedAddress>)> {
    let expires_at = end(&app, body.expires_at.as_ref())?;
    let (entry, added) = app.suppress(&project, &caller.actor, body.email.0, body.reason, expires_at).await?;
    let status = if added { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(entry.into())))
}

/// Addresses that are to get no mail.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SuppressAddressesRequest {
    /// 1 to 1,000 addresses. One that occurs twice counts once.
    #[schema(min_items = 1, max_items = 1000)]
    emails: Vec<Email>,
    /// `manual` by default.
    reason: Option<SuppressionReason>,
    /// When it ends by itself, in the future; never by default.
    expires_at: Option<DateText>,
}

impl Payload for SuppressAddressesRequest {
    fn check(&self) -> Vec<Issue> {
        check_count("emails", self.emails.len(), MAX_BULK)
    }
}

/// How many addresses were suppressed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuppressedAddresses {
    /// Different addresses of the request.
    total_requested: u64,
    /// Addresses that were added, or given another reason or end.
    added_count: u64,
    /// Addresses whose entry stays as it was.
    unchanged_count: u64,
}

/// Suppress many addresses
#[utoipa::path(post, path = "/suppressions/addresses/bulk", tag = "Suppressions", operation_id = "suppressAddresses", security(("secretKey" = []), ("session" = [])),
    request_body = SuppressAddressesRequest,
    responses(
        (status = 200, body = SuppressedAddresses),
        (status = 409, description = "The project would have more than 1,000,000 suppressed addresses", body = ErrorEnvelope),
        (status = 422, description = "`emails` must have 1 to 1,000 addresses", body = ErrorEnvelope)))]
pub(crate) async fn add_many(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    Body(body): Body<SuppressAddressesRequest>,
) -> Result<Json<SuppressedAddresses>> {
    let wanted = Wanted {
        emails: body.emails.into_iter().map(|email| email.0).collect(),
        reason: body.reason,
        expires_at: end(&app, body.expires_at.as_ref())?,
    };
    let added = app.suppress_many(&project, &caller.actor, wanted).await?;
    Ok(Json(SuppressedAddresses {
        total_requested: added.total,
        added_count: added.added,
        unchanged_count: added.total.saturating_sub(added.added),
    }))
}

/// Remove a suppressed address
///
/// Mail is sent to it again from now on. What was held back is not sent.
#[utoipa::path(delete, path = "/suppressions/addresses/{email}", tag = "Suppressions", operation_id = "unsuppressAddress", security(("secretKey" = []), ("session" = [])),
    params(("email" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn remove(
    State(app): State<App>,
    ProjectAccess(project, caller, _): ProjectAccess<WriteContacts>,
    PathText(email): PathText,
) -> Result<StatusCode> {
    let parsed = EmailAddress::parse(&email);
    let parsed = parsed.ok_or_else(|| ApiError::not_found(Resource::Suppression, &email))?;
    app.unsuppress(&project, &caller.actor, parsed).await?;
    Ok(StatusCode::NO_CONTENT)
}
