//! Claiming the mails that are due.

use std::time::Duration;

use mailwright_core::address::EmailAddress;
use mailwright_core::attempt::Attempt;
use mailwright_core::email::{EmailSource, EmailStatus, Lane};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectNumber, TemplateId, TopicId};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use super::lease::ClaimRef;
use super::unreadable::Unreadable;
use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Tx};

/// A mail that this process may hand over until its lease ends.
#[derive(Debug, Clone)]
pub struct Claimed {
    /// Project.
    pub project: ProjectNumber,
    /// Identifier.
    pub id: EmailId,
    /// Number of the claim; see the module's text.
    pub claim: i64,
    /// The contact that the mail is for.
    pub contact: ContactId,
    /// Address it goes to.
    pub recipient: EmailAddress,
    /// Name shown with that address.
    pub recipient_name: Option<String>,
    /// Sender address.
    pub from: EmailAddress,
    /// Sender name.
    pub from_name: Option<String>,
    /// Reply address.
    pub reply_to: Option<EmailAddress>,
    /// SHA-256 of its content.
    pub content_hash: Vec<u8>,
    /// Values its variables have.
    pub variables: serde_json::Map<String, Json>,
    /// Which kind of mail it is.
    pub kind: TemplateType,
    /// The origin of the mail.
    pub source: EmailSource,
    /// Template it came from.
    pub template: Option<TemplateId>,
    /// Campaign it came from.
    pub campaign: Option<CampaignId>,
    /// Its status before the claim. [`EmailStatus::Sending`] means that an earlier hand-over was never concluded.
    pub status: EmailStatus,
    /// Hand-overs tried.
    pub attempts: i64,
    /// Hand-overs whose outcome nobody knows.
    pub in_doubt: i64,
    /// The attempts so far, the oldest first.
    pub log: Vec<Attempt>,
    /// `Message-ID` without angle brackets.
    pub message_id: String,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// How long it has waited between attempts.
    pub waited: Duration,
    /// When it was first handed over, which is the date in it; `None` before.
    pub first_attempt_at: Option<Timestamp>,
    /// The topic that it belongs to.
    pub topic: Option<TopicId>,
    /// The transport that its content was last written to; `None` before.
    pub transport: Option<String>,
}

impl Claimed {
    /// The mail with its contact and the topic in which the contact has to be; `None` where there is none, and for mail
    /// that everybody gets.
    pub(crate) fn topic_heeded(&self) -> Option<(EmailId, ContactId, TopicId)> {
        let topic = self.topic.filter(|_| self.kind.needs_subscription())?;
        Some((self.id, self.contact, topic))
    }
}

/// Claims up to `limit` mails of a project that are due, the longest due first, until `lease_until`.
pub async fn claim(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    lane: Lane,
    limit: i64,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Taken> {
    let rows = tx.all(
        format!(
            "with picked as (select id from emails where project_id = $1 and campaign_id is null and lane = $2 \
             and due_at <= $3 order by due_at limit $4 {{skip_locked}}) \
             update emails set due_at = $5, claim = claim + 1 \
             where project_id = $1 and id in (select id from picked) returning {CLAIMED}"
        ),
        args![project, lane.number(), now, limit, lease_until],
        read_taken,
    )
    .await?;
    Ok(Taken::of(rows))
}

/// The result of a claim: mails, and rows that cannot be read as mails.
#[derive(Debug, Default)]
pub struct Taken {
    /// The mails.
    pub mails: Vec<Claimed>,
    /// The rows that cannot be read.
    pub unreadable: Vec<Unreadable>,
}

impl Taken {
    pub(crate) fn of(rows: Vec<Result<Claimed, Unreadable>>) -> Self {
        let mut taken = Self::default();
        for row in rows {
            match row {
                Ok(mail) => taken.mails.push(mail),
                Err(unreadable) => taken.unreadable.push(unreadable),
            }
        }
        taken
    }

    /// How many rows were taken.
    pub fn len(&self) -> usize {
        self.mails.len() + self.unreadable.len()
    }

    /// Whether nothing was taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds what another claim took.
    pub fn append(&mut self, more: Self) {
        self.mails.extend(more.mails);
        self.unreadable.extend(more.unreadable);
    }
}

pub(crate) const CLAIMED: &str = "project_id, id, claim, contact_id, recipient, recipient_name, from_address, from_name, \
     reply_to, content_hash, {json_or_raw variables}, type, source, template_id, campaign_id, status, attempts, in_doubt, \
     {json_or_raw log}, message_id, created_at, waited_ms, first_attempt_at, topic_id, \
     transport";

fn read_claimed(row: &Row<'_>) -> Result<Claimed> {
    Ok(Claimed {
        project: row.get(0)?,
        id: row.get(1)?,
        claim: row.get(2)?,
        contact: row.get(3)?,
        recipient: row.get(4)?,
        recipient_name: row.get(5)?,
        from: row.get(6)?,
        from_name: row.get(7)?,
        reply_to: row.get(8)?,
        content_hash: row.get(9)?,
        variables: row.get(10)?,
        kind: row.named(11, "emails.type", TemplateType::from_name)?,
        source: row.named(12, "emails.source", EmailSource::from_name)?,
        template: row.get(13)?,
        campaign: row.get(14)?,
        status: row.named(15, "emails.status", EmailStatus::from_name)?,
        attempts: row.get(16)?,
        in_doubt: row.get(17)?,
        log: Attempt::read_log(&row.get(18)?),
        message_id: row.get(19)?,
        created_at: row.get(20)?,
        waited: Duration::from_millis(u64::try_from(row.get::<i64>(21)?).unwrap_or(0)),
        first_attempt_at: row.get(22)?,
        topic: row.get(23)?,
        transport: row.get(24)?,
    })
}

/// Reads a claimed row. That it cannot be read is not an error of the claim, which may have taken others.
pub(crate) fn read_taken(row: &Row<'_>) -> Result<Result<Claimed, Unreadable>> {
    let error = match read_claimed(row) {
        Ok(mail) => return Ok(Ok(mail)),
        Err(error) => error,
    };
    let project: ProjectNumber = row.get(0)?;
    let claim = match (row.get(1), row.get(2)) {
        (Ok(id), Ok(claim)) => Some(ClaimRef { project, id, claim }),
        _ => None,
    };
    let place = if let Error::Corrupt { column, .. } = &error { Some(*column) } else { None };
    let column = place.and_then(|place| CLAIMED.split(", ").nth(place)).unwrap_or("unknown");
    let column = column.trim_start_matches("{json_or_raw ").trim_end_matches('}');
    let is_doubtful = row.get::<String>(15).is_ok_and(|status| status == EmailStatus::Sending.as_str());
    let campaign = row.get(14).ok().flatten();
    Ok(Err(Unreadable { project, claim, campaign, is_doubtful, column, error }))
}
