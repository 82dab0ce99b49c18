//! Freezing: the mail of each contact of the audience is put into the queue, or skipped.
//!
//! Freezing walks the audience by contact id, up to the ids of the start, some hundred contacts a step, fewer if their
//! data is large. A contact that gets no mail is a row as well, SKIPPED. Sending begins with the first step. Once
//! [`AHEAD`] mails wait, freezing rests [`REST`] times as long as a step takes, so it continues at about the pace of
//! sending.
//!
//! A step takes no more contacts than the limits of what the project pays for allow (`docs/adr/0063-billing.md`). Where they
//! are reached the campaign waits before the next contact, with a `note`, and goes on in the next month, or when they are
//! raised. Mails that are in the queue leave meanwhile.
//!
//! An audience by filter or segment may take minutes to look up. It is looked up by slow reads, one at a time for each
//! project. If that takes too long, the campaign rests, twice as long each time, and its `note` says so.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use mailwright_core::billing::Category;
use mailwright_core::campaign::{Campaign, CampaignStatus, Recipient, excluded};
use mailwright_core::custom_data::Data;
use mailwright_core::email::{Lane, Reason, RecipientState};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::{contact, topic};
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::billing::allowance::Allowances;
use mailwright_store::sending::campaign::ledger::{self};
use mailwright_store::sending::campaign::run::{self, Candidate, Entry, Run};
use mailwright_store::sending::campaign::{self as store, audience};
use mailwright_store::sending::email;
use mailwright_store::{Door, Error as StoreError, Tx, json_text, project};

use super::backoff::{AFTER_FAILURE, PUT_OFF};
use super::{CHUNK, Campaigns, is_slow};
use crate::error::{Error, Result, too_many_conditions};
use crate::project::billing::refusal::limit_note;
use crate::sending::campaign::state::withhold as withhold_campaign;
use crate::sending::content::Prepared;

/// Contacts that the first step of freezing takes, so that the first mail leaves soon.
const FIRST_CHUNK: usize = 100;
/// How many mails of a campaign wait before its freezing takes its time.
const AHEAD: i64 = 5_000;
/// How many times as long as its step took freezing rests then, and how long at most.
const REST: u32 = 8;
const LONGEST_REST: Duration = Duration::from_millis(400);

/// When a campaign is looked at again whose project may not have more mails in this month: the month may be over by then,
/// or the limit raised.
const LIMIT_PAUSE: Duration = Duration::from_mins(1);

/// The `note` of a campaign whose audience could not be looked up.
const STILL_LOOKED_UP: &str = "Its audience could not be looked up yet, because that takes too long or other \
                               reads had their turn. The service tries again. If this note stays, cancel the \
                               campaign, and send a copy with a simpler filter.";

