//! A worker that hands mails to SES.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use mailwright_core::email::Reason;
use mailwright_mail::ses::api::{SendAnswer, sent};
use mailwright_mail::ses::request::Said;
use mailwright_store::sending::email::Claimed;

use super::{Closed, Ses, error_type, send};
use crate::delivery::hand_over::{HandOver, Refusal, Rejection, Reply};
use crate::delivery::ledger::Marked;
use crate::delivery::message::Message;
use crate::delivery::next_hop::{Busy, Judgement, NextHop, Permit, Seat};
use crate::delivery::outcome::{Circumstances, Via};
use crate::delivery::recorder::Recorder;
use crate::delivery::waiting::{self, Step, Waits};
use crate::delivery::{Delivery, claim_ref};

/// The largest message that SES takes (v2 of the API), in bytes.
const MOST_BYTES: usize = 40 * 1024 * 1024;
/// How long a seat is kept without a mail.
const IDLE: Duration = Duration::from_mins(1);
/// The codes of SMTP for what SES says: taken, not now, and never.
const TAKEN: u16 = 250;
const LATER: u16 = 454;
const NEVER: u16 = 554;
/// Pause after a panic outside of a hand-over.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// A worker.
struct Sender<'d> {
    delivery: &'d Arc<Delivery>,
    hop: &'d Arc<NextHop>,
    ses: &'d Ses,
    seat: Option<Taken>,
    recorder: Recorder<'d>,
}

/// A seat, and when it was taken and used.
struct Taken {
    /// Gives the place back when it is dropped.
    _seat: Seat,
    generation: u64,
    used_at: Instant,
}

/// A worker that hands mails to SES.
pub(in crate::delivery) async fn work(delivery: &Arc<Delivery>, hop: &Arc<NextHop>, ses: &Ses) {
    let recorder = Recorder::new(delivery, hop.name());
    let mut sender = Sender { delivery, hop, ses, seat: None, recorder };
    loop {
        match AssertUnwindSafe(sender.next()).catch_unwind().await {
            Ok(Step::Mail(mail, busy)) => sender.hand_over_safely(mail, busy).await,
            Ok(Step::Open(permit)) => sender.sit_down(permit).await,
            Ok(Step::Close | Step::Over) => sender.seat = None,
            Ok(Step::Again) => {}
            Ok(Step::Stop) => break,
            Err(_) => {
                tracing::error!("waiting for mail panicked");
                sender.seat = None;
                delivery.tasks.pause(AFTER_PANIC).await;
            }
        }
    }
    sender.recorder.flush();
}

