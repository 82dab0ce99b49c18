//! The part of a worker that does not depend on the transport: preparing a mail, and writing what happened. Also the
//! capture transport, which keeps mail instead of sending it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use mailwright_core::address::EmailAddress;
use mailwright_core::email::{Lane, Reason};
use mailwright_core::routing::TransportNumber;
use mailwright_store::Error as StoreError;
use mailwright_store::delivery::mailbox::Captured;
use mailwright_store::sending::email::{ClaimRef, Claimed};

use super::direct;
use super::hand_over::HandOver;
use super::ledger::{Kept, Record};
use super::message::Message;
use super::next_hop::NextHop;
use super::outcome::{self, Via};
use super::outlets::{Outlet, Way};
use super::render_pool::Urgency;
use super::sender::Sender;
use super::ses;
use super::signing::{DomainKey, Signing};
use super::{Delivery, claim_ref};
use crate::error::{Error, Result};
use crate::sending::content::Prepared;
use crate::sending::domain::Obstacle;
use crate::sending::footer::Footers;
use crate::sending::render::render;

/// Pause before a mail is tried again that could not be prepared because the database did not answer.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long a mail waits whose sender's domain cannot be signed for, before it is looked at again, at most.
const WITHHELD: Duration = Duration::from_mins(5);

pub(super) async fn run(delivery: Arc<Delivery>, outlet: Arc<Outlet>) {
    match &outlet.way {
        Way::Capture => capture(&delivery, &outlet.hop).await,
        Way::Smtp(relay) => Sender::new(&delivery, &outlet.hop, relay).run().await,
        Way::Direct(direct) => direct::work(&delivery, &outlet.hop, direct).await,
        Way::Ses(ses) => ses::work(&delivery, &outlet.hop, ses).await,
    }
}

/// Why a mail has no message.
enum Unprepared {
    /// The mail will never have a message.
    Never(Reason, String),
    /// The mail waits until the service can sign for its sender's domain.
    Withheld(Obstacle),
    /// The mail may have a message later.
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

impl Delivery {
    /// The next mail for a transport; `None` when the service stops.
    async fn next(&self, transport: TransportNumber) -> Option<(Lane, Arc<Claimed>)> {
        tokio::select! {
            biased;
            () = self.tasks.stopping() => None,
            (lane, mail) = self.app.0.delivery.dispatcher.pop(&Lane::ALL, transport) => Some((lane, self.dated(mail))),
        }
    }

    /// A mail with the date that goes into it: that of its first hand-over.
    pub(super) fn dated(&self, mut mail: Claimed) -> Arc<Claimed> {
        mail.first_attempt_at.get_or_insert_with(|| self.now());
        Arc::new(mail)
    }

    /// Renders and signs a mail of a lane.
    async fn prepare(&self, mail: &Arc<Claimed>, lane: Lane) -> Result<Message, Unprepared> {
        let never = |reason, text: &str| Unprepared::Never(reason, text.to_owned());
        let footers = self.footers(mail.project).await?;
        let footers = footers.ok_or_else(|| never(Reason::Sender, "The project was deleted."))?;
        let content = self.content(mail).await?;
        let domain = mail.from.domain();
        let key = match self.signing_key(mail.project, domain).await? {
            Signing::Key(key) => key,
            Signing::Withheld(obstacle) => return Err(Unprepared::Withheld(obstacle)),
            Signing::Removed => {
                return Err(never(Reason::Sender, &format!("The sender's domain {domain} was removed.")));
            }
        };
        let reply_to = self.reply_address(&footers, mail, &key).await?;
        let date = mail.first_attempt_at.unwrap_or(mail.created_at);
        let (app, mail) = (self.app.clone(), Arc::clone(mail));
        let printed = self.render_pool.run(Urgency::of(lane), mail.project, move || {
            let complete = app.with_link(&footers.project, &mail)?;
            let tracked = app.tracked_address(&footers.project, &mail, &content, key.tracking.as_deref());
            let is_tracked = tracked.is_some();
            let rendered = render(
                &app.settings().base_url,
                &footers,
                &complete,
                &content,
                &app.link_tag(mail.project, mail.contact)?,
                tracked,
                reply_to.as_ref(),
            )
            .map_err(|_| unrenderable(&outgrown(content.room)))?;
            let signature = key
                .sign(mail.from.domain(), &rendered.raw, date)
                .map_err(|e| Error::Internal(e.to_string()))?;
            let envelope_sender = app.envelope_sender(&mail, key.return_path.as_deref());
            let is_own = footers.project.is_system();
            Ok(Message { rendered, signature, envelope_sender, is_tracked, is_own })
        });
        // a mail that makes it panic would do so the next time
        printed.await.unwrap_or_else(|| Err(unrenderable("The mail cannot be rendered.")))
    }

