//! A worker that brings mails to the recipients' own servers.
//!
//! What a site says about us ([`mailwright_core::pacing::reply`]) is told to its pace, and the mail waits without an
//! attempt. Everything else that it says counts for the mail. A site that cannot be reached costs the mail that was tried
//! an attempt; the others for it wait until one more is tried. One that lets us wait for its answers gets few mails at
//! a time ([`sites`](super::sites)).

mod no_way;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use mailwright_core::email::{Lane, Reason};
use mailwright_core::pacing::reply::Signal;
use mailwright_mail::smtp::{ContentError, EnvelopeError, Stage};
use mailwright_store::sending::email::Claimed;

use super::job::{Job, Way};
use super::open::Unopened;
use super::told::Told;
use super::visit::Visit;
use super::{Direct, Line};
use crate::delivery::chunking::goes_by_data;
use crate::delivery::hand_over::{HandOver, Refusal, Rejection, Reply};
use crate::delivery::ledger::Marked;
use crate::delivery::message::Message;
use crate::delivery::next_hop::{Busy, NextHop};
use crate::delivery::outcome::{Circumstances, Via};
use crate::delivery::recorder::Recorder;
use crate::delivery::{Delivery, claim_ref};

/// How long the last outcome waits to be recorded together with the next mark.
const SLOW: Duration = Duration::from_millis(20);

/// A connection that nothing was heard of for this long may have been closed.
const QUIET: Duration = Duration::from_secs(1);
/// Refused envelopes after which a connection is closed. Postfix begins to wait with its answers after 10 errors.
const MOST_REFUSALS: u32 = 9;
/// How long a mail waits that met too many connections, at most: others are being used.
const FOR_A_CONNECTION: Duration = Duration::from_secs(1);

/// A mail that is being handed over.
#[derive(Clone, Copy)]
struct Offer<'m> {
    mail: &'m Claimed,
    lane: Lane,
    subject: &'m str,
}

/// A worker.
pub(super) struct Sender<'d> {
    delivery: &'d Arc<Delivery>,
    direct: &'d Arc<Direct>,
    hop: &'d NextHop,
    recorder: Recorder<'d>,
}

impl<'d> Sender<'d> {
    pub(super) fn new(delivery: &'d Arc<Delivery>, hop: &'d NextHop, direct: &'d Arc<Direct>) -> Self {
        let recorder = Recorder::new(delivery, hop.name());
        Self { delivery, direct, hop, recorder }
    }

    /// Has the last outcome recorded, since no mail follows at once.
    pub(super) fn flush(&mut self) {
        self.recorder.flush();
    }

    /// A mail that must not take the worker with it if it makes us panic.
    pub(super) async fn hand_over_safely(&mut self, Job { mail, busy, way }: Job) {
        let claim = claim_ref(&mail);
        if AssertUnwindSafe(self.go(mail, &busy, way)).catch_unwind().await.is_err() {
            self.delivery.panicked(claim);
        }
        drop(busy);
    }

    async fn go(&mut self, mail: Arc<Claimed>, busy: &Busy, way: Way) {
        match way {
            Way::To(visit) => self.hand_over(mail, busy, *visit).await,
            Way::Again => self.put_back(&mail).await,
            Way::No(why) => self.no_way(&mail, busy, why).await,
        }
    }

