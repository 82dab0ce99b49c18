//! What a hand-over means for a mail.
//!
//! - A temporary refusal is tried again with back-off, until the pauses of the mail add up to the deadline
//!   (`waited_ms`; `docs/adr/0003-waited-budget.md`).
//! - A refusal because the address does not exist is a bounce. Other permanent refusals fail the mail.
//! - A refusal that is not about the mail gives it back to the outbox without an attempt (`email::postpone`).
//! - A connection that is lost before the final dot is tried again. One that is lost after it leaves the mail **in
//!   doubt**: a transactional mail is handed over once more with the same `Message-ID`; a second doubt, or a campaign's
//!   mail in doubt, is held.

use std::fmt::Display;
use std::time::Duration;

use mailwright_core::attempt::{Attempt, AttemptOutcome};
use mailwright_core::bounce::{self, BounceClass, Suppression};
use mailwright_core::email::{EmailStatus, Lane, Reason};
use mailwright_core::event::{EMAIL_BOUNCE, EMAIL_SENT};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::suppression::Cause;
use mailwright_store::sending::email::{Claimed, Outcome};
use serde_json::Value;

use super::bookkeeping::{About, Suppress};
use super::claim_ref;
use super::hand_over::{HandOver, Refusal, Rejection, Reply};
use super::ledger::Record;

/// Hand-overs in doubt after which a mail is not tried again.
const DOUBTS: i64 = 2;
/// Number of permanent refusals with a possible reason outside the mail after which a mail is not tried again: if other
/// mail is taken meanwhile, and if none is. The latter takes about eight hours.
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

    /// Why a mail is given up that would wait for longer than it may. `last` is a sentence: what it waited for.
    pub(super) fn given_up(self, last: impl Display) -> String {
        let hours = self.patience.as_secs() / 3600;
        format!(
            "Given up, because its pauses would come to more than {hours} hours (delivery.deadline_hours). {last}"
        )
    }

    fn doubled(self, times: i64) -> Duration {
        self.base.saturating_mul(1 << times.clamp(0, 20)).min(self.max)
    }
}

fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(0.9 + rand::random::<f64>() * 0.2)
}

/// The transport and the next hop of a hand-over, and the state of the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Via<'a> {
    pub(super) transport: Option<&'a str>,
    pub(super) host: &'a str,
    pub(super) how: Circumstances,
}

impl<'a> Via<'a> {
    /// For a mail that was not handed over.
    pub(super) const NOWHERE: Self =
        Self { transport: None, host: "", how: Circumstances { tls: false, overtaken: false, waits: None } };

    /// For a mail that is kept instead of sent.
    pub(super) fn captured(transport: &'a str) -> Self {
        Self { transport: Some(transport), host: "capture", ..Self::NOWHERE }
    }
}

/// How it went there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Circumstances {
    /// Encrypted.
    pub(super) tls: bool,
    /// Other mail was taken since this one was refused before.
    pub(super) overtaken: bool,
    /// How long the mail waits if it is tried again, where that is known; otherwise ever longer.
    pub(super) waits: Option<Duration>,
}

/// The consequences of a hand-over.
struct Verdict {
    status: EmailStatus,
    came_to: AttemptOutcome,
    event: Option<&'static str>,
    error: Option<String>,
    reason: Option<Reason>,
}

/// Puts the end of a hand-over into words for the ledger.
pub(super) fn record(
    mail: &Claimed,
    subject: Option<&str>,
    end: &HandOver,
    via: Via<'_>,
    backoff: Backoff,
    now: Timestamp,
) -> Record {
    let is_doubt = matches!(end, HandOver::InDoubt(_));
    let waits = match end {
        HandOver::Lost(_) => backoff.after_loss(refusals(mail), losses(mail)),
        _ => via.how.waits.unwrap_or_else(|| backoff.after(refusals(mail) + 1)),
    };
    let doubts = mail.in_doubt + i64::from(is_doubt);
    let spent = (mail.waited + waits > backoff.patience).then_some(backoff);
    let verdict = judge(mail, end, via.how, doubts, spent);
    let attempt = attempt(verdict.came_to, End::HandOver(end), via, now);
    let waits = if verdict.status == EmailStatus::Pending { waits } else { Duration::ZERO };
    entry(mail, subject, verdict, Tried { waits, is_doubt, attempt }, now)
}