    /// The address that names the mail, to which answers come back; `None` where they go to that of the sender. `key` is
    /// that of the sender's domain.
    async fn reply_address(
        &self,
        footers: &Footers,
        mail: &Claimed,
        key: &DomainKey,
    ) -> Result<Option<EmailAddress>, Unprepared> {
        if !footers.reply_tracking {
            return Ok(None);
        }
        let address = mail.reply_to.as_ref().unwrap_or(&mail.from);
        let comes_here = |key: &DomainKey| key.receives || self.app.takes_unproven_mail();
        let receives = if address.domain() == mail.from.domain() {
            comes_here(key)
        } else {
            match self.signing_key(mail.project, address.domain()).await? {
                Signing::Key(key) => comes_here(&key),
                Signing::Withheld(_) | Signing::Removed => false,
            }
        };
        Ok(if receives { self.app.reply_address(mail, address) } else { None })
    }

    /// The content of a mail. Content that is missing or cannot be read is a permanent error.
    async fn content(&self, mail: &Claimed) -> Result<Arc<Prepared>, Unprepared> {
        let found =
            AssertUnwindSafe(self.app.contents().get(mail.project, &mail.content_hash)).catch_unwind();
        match found.await {
            Ok(Ok(Some(content))) => Ok(content),
            Ok(Ok(None)) => Err(unrenderable("The content of the mail is missing.")),
            Ok(Err(StoreError::Corrupt { .. })) | Err(_) => {
                Err(unrenderable("The content of the mail cannot be read."))
            }
            Ok(Err(error)) => Err(error.into()),
        }
    }

    /// Notes that a mail made a worker panic after it was prepared. Nobody knows how far it came.
    pub(super) fn panicked(&self, claim: ClaimRef) {
        tracing::error!(email = %claim.id, "handing a mail over panicked, the mail waits until its lease ends");
        self.done_with(claim.id);
    }

    /// Prepares a mail of a lane. If the error is permanent, the mail fails; if the database is the reason, the mail
    /// waits.
    pub(super) async fn prepare_or_settle(&self, mail: &Arc<Claimed>, lane: Lane) -> Option<Message> {
        match self.prepare(mail, lane).await {
            Ok(message) => Some(message),
            // a database that is away is the operator's to mend: the mail waits for it
            Err(Unprepared::Later(error)) => {
                tracing::error!(%error, email = %mail.id, "a mail could not be prepared, trying again later");
                let pause = if error.is_unavailable() { AFTER_FAILURE } else { self.backoff.base };
                self.release(&[claim_ref(mail)], self.now().plus(pause)).await;
                None
            }
            Err(Unprepared::Withheld(obstacle)) => {
                self.withhold(mail, obstacle).await;
                None
            }
            Err(Unprepared::Never(reason, text)) => {
                tracing::warn!(reason = text, email = %mail.id, "a mail cannot be sent");
                self.record(self.unsendable(mail, None, (reason, text), Via::NOWHERE)).await;
                None
            }
        }
    }