    async fn hand_over(&mut self, mail: Arc<Claimed>, busy: &Busy, mut visit: Visit) {
        self.recorder.flush_unless_of(mail.project);
        let Some(message) = self.delivery.prepare_or_settle(&mail, busy.lane()).await else {
            if let Some(line) = visit.line() {
                self.keep(&mut visit, line);
            }
            return;
        };
        let subject = &message.rendered.subject;
        let offer = Offer { mail: &mail, lane: busy.lane(), subject };
        let Some(mut line) = self.line(offer, &mut visit).await else { return };
        let size = message.signature.len() + message.rendered.raw.len();
        if let Some(most) = line.connection.max_size().filter(|most| size > *most) {
            let text = format!("The message has {size} bytes, {} takes {most} at most.", line.host);
            let via = Circumstances { tls: line.connection.tls(), overtaken: false, waits: None };
            let record = self.delivery.unsendable(
                &mail,
                Some(subject),
                (Reason::TooLarge, text),
                self.via(&line.host, via),
            );
            self.recorder.note(record);
            return self.keep(&mut visit, line);
        }
        let is_used = line.carried > 0
            || line.connection.refusals() > 0
            || self.delivery.now().since(line.heard_at) >= QUIET;
        let mut envelope = self.envelope(&mut visit, &mut line, &mail, &message, size).await;
        let told = Told::of(&mail, &message.envelope_sender, "");
        if is_used && is_spent(&envelope, &told) {
            // the site had enough of the connection, which says nothing about the mail
            self.recorder.flush();
            line.close().await;
            let Some(fresh) = self.fresh(offer, &mut visit).await else { return };
            line = fresh;
            envelope = self.envelope(&mut visit, &mut line, &mail, &message, size).await;
        }
        if !matches!(&envelope, Err(EnvelopeError::Lost { .. })) {
            visit.heard(self.delivery.now());
        }
        let overtaken = visit.is_overtaken(&mail);
        let via = Circumstances { tls: line.connection.tls(), overtaken, waits: None };
        let (end, stage): (HandOver, _) = if let Err(error) = envelope {
            let refused = if let EnvelopeError::Refused { stage, .. } = &error { Some(*stage) } else { None };
            (error.into(), refused.unwrap_or(Stage::MailFrom))
        } else {
            let next = Marked { mail: &mail, lane: busy.lane(), links: message.rendered.own_links.as_ref() };
            if !self.recorder.mark(next).await {
                // Taken over or removed meanwhile, the database is gone, or our clock is wrong: not ours to send. The
                // server waits for content, and without any the connection is closed: after DATA there is no other way.
                return self.put_back(&mail).await;
            }
            let said = {
                let (signature, raw) = (message.signature.as_bytes(), &message.rendered.raw);
                let content = pin!(line.connection.content(signature, raw));
                visit.answered(self.delivery, size, content).await
            };
            self.delivery.chunking.learn(&line.connection, &line.host, &said, self.delivery.now());
            let end = match said {
                Ok(reply) => HandOver::Accepted(Some(reply.into())),
                Err(ContentError::NoChunks { error }) => {
                    return self.without_chunks(&mail, visit, line, &error).await;
                }
                Err(error) => error.into(),
            };
            (end, Stage::Data)
        };
        self.learn(&mail, &mut visit, &mut line, &end);
        let host = line.host.clone();
        self.keep(&mut visit, line);
        let told = Told::of(&mail, &message.envelope_sender, &host);
        let about_us = about_us(&end, stage, &told).filter(|(signal, _)| {
            let is_said_of_all = *signal != Signal::Blocked || stage != Stage::RcptTo;
            is_said_of_all || visit.is_accused(mail.recipient.domain(), self.delivery.now())
        });
        if let Some((signal, reply)) = about_us {
            visit.said(signal, reply.codes(), self.delivery.now());
            drop(visit);
            self.recorder.flush();
            self.wait(&mail, self.pause(offer, signal), &format!("{host}: {reply}")).await;
        } else {
            let waits = visit.greylisted_for(&mail, &end, self.delivery.backoff.base, self.delivery.now());
            self.conclude(&mail, subject, &end, self.via(&host, Circumstances { waits, ..via }));
        }
    }

    /// The server offers CHUNKING and does not take BDAT, so it can have taken nothing: the mail comes back at once, and
    /// its content goes by DATA. That says nothing of whether the site can be reached, also where the connection was
    /// lost.
    async fn without_chunks(&mut self, mail: &Claimed, mut visit: Visit, line: Line, error: &str) {
        let error = goes_by_data(&line.host, error);
        visit.tried();
        line.close().await;
        drop(visit);
        self.recorder.flush();
        self.wait(mail, Duration::ZERO, &error).await;
    }

