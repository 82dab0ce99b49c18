//! One worker per connection: take a mail, render, sign, hand over, note what happened.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use mailwright_core::email::{Lane, Reason};
use mailwright_mail::smtp::{Connection, EnvelopeError, RelayConfig, Reply, Stage};
use mailwright_store::Error as StoreError;
use mailwright_store::email::{ClaimRef, Claimed};
use mailwright_store::mailbox::Captured;

use super::ledger::{Kept, Record};
use super::outcome::{self, End, Hop};
use super::press::Urgency;
use super::{Delivery, Signing, Transport, reference};
use crate::content::Prepared;
use crate::error::{Error, Result};
use crate::render::{Rendered, render};

/// How long an unused connection is kept.
const IDLE: Duration = Duration::from_secs(30);
/// How long the last outcome waits to be recorded together with the next mark.
const SLOW: Duration = Duration::from_millis(20);
/// Pause before a mail is tried again that could not be prepared because the database did not answer.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The lanes a worker serves. A quarter of the workers leave campaigns alone, and half of those automations too, so
/// that a password reset never waits behind a newsletter.
fn lanes(number: usize) -> &'static [Lane] {
    match number % 8 {
        0 => &[Lane::Transactional],
        1 => &[Lane::Transactional, Lane::Workflow],
        _ => &Lane::ALL,
    }
}

pub(super) async fn run(delivery: Arc<Delivery>, number: usize) {
    let lanes = if delivery.app.settings().delivery.connections < 8 { &Lane::ALL } else { lanes(number) };
    match &delivery.app.0.transport {
        Transport::Capture => capture(&delivery, lanes).await,
        Transport::Smtp(relay) => {
            Sender { delivery: &delivery, relay, connection: None, last: None }.run(lanes).await;
        }
    }
}

/// Why a mail has no message.
enum Unprepared {
    /// It never will.
    Never(Reason, String),
    /// It waits until its sender's domain, which is named, is verified.
    Withheld(String),
    /// It may have one later.
    Later(Error),
}

impl<E> From<E> for Unprepared
where
    Error: From<E>,
{
    fn from(error: E) -> Self {
        Self::Later(error.into())
    }
}

/// A mail with its message and the signature to put before it.
struct Message {
    rendered: Rendered,
    signature: String,
    /// Whether the instance itself writes: such a mail may carry a link that opens an account.
    is_own: bool,
}

impl Delivery {
    /// The next mail; `None` when the service stops.
    async fn next(&self, lanes: &[Lane]) -> Option<Arc<Claimed>> {
        tokio::select! {
            biased;
            () = self.tasks.stopping() => None,
            mail = self.app.0.dispatcher.pop(lanes) => Some(Arc::new(mail)),
        }
    }

    /// Renders and signs a mail.
    async fn prepare(&self, mail: &Arc<Claimed>) -> Result<Message, Unprepared> {
        let never = |reason, text: &str| Unprepared::Never(reason, text.to_owned());
        let letterhead = self.letterhead(mail.project).await?;
        let letterhead = letterhead.ok_or_else(|| never(Reason::Sender, "The project is gone."))?;
        let content = self.content(mail).await?;
        let domain = mail.from.domain();
        let (selector, key) = match self.signing_key(mail.project, domain).await? {
            Signing::Key(key) => key,
            Signing::Unverified => return Err(Unprepared::Withheld(domain.to_owned())),
            Signing::Removed => {
                return Err(never(Reason::Sender, &format!("The sender's domain {domain} was removed.")));
            }
        };
        let (urgency, app, mail) = (Urgency::of(mail), self.app.clone(), Arc::clone(mail));
        let printed = self.press.run(urgency, mail.project, move || {
            let complete = app.with_link(&letterhead.project, &mail)?;
            let rendered = render(
                &app.settings().base_url,
                &letterhead,
                &complete,
                &content,
                &app.link_tag(mail.contact)?,
            );
            let signature = key
                .sign(mail.from.domain(), &selector, &rendered.raw, mail.created_at)
                .map_err(|e| Error::Internal(e.to_string()))?;
            Ok(Message { rendered, signature, is_own: letterhead.project.is_platform() })
        });
        // a mail that makes it panic would do so the next time
        printed.await.unwrap_or_else(|| Err(unrenderable("The mail cannot be rendered.")))
    }

    /// What a mail says. Content that is gone, or that cannot be read or made ready, will not get better.
    async fn content(&self, mail: &Claimed) -> Result<Arc<Prepared>, Unprepared> {
        let found =
            AssertUnwindSafe(self.app.0.contents.get(mail.project, &mail.content_hash)).catch_unwind();
        match found.await {
            Ok(Ok(Some(content))) => Ok(content),
            Ok(Ok(None)) => Err(unrenderable("The content of the mail is gone.")),
            Ok(Err(StoreError::Corrupt { .. })) | Err(_) => {
                Err(unrenderable("The content of the mail cannot be read."))
            }
            Ok(Err(error)) => Err(error.into()),
        }
    }