    /// Holds a mail back whose sender's domain cannot be signed for. A campaign is paused, and its mails wait with it.
    async fn withhold(&self, mail: &Claimed, obstacle: Obstacle) {
        let domain = mail.from.domain();
        let error = obstacle.of_mail(domain);
        if self.told.is_news((mail.project, domain.to_owned()), self.now()) {
            tracing::warn!(email = %mail.id, project = mail.project.0, why = error, "mail of a domain waits");
        }
        if mail.campaign.is_some() {
            if let Err(error) = self.app.withhold_campaigns(mail.project, domain.to_owned(), obstacle).await {
                tracing::warn!(%error, "the campaigns of a domain could not be paused, trying again");
            }
            return self.release(&[claim_ref(mail)], self.now().plus(AFTER_FAILURE)).await;
        }
        let wait = WITHHELD.min(self.backoff.max);
        if mail.waited + wait <= self.backoff.patience {
            return self.postpone(mail, wait, &error).await;
        }
        let why = (Reason::Expired, self.backoff.given_up(error));
        self.record(self.unsendable(mail, None, why, Via::NOWHERE)).await;
    }

    pub(super) fn outcome(&self, mail: &Claimed, subject: &str, end: &HandOver, via: Via<'_>) -> Record {
        let record = outcome::record(mail, Some(subject), end, via, self.backoff, self.now());
        let attempt = &record.outcome.attempt;
        let parties = [mail.recipient.as_str(), mail.from.as_str()];
        self.app.note_reply(attempt.class, attempt.reply.as_deref().unwrap_or_default(), &parties);
        record
    }

    /// The end of a mail that is not handed over, or not again.
    pub(super) fn unsendable(
        &self,
        mail: &Claimed,
        subject: Option<&str>,
        why: (Reason, String),
        via: Via<'_>,
    ) -> Record {
        outcome::unsendable(mail, subject, why, via, self.now())
    }
}

/// Why a mail of a request to very many recipients is not sent whose values and loops write too much.
fn outgrown(room: Option<usize>) -> String {
    let kilobytes = room.unwrap_or_default() / 1024;
    format!(
        "Values and loops add more than {kilobytes} KB to the content, which is the limit for each mail of a \
         request with so many recipients. Send to fewer recipients at a time, or use shorter values."
    )
}

fn unrenderable(text: &str) -> Unprepared {
    Unprepared::Never(Reason::Unrenderable, text.to_owned())
}

/// Keeps mails instead of sending them.
async fn capture(delivery: &Delivery, hop: &NextHop) {
    while let Some((lane, mail)) = delivery.next(hop.transport()).await {
        let claim = claim_ref(&mail);
        if AssertUnwindSafe(keep(delivery, hop, mail, lane)).catch_unwind().await.is_err() {
            delivery.panicked(claim);
        }
        hop.ended();
    }
}

/// Keeps a mail: message and outcome are stored in one transaction, so nothing can be in doubt.
async fn keep(delivery: &Delivery, hop: &NextHop, mail: Arc<Claimed>, lane: Lane) {
    let Some(Message { rendered, signature, is_own, .. }) = delivery.prepare_or_settle(&mail, lane).await
    else {
        return;
    };
    let raw = [signature.as_bytes(), &rendered.raw].concat();
    let size = raw.len() as i64;
    let raw = match if is_own { delivery.app.seal_captured(&raw) } else { Ok(raw) } {
        Ok(raw) => raw,
        Err(error) => {
            tracing::error!(%error, email = %mail.id, "a mail could not be kept, trying again later");
            return delivery.release(&[claim_ref(&mail)], delivery.now().plus(delivery.backoff.base)).await;
        }
    };
    let kept = HandOver::Accepted(None);
    let mut record = delivery.outcome(&mail, &rendered.subject, &kept, Via::captured(hop.name()));
    let kept = Captured {
        id: mail.id,
        sender: rendered.sender,
        recipient: mail.recipient.to_string(),
        subject: rendered.subject,
        size,
        created_at: delivery.now(),
    };
    // nothing left: a claim that was lost meanwhile, as by a campaign that was cancelled, has the last word
    record.outcome.has_left = false;
    record.captured =
        Some(Kept { mail: kept, raw, links: rendered.own_links, quota: delivery.app.settings().mailbox });
    delivery.record(record).await;
}
