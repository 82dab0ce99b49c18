//! A worker that hands mail to the next hop by SMTP. It has a connection, or waits for a permit to open one
//! ([`waiting`]).
//!
//! The outcome of the last mail is written with the mark of the next one ([`recorder`](super::recorder)).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use mailwright_core::email::Reason;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_mail::smtp::{Connection, ContentError, EnvelopeError, OpenError, OpenStage, RelayConfig};
use mailwright_store::sending::email::{ClaimRef, Claimed};

use super::chunking::goes_by_data;
use super::hand_over::HandOver;
use super::ledger::Marked;
use super::message::Message;
use super::next_hop::{Busy, Judgement, NextHop, Permit, Seat, Trouble};
use super::outcome::{Circumstances, Via};
use super::recorder::Recorder;
use super::refusal::Objection;
use super::waiting::{self, Step, Waits};
use super::{Delivery, claim_ref};

/// How long an unused connection is kept.
const IDLE: Duration = Duration::from_secs(30);
/// A connection that nothing was heard of for this long may have been closed.
const QUIET: Duration = Duration::from_secs(1);
/// How long the last outcome waits to be recorded together with the next mark.
const SLOW: Duration = Duration::from_millis(20);
/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(2);
/// Pause after a panic outside of a hand-over.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// A worker and its connection.
pub(super) struct Sender<'d> {
    delivery: &'d Arc<Delivery>,
    hop: &'d Arc<NextHop>,
    relay: &'d RelayConfig,
    /// The name of the next hop, under which is known what it makes of chunks.
    name: String,
    line: Option<Line>,
    recorder: Recorder<'d>,
}

/// An open connection.
struct Line {
    connection: Connection,
    seat: Seat,
    /// Mails that were taken on it.
    carried: usize,
    /// When something was last heard on it.
    heard_at: Timestamp,
}

impl Line {
    /// Closes it in good order.
    async fn close(self) {
        let _ = tokio::time::timeout(FAREWELL, self.connection.quit()).await;
    }
}

impl<'d> Sender<'d> {
    pub(super) fn new(delivery: &'d Arc<Delivery>, hop: &'d Arc<NextHop>, relay: &'d RelayConfig) -> Self {
        let (name, recorder) = (relay.name(), Recorder::new(delivery, hop.name()));
        Self { delivery, hop, relay, name, line: None, recorder }
    }

    pub(super) async fn run(mut self) {
        loop {
            match AssertUnwindSafe(self.next()).catch_unwind().await {
                Ok(Step::Mail(mail, busy)) => self.hand_over_safely(mail, busy).await,
                Ok(Step::Open(permit)) => self.line = self.open(permit).await,
                Ok(Step::Close) => {
                    if let Some(line) = self.line.take() {
                        line.close().await;
                    }
                }
                // the next hop has closed it, and it counts no longer
                Ok(Step::Over) => self.line = None,
                Ok(Step::Again) => {}
                Ok(Step::Stop) => break,
                Err(_) => {
                    tracing::error!("waiting for mail panicked");
                    self.line = None;
                    self.delivery.tasks.pause(AFTER_PANIC).await;
                }
            }
        }
        self.recorder.flush();
        if let Some(line) = self.line.take() {
            line.close().await;
        }
    }

    /// A mail that makes us panic must not take the worker with it.
    async fn hand_over_safely(&mut self, mail: Arc<Claimed>, busy: Busy) {
        let claim: ClaimRef = claim_ref(&mail);
        if AssertUnwindSafe(self.hand_over(mail, &busy)).catch_unwind().await.is_err() {
            self.delivery.panicked(claim);
            self.line = None;
        }
        drop(busy);
    }

    async fn next(&mut self) -> Step {
        let line = self.line.as_ref().map(|line| Waits {
            idle: IDLE.saturating_sub(self.delivery.now().since(line.heard_at)),
            rests: None,
        });
        let interrupted = interrupted(self.line.as_mut());
        waiting::next(self.delivery, self.hop, &mut self.recorder, line, interrupted).await
    }

