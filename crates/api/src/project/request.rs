//! `/requests`: what keys and people asked of a project.

use axum::extract::State;
use mailwright_app::project::request_log::{Asker, Logged, Wanted};
use mailwright_app::{App, Resource};
use mailwright_core::ids::{ApiKeyId, LoggedRequestId, UserId};
use mailwright_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadRequests;
use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::json::Json;
use crate::params::{self, Params, PathText, RowLimit};

/// A request that was answered.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestView {
    id: LoggedRequestId,
    /// The `X-Request-ID` of the answer. A client may have chosen it, so it may be there several times.
    request_id: String,
    /// The method; `other` for one that there is not.
    method: String,
    /// The endpoint, as in this document.
    route: String,
    /// The path with the ids that stood in it. Whatever else stood there, and the query, is not kept.
    path: String,
    /// Status of the answer.
    status: u16,
    /// Code of the error; null where the answer had none.
    code: Option<String>,
    /// Milliseconds until the answer began.
    duration_ms: f64,
    /// The key that it was made with; null for a request of a person.
    key_id: Option<ApiKeyId>,
    /// The signed-in person who made it; null for a request with a key.
    user_id: Option<UserId>,
    /// Address of the client; null where the instance does not keep it, which is the default.
    address: Option<String>,
    /// When it came.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<Logged> for RequestView {
    fn from(request: Logged) -> Self {
        let (key_id, user_id) = match request.asker {
            Some(Asker::Key(id)) => (Some(id), None),
            Some(Asker::Person(id)) => (None, Some(id)),
            None => (None, None),
        };
        Self {
            created_at: request.id.instant(),
            id: request.id,
            request_id: request.request_id,
            method: request.method.into_owned(),
            route: request.route,
            path: request.path,
            status: request.status,
            code: request.code.map(std::borrow::Cow::into_owned),
            duration_ms: request.micros as f64 / 1000.0,
            key_id,
            user_id,
            address: request.address,
        }
    }
}

/// A page of the log of requests.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestList {
    /// Newest first.
    data: Vec<RequestView>,
    /// Where the next page starts; null on the last page.
    #[schema(required = true)]
    cursor: Option<String>,
    /// Whether more follow.
    has_more: bool,
    /// How many requests there are, where the first page has them all; 0 otherwise, because the log is not counted.
    total: usize,
    /// How many errors of the period are not in the log, whatever else is asked for, because there were too many of them;
    /// on the first page, 0 on later ones.
    left_out: i64,
}

/// List requests
///
/// What keys and signed-in people asked of the project, newest first: all errors, and of the successes the share that the
/// instance keeps. A request is in the list about a second after its answer. Of a minute with more than 300 errors one of
/// a hundred of the others is kept, and `leftOut` counts the rest. What was sent is never kept.
#[utoipa::path(get, path = "/requests", tag = "Requests", operation_id = "listRequests", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
        ("keyId" = Option<String>, Query, description = "Only requests with this key"),
        ("status" = Option<String>, Query, description = "Only this status, such as 404; `errors` for all from 400 on"),
        ("code" = Option<String>, Query, description = "Only errors with this code"),
        ("method" = Option<String>, Query, description = "Only this method, such as `POST`"),
        ("route" = Option<String>, Query, description = "Only this endpoint, as in this document: `/contacts/{id}`"),
        ("requestId" = Option<String>, Query, description = "Only what was answered with this `X-Request-ID`"),
        ("since" = Option<String>, Query, description = "Only from this time on"),
        ("until" = Option<String>, Query, description = "Only before this time")),
    responses((status = 200, body = RequestList),
        (status = 400, description = "A parameter cannot be read", body = ErrorEnvelope),
        (status = 403, body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadRequests>,
    params: Params,
) -> Result<Json<RequestList>> {
    let text = |name| params.text(name).map(str::to_owned);
    let (status, errors_only) = status(&params)?;
    let wanted = Wanted {
        key: params.id("keyId")?,
        status,
        errors_only,
        code: text("code"),
        method: text("method"),
        route: text("route"),
        request_id: text("requestId"),
        since: params.instant("since")?,
        until: params.instant("until")?,
    };
    let limit = params.bounded::<RowLimit>() as usize;
    let after = params.cursor()?;
    let is_first = after.is_none();
    let page = app.requests(&project, wanted, after, limit).await?;
    let cursor = page.requests.last().filter(|_| page.has_more).map(|last| last.id.to_string());
    Ok(Json(RequestList {
        total: if is_first && !page.has_more { page.requests.len() } else { 0 },
        data: page.requests.into_iter().map(RequestView::from).collect(),
        cursor,
        has_more: page.has_more,
        left_out: page.left_out,
    }))
}

/// The status that is asked for, and whether all errors are.
fn status(params: &Params) -> Result<(Option<i64>, bool)> {
    match params.text("status") {
        None => Ok((None, false)),
        Some("errors") => Ok((None, true)),
        Some(text) => match text.parse() {
            Ok(status @ 100..=599) => Ok((Some(status), false)),
            _ => Err(ApiError::bad_request("status must be a status such as 404, or errors.")),
        },
    }
}

/// Get a request
#[utoipa::path(get, path = "/requests/{id}", tag = "Requests", operation_id = "getRequest", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = RequestView),
        (status = 403, body = ErrorEnvelope),
        (status = 404, description = "There is no such request in the log", body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadRequests>,
    PathText(id): PathText,
) -> Result<Json<RequestView>> {
    let request = app.logged_request(&project, params::id(&id, Resource::Request)?).await?;
    Ok(Json(request.into()))
}
