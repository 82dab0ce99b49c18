//! What workers write, many steps in one transaction.
//!
//! A group is written when half of the workers are waiting, or 8 ms after the previous one. Larger groups mean fewer
//! commits; the other workers sign in the meantime. A step of the transactional lane is written at once when no other
//! mail waits there.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_util::future::join;
use mailwright_core::address::EmailAddress;
use mailwright_core::attempt::AttemptOutcome;
use mailwright_core::email::{EmailStatus, Lane};
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::delivery::mailbox::{self, Captured, Quota};
use mailwright_store::delivery::provider_mail::{self, ProviderMail};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::sending::email::{self, ClaimRef, Claimed, Concluded, Mark, Outcome};
use mailwright_store::{Coalescer, Load, Result, Tx};

use super::bookkeeping::{self, Entry, Suppress};
use super::{Delivery, claim_ref};

/// The values that are stored about a hand-over.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) outcome: Outcome,
    pub(super) contact: ContactId,
    pub(super) recipient: EmailAddress,
    /// Event to emit: its name and, as JSON text, its data.
    pub(super) event: Option<(&'static str, String)>,
    /// Whether the address gets nothing more.
    pub(super) suppress: Suppress,
    /// The message, if it is captured instead of sent.
    pub(super) captured: Option<Kept>,
    /// The id that a service gave the mail which took it.
    pub(super) provider_id: Option<String>,
    pub(super) at: Timestamp,
    /// What it came to, as metrics and the mail's log say.
    pub(super) came_to: AttemptOutcome,
}

impl Record {
    /// The id that a service gave the mail.
    fn provided(&self) -> Option<ProviderMail> {
        let (project, email) = (self.outcome.claim.project, self.outcome.claim.id);
        self.provider_id.clone().map(|provider_id| ProviderMail { provider_id, project, email })
    }

    /// What follows from it for the contact.
    fn entry(&self) -> Entry<'_> {
        Entry {
            project: self.outcome.claim.project,
            email: self.outcome.claim.id,
            contact: self.contact,
            recipient: &self.recipient,
            event: self.event.as_ref().map(|(name, data)| (*name, data.clone())),
            event_id: None,
            suppress: self.suppress,
            at: self.at,
        }
    }
}

/// A message that is kept instead of sent.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) mail: Captured,
    pub(super) raw: Vec<u8>,
    /// The targets of tracked links that its values made, as JSON text.
    pub(super) links: Option<Arc<str>>,
    /// Quota of the mailbox.
    pub(super) quota: Quota,
}

/// One step of a worker: the outcome of its last mail, the mark of its next, or both.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The outcome, under the newest claim.
    pub(super) record: Option<(ClaimRef, Arc<Record>)>,
    pub(super) mark: Option<Mark>,
    pub(super) lease_until: Timestamp,
    pub(super) now: Timestamp,
}

/// A mail whose content is about to be written.
#[derive(Clone, Copy)]
pub(super) struct Marked<'a> {
    pub(super) mail: &'a Claimed,
    pub(super) lane: Lane,
    /// The targets of tracked links that its values made, as JSON text.
    pub(super) links: Option<&'a Arc<str>>,
}

/// The result of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepDone {
    /// Whether the mail to mark is still this process's to send.
    pub(super) marked: bool,
}

pub(super) async fn run(tx: &mut Tx<'_>, steps: &[Step]) -> Result<Vec<StepDone>> {
    let Some(first) = steps.first() else { return Ok(Vec::new()) };
    let mut deltas = Deltas::default();
    let mut records: HashMap<EmailId, (ClaimRef, &Record)> = HashMap::new();
    for (claim, record) in steps.iter().filter_map(|s| s.record.as_ref()) {
        // of two outcomes for one mail, the one that knows it was sent counts
        let known = records.get(&claim.id).is_some_and(|(_, r)| r.outcome.status == EmailStatus::Sent);
        if !known {
            records.insert(claim.id, (*claim, record));
        }
    }
    let mut records: Vec<(ClaimRef, &Record)> = records.into_values().collect();
    records.sort_unstable_by_key(|(claim, _)| (claim.project, claim.id));
    let mut marks: Vec<Mark> = steps.iter().filter_map(|s| s.mark.clone()).collect();
    marks.sort_unstable_by_key(|mark| (mark.claim.project, mark.claim.id));
    let outcomes: Vec<_> =
        records.iter().map(|(claim, r)| Outcome { claim: *claim, ..r.outcome.clone() }).collect();
    let (concluded, marked) = join(
        email::conclude(tx, &outcomes, &mut deltas, first.now),
        email::mark_sending(tx, &marks, first.lease_until),
    )
    .await;
    let (mut concluded, marked) = (concluded?, marked?);
    email::conclude_late(tx, &outcomes, &mut concluded, &mut deltas, first.now).await?;
    follow_up(tx, &records, concluded, deltas, first.now).await?;
    Ok(steps
        .iter()
        .map(|s| StepDone { marked: s.mark.as_ref().is_some_and(|m| marked.contains(&m.claim.id)) })
        .collect())
}