/// The end of a mail that cannot be handed over as it is.
pub(super) fn unsendable(
    mail: &Claimed,
    subject: Option<&str>,
    (reason, error): (Reason, String),
    via: Via<'_>,
    now: Timestamp,
) -> Record {
    let attempt = attempt(AttemptOutcome::Failed, End::Error(&error), via, now);
    let tried = Tried { waits: Duration::ZERO, is_doubt: false, attempt };
    entry(mail, subject, Verdict::failed(reason, error), tried, now)
}

/// The outcome of a mail whose process died, or lost the database, while the content may have been sent.
pub(super) fn abandoned(mail: &Claimed, lane: Lane, now: Timestamp) -> Record {
    let error = "The service stopped while this mail was handed over.".to_owned();
    let via = Via { transport: mail.transport.as_deref(), ..Via::NOWHERE };
    let attempt = attempt(AttemptOutcome::InDoubt, End::Error(&error), via, now);
    let verdict = doubt(lane == Lane::Campaign, mail.in_doubt + 1, error);
    entry(mail, None, verdict, Tried { waits: Duration::ZERO, is_doubt: true, attempt }, now)
}

/// The earlier attempts of a mail.
struct Tried {
    /// How long it waits before it is tried again, if it is.
    waits: Duration,
    is_doubt: bool,
    /// The attempt for the mail's log.
    attempt: Attempt,
}

fn entry(
    mail: &Claimed,
    subject: Option<&str>,
    verdict: Verdict,
    Tried { waits, is_doubt, attempt }: Tried,
    now: Timestamp,
) -> Record {
    let at = |status| (verdict.status == status).then_some(now);
    let (sent_at, bounced_at) = (at(EmailStatus::Sent), at(EmailStatus::Bounced));
    let suppress = match (verdict.status, attempt.class.map(BounceClass::suppresses)) {
        (EmailStatus::Bounced, _) => Suppress::AtOnce(Cause::Bounce),
        (EmailStatus::Failed, Some(Suppression::AfterRepetition)) => Suppress::AfterRepetition,
        _ => Suppress::Never,
    };
    let event = verdict.event.map(|name| {
        let data = event_data(mail, subject.unwrap_or_default(), name, attempt.class, now);
        (name, data.to_string())
    });
    Record {
        outcome: Outcome {
            claim: claim_ref(mail),
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
            has_left: verdict.status == EmailStatus::Sent,
        },
        contact: mail.contact,
        recipient: mail.recipient.clone(),
        event,
        suppress,
        captured: None,
        provider_id: None,
        at: now,
        came_to: verdict.came_to,
    }
}

/// How often the mail itself was refused before: an outage of the next hop is not held against it.
fn refusals(mail: &Claimed) -> i64 {
    mail.log.iter().filter(|attempt| attempt.code.is_some()).count() as i64
}

/// How often in a row the connection was lost before the mail was complete.
fn losses(mail: &Claimed) -> i64 {
    let is_loss =
        |attempt: &&Attempt| attempt.code.is_none() && attempt.outcome == Some(AttemptOutcome::Deferred);
    mail.log.iter().rev().take_while(is_loss).count() as i64
}

/// Whether the mail was refused permanently often enough, for reasons that may lie outside it.
fn is_refused_for_good(mail: &Claimed, overtaken: bool) -> bool {
    let before = mail.log.iter().filter(|attempt| attempt.code.is_some_and(|code| code >= 500));
    before.count() + 1 >= if overtaken { POLICY_REFUSALS.0 } else { POLICY_REFUSALS.1 }
}

impl Verdict {
    fn new(status: EmailStatus, came_to: AttemptOutcome, error: Option<String>) -> Self {
        Self { status, came_to, event: None, error, reason: None }
    }

    fn failed(reason: Reason, error: String) -> Self {
        Self { reason: Some(reason), ..Self::new(EmailStatus::Failed, AttemptOutcome::Failed, Some(error)) }
    }

    fn bounced(error: String) -> Self {
        let verdict = Self::new(EmailStatus::Bounced, AttemptOutcome::Bounced, Some(error));
        Self { event: Some(EMAIL_BOUNCE), reason: Some(Reason::Bounced), ..verdict }
    }

    /// Tried again, unless the mail would wait for longer than `spent` allows.
    fn later(error: &str, spent: Option<Backoff>) -> Self {
        if let Some(backoff) = spent {
            return Self::failed(Reason::Expired, backoff.given_up(format_args!("Last: {error}")));
        }
        Self::new(EmailStatus::Pending, AttemptOutcome::Deferred, Some(error.to_owned()))
    }
}

