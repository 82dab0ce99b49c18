//! `/emails`: the mails of a project and what happened to them.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::sending::email::Email;
use mailwright_app::{App, Resource};
use mailwright_core::bounce::BounceClass;
use mailwright_core::email::{EmailSource, EmailStatus, Reason};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, TemplateId};
use mailwright_core::suppression::Match;
use mailwright_core::time::Timestamp;
use mailwright_store::sending::email::List;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::auth::ProjectAccess;
use crate::auth::needs::ReadMail;
use crate::envelope::{CursorPage, Time};
use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::feedback::received::InboundView;
use crate::framed::{FrameParams, Framed};
use crate::params::{self, OpenedInBrowser, Params, PathText, RowLimit};

/// One mail to one recipient.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EmailView {
    id: EmailId,
    /// The contact that the mail is for, or that wrote one that came in; null where that is no contact.
    contact_id: Option<ContactId>,
    /// Address of the recipient.
    to: String,
    to_name: Option<String>,
    /// The subject, rendered once the mail was handed over.
    subject: String,
    from: String,
    from_name: Option<String>,
    reply_to: Option<String>,
    source_type: EmailSource,
    template_id: Option<TemplateId>,
    campaign_id: Option<CampaignId>,
    /// `Message-ID` without angle brackets.
    message_id: String,
    status: EmailStatus,
    /// Whether a hand-over was interrupted between the content and the reply, so that nobody knows whether the mail was
    /// taken.
    in_doubt: bool,
    attempt_count: i64,
    /// When the next attempt is due; null if the mail does not wait.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_attempt_at: Time,
    /// Why the mail was not sent, in words.
    error: Option<String>,
    /// Why the mail is not sent; null if it was sent or still waits.
    reason: Option<Reason>,
    /// The class of the last refusal, or of the last report that the mail did not arrive.
    bounce_class: Option<BounceClass>,
    /// What held it back, if its status is `SUPPRESSED`.
    #[schema(value_type = Option<Match>)]
    suppression: Option<Value>,
    /// How often people opened it.
    opens: i64,
    /// How often people followed a link in it.
    clicks: i64,
    /// How often machines fetched its picture.
    machine_opens: i64,
    /// How often machines followed a link in it.
    machine_clicks: i64,
    #[schema(value_type = Option<String>, format = DateTime)]
    sent_at: Time,
    #[schema(value_type = Option<String>, format = DateTime)]
    delivered_at: Time,
    #[schema(value_type = Option<String>, format = DateTime)]
    opened_at: Time,
    #[schema(value_type = Option<String>, format = DateTime)]
    clicked_at: Time,
    #[schema(value_type = Option<String>, format = DateTime)]
    bounced_at: Time,
    #[schema(value_type = Option<String>, format = DateTime)]
    complained_at: Time,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<&Email> for EmailView {
    fn from(email: &Email) -> Self {
        let [sent_at, delivered_at, opened_at, clicked_at, bounced_at, complained_at] = email.times;
        Self {
            id: email.id,
            contact_id: email.contact,
            to: email.recipient.clone().unwrap_or_default(),
            to_name: email.recipient_name.clone(),
            subject: email.subject.clone(),
            from: email.from.clone(),
            from_name: email.from_name.clone(),
            reply_to: email.reply_to.clone(),
            source_type: email.source,
            template_id: email.template,
            campaign_id: email.campaign,
            message_id: email.message_id.clone(),
            status: email.status,
            in_doubt: email.in_doubt > 0,
            attempt_count: email.attempts,
            next_attempt_at: email.due_at.filter(|_| email.status == EmailStatus::Pending),
            error: email.error.clone(),
            reason: email.reason,
            bounce_class: email.bounce_class,
            suppression: email.suppression.clone(),
            opens: email.opens,
            clicks: email.clicks,
            machine_opens: email.machines.0,
            machine_clicks: email.machines.1,
            sent_at,
            delivered_at,
            opened_at,
            clicked_at,
            bounced_at,
            complained_at,
            created_at: email.created_at,
            updated_at: email.updated_at,
        }
    }
}