impl Campaigns {
    /// Freezes the next contacts of the audience: the mail of each is put into the queue, or skipped.
    pub(super) async fn freeze(&self, run: Run) -> Result<bool> {
        let began = Instant::now();
        let (project, id) = (run.project, run.id);
        let started = run.sent_at.ok_or_else(|| Error::Internal("a campaign has no start".into()))?;
        let limit = if run.frozen_to.is_none() { FIRST_CHUNK } else { CHUNK };
        // contacts made after the start have later ids
        let beyond = ContactId::first_of(Timestamp(started.0 + 1));
        let (audience, after, now) = (run.audience.clone(), run.frozen_to, self.app.clock().now());
        // a filter that hardly anybody matches looks at everybody
        let is_slow = is_slow(&run);
        let door = if is_slow { Door::Background(project) } else { Door::Fast };
        let page = self.app.0.db.read_by(
            door,
            body!(async |rx| {
                let members = audience::resolve(rx, project, &audience).await?;
                let page = audience::page(rx, project, &members, (after, beyond), limit, now).await?;
                let fitting = run::fitting(rx, project, &page).await?;
                Ok((page, fitting))
            }),
        );
        let (mut chunk, fitting) = match page.await {
            Err(StoreError::TooManyConditions) => return self.withhold(project, id).await,
            Err(error @ (StoreError::TooSlow(_) | StoreError::NoTurn(_))) => {
                return self.leave_alone(project, id, &error).await;
            }
            page => page?,
        };
        self.too_slow().0.remove(&id);
        let last = chunk.len() < limit && fitting == chunk.len();
        chunk.truncate(fitting);
        let content = self.app.0.sending.contents.get(project, &run.content_hash).await?;
        let content = content.ok_or_else(|| Error::Internal("the content of a campaign is gone".into()))?;
        let turn = if is_slow { self.turns.acquire().await.ok() } else { None };
        let lease = self.lease();
        let free = self.app.free_allowance();
        let frozen = self.app.write_in_background(body!(async |tx| {
            if !run::advance(tx, &run, chunk.last().copied(), last, lease).await? {
                return Ok(Step::None);
            }
            // before contacts are locked, as others do
            let mut allowances = Allowances::of_project(tx, free, project, lease.now).await?;
            let candidates = run::candidates(tx, project, &chunk, run.kind, lease.now).await?;
            let outside = outside(tx, &run, &chunk).await?;
            let capped = capped(tx, &run, &chunk, lease.now).await?;
            let passed = Passed { capped, outside };
            let mut entries: Vec<Entry> =
                candidates.iter().map(|c| entry(&run, &content, c, &passed, lease.now)).collect();
            let cut = cut(&run, &mut entries, &mut allowances, lease.now);
            allowances.save(tx, lease.now).await?;
            let mut deltas = Deltas::default();
            run::freeze(tx, &run, &entries, &mut deltas, lease.now).await?;
            deltas.save(tx).await?;
            if cut {
                let at = entries.last().map(|entry| entry.contact).or(run.frozen_to);
                let note = limit_note(category(&run), lease.now);
                run::stay(tx, &run, at, &note, lease.now.plus(LIMIT_PAUSE)).await?;
                return Ok(Step::Limited);
            }
            if last {
                let ledger = ledger::read(tx, project, &[run.id]).await?.remove(&run.id);
                let recipients = ledger.unwrap_or_default().recipients;
                run::set_recipients(tx, project, run.id, recipients).await?;
            }
            Ok(Step::Done)
        }));
        let step = frozen.await?;
        drop(turn);
        if step == Step::Limited {
            tracing::info!(campaign = %id, "a campaign waits, because the limit of mails of a month is reached");
            self.app.0.project.billing.notices.wake();
        }
        let (frozen, last) = (step != Step::None, last && step == Step::Done);
        self.app.dispatcher().wake(Lane::Campaign, project);
        if frozen && last {
            self.app.0.sending.campaigns.wake(); // it may be over: perhaps nobody of its audience gets a mail
        }
        if step == Step::Limited {
            return Ok(false);
        }
        if frozen && !last && self.is_ahead(project, id).await? {
            // most of the time is left to the mails that wait already, and to everything else
            let rest = (began.elapsed() * REST).min(LONGEST_REST);
            self.resting().insert(id, self.app.clock().steady() + rest);
        }
        Ok(frozen)
    }

    /// Pauses a campaign whose segments have become too large to look its audience up. It is looked at again from time
    /// to time, and continues where it was paused, so that it only has to be resumed once the segments are smaller.
    async fn withhold(&self, project: ProjectNumber, id: CampaignId) -> Result<bool> {
        let now = self.app.clock().now();
        let note = format!("Paused, because its audience cannot be looked up. {}", too_many_conditions());
        let paused = self.app.write_in_background(body!(async |tx| {
            let paused = withhold_campaign(tx, project, id, note, now).await?;
            run::put_off(tx, project, id, now.plus(PUT_OFF)).await?;
            Ok(paused)
        }));
        if paused.await? {
            tracing::warn!(campaign = %id, "a campaign was paused, because its filter has too many conditions");
        }
        Ok(false)
    }

    /// Postpones a campaign whose audience could not be looked up, and stores the reason in its `note`. If the look-up
    /// took too long, the pause doubles each time; if it had no turn, it is only tried again.
    async fn leave_alone(&self, project: ProjectNumber, id: CampaignId, error: &StoreError) -> Result<bool> {
        tracing::warn!(%error, campaign = %id, project = project.0,
            "the audience of a campaign could not be looked up, trying again");
        let pause = match error {
            StoreError::TooSlow(_) => self.too_slow().again(id, self.app.clock().steady()),
            _ => AFTER_FAILURE,
        };
        let now = self.app.clock().now();
        let until = now.plus(pause);
        let db = &self.app.0.db;
        db.write_in_background(body!(async |tx| leave_alone(tx, project, id, now, until).await)).await?;
        Ok(false)
    }

    /// Whether so many mails of a campaign wait that freezing the others can take its time.
    async fn is_ahead(&self, project: ProjectNumber, id: CampaignId) -> Result<bool> {
        let ledgers = self.app.read(body!(async |rx| ledger::read(rx, project, &[id]).await));
        Ok(ledgers.await?.get(&id).is_some_and(|ledger| ledger.count(RecipientState::Waiting) >= AHEAD))
    }
}