    /// Notes that a mail made a worker panic after it was prepared. Nobody knows how far it came.
    fn panicked(&self, claim: ClaimRef) {
        tracing::error!(email = %claim.id, "handing a mail over panicked, it stays until its lease ends");
        self.let_go(claim.id);
    }

    /// Prepares a mail. Where that fails for good, the mail fails; where the database is the reason, it waits.
    async fn prepare_or_settle(&self, mail: &Arc<Claimed>) -> Option<Message> {
        match self.prepare(mail).await {
            Ok(message) => Some(message),
            // a database that is away or a secret that does not fit is the operator's to mend: the mail waits for it
            Err(Unprepared::Later(error)) => {
                tracing::error!(%error, email = %mail.id, "a mail could not be prepared, trying again later");
                let temporary = matches!(error, Error::Unavailable(_));
                let pause = if temporary { AFTER_FAILURE } else { self.backoff.base };
                self.release(&[reference(mail)], self.now().plus(pause)).await;
                None
            }
            Err(Unprepared::Withheld(domain)) => {
                self.withhold(mail, domain).await;
                None
            }
            Err(Unprepared::Never(reason, text)) => {
                tracing::warn!(reason = text, email = %mail.id, "a mail cannot be sent");
                let end = End::Impossible(reason, text);
                self.record(self.outcome(mail, None, &end, false)).await;
                None
            }
        }
    }

    /// Holds a mail back whose sender's domain is not verified. A campaign is paused, and its mails wait with it.
    async fn withhold(&self, mail: &Claimed, domain: String) {
        tracing::warn!(email = %mail.id, "a mail waits, because its sender's domain is not verified");
        if mail.campaign.is_none() {
            let end = End::Withheld(format!("The sender's domain {domain} is not verified."));
            return self.record(self.outcome(mail, None, &end, false)).await;
        }
        if let Err(error) = self.app.withhold_campaigns(mail.project, domain).await {
            tracing::warn!(%error, "the campaigns of a domain could not be paused, trying again");
        }
        self.release(&[reference(mail)], self.now().plus(AFTER_FAILURE)).await;
    }

    fn outcome(&self, mail: &Claimed, subject: Option<&str>, end: &End, tls: bool) -> Record {
        let hop = Hop { host: self.app.0.transport.host(), tls };
        outcome::record(mail, subject, end, hop, self.backoff, self.now())
    }
}

fn unrenderable(text: &str) -> Unprepared {
    Unprepared::Never(Reason::Unrenderable, text.to_owned())
}

/// Keeps mails instead of sending them.
async fn capture(delivery: &Delivery, lanes: &[Lane]) {
    while let Some(mail) = delivery.next(lanes).await {
        let claim = reference(&mail);
        if AssertUnwindSafe(keep(delivery, mail)).catch_unwind().await.is_err() {
            delivery.panicked(claim);
        }
    }
}

/// Keeps a mail: message and outcome are stored in one transaction, so nothing can be in doubt.
async fn keep(delivery: &Delivery, mail: Arc<Claimed>) {
    let Some(Message { rendered, signature, is_own }) = delivery.prepare_or_settle(&mail).await else {
        return;
    };
    let raw = [signature.as_bytes(), &rendered.raw].concat();
    let size = raw.len() as i64;
    let raw = match if is_own { delivery.app.seal_captured(&raw) } else { Ok(raw) } {
        Ok(raw) => raw,
        Err(error) => {
            tracing::error!(%error, email = %mail.id, "a mail could not be kept, trying again later");
            return delivery.release(&[reference(&mail)], delivery.now().plus(delivery.backoff.base)).await;
        }
    };
    let taken = Reply { code: 250, enhanced: Some((2, 0, 0)), text: "Kept in the mailbox".into() };
    let mut record = delivery.outcome(&mail, Some(&rendered.subject), &End::Accepted(taken), false);
    let kept = Captured {
        id: mail.id,
        sender: rendered.sender,
        recipient: mail.recipient.to_string(),
        subject: rendered.subject,
        size,
        created_at: delivery.now(),
    };
    record.captured = Some(Kept { mail: kept, raw, quota: delivery.app.settings().mailbox });
    delivery.record(record).await;
}

/// A worker with its connection.
struct Sender<'d> {
    delivery: &'d Delivery,
    relay: &'d RelayConfig,
    connection: Option<Connection>,
    /// The outcome of the last mail, which is recorded together with the mark of the next.
    last: Option<Arc<Record>>,
}