impl Sender<'_> {
    async fn next(&mut self) -> Step {
        if self.seat.as_ref().is_some_and(|seat| seat.generation != self.ses.generation()) {
            self.seat = None;
        }
        let line = self.seat.as_ref().map(|seat| Waits {
            idle: IDLE.saturating_sub(seat.used_at.elapsed()),
            rests: self.ses.rate().rests(Instant::now()),
        });
        let never = std::future::pending();
        let step = waiting::next(self.delivery, self.hop, &mut self.recorder, line, never).await;
        if matches!(step, Step::Mail(..)) {
            self.ses.rate().tokens -= 1.0;
        }
        step
    }

    async fn sit_down(&mut self, permit: Permit) {
        let asked = tokio::select! {
            biased;
            () = self.delivery.tasks.stopping() => return,
            asked = self.ses.sit_down(self.delivery.now()) => asked,
        };
        match asked {
            Ok(generation) => {
                self.seat = Some(Taken { _seat: permit.opened(), generation, used_at: Instant::now() });
            }
            Err(Closed { trouble, error }) => permit.refused(trouble, &error),
        }
    }

    /// A mail that makes us panic must not take the worker with it.
    async fn hand_over_safely(&mut self, mail: Arc<Claimed>, busy: Busy) {
        let claim = claim_ref(&mail);
        if AssertUnwindSafe(self.hand_over(mail, &busy)).catch_unwind().await.is_err() {
            self.delivery.panicked(claim);
        }
        drop(busy);
    }

    async fn hand_over(&mut self, mail: Arc<Claimed>, busy: &Busy) {
        self.recorder.flush_unless_of(mail.project);
        let Some(message) = self.delivery.prepare_or_settle(&mail, busy.lane()).await else { return };
        let Message { rendered, signature, envelope_sender, is_tracked, .. } = &message;
        let size = signature.len() + rendered.raw.len();
        if size > MOST_BYTES {
            let text = format!("The message has {size} bytes, SES takes {MOST_BYTES} at most.");
            return self.give_up(&mail, &rendered.subject, (Reason::TooLarge, text));
        }
        let next = Marked { mail: &mail, lane: busy.lane(), links: rendered.own_links.as_ref() };
        if !self.recorder.mark(next).await {
            // taken over or removed meanwhile, the database is gone, or our clock is wrong: not ours to send
            self.recorder.flush();
            return self.delivery.release(&[claim_ref(&mail)], self.delivery.now()).await;
        }
        let parts: [&[u8]; 2] = [signature.as_bytes(), &rendered.raw];
        let from = sender_of(&mail, envelope_sender);
        let to = mail.recipient.as_str();
        let request = self.ses.config.send(from, to, &parts, *is_tracked, self.delivery.now());
        let mut provider_id = None;
        let end = match send(&self.ses.http, request).await {
            Ok(answer) => {
                let answer = sent(answer.status.as_u16(), error_type(&answer), &answer.body);
                if let SendAnswer::Taken(id) = &answer {
                    provider_id = Some(id.clone());
                }
                self.hear(answer)
            }
            Err(error) if error.was_not_sent() => {
                self.ses.end_seats();
                HandOver::Lost(error.to_string())
            }
            Err(error) => HandOver::InDoubt(error.to_string()),
        };
        if let Some(seat) = &mut self.seat {
            seat.used_at = Instant::now();
        }
        if matches!(end, HandOver::Accepted(_)) {
            self.hop.worked();
        }
        match self.hop.judge(&mail, &end) {
            Judgement::NotOwn(wait, reply) if mail.waited + wait <= self.delivery.backoff.patience => {
                self.recorder.flush();
                let wait = self.delivery.wait_after(&mail, busy.lane(), self.hop.transport(), wait);
                self.delivery.postpone(&mail, wait, &reply.to_string()).await;
            }
            Judgement::NotOwn(_, reply) => {
                let text = self.delivery.backoff.given_up(format_args!("Last: {reply}"));
                self.give_up(&mail, &rendered.subject, (Reason::Expired, text));
            }
            Judgement::Own { overtaken } => {
                let via = via(self.hop, self.ses, overtaken);
                let mut record = self.delivery.outcome(&mail, &rendered.subject, &end, via);
                record.provider_id = provider_id;
                self.recorder.note(record);
            }
        }
    }

    /// What an answer means for the mail. One that speaks of the account ends all seats.
    fn hear(&self, answer: SendAnswer) -> HandOver {
        let policy = |of_sender| Refusal::Policy { is_permanent: true, of_sender };
        match answer {
            SendAnswer::Taken(id) => {
                HandOver::Accepted(Some(Reply { code: TAKEN, enhanced: None, text: format!("Ok {id}") }))
            }
            SendAnswer::Throttled(said) => HandOver::Refused(Refusal::Session, reply(LATER, said)),
            SendAnswer::QuotaUsedUp(said) => {
                self.ses.end_seats();
                HandOver::Refused(Refusal::Session, reply(LATER, said))
            }
            SendAnswer::Denied(said) => {
                self.ses.end_seats();
                HandOver::Refused(policy(false), reply(NEVER, said))
            }
            SendAnswer::Sender(said) => HandOver::Refused(policy(true), reply(NEVER, said)),
            SendAnswer::Rejected(said) => HandOver::Rejected(Rejection::Content, reply(NEVER, said)),
            SendAnswer::Failed(said) => HandOver::Temporary(reply(LATER, said)),
            SendAnswer::Unknown(said) => HandOver::InDoubt(format!("{} {}", said.status, said.text)),
        }
    }

    /// Notes that a mail is not tried any more.
    fn give_up(&mut self, mail: &Claimed, subject: &str, why: (Reason, String)) {
        let record = self.delivery.unsendable(mail, Some(subject), why, via(self.hop, self.ses, false));
        self.recorder.note(record);
    }
}

/// The circumstances of every hand-over: HTTPS, unless the operator names another endpoint.
fn via<'v>(hop: &'v NextHop, ses: &'v Ses, overtaken: bool) -> Via<'v> {
    let how = Circumstances { tls: ses.config.endpoint.starts_with("https:"), overtaken, waits: None };
    Via { transport: Some(hop.name()), host: ses.config.host(), how }
}

/// The envelope's sender, to which bounces return and by which news of the mail is known: SES takes it where its domain
/// belongs to the one that is verified.
fn sender_of<'m>(mail: &'m Claimed, envelope_sender: &'m str) -> &'m str {
    let own = mail.from.domain();
    let is_own = envelope_sender.rsplit_once('@').is_some_and(|(_, domain)| {
        domain.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    if is_own { envelope_sender } else { mail.from.as_str() }
}

/// What SES said, under the code that a mail server would give: attempts of all transports are read alike.
fn reply(code: u16, Said { status, text }: Said) -> Reply {
    Reply { code, enhanced: None, text: format!("HTTP {status} {text}") }
}
