//! Mails as lists show them.

use mailwright_core::bounce::BounceClass;
use mailwright_core::email::{EmailSource, EmailStatus, Reason, RecipientState};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, TemplateId};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::database::error::{Error, Result};
use crate::database::tx::Row;

/// A mail as lists show it.
#[derive(Debug, Clone)]
pub struct Email {
    /// Identifier.
    pub id: EmailId,
    /// The contact that the mail is for, or of one that came in who wrote it; `None` where that is no contact.
    pub contact: Option<ContactId>,
    /// Address it goes to; `None` once the contact was removed, which is stored as an empty text.
    pub recipient: Option<String>,
    /// Name shown with that address.
    pub recipient_name: Option<String>,
    /// Subject; rendered once the mail was handed over.
    pub subject: String,
    /// Sender address.
    pub from: String,
    /// Sender name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<String>,
    /// The origin of the mail.
    pub source: EmailSource,
    /// Template it came from.
    pub template: Option<TemplateId>,
    /// Campaign it came from.
    pub campaign: Option<CampaignId>,
    /// `Message-ID` without angle brackets.
    pub message_id: String,
    /// Its status.
    pub status: EmailStatus,
    /// Hand-overs tried.
    pub attempts: i64,
    /// Hand-overs whose outcome nobody knows.
    pub in_doubt: i64,
    /// When it is looked at again.
    pub due_at: Option<Timestamp>,
    /// Why it is not sent, in words.
    pub error: Option<String>,
    /// Why it is not sent.
    pub reason: Option<Reason>,
    /// Its state in its campaign's ledger.
    pub recipient_state: Option<RecipientState>,
    /// The attempts so far as they are stored: a JSON array of `core::attempt::Attempt`, with whatever members the
    /// program wrote that made them.
    pub log: Json,
    /// Opens counted.
    pub opens: i64,
    /// Clicks counted.
    pub clicks: i64,
    /// Opens and clicks of machines.
    pub machines: (i64, i64),
    /// The class of the last refusal, or report that it did not arrive.
    pub bounce_class: Option<BounceClass>,
    /// What held it back, as it is stored: JSON of `core::suppression::Match`.
    pub suppression: Option<Json>,
    /// Sent, delivered, opened, clicked, bounced and complained, in this order.
    pub times: [Option<Timestamp>; 6],
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

pub(crate) const COLUMNS: &str = "id, contact_id, recipient, recipient_name, subject, from_address, from_name, reply_to, source, \
     template_id, campaign_id, message_id, status, attempts, in_doubt, due_at, error, {json_or_raw log}, opens, clicks, \
     sent_at, delivered_at, opened_at, clicked_at, bounced_at, complained_at, created_at, updated_at, reason, recipient_state, \
     machine_opens, machine_clicks, bounce_class, {json_out suppression}";

pub(crate) fn read(row: &Row<'_>) -> Result<Email> {
    Ok(Email {
        id: row.get(0)?,
        contact: row.get(1)?,
        recipient: Some(row.get::<String>(2)?).filter(|address| !address.is_empty()),
        recipient_name: row.get(3)?,
        subject: row.get(4)?,
        from: row.get(5)?,
        from_name: row.get(6)?,
        reply_to: row.get(7)?,
        source: row.named(8, "emails.source", EmailSource::from_name)?,
        template: row.get(9)?,
        campaign: row.get(10)?,
        message_id: row.get(11)?,
        status: row.named(12, "emails.status", EmailStatus::from_name)?,
        attempts: row.get(13)?,
        in_doubt: row.get(14)?,
        due_at: row.get(15)?,
        error: row.get(16)?,
        log: row.get(17)?,
        opens: row.get(18)?,
        clicks: row.get(19)?,
        times: [row.get(20)?, row.get(21)?, row.get(22)?, row.get(23)?, row.get(24)?, row.get(25)?],
        created_at: row.get(26)?,
        updated_at: row.get(27)?,
        reason: row.named_or_null(28, "emails.reason", Reason::from_name)?,
        recipient_state: row.named_or_null(29, "emails.recipient_state", RecipientState::from_name)?,
        machines: (row.get(30)?, row.get(31)?),
        bounce_class: row.get::<Option<String>>(32)?.and_then(|name| BounceClass::from_name(&name)),
        suppression: row.get(33)?,
    })
}

/// A row of a list that cannot be read as a mail.
#[derive(Debug)]
pub struct Illegible {
    /// The mail's identifier.
    pub id: EmailId,
    /// The reason as it is stored, by which the mails of a campaign are listed.
    pub reason: String,
    /// Why the row cannot be read.
    pub error: Error,
}

/// Reads a row of a list. One that cannot be read must not keep the others from being shown.
pub(crate) fn read_listed(row: &Row<'_>) -> Result<Result<Email, Illegible>> {
    let error = match read(row) {
        Err(error @ Error::Corrupt { .. }) => error,
        other => return other.map(Ok),
    };
    let reason = row.get::<Option<String>>(28).ok().flatten().unwrap_or_default();
    Ok(Err(Illegible { id: row.get(0)?, reason, error }))
}