    /// What the end of a hand-over says about the site.
    fn learn(&self, mail: &Claimed, visit: &mut Visit, line: &mut Line, end: &HandOver) {
        match end {
            HandOver::Accepted(_) => {
                line.carried += 1;
                visit.settled(self.delivery.now());
                visit.took(self.delivery.now());
            }
            HandOver::Rejected(..) | HandOver::Temporary(_) | HandOver::Refused(..) => {
                visit.settled(self.delivery.now());
            }
            // lost twice with its content, a mail says more about itself than about the site
            HandOver::InDoubt(_) if mail.in_doubt > 0 && !visit.has_failed() => visit.tried(),
            HandOver::Lost(error) | HandOver::InDoubt(error) => {
                self.note_unreachable(visit, false, format!("{}: {error}", line.host));
            }
        }
    }

    /// The connection that came with the mail, or one that is opened now.
    async fn line(&mut self, offer: Offer<'_>, visit: &mut Visit) -> Option<Line> {
        match visit.line() {
            Some(line) => Some(line),
            None => self.fresh(offer, visit).await,
        }
    }

    /// Opens a connection. Where none is to be had, the mail waits.
    async fn fresh(&mut self, offer: Offer<'_>, visit: &mut Visit) -> Option<Line> {
        let Offer { mail, subject, lane } = offer;
        let domain = mail.recipient.domain();
        let is_counted = !self.delivery.app.are_tls_reports(mail.project, lane);
        // it may take minutes, in which the last mail's outcome must not wait
        self.recorder.flush();
        let path = Arc::clone(&visit.path);
        let open = pin!(self.direct.open(&path, domain, is_counted));
        let opened = tokio::select! {
            biased;
            () = self.delivery.tasks.stopping() => None,
            opened = visit.answered(self.delivery, 0, open) => Some(opened),
        };
        let Unopened { host, reply, signal, error, is_of_domain } = match opened {
            None => {
                self.put_back(mail).await;
                return None;
            }
            Some(Ok(mut line)) => {
                visit.opened();
                line.heard_at = self.delivery.now();
                return Some(line);
            }
            Some(Err(unopened)) => unopened,
        };
        visit.opened();
        let overtaken = visit.is_overtaken(mail);
        let via = self.via(&host, Circumstances { tls: false, overtaken, waits: None });
        match (signal, reply) {
            (Some(signal), Some(reply)) => {
                visit.said(signal, reply.codes(), self.delivery.now());
                self.recorder.flush();
                self.wait(mail, self.pause(offer, signal), &error).await;
            }
            (_, Some(reply)) if reply.code >= 500 => {
                let refusal = Refusal::Policy { is_permanent: true, of_sender: false };
                self.conclude(mail, subject, &HandOver::Refused(refusal, reply), via);
            }
            (_, Some(reply)) => {
                self.note_unreachable(visit, is_of_domain, error);
                self.conclude(mail, subject, &HandOver::Temporary(reply), via);
            }
            (_, None) => {
                self.note_unreachable(visit, is_of_domain, error.clone());
                self.conclude(mail, subject, &HandOver::Lost(error), via);
            }
        }
        None
    }

    /// How long a mail waits after the site said something about us. What it waits for beyond that, the pace says.
    fn pause(&self, offer: Offer<'_>, signal: Signal) -> Duration {
        let base = self.delivery.backoff.base;
        match signal {
            Signal::Connections => base.min(FOR_A_CONNECTION),
            Signal::Blocked => self.delivery.wait_after(offer.mail, offer.lane, self.hop.transport(), base),
            Signal::Throttled | Signal::Greylisted => base,
        }
    }

    /// Notes that no connection was to be had, or that it was lost, which other mail for the site need not try as well.
    fn note_unreachable(&self, visit: &mut Visit, is_of_domain: bool, error: String) {
        if is_of_domain {
            return visit.tried();
        }
        if visit.unreachable(&error, self.delivery.now()) {
            tracing::warn!(site = &*visit.path.site, error, "a site cannot be reached, mail for it waits");
        }
    }

