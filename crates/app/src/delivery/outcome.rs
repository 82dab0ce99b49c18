//! What a hand-over means for a mail.

use std::time::Duration;

use mailwright_core::email::{EmailStatus, Lane, Reason};
use mailwright_core::event::{EMAIL_BOUNCE, EMAIL_SENT};
use mailwright_core::time::Timestamp;
use mailwright_mail::smtp::{ContentError, EnvelopeError, Reply, Stage};
use mailwright_store::email::{Claimed, Outcome};
use serde_json::{Value, json};

use super::blame::Blame;
use super::ledger::Record;
use super::reference;

/// Hand-overs in doubt after which a mail is not tried again.
const DOUBTS: i64 = 2;
/// Permanent refusals that could be about us after which a mail is not tried again: where other mail is taken meanwhile,
/// and where there is none to compare with. The latter takes about eight hours.
const POLICY_REFUSALS: (usize, usize) = (3, 10);
/// The longest pause after lost connections, as a multiple of the first one.
const LONGEST_AFTER_LOSS: u32 = 60;

/// How long to wait after temporary refusals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backoff {
    pub(super) base: Duration,
    pub(super) max: Duration,
    /// How long a mail may wait between attempts, all pauses together.
    pub(super) patience: Duration,
}

impl Backoff {
    /// The wait after `attempts` tries, with a fifth of jitter so that mails refused together do not return together.
    fn after(self, attempts: i64) -> Duration {
        jittered(self.doubled(attempts - 1))
    }

    /// The wait after a lost connection: that which refusals have led to, or one that doubles with every loss in a row
    /// up to an hour, whichever is longer.
    fn after_loss(self, refusals: i64, losses: i64) -> Duration {
        let longest = self.base.saturating_mul(LONGEST_AFTER_LOSS).min(self.max);
        jittered(self.doubled(refusals).max(self.doubled(losses).min(longest)))
    }

    fn doubled(self, times: i64) -> Duration {
        self.base.saturating_mul(1 << times.clamp(0, 20)).min(self.max)
    }
}

fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(0.9 + rand::random::<f64>() * 0.2)
}

/// The end of a hand-over, before it is known what follows from it.
#[derive(Debug)]
pub(super) enum End {
    /// The next hop took the mail.
    Accepted(Reply),
    /// The next hop refused the mail.
    Refused(Stage, Reply),
    /// The connection was lost before the content was complete.
    Lost(String),
    /// The connection was lost after the content was complete.
    InDoubt(String),
    /// The mail cannot be sent as it is.
    Impossible(Reason, String),
}

impl From<EnvelopeError> for End {
    fn from(error: EnvelopeError) -> Self {
        match error {
            EnvelopeError::Refused { stage, reply } => Self::Refused(stage, reply),
            EnvelopeError::Lost { error } => Self::Lost(error),
        }
    }
}

impl From<ContentError> for End {
    fn from(error: ContentError) -> Self {
        match error {
            ContentError::Refused(reply) => Self::Refused(Stage::Data, reply),
            ContentError::LostBefore { error } => Self::Lost(error),
            ContentError::InDoubt { error } => Self::InDoubt(error),
        }
    }
}

/// Where a hand-over went.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hop<'a> {
    pub(super) host: &'a str,
    pub(super) how: Circumstances,
}

/// How it went there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Circumstances {
    /// Encrypted.
    pub(super) tls: bool,
    /// Other mail was taken since this one was refused before.
    pub(super) overtaken: bool,
}

/// What follows from the end of a hand-over.
struct Verdict {
    status: EmailStatus,
    label: &'static str,
    event: Option<&'static str>,
    unsubscribe: bool,
    error: Option<String>,
    reason: Option<Reason>,
}