    async fn hand_over(&mut self, mail: Arc<Claimed>, busy: &Busy) {
        self.recorder.flush_unless_of(mail.project);
        let Some(message) = self.delivery.prepare_or_settle(&mail, busy.lane()).await else { return };
        let Some(mut line) = self.line.take() else { return self.put_back(&mail).await };
        let Message { rendered, signature, envelope_sender, .. } = &message;
        let size = signature.len() + rendered.raw.len();
        if let Some(most) = line.connection.max_size().filter(|most| size > *most) {
            self.line = Some(line);
            let text = format!("The message has {size} bytes, the next hop takes {most} at most.");
            return self.give_up(&mail, &rendered.subject, (Reason::TooLarge, text), false);
        }
        let mut envelope = self.envelope(&mut line.connection, &mail, envelope_sender, size).await;
        let is_fresh = line.carried == 0 && self.delivery.now().since(line.heard_at) < QUIET;
        if !is_fresh && self.may_be_the_connections(&envelope, mail.project) {
            // the next hop had enough of the connection, which says nothing about the mail
            let Some(fresh) = self.exchange(line).await else { return self.put_back(&mail).await };
            line = fresh;
            envelope = self.envelope(&mut line.connection, &mail, envelope_sender, size).await;
            if is_for_now(&envelope) {
                self.hop.exchanged_in_vain(mail.project);
            }
        }
        if !matches!(&envelope, Err(EnvelopeError::Lost { .. })) && !is_closing(&envelope) {
            self.hop.worked();
        }
        let tls = line.connection.tls();
        let end: HandOver = if let Err(error) = envelope {
            error.into()
        } else {
            let next = Marked { mail: &mail, lane: busy.lane(), links: rendered.own_links.as_ref() };
            if !self.recorder.mark(next).await {
                // Taken over or removed meanwhile, the database is gone, or our clock is wrong: not ours to send. The
                // server waits for content, and without any the connection is closed: after DATA there is no other way.
                return self.put_back(&mail).await;
            }
            let said = line.connection.content(signature.as_bytes(), &rendered.raw).await;
            self.delivery.chunking.learn(&line.connection, &self.name, &said, self.delivery.now());
            match said {
                Ok(reply) => HandOver::Accepted(Some(reply.into())),
                Err(ContentError::NoChunks { error }) => {
                    return self.without_chunks(&mail, line, &error).await;
                }
                Err(error) => error.into(),
            }
        };
        self.keep(line, matches!(end, HandOver::Accepted(_)));
        match self.hop.judge(&mail, &end) {
            Judgement::NotOwn(wait, reply) if self.may_wait(&mail, wait) => {
                self.recorder.flush();
                let wait = self.delivery.wait_after(&mail, busy.lane(), self.hop.transport(), wait);
                self.delivery.postpone(&mail, wait, &reply.to_string()).await;
            }
            Judgement::NotOwn(_, reply) => {
                let text = self.delivery.backoff.given_up(format_args!("Last: {reply}"));
                self.give_up(&mail, &rendered.subject, (Reason::Expired, text), tls);
            }
            Judgement::Own { overtaken } => {
                self.conclude(&mail, &rendered.subject, &end, Circumstances { tls, overtaken, waits: None });
            }
        }
    }

    /// The next hop offers CHUNKING and does not take BDAT, so it can have taken nothing: the mail comes back at once,
    /// and its content goes by DATA.
    async fn without_chunks(&mut self, mail: &Claimed, line: Line, error: &str) {
        self.recorder.flush();
        line.close().await;
        self.delivery.postpone(mail, Duration::ZERO, &goes_by_data(&self.name, error)).await;
    }

    /// Whether a connection that was used or kept for a while turned out to be of no use any more: lost, closed with
    /// 421 (RFC 5321 section 3.8), or refused for what happened on it before. Where a fresh one was of no use either, a
    /// refusal of the same project is no longer taken for that.
    fn may_be_the_connections(&self, envelope: &Result<(), EnvelopeError>, project: ProjectNumber) -> bool {
        matches!(envelope, Err(EnvelopeError::Lost { .. }))
            || is_for_now(envelope) && self.hop.may_exchange(project)
    }