/// List mails
///
/// Newest first, those that were sent and those that came in (`sourceType` `INBOUND`). A mail whose record is damaged is left out.
#[utoipa::path(get, path = "/emails", tag = "Emails", operation_id = "listEmails", security(("secretKey" = []), ("session" = [])),
    params(
        ("limit" = inline(Option<RowLimit>), Query, description = "Rows per page"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the previous page"),
        ("status" = Option<EmailStatus>, Query, description = "Only mails with this status"),
        ("contactId" = Option<ContactId>, Query, description = "Only mails to this contact, and those that it wrote"),
    ),
    responses((status = 200, body = CursorPage<EmailView>), (status = 400, description = "Invalid cursor or filter", body = ErrorEnvelope)))]
pub(crate) async fn list(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    params: Params,
) -> Result<Json<CursorPage<EmailView>>> {
    let status = match params.text("status") {
        None => None,
        Some(name) => Some(EmailStatus::from_name(name).ok_or_else(|| {
            let known: Vec<_> = EmailStatus::ALL.iter().map(|status| status.as_str()).collect();
            ApiError::bad_request(format!("status must be one of {}.", known.join(", ")))
        })?),
    };
    let contact = params.id("contactId")?;
    let limit = params.bounded::<RowLimit>() as usize;
    let page = app.emails(&project, List { limit, after: params.cursor()?, status, contact }).await?;
    Ok(Json(CursorPage {
        data: page.emails.iter().map(EmailView::from).collect(),
        has_more: page.next.is_some(),
        cursor: page.next.map(|last| last.to_string()),
        total: page.total,
    }))
}

/// A mail with its attempts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EmailWithAttempts {
    #[serde(flatten)]
    email: EmailView,
    /// The last 50 attempts, oldest first.
    #[schema(value_type = Vec<AttemptView>)]
    attempts: Value,
    /// What more is known of a mail that came in; missing for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    inbound: Option<InboundView>,
}

/// One attempt to hand a mail over.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what the delivery log holds")]
pub(crate) struct AttemptView {
    /// Counted from 1.
    attempt: i64,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// `sent`, `deferred`, `bounced`, `failed` or `in_doubt`.
    outcome: String,
    /// The transport that it was made by; missing for a mail that was not handed over.
    transport: Option<String>,
    /// The next hop.
    host: String,
    /// Whether the connection was encrypted.
    tls: bool,
    /// SMTP reply code; null when there was no reply.
    code: Option<u16>,
    /// Enhanced status code (RFC 3463).
    enhanced: Option<String>,
    /// Text of the reply.
    reply: Option<String>,
    /// The class of a refusal; missing for others.
    bounce_class: Option<BounceClass>,
    /// What happened, when there was no reply.
    error: Option<String>,
}

/// Get a mail
///
/// The answer has every attempt, with the reply of the mail server, and of a mail that came in its text.
#[utoipa::path(get, path = "/emails/{id}", tag = "Emails", operation_id = "getEmail", security(("secretKey" = []), ("session" = [])),
    params(("id" = String, Path)),
    responses((status = 200, body = EmailWithAttempts), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathText(id): PathText,
) -> Result<Json<EmailWithAttempts>> {
    let (email, inbound) = app.email(&project, params::id(&id, Resource::Email)?).await?;
    let inbound = inbound.map(InboundView::from);
    Ok(Json(EmailWithAttempts { email: EmailView::from(&email), attempts: email.log, inbound }))
}

/// Show a mail
///
/// Its HTML as a page for a frame. A mail that the mailbox has is shown as it would have been sent. Another one is made
/// again of its content, with its footer, without links to the recipient's pages and without tracking, for as long as its
/// content is kept. A mail that came in is shown without scripts, forms and styles.
///
/// Nothing in the page can act or lead out of it, and looking at it counts as no open. Pictures from other servers are
/// shown with `images=1` alone.
#[utoipa::path(get, path = "/emails/{id}/html", tag = "Emails", operation_id = "showEmail", security(("secretKey" = []), ("session" = [])),
    params(
        ("id" = String, Path),
        FrameParams,
        OpenedInBrowser,
    ),
    responses(
        (status = 200, description = "The page", content_type = "text/html", body = String),
        (status = 404, description = "No such mail, or its content is not kept any longer", body = ErrorEnvelope)))]
pub(crate) async fn html(
    State(app): State<App>,
    ProjectAccess(project, ..): ProjectAccess<ReadMail>,
    PathText(id): PathText,
    params: Params,
) -> Result<Framed> {
    let page = app.email_page(&project, params::id(&id, Resource::Email)?).await?;
    Ok(Framed::new(page, &params))
}