/// `spent`: how the mail is tried again, where it would wait for longer than that allows.
fn judge(
    mail: &Claimed,
    end: &HandOver,
    how: Circumstances,
    in_doubt: i64,
    spent: Option<Backoff>,
) -> Verdict {
    match end {
        HandOver::Accepted(_) => {
            Verdict { event: Some(EMAIL_SENT), ..Verdict::new(EmailStatus::Sent, AttemptOutcome::Sent, None) }
        }
        HandOver::Rejected(rejection, reply) => match rejection {
            Rejection::Address { .. } => Verdict::bounced(reply.to_string()),
            Rejection::Size => Verdict::failed(
                Reason::TooLarge,
                format!(
                    "The mail is larger than the next hop takes: \
                                                           {reply}"
                ),
            ),
            Rejection::Sender => Verdict::failed(Reason::Sender, reply.to_string()),
            Rejection::Recipient | Rejection::Content => Verdict::failed(Reason::Rejected, reply.to_string()),
        },
        // tried again for a while: when it is about us, the operator can repair it
        HandOver::Refused(Refusal::Policy { is_permanent: true, of_sender }, reply)
            if is_refused_for_good(mail, how.overtaken) =>
        {
            let reason = if *of_sender { Reason::Sender } else { Reason::Rejected };
            Verdict::failed(reason, reply.to_string())
        }
        HandOver::Temporary(reply) | HandOver::Refused(_, reply) => Verdict::later(&reply.to_string(), spent),
        HandOver::Lost(error) => Verdict::later(error, spent),
        HandOver::InDoubt(error) => doubt(mail.campaign.is_some(), in_doubt, error.clone()),
    }
}

/// A mail of one person's action is handed over once more, with the same `Message-ID`: two password resets are better
/// than none. Mail to an audience is held for a decision.
fn doubt(is_campaign: bool, in_doubt: i64, error: String) -> Verdict {
    let status = if is_campaign || in_doubt >= DOUBTS { EmailStatus::InDoubt } else { EmailStatus::Pending };
    Verdict::new(status, AttemptOutcome::InDoubt, Some(error))
}

/// The end of an attempt: a hand-over, or an error that prevented it.
enum End<'a> {
    HandOver(&'a HandOver),
    Error(&'a str),
}

/// The attempt for the mail's log.
fn attempt(came_to: AttemptOutcome, end: End<'_>, via: Via<'_>, now: Timestamp) -> Attempt {
    let (reply, error) = match end {
        End::HandOver(HandOver::Accepted(reply)) => (reply.as_ref(), None),
        End::HandOver(
            HandOver::Rejected(_, reply) | HandOver::Temporary(reply) | HandOver::Refused(_, reply),
        ) => (Some(reply), None),
        End::HandOver(HandOver::Lost(error) | HandOver::InDoubt(error)) => (None, Some(error.as_str())),
        End::Error(error) => (None, Some(error)),
    };
    Attempt {
        number: None,
        at: now.to_string(),
        outcome: Some(came_to),
        transport: via.transport.map(str::to_owned),
        host: via.host.to_owned(),
        tls: via.how.tls,
        code: reply.map(|r| r.code),
        enhanced: reply.and_then(|r| r.enhanced).map(|(a, b, c)| format!("{a}.{b}.{c}")),
        reply: reply.map(|r| r.text.clone()),
        class: reply.and_then(class_of),
        error: error.map(str::to_owned),
    }
}

/// The class of a refusal.
fn class_of(reply: &Reply) -> Option<BounceClass> {
    let is_refusal = reply.code >= 400;
    is_refusal.then(|| bounce::classify(Some(reply.code), reply.enhanced, &reply.text).class)
}

/// The data of the lifecycle events of a mail (reference 6.1): a JSON object.
fn event_data(
    mail: &Claimed,
    subject: &str,
    event: &str,
    class: Option<BounceClass>,
    now: Timestamp,
) -> Value {
    let about = About {
        subject,
        from: &mail.from,
        from_name: mail.from_name.as_deref(),
        message_id: &mail.message_id,
        email: mail.id,
        template: mail.template,
        campaign: mail.campaign,
        source: mail.source,
    };
    let mut data = about.data();
    if event == EMAIL_SENT {
        data["sentAt"] = now.to_string().into();
    } else {
        data["bounceType"] = "Permanent".into();
        data["bounceClass"] = class.unwrap_or(BounceClass::Unknown).as_str().into();
        data["bouncedAt"] = now.to_string().into();
    }
    data
}