/// Writes what follows from the outcomes that hold.
async fn follow_up(
    tx: &mut Tx<'_>,
    records: &[(ClaimRef, &Record)],
    concluded: Concluded,
    mut deltas: Deltas,
    now: Timestamp,
) -> Result<()> {
    let Concluded { changed, without_contact } = concluded;
    let concerns_somebody = |id: &EmailId| changed.contains(id) && !without_contact.contains(id);
    let current: Vec<&Record> =
        records.iter().map(|(_, r)| *r).filter(|r| concerns_somebody(&r.outcome.claim.id)).collect();
    for record in &current {
        if let Some(Kept { mail, raw, links, .. }) = &record.captured {
            let project = record.outcome.claim.project;
            mailbox::keep(tx, project, record.contact, mail, raw, &mut deltas).await?;
            if let Some(links) = links {
                email::keep_links(tx, project, mail.id, links).await?;
            }
        }
    }
    trim_mailboxes(tx, &current, &mut deltas).await?;
    let provided = current.iter().filter_map(|record| record.provided()).collect::<Vec<_>>();
    provider_mail::note(tx, &provided, now).await?;
    let entries: Vec<_> = current.iter().map(|record| record.entry()).collect();
    bookkeeping::write(tx, &entries, deltas).await
}

/// Removes what no longer fits into the mailboxes that mails were added to.
async fn trim_mailboxes(tx: &mut Tx<'_>, records: &[&Record], deltas: &mut Deltas) -> Result<()> {
    let mut added: BTreeMap<ProjectNumber, (Quota, Quota)> = BTreeMap::new();
    for record in records {
        let Some(Kept { mail, quota, .. }) = &record.captured else { continue };
        let nothing = Quota { mails: 0, bytes: 0 };
        let (_, sum) = added.entry(record.outcome.claim.project).or_insert((*quota, nothing));
        (sum.mails, sum.bytes) = (sum.mails + 1, sum.bytes + mail.size);
    }
    for (project, (quota, added)) in added {
        mailbox::trim(tx, project, quota, added, deltas).await?;
    }
    Ok(())
}

impl Delivery {
    /// Writes an outcome, however long the database takes to come back.
    pub(super) async fn record(&self, record: Record) {
        self.step(Some(Arc::new(record)), None).await;
    }

    /// Writes the outcome of a worker's last mail and marks its next, which goes by a transport. Returns whether the next may be sent.
    /// While this process's clock is wrong, no mail may be sent, because its claim may have ended.
    pub(super) async fn step(
        &self,
        record: Option<Arc<Record>>,
        next: Option<(Marked<'_>, &Arc<str>)>,
    ) -> bool {
        let next = next.filter(|_| self.app.clock_is_right());
        let mark = next.map(|(next, transport)| Mark {
            claim: claim_ref(next.mail),
            transport: Arc::clone(transport),
            first_attempt_at: next.mail.first_attempt_at.unwrap_or_else(|| self.now()),
            links: next.links.cloned(),
        });
        let Some(claim) = record.as_ref().map(|r| r.outcome.claim).or(mark.as_ref().map(|mark| mark.claim))
        else {
            return false;
        };
        let route = claim.id.as_uuid().as_u128() as u64;
        let load = Load { project: claim.project, rows: 1, bytes: 0 };
        let written = self.insist(claim.id, || {
            let step = Step {
                record: record.clone().map(|r| (self.held.current(r.outcome.claim), r)),
                mark: mark.clone().map(|mark| Mark { claim: self.held.current(mark.claim), ..mark }),
                lease_until: self.lease_until(),
                now: self.now(),
            };
            self.book(next.map(|(next, _)| next.lane)).call_sized(route, load, step)
        });
        let written = written.await;
        if let Some(record) = &record {
            if record.outcome.due_at.is_none() || record.outcome.is_doubt {
                self.warm_up.left(record.outcome.claim.id);
            }
            self.done_with(record.outcome.claim.id);
            if written.is_some() {
                self.recorded(record);
            }
        }
        written.is_some_and(|done| done.marked)
    }

    /// Informs the runner of campaigns and the judge of reputation that an outcome is stored.
    fn recorded(&self, record: &Record) {
        self.app.metrics().delivery(record.came_to.as_str());
        let project = record.outcome.claim.project;
        if let (Some(campaign), None) = (record.outcome.campaign, record.outcome.due_at) {
            self.app.campaign_hints().settled(project, campaign);
        }
        if record.outcome.status == EmailStatus::Bounced {
            self.app.judge_reputation(project);
        }
    }

    /// The coalescer for a step that marks a mail of a lane, or no mail. While many mails of the most urgent lane wait,
    /// their steps are grouped like all others.
    fn book(&self, lane: Option<Lane>) -> &Coalescer<Step, StepDone> {
        let is_alone = || self.app.0.delivery.dispatcher.depth(Lane::Transactional) == 0;
        if lane == Some(Lane::Transactional) && is_alone() { &self.express } else { &self.ledger }
    }
}
