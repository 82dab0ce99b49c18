//! `/v1/verify/segment`, `/v1/verify/file` and `/v1/verify/jobs`: verifying many addresses in the background.

use std::borrow::Cow;

use axum::body::Body as Stream;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use mailwright_app::App;
use mailwright_app::audience::verification::{Found, Verification, Verified};
use mailwright_core::csv;
use mailwright_core::ids::{JobId, SegmentId};
use mailwright_core::import::RowFailure;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::import::file;
use super::verification::VerificationView;
use crate::auth::ProjectAccess;
use crate::auth::needs::ReadContacts;
use crate::background::job::{JobView, QueuedJob, not_found};
use crate::envelope::Success;
use crate::error::{ErrorEnvelope, Failure, Result};
use crate::json::Json;
use crate::params::{EventLimit, Params, PathText};
use crate::schema::{Body, Payload};

/// Results that are read at a time for a file.
const PAGE: usize = 1_000;

/// A segment whose members' addresses are verified.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerifySegmentRequest {
    segment_id: SegmentId,
}

impl Payload for VerifySegmentRequest {}

/// A file of addresses to verify.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it documents the form, which is read part by part")]
pub(crate) struct VerifyFileForm {
    /// CSV in UTF-8, at most 5 MB, with a header that has a column `email`. Other columns are ignored.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// What a job found out, in figures.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerificationJobResult {
    /// Addresses with a result.
    total: u64,
    /// Those to which mail can be sent, as far as can be known.
    valid_count: u64,
    /// The others.
    invalid_count: u64,
    disposable_count: u64,
    alias_count: u64,
    typo_count: u64,
    role_count: u64,
    personal_count: u64,
    /// Rows of the file without a result.
    failure_count: u64,
    /// The first 1,000 of them.
    errors: Vec<RowFailure>,
}

impl From<Verified> for VerificationJobResult {
    fn from(verified: Verified) -> Self {
        let counts = verified.counts;
        Self {
            total: counts.addresses,
            valid_count: counts.valid,
            invalid_count: counts.addresses.saturating_sub(counts.valid),
            disposable_count: counts.disposable,
            alias_count: counts.alias,
            typo_count: counts.typo,
            role_count: counts.role,
            personal_count: counts.personal,
            failure_count: counts.failed,
            errors: verified.failures,
        }
    }
}

fn queued(id: JobId) -> (StatusCode, Json<Success<QueuedJob>>) {
    let job = QueuedJob::new("The addresses are being verified.", id);
    (StatusCode::ACCEPTED, Json(Success::new(job)))
}

/// Verify the addresses of a segment
///
/// In the background: up to 1,000,000 addresses. Contacts that are made later are left out.
#[utoipa::path(post, path = "/v1/verify/segment", tag = "Public API", operation_id = "verifySegment", security(("secretKey" = []), ("session" = [])),
    request_body = VerifySegmentRequest,
    responses(
        (status = 202, description = "Queued", body = Success<QueuedJob>),
        (status = 404, description = "There is no such segment", body = ErrorEnvelope),
        (status = 422, description = "Validation failed", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope)))]
pub(crate) async fn segment(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    Body(body): Body<VerifySegmentRequest>,
) -> Result<(StatusCode, Json<Success<QueuedJob>>)> {
    Ok(queued(app.verify_segment(&project, body.segment_id).await?))
}

/// Verify the addresses of a file
///
/// In the background. What stands in the column need not have the form of an address; a result says so then.
#[utoipa::path(post, path = "/v1/verify/file", tag = "Public API", operation_id = "verifyFile", security(("secretKey" = []), ("session" = [])),
    request_body(content = VerifyFileForm, content_type = "multipart/form-data"),
    responses(
        (status = 202, description = "Queued", body = Success<QueuedJob>),
        (status = 400, description = "The file is missing or is not CSV", body = ErrorEnvelope),
        (status = 413, description = "The file is larger than 5 MB", body = ErrorEnvelope),
        (status = 429, description = "Too many jobs are queued", body = ErrorEnvelope)))]
pub(crate) async fn upload(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    request: Request,
) -> Result<(StatusCode, Json<Success<QueuedJob>>), Failure> {
    let file = file(request).await?;
    Ok(queued(app.verify_file(&project, file).await?))
}