/// Puts the end of a hand-over into words for the ledger.
pub(super) fn record(
    mail: &Claimed,
    subject: Option<&str>,
    end: &End,
    hop: Hop<'_>,
    backoff: Backoff,
    now: Timestamp,
) -> Record {
    let is_doubt = matches!(end, End::InDoubt(_));
    let waits = match end {
        End::Lost(_) => backoff.after_loss(refusals(mail), losses(mail)),
        _ => backoff.after(refusals(mail) + 1),
    };
    let verdict = judge(
        mail,
        end,
        hop.how,
        mail.in_doubt + i64::from(is_doubt),
        mail.waited + waits > backoff.patience,
    );
    let attempt = attempt(&verdict, end, hop, now);
    let waits = if verdict.status == EmailStatus::Pending { waits } else { Duration::ZERO };
    let at = |status| (verdict.status == status).then_some(now);
    let (sent_at, bounced_at) = (at(EmailStatus::Sent), at(EmailStatus::Bounced));
    let event = verdict
        .event
        .map(|name| (name, event_data(mail, subject.unwrap_or_default(), name, now).to_string()));
    Record {
        outcome: Outcome {
            claim: reference(mail),
            campaign: mail.campaign,
            from: mail.status,
            status: verdict.status,
            due_at: (verdict.status == EmailStatus::Pending).then(|| now.plus(waits)),
            waits,
            is_doubt,
            attempt,
            error: verdict.error,
            reason: verdict.reason,
            subject: subject.map(str::to_owned),
            sent_at,
            bounced_at,
        },
        contact: mail.contact,
        recipient: mail.recipient.clone(),
        event,
        unsubscribe: verdict.unsubscribe,
        captured: None,
        at: now,
        label: verdict.label,
    }
}

/// How often the mail itself was refused before: an outage of the next hop is not held against it.
fn refusals(mail: &Claimed) -> i64 {
    attempts(mail).filter(|attempt| !attempt["code"].is_null()).count() as i64
}

/// How often in a row the connection was lost before the mail was complete.
fn losses(mail: &Claimed) -> i64 {
    let is_loss = |attempt: &&Value| attempt["code"].is_null() && attempt["outcome"] == "deferred";
    attempts(mail).rev().take_while(is_loss).count() as i64
}

/// Whether the mail was refused for good often enough for a reason that could be ours.
fn is_refused_for_good(mail: &Claimed, overtaken: bool) -> bool {
    let before = attempts(mail).filter(|attempt| attempt["code"].as_u64().is_some_and(|code| code >= 500));
    before.count() + 1 >= if overtaken { POLICY_REFUSALS.0 } else { POLICY_REFUSALS.1 }
}

fn attempts(mail: &Claimed) -> impl DoubleEndedIterator<Item = &Value> {
    mail.log.as_array().into_iter().flatten()
}

/// `spent`: the mail would wait for longer than it may.
fn judge(mail: &Claimed, end: &End, how: Circumstances, in_doubt: i64, spent: bool) -> Verdict {
    let verdict = |status, label, error: Option<String>| Verdict {
        status,
        label,
        event: None,
        unsubscribe: false,
        error,
        reason: None,
    };
    let failed = |reason, error: String| Verdict {
        reason: Some(reason),
        ..verdict(EmailStatus::Failed, "failed", Some(error))
    };
    let later = |error: String| {
        if spent {
            failed(Reason::Expired, format!("Given up, it was tried for too long. Last: {error}"))
        } else {
            verdict(EmailStatus::Pending, "deferred", Some(error))
        }
    };
    match end {
        End::Accepted(_) => Verdict { event: Some(EMAIL_SENT), ..verdict(EmailStatus::Sent, "sent", None) },
        End::Refused(_, reply) if !reply.is_permanent() => later(reply.to_string()),
        End::Refused(stage, reply) => match Blame::of(*stage, reply) {
            Blame::Address { .. } => Verdict {
                event: Some(EMAIL_BOUNCE),
                unsubscribe: true,
                reason: Some(Reason::Bounced),
                ..verdict(EmailStatus::Bounced, "bounced", Some(reply.to_string()))
            },
            Blame::Size => failed(Reason::TooLarge, format!("It is larger than the next hop takes: {reply}")),
            Blame::Sender => failed(Reason::Sender, reply.to_string()),
            // tried again for a while: when it is about us, the operator can repair it
            Blame::Policy if !is_refused_for_good(mail, how.overtaken) => later(reply.to_string()),
            Blame::Policy if *stage == Stage::MailFrom => failed(Reason::Sender, reply.to_string()),
            Blame::Policy | Blame::Recipient | Blame::Content | Blame::Session => {
                failed(Reason::Rejected, reply.to_string())
            }
        },
        End::Lost(error) => later(error.clone()),
        End::InDoubt(error) => doubt(mail.campaign.is_some(), in_doubt, error.clone()),
        End::Impossible(reason, error) => failed(*reason, error.clone()),
    }
}

