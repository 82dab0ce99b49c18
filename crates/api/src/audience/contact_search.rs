//! `/contacts/search`.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_core::ids::ContactId;
use mailwright_core::issue::Issue;
use mailwright_store::audience::contact::{List, Sort};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::audience::contact::{ContactView, shown};
use crate::auth::ProjectAccess;
use crate::auth::needs::SearchContacts;
use crate::envelope::CursorPage;
use crate::error::{ApiError, ErrorEnvelope, Failure, Result};
use crate::fields::ShortText;
use crate::filter::{FilterTree, check_object};
use crate::params::{Bounded, ContactSort, Direction, RowLimit};
use crate::schema::{Body, Payload, WholeNumber, check_range};

/// Which contacts are looked for. Without any member: all.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SearchContactsRequest)]
pub(crate) struct SearchRequest {
    /// Only contacts that meet this condition, which is like that of a segment.
    #[schema(value_type = Option<FilterTree>)]
    condition: Option<Value>,
    /// Only contacts whose address contains this text, in any case.
    search: Option<ShortText>,
    /// Only contacts that are subscribed (`true`) or not (`false`).
    subscribed: Option<bool>,
    /// Sort field; `createdAt` by default.
    #[schema(inline)]
    sort: Option<ContactSort>,
    /// Sort direction; `desc` by default.
    #[schema(inline)]
    dir: Option<Direction>,
    /// Rows per page, 20 by default.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 100)]
    limit: Option<WholeNumber>,
    /// The `cursor` of the previous page.
    cursor: Option<ShortText>,
}

impl Payload for SearchRequest {
    fn check(&self) -> Vec<Issue> {
        let limit = self.limit.and_then(|limit| check_range("limit", limit, 1, RowLimit::MOST));
        check_object(self.condition.as_ref()).into_iter().chain(limit).collect()
    }
}

/// Search contacts
///
/// The list of contacts, narrowed down by a condition that no segment needs to have. `total` is counted for the first
/// page; on later ones it is 0.
#[utoipa::path(post, path = "/contacts/search", tag = "Contacts", operation_id = "searchContacts", security(("secretKey" = []), ("session" = [])),
    request_body = SearchRequest,
    responses(
        (status = 200, body = CursorPage<ContactView>),
        (status = 400, description = "The condition is not valid, or the cursor does not belong to this list", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope)))]
pub(crate) async fn search(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<SearchContacts>,
    Body(body): Body<SearchRequest>,
) -> Result<Json<CursorPage<ContactView>>, Failure> {
    let list = List {
        limit: body.limit.map_or(RowLimit::DEFAULT, |limit| limit.0) as usize,
        after: body.cursor.map(|cursor| cursor_of(&String::from(cursor))).transpose()?,
        search: body.search.map(|search| String::from(search).to_lowercase()).filter(|text| !text.is_empty()),
        holding: None,
        subscribed: body.subscribed,
        sort: match body.sort {
            Some(ContactSort::Email) => Sort::Email,
            Some(ContactSort::CreatedAt) | None => Sort::CreatedAt,
        },
        descending: !matches!(body.dir, Some(Direction::Asc)),
    };
    let page = match body.condition {
        Some(condition) => app.contacts_meeting(&project, &condition, list).await?,
        None => app.contacts(&project, list).await?,
    };
    Ok(Json(shown(page)))
}

/// A cursor that cannot be read is refused, as in the list.
fn cursor_of(text: &str) -> Result<ContactId> {
    text.parse().map_err(|_| {
        ApiError::bad_request("The cursor does not belong to this list. Start again without a cursor.")
    })
}