/// Get the status of a verification
///
/// As of other jobs, it is there for the newest 100 finished jobs of the project.
#[utoipa::path(get, path = "/v1/verify/jobs/{jobId}", tag = "Public API", operation_id = "getVerificationJob", security(("secretKey" = []), ("session" = [])),
    params(("jobId" = String, Path)),
    responses(
        (status = 200, body = Success<JobView<VerificationJobResult>>), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn status(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Json<Success<JobView<VerificationJobResult>>>> {
    let job = id.parse().map_err(|_| not_found(&id))?;
    let status = app.verification_job(&project, job).await?.ok_or_else(|| not_found(&id))?;
    Ok(Json(Success::new(JobView::new(status, VerificationJobResult::from))))
}

/// A page of what a job found out.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerificationResults {
    /// In the order of the file or of the contacts.
    results: Vec<VerificationView>,
    /// Where the next page starts; null on the last page.
    #[schema(required = true)]
    cursor: Option<String>,
    /// Whether more follow.
    has_more: bool,
}

/// List what a verification found out
///
/// Also while it is under way. The results of the newest ten jobs of the project are kept, for 30 days.
#[utoipa::path(get, path = "/v1/verify/jobs/{jobId}/results", tag = "Public API", operation_id = "listVerificationResults", security(("secretKey" = []), ("session" = [])),
    params(
        ("jobId" = String, Path),
        ("limit" = inline(Option<EventLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
        ("valid" = Option<bool>, Query, description = "Only addresses to which mail can be sent, or those to which it cannot")),
    responses(
        (status = 200, body = Success<VerificationResults>),
        (status = 400, description = "The cursor does not belong to this list", body = ErrorEnvelope),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn results(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<Success<VerificationResults>>> {
    let job = id.parse().map_err(|_| not_found(&id))?;
    let (valid, limit) = (params.boolean("valid"), params.bounded::<EventLimit>() as usize);
    let page = app.verification_results(&project, job, valid, params.cursor()?, limit).await?;
    let cursor = page.results.last().filter(|_| page.has_more).map(|last| last.position.to_string());
    let results = page.results.into_iter().map(|found| found.verification.into()).collect();
    Ok(Json(Success::new(VerificationResults { results, cursor, has_more: page.has_more })))
}

/// Export what a verification found out
///
/// All results as CSV, with the columns `email`, `valid`, each flag, `didYouMean` and `reasons`. An answer that breaks off
/// before its end is not complete.
#[utoipa::path(get, path = "/v1/verify/jobs/{jobId}/export", tag = "Public API", operation_id = "exportVerificationResults", security(("secretKey" = []), ("session" = [])),
    params(("jobId" = String, Path)),
    responses(
        (status = 200, description = "The results", content_type = "text/csv", body = String),
        (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn export(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadContacts>,
    PathText(id): PathText,
) -> Result<Response> {
    let job: JobId = id.parse().map_err(|_| not_found(&id))?;
    let first = app.verification_results(&project, job, None, None, PAGE).await?;
    let mut head = String::new();
    csv::write(&mut head, COLUMNS.into_iter().map(Cow::Borrowed));
    let pages = try_unfold(Some((head, first)), move |next| {
        let (app, project) = (app.clone(), project.clone());
        async move {
            let Some((mut text, page)) = next else { return Ok::<_, mailwright_app::Error>(None) };
            let last = page.results.last().filter(|_| page.has_more).map(|last| last.position);
            page.results.iter().for_each(|found| write(&mut text, found));
            let next = match last {
                Some(last) => {
                    let page = app.verification_results(&project, job, None, Some(last), PAGE).await?;
                    Some((String::new(), page))
                }
                None => None,
            };
            Ok(Some((text, next)))
        }
    });
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"verification.csv\""),
    ];
    Ok((headers, Stream::from_stream(pages)).into_response())
}

const COLUMNS: [&str; 14] = [
    "email",
    "valid",
    "isDisposable",
    "isAlias",
    "isTypo",
    "isPlusAddressed",
    "isPersonalEmail",
    "isRoleAddress",
    "isParked",
    "domainExists",
    "hasWebsite",
    "hasMxRecords",
    "didYouMean",
    "reasons",
];

fn write(text: &mut String, found: &Found) {
    let Verification { email, did_you_mean, reasons, .. } = &found.verification;
    let found = &found.verification;
    let flags = [
        found.valid,
        found.is_disposable,
        found.is_alias,
        found.is_typo,
        found.is_plus_addressed,
        found.is_personal_email,
        found.is_role_address,
        found.is_parked,
        found.domain_exists,
        found.has_website,
        found.has_mx_records,
    ];
    let flags = flags.into_iter().map(|flag| Cow::Borrowed(if flag { "true" } else { "false" }));
    let meant = Cow::Borrowed(did_you_mean.as_deref().unwrap_or_default());
    let cells = [Cow::Borrowed(email.as_str())].into_iter().chain(flags);
    csv::write(text, cells.chain([meant, Cow::Owned(reasons.join(" "))]));
}