/// A mail of one person's action is handed over once more, with the same `Message-ID`: two password resets are better
/// than none. Mail to an audience is held for a decision.
fn doubt(is_campaign: bool, in_doubt: i64, error: String) -> Verdict {
    let status = if is_campaign || in_doubt >= DOUBTS { EmailStatus::InDoubt } else { EmailStatus::Pending };
    Verdict { status, label: "in_doubt", event: None, unsubscribe: false, error: Some(error), reason: None }
}

/// What is known of a mail whose process died, or lost the database, while its content may have been on the wire.
pub(super) fn abandoned(mail: &Claimed, lane: Lane, now: Timestamp) -> Record {
    let error = "The service stopped while this mail was handed over.".to_owned();
    let end = End::InDoubt(error.clone());
    let in_doubt = mail.in_doubt + 1;
    let verdict = doubt(lane == Lane::Campaign, in_doubt, error);
    Record {
        outcome: Outcome {
            claim: reference(mail),
            campaign: mail.campaign,
            from: mail.status,
            status: verdict.status,
            due_at: (verdict.status == EmailStatus::Pending).then_some(now),
            waits: Duration::ZERO,
            is_doubt: true,
            attempt: attempt(&verdict, &end, Hop { host: "", how: Circumstances::default() }, now),
            error: verdict.error,
            reason: verdict.reason,
            subject: None,
            sent_at: None,
            bounced_at: None,
        },
        contact: mail.contact,
        recipient: mail.recipient.clone(),
        event: None,
        unsubscribe: false,
        captured: None,
        at: now,
        label: verdict.label,
    }
}

/// The attempt as it stands in the mail's log, but for its number: JSON text.
fn attempt(verdict: &Verdict, end: &End, hop: Hop<'_>, now: Timestamp) -> String {
    let reply = match end {
        End::Accepted(reply) | End::Refused(_, reply) => Some(reply),
        _ => None,
    };
    let text = match end {
        End::Lost(error) | End::InDoubt(error) | End::Impossible(_, error) => Some(error.as_str()),
        _ => None,
    };
    let attempt = json!({
        "at": now.to_string(),
        "outcome": verdict.label,
        "host": hop.host,
        "tls": hop.how.tls,
        "code": reply.map(|r| r.code),
        "enhanced": reply.and_then(|r| r.enhanced).map(|(a, b, c)| format!("{a}.{b}.{c}")),
        "reply": reply.map(|r| r.text.as_str()),
        "error": text,
    });
    attempt.to_string()
}

/// What the lifecycle events of a mail carry (reference 6.1).
fn event_data(mail: &Claimed, subject: &str, event: &str, now: Timestamp) -> Value {
    let mut data = json!({
        "subject": subject,
        "from": mail.from,
        "fromName": mail.from_name,
        "messageId": mail.message_id,
        "emailId": mail.id,
        "templateId": mail.template,
        "campaignId": mail.campaign,
        "sourceType": mail.source.as_str(),
    });
    if event == EMAIL_SENT {
        data["sentAt"] = now.to_string().into();
    } else {
        data["bounceType"] = "Permanent".into();
        data["bouncedAt"] = now.to_string().into();
    }
    data
}