/// Those of some contacts that got as many marketing mails as the project allows.
async fn capped(
    tx: &Tx<'_>,
    run: &Run,
    contacts: &[ContactId],
    now: Timestamp,
) -> mailwright_store::Result<BTreeSet<ContactId>> {
    if !run.kind.needs_subscription() {
        return Ok(BTreeSet::new());
    }
    let Some(cap) = project::automation::get(tx, run.project).await?.marketing_cap else {
        return Ok(BTreeSet::new());
    };
    // what else writes to them meanwhile counts as well
    contact::hold_all(tx, run.project, contacts).await?;
    let got = email::times_counted_by_cap(tx, run.project, contacts, now.minus(cap.period())).await?;
    let is_capped = |times: &Vec<Timestamp>| cap.until(times, now).is_some();
    Ok(got.into_iter().filter(|(_, times)| is_capped(times)).map(|(contact, _)| contact).collect())
}

/// Those of some contacts that are not in the topic of a campaign.
async fn outside(
    tx: &Tx<'_>,
    run: &Run,
    contacts: &[ContactId],
) -> mailwright_store::Result<BTreeSet<ContactId>> {
    let Some(id) = run.topic.filter(|_| run.kind.needs_subscription()) else { return Ok(BTreeSet::new()) };
    match topic::get(tx, run.project, id).await? {
        Some(found) => topic::outside(tx, run.project, &found, contacts).await,
        None => Ok(BTreeSet::new()),
    }
}

/// What a step of freezing came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The campaign was not where the step began.
    None,
    /// It did what it was to do.
    Done,
    /// The project may not have more mails in this month.
    Limited,
}

/// What the mails of a campaign count for.
fn category(run: &Run) -> Category {
    Category::of(Campaign::source(run.kind), run.kind)
}

/// Cuts the entries of a step off at the first mail that there is no allowance for. Returns whether there is one.
fn cut(run: &Run, entries: &mut Vec<Entry>, allowances: &mut Allowances, now: Timestamp) -> bool {
    let category = category(run);
    let first = entries
        .iter()
        .position(|entry| entry.skipped.is_none() && !allowances.take(run.project, category, now, 1));
    if let Some(first) = first {
        entries.truncate(first);
    }
    first.is_some()
}

/// Contacts who are passed over for another reason than their own state.
struct Passed {
    /// Who got as many marketing mails as the project allows.
    capped: BTreeSet<ContactId>,
    /// Who is not in the topic.
    outside: BTreeSet<ContactId>,
}

/// The mail of a contact as it is frozen.
fn entry(run: &Run, content: &Prepared, candidate: &Candidate, passed: &Passed, now: Timestamp) -> Entry {
    let id = EmailId::new(now, rand::random());
    let contact = &candidate.contact;
    let recipient = Recipient {
        subscribed: contact.subscribed,
        in_topic: !passed.outside.contains(&contact.id),
        suppressed: candidate.suppression.is_some(),
    };
    let skipped = excluded(run.kind, recipient)
        .or_else(|| passed.capped.contains(&contact.id).then_some(Reason::Capped));
    // what is shown of a mail that was held back needs the values of its variables
    let is_empty = skipped.is_some() && candidate.suppression.is_none();
    let variables = if is_empty { Data::new() } else { content.variables(contact, &Data::new()) };
    Entry {
        id,
        contact: contact.id,
        recipient: contact.email.clone(),
        variables: json_text(&variables),
        skipped,
        suppression: candidate.suppression.clone(),
        message_id: format!("{id}@{}", run.from.domain()),
    }
}

/// Puts off a campaign whose audience is still looked up, and has it say why, unless somebody paused it.
async fn leave_alone(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    id: CampaignId,
    now: Timestamp,
    until: Timestamp,
) -> mailwright_store::Result<()> {
    let is_freezing =
        |campaign: &Campaign| campaign.status == CampaignStatus::Sending && campaign.frozen_at.is_none();
    let Some(mut campaign) = store::get_for_update(tx, number, id).await?.filter(is_freezing) else {
        return Ok(());
    };
    if campaign.paused_at.is_none() && campaign.note.as_deref() != Some(STILL_LOOKED_UP) {
        campaign.note = Some(STILL_LOOKED_UP.into());
        campaign.updated_at = now;
        store::save_state(tx, number, &campaign).await?;
    }
    run::put_off(tx, number, id, until).await
}