    /// Sends the envelope. While a slow server thinks about it, the last mail's outcome is recorded.
    async fn envelope(
        &mut self,
        visit: &mut Visit,
        line: &mut Line,
        mail: &Claimed,
        message: &Message,
        size: usize,
    ) -> Result<(), EnvelopeError> {
        self.delivery.chunking.prepare(&mut line.connection, &line.host, self.delivery.now());
        let envelope = line.connection.envelope(&message.envelope_sender, mail.recipient.as_str(), size);
        tokio::pin!(envelope);
        if let Ok(answer) = tokio::time::timeout(SLOW, &mut envelope).await {
            return answer;
        }
        self.recorder.flush();
        visit.answered(self.delivery, 0, envelope).await
    }

    /// Keeps a connection for the next mail for the site, if it may carry one more.
    fn keep(&self, visit: &mut Visit, mut line: Line) {
        if !line.connection.is_reusable() {
            return;
        }
        line.heard_at = self.delivery.now();
        let is_fresh = line.carried < visit.mails_per_connection()
            && line.connection.refusals() < MOST_REFUSALS
            && !line.is_of_domain;
        let spent = if is_fresh { visit.keep(line, self.delivery.now()) } else { Some(line) };
        Direct::close(&self.delivery.tasks, spent);
    }

    /// Notes the end of a hand-over, to be recorded with the mark of the next.
    fn conclude(&mut self, mail: &Claimed, subject: &str, end: &HandOver, via: Via<'_>) {
        let record = self.delivery.outcome(mail, subject, end, via);
        self.recorder.note(record);
    }

    /// Gives a mail back for a reason that is not its own, unless it has waited for too long.
    async fn wait(&mut self, mail: &Claimed, wait: Duration, error: &str) {
        if mail.waited + wait <= self.delivery.backoff.patience {
            return self.delivery.postpone(mail, wait, error).await;
        }
        let text = self.delivery.backoff.given_up(format_args!("Last: {error}"));
        let record = self.delivery.unsendable(mail, None, (Reason::Expired, text), Via::NOWHERE);
        self.recorder.note(record);
    }

    fn via<'v>(&self, host: &'v str, how: Circumstances) -> Via<'v>
    where
        'd: 'v,
    {
        Via { transport: Some(self.hop.name()), host, how }
    }

    /// Gives back a mail without an attempt.
    async fn put_back(&mut self, mail: &Claimed) {
        self.recorder.flush();
        self.delivery.release(&[claim_ref(mail)], self.delivery.now()).await;
    }
}

/// Whether a connection that carried mail is of no use any more: lost, or closed with 421 for no reason that is about us
/// (RFC 5321 section 3.8).
fn is_spent(envelope: &Result<(), EnvelopeError>, told: &Told<'_>) -> bool {
    match envelope {
        Ok(()) => false,
        Err(EnvelopeError::Lost { .. }) => true,
        // any 421 slows down otherwise
        Err(EnvelopeError::Refused { reply, .. }) => {
            reply.is_closing() && told.heard(450, reply.enhanced, &reply.text).is_none()
        }
    }
}

/// What the end of a hand-over says about us rather than about the mail, given what it was said to and what the server was
/// told.
fn about_us<'e>(end: &'e HandOver, stage: Stage, told: &Told<'_>) -> Option<(Signal, &'e Reply)> {
    match end {
        // of the last, it is the content that is on a list of somebody's
        HandOver::Accepted(_)
        | HandOver::Lost(_)
        | HandOver::InDoubt(_)
        | HandOver::Rejected(Rejection::Content, _) => None,
        HandOver::Rejected(_, reply) | HandOver::Temporary(reply) | HandOver::Refused(_, reply) => {
            let signal = told.signal_of(reply)?;
            (stage != Stage::Data || signal != Signal::Blocked).then_some((signal, reply))
        }
    }
}
