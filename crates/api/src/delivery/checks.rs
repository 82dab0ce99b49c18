//! `/mailbox/{id}/checks`: what a look at a captured mail finds.

use axum::extract::State;
use mailwright_app::delivery::checks::{CheckedLink, Checks};
use mailwright_app::{App, Resource};
use mailwright_core::mail_check::{CLIPPED_FROM, LinkProblem, MailWarning, Signed};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::error::{ErrorEnvelope, Result};
use crate::json::Json;
use crate::params::{self, PathText};

/// What was found of a captured mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MailChecks {
    authentication: AuthenticationView,
    /// Its links in their order, at most 500.
    links: Vec<CheckedLinkView>,
    images: ImagesView,
    /// Whether it has more links or pictures than are looked at.
    is_cut: bool,
    size: CheckedSize,
    /// What makes mail programs distrust it, or take something out of it.
    warnings: Vec<MailWarningView>,
}

/// What mail programs ask of a mail's sender.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuthenticationView {
    dkim: Signed,
    /// The domain that signed.
    dkim_domain: Option<String>,
    /// Which of its keys.
    dkim_selector: Option<String>,
    /// Whether the project may send from the domain; null where the project does not have it.
    is_domain_verified: Option<bool>,
    /// Whether the domain that signed may speak for the domain in `From`, as DMARC asks.
    is_aligned: bool,
    /// Whether the mail has the header `List-Unsubscribe`.
    has_list_unsubscribe: bool,
    /// Whether one request unsubscribes its reader (RFC 8058). It takes a service that is reached by https.
    is_one_click: bool,
}

/// A link of a mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckedLinkView {
    text: String,
    /// Where it leads in the end.
    href: String,
    /// Whether it leads there by way of the service, which counts who follows it.
    is_tracked: bool,
    /// What is wrong with it; null where nothing is.
    problem: Option<LinkProblem>,
}

/// The pictures of a mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImagesView {
    count: usize,
    /// The addresses of those without `alt`, at most 500, each of at most 200 characters.
    without_alt: Vec<String>,
}

/// How large a mail is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckedSize {
    /// Bytes of the whole mail.
    bytes: usize,
    /// Bytes of its HTML.
    html_bytes: usize,
    /// Bytes of HTML from which on Gmail shows only the beginning.
    clipped_from: usize,
    /// Whether Gmail shows only its beginning.
    is_clipped: bool,
}

/// Something that mail programs mind.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MailWarningView {
    code: MailWarning,
    message: String,
}

impl From<CheckedLink> for CheckedLinkView {
    fn from(link: CheckedLink) -> Self {
        Self { text: link.text, href: link.target, is_tracked: link.is_tracked, problem: link.problem }
    }
}

impl From<(MailWarning, String)> for MailWarningView {
    fn from((code, message): (MailWarning, String)) -> Self {
        Self { code, message }
    }
}

impl From<Checks> for MailChecks {
    fn from(found: Checks) -> Self {
        let Checks { authentication: by, seen } = found;
        let (dkim_domain, dkim_selector) = by.signer.unzip();
        Self {
            authentication: AuthenticationView {
                dkim: by.signed,
                dkim_domain,
                dkim_selector,
                is_domain_verified: by.is_domain_verified,
                is_aligned: by.is_aligned,
                has_list_unsubscribe: by.has_unsubscribe,
                is_one_click: by.is_one_click,
            },
            links: seen.links.into_iter().map(CheckedLinkView::from).collect(),
            images: ImagesView { count: seen.pictures, without_alt: seen.undescribed },
            is_cut: seen.is_cut,
            size: CheckedSize {
                bytes: seen.size,
                html_bytes: seen.html_size,
                clipped_from: CLIPPED_FROM,
                is_clipped: seen.html_size > CLIPPED_FROM,
            },
            warnings: seen.warnings.into_iter().map(MailWarningView::from).collect(),
        }
    }
}

/// Check a captured mail
///
/// Its signature, its links, its pictures and its size, and what mail programs mind. The signature is judged by the key
/// that the project has for the domain. No link is followed, and no name server is asked.
#[utoipa::path(get, path = "/mailbox/{id}/checks", tag = "Mailbox", operation_id = "checkMailboxMessage", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = MailChecks), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn check(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathText(id): PathText,
) -> Result<Json<MailChecks>> {
    let found = app.captured_checks(&project, params::id(&id, Resource::CapturedEmail)?).await?;
    Ok(Json(found.into()))
}