    /// Whether a mail may wait so long, all pauses together.
    fn may_wait(&self, mail: &Claimed, wait: Duration) -> bool {
        mail.waited + wait <= self.delivery.app.settings().delivery.deadline
    }

    /// Notes the end of a hand-over, to be recorded with the mark of the next.
    fn conclude(&mut self, mail: &Claimed, subject: &str, end: &HandOver, how: Circumstances) {
        self.recorder.note(self.delivery.outcome(mail, subject, end, self.via(how)));
    }

    /// Notes that a mail is not tried any more.
    fn give_up(&mut self, mail: &Claimed, subject: &str, why: (Reason, String), tls: bool) {
        let via = self.via(Circumstances { tls, overtaken: false, waits: None });
        self.recorder.note(self.delivery.unsendable(mail, Some(subject), why, via));
    }

    fn via(&self, how: Circumstances) -> Via<'d> {
        Via { transport: Some(self.hop.name()), host: &self.relay.host, how }
    }

    /// Gives back a mail without an attempt.
    async fn put_back(&mut self, mail: &Claimed) {
        self.recorder.flush();
        self.delivery.release(&[claim_ref(mail)], self.delivery.now()).await;
    }

    /// Sends the envelope. While a slow server thinks about it, the last mail's outcome is recorded.
    async fn envelope(
        &mut self,
        connection: &mut Connection,
        mail: &Claimed,
        from: &str,
        size: usize,
    ) -> Result<(), EnvelopeError> {
        self.delivery.chunking.prepare(connection, &self.name, self.delivery.now());
        let envelope = connection.envelope(from, mail.recipient.as_str(), size);
        tokio::pin!(envelope);
        if let Ok(answer) = tokio::time::timeout(SLOW, &mut envelope).await {
            return answer;
        }
        self.recorder.flush();
        envelope.await
    }

    fn keep(&mut self, mut line: Line, carried: bool) {
        line.carried += usize::from(carried);
        line.heard_at = self.delivery.now();
        self.line = line.connection.is_reusable().then_some(line);
    }

    /// Closes a connection and opens another in its place.
    async fn exchange(&mut self, line: Line) -> Option<Line> {
        let Line { connection, seat, .. } = line;
        let permit = seat.exchange();
        // the next hop counts the old one until it is closed
        self.recorder.flush();
        let _ = tokio::time::timeout(FAREWELL, connection.quit()).await;
        self.open(permit).await
    }

    /// Opens a connection, unless the service stops meanwhile.
    async fn open(&self, permit: Permit) -> Option<Line> {
        let opened = tokio::select! {
            biased;
            () = self.delivery.tasks.stopping() => return None,
            opened = Connection::open(self.relay) => opened,
        };
        match opened {
            Ok(connection) => {
                let heard_at = self.delivery.now();
                Some(Line { connection, seat: permit.opened(), carried: 0, heard_at })
            }
            Err(error) => {
                tracing::debug!(%error, "a connection to the next hop could not be opened");
                permit.refused(trouble(&error), &error.to_string());
                None
            }
        }
    }
}

/// Resolves when the next hop closes an idle connection; never without one.
async fn interrupted(line: Option<&mut Line>) {
    match line {
        Some(line) => line.connection.interrupted().await,
        None => std::future::pending().await,
    }
}

fn trouble(error: &OpenError) -> Trouble {
    match &error.reply {
        // the server knows us and does not let us in
        Some(reply) if error.stage == OpenStage::Auth && reply.is_permanent() => Trouble::Login,
        _ => Trouble::Unreachable,
    }
}

/// Whether the session or the rate was refused for now.
fn is_for_now(envelope: &Result<(), EnvelopeError>) -> bool {
    match envelope {
        Ok(()) | Err(EnvelopeError::Lost { .. }) => false,
        Err(EnvelopeError::Refused { stage, reply }) => {
            !reply.is_permanent() && Objection::of(*stage, reply) == Objection::Session
        }
    }
}

fn is_closing(envelope: &Result<(), EnvelopeError>) -> bool {
    matches!(envelope, Err(EnvelopeError::Refused { reply, .. }) if reply.is_closing())
}