impl Sender<'_> {
    async fn run(mut self, lanes: &[Lane]) {
        while let Some(mail) = self.next(lanes).await {
            let claim = reference(&mail);
            // a mail that makes us panic must not take the worker with it
            if AssertUnwindSafe(self.hand_over(mail)).catch_unwind().await.is_err() {
                self.delivery.panicked(claim);
                self.connection = None;
            }
        }
        self.flush().await;
        if let Some(connection) = self.connection.take() {
            let _ = tokio::time::timeout(Duration::from_secs(2), connection.quit()).await;
        }
    }

    /// The next mail. With none at hand the last outcome is recorded by itself, and an idle connection is closed.
    async fn next(&mut self, lanes: &[Lane]) -> Option<Arc<Claimed>> {
        if self.delivery.tasks.is_stopping() {
            return None;
        }
        if let Some(mail) = self.delivery.app.0.dispatcher.try_pop(lanes) {
            return Some(Arc::new(mail));
        }
        self.flush().await;
        if self.connection.is_some() {
            match tokio::time::timeout(IDLE, self.delivery.next(lanes)).await {
                Ok(next) => return next,
                Err(_) => {
                    if let Some(connection) = self.connection.take() {
                        let _ = tokio::time::timeout(Duration::from_secs(2), connection.quit()).await;
                    }
                }
            }
        }
        self.delivery.next(lanes).await
    }

    async fn flush(&mut self) {
        if let Some(last) = self.last.take() {
            self.delivery.step(Some(last), None).await;
        }
    }

    async fn hand_over(&mut self, mail: Arc<Claimed>) {
        let Some(message) = self.delivery.prepare_or_settle(&mail).await else { return };
        let was_kept = self.connection.is_some();
        let Some(mut connection) = self.connect(&mail).await else { return };
        let Message { rendered, signature, .. } = &message;
        let size = signature.len() + rendered.raw.len();
        let mut envelope = self.envelope(&mut connection, &mail, size).await;
        if was_kept && closed_while_idle(&envelope) {
            // the next hop had enough of the connection, which says nothing about the mail
            drop(connection);
            let Some(fresh) = self.connect(&mail).await else { return };
            connection = fresh;
            envelope = self.envelope(&mut connection, &mail, size).await;
        }
        let tls = connection.tls();
        let end = if let Err(error) = envelope {
            error.into()
        } else {
            // On disk before the first byte of the content is on the wire.
            if !self.delivery.step(self.last.take(), Some(&mail)).await {
                // Taken over or removed meanwhile, or the database is gone: not ours to send. The server waits
                // for content, and without any the connection can only be closed.
                self.delivery.let_go(mail.id);
                return;
            }
            match connection.content(signature.as_bytes(), &rendered.raw).await {
                Ok(reply) => End::Accepted(reply),
                Err(error) => error.into(),
            }
        };
        self.keep(connection);
        // still there when the envelope was refused, so that nothing was marked
        self.flush().await;
        self.last = Some(Arc::new(self.delivery.outcome(&mail, Some(&rendered.subject), &end, tls)));
    }

    /// Sends the envelope. While a slow server thinks about it, the last mail's outcome is recorded.
    async fn envelope(
        &mut self,
        connection: &mut Connection,
        mail: &Claimed,
        size: usize,
    ) -> std::result::Result<(), EnvelopeError> {
        let envelope = connection.envelope(mail.from.as_str(), mail.recipient.as_str(), size);
        tokio::pin!(envelope);
        match tokio::time::timeout(SLOW, &mut envelope).await {
            Ok(answer) => answer,
            Err(_) => tokio::join!(envelope, self.flush()).0,
        }
    }

    fn keep(&mut self, connection: Connection) {
        self.connection = connection.is_reusable().then_some(connection);
    }

    /// The kept connection, or a new one. When there is none to be had, the mail waits until the next hop may be back.
    async fn connect(&mut self, mail: &Claimed) -> Option<Connection> {
        if let Some(connection) = self.connection.take() {
            return Some(connection);
        }
        let breaker = &self.delivery.breaker;
        let closed_until = breaker.closed_until();
        if closed_until > self.delivery.now() {
            self.flush().await;
            self.delivery.release(&[reference(mail)], closed_until).await;
            return None;
        }
        match Connection::open(self.relay).await {
            Ok(connection) => {
                breaker.reset();
                Some(connection)
            }
            Err(error) => {
                tracing::warn!(%error, host = %self.relay.host, "the next hop cannot be used, mail waits");
                let end = End::Unreachable(error.to_string(), breaker.trip());
                self.flush().await;
                self.last = Some(Arc::new(self.delivery.outcome(mail, None, &end, false)));
                self.flush().await;
                None
            }
        }
    }
}

/// Whether a kept connection turned out to be closed: lost before any answer, or answered with 421 (RFC 5321 section 3.8).
fn closed_while_idle(envelope: &std::result::Result<(), EnvelopeError>) -> bool {
    match envelope {
        Ok(()) => false,
        Err(EnvelopeError::Lost { .. }) => true,
        Err(EnvelopeError::Refused { stage, reply }) => *stage == Stage::MailFrom && reply.is_closing(),
    }
}
