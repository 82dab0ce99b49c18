//! Freezing the audience of a campaign: a mail for each contact, contact by contact in the order of their ids.

use mailwright_core::address::EmailAddress;
use mailwright_core::billing::Category;
use mailwright_core::campaign::Campaign;
use mailwright_core::contact::Contact;
use mailwright_core::email::{EmailStatus, Lane, Reason, RecipientState};
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::rollup::Metric;
use mailwright_core::suppression::Match;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;

use super::due::Run;
use super::lease::Lease;
use crate::args;
use crate::audience::contact::record;
use crate::audience::suppression::{self, Look};
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::deltas::Deltas;
use crate::insight::rollup;
use crate::project::billing::usage;
use crate::sending::campaign::ledger;
use crate::sending::email::{NO_DEADLINE, count};
use crate::sending::held::note as held;

/// Moves on to the contact up to which the audience is frozen with this transaction, all of it when `last`. Returns
/// false when the campaign is not where the step began: another process was quicker, or it was cancelled. What a
/// campaign that is not paused said of its audience is no longer true then.
pub async fn advance(
    tx: &mut Tx<'_>,
    run: &Run,
    to: Option<ContactId>,
    last: bool,
    lease: Lease,
) -> Result<bool> {
    let frozen_at = last.then_some(lease.now);
    let touched = tx
        .execute(
            "update campaigns set frozen_to = coalesce($4, frozen_to), frozen_at = $5, lease_until = $7, lease_holder = $8, \
             next_at = $6, note = case when paused_at is null then null else note end \
             where project_id = $1 and id = $2 and status = 'SENDING' and frozen_at is null \
             and frozen_to is not distinct from $3 and (lease_until <= $6 or lease_holder = $8)",
            args![run.project, run.id, run.frozen_to, to, frozen_at, lease.now, lease.until, lease.holder],
        )
        .await?;
    Ok(touched == 1)
}

/// Stays at a contact beyond which a step did not come after all; see [`advance`]. `note` says why the campaign waits, and it
/// is looked at again at a time.
pub async fn stay(
    tx: &mut Tx<'_>,
    run: &Run,
    at: Option<ContactId>,
    note: &str,
    until: Timestamp,
) -> Result<()> {
    tx.execute_one(
        "update campaigns set frozen_to = $3, frozen_at = null, next_at = $5, \
         note = case when paused_at is null then $4 else note end where project_id = $1 and id = $2",
        args![run.project, run.id, at, note, until],
    )
    .await
}

/// Has the campaigns of a project looked at again whose audience is not frozen.
pub async fn go_on(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<()> {
    tx.execute(
        "update campaigns set next_at = $2 where project_id = $1 and next_at > $2 and status = 'SENDING' \
         and frozen_at is null",
        args![project, now],
    )
    .await?;
    Ok(())
}

/// A contact of the audience as it is when it is frozen.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The contact.
    pub contact: Contact,
    /// What holds mail to its address back, if anything does.
    pub suppression: Option<Match>,
}

/// The contacts with the given ids, as far as they still exist, in the order of their ids, with what holds back mail of a
/// kind.
pub async fn candidates(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    ids: &[ContactId],
    kind: TemplateType,
    now: Timestamp,
) -> Result<Vec<Candidate>> {
    let contacts = record::some(rx, project, ids).await?;
    let look = Look::at(rx, project, &contacts.iter().map(|contact| &contact.email).collect(), now).await?;
    let candidate = |contact: Contact| {
        let suppression = look.find(&contact.email, kind, false);
        Candidate { contact, suppression }
    };
    Ok(contacts.into_iter().map(candidate).collect())
}

/// Most bytes of contacts' data that a step of freezing takes.
const STEP_BYTES: i64 = 4 * 1024 * 1024;

/// How many of the first of some contacts, in the order of their ids, a step takes: all of them, unless their data is
/// more than it should hold in memory and write at once.
pub async fn fitting(rx: &mut Rx<'_>, project: ProjectNumber, ids: &[ContactId]) -> Result<usize> {
    let set = Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect());
    let sizes = rx
        .all(
            "select id, {json_bytes data} from contacts where project_id = $1 and id {in $2} order by id",
            &[project.into(), set],
            |r| Ok((r.get::<ContactId>(0)?, r.get::<i64>(1)?)),
        )
        .await?;
    let mut bytes = 0;
    let beyond = sizes.iter().skip_while(|(_, size)| {
        bytes += size;
        bytes <= STEP_BYTES
    });
    let Some((first, _)) = beyond.into_iter().next() else { return Ok(ids.len()) };
    Ok(ids.iter().position(|id| id == first).unwrap_or(ids.len()).max(1))
}

/// The mail of one contact of the audience.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Identifier; its time is that of the step.
    pub id: EmailId,
    /// The contact that it is for.
    pub contact: ContactId,
    /// Address it goes to.
    pub recipient: EmailAddress,
    /// Values its variables have, as JSON text.
    pub variables: String,
    /// Why it is not sent, if it is not.
    pub skipped: Option<Reason>,
    /// What holds it back, where that is why.
    pub suppression: Option<Match>,
    /// `Message-ID` without angle brackets.
    pub message_id: String,
}

impl Entry {
    fn state(&self, is_held: bool) -> (EmailStatus, RecipientState, Option<Reason>) {
        match self.skipped {
            Some(reason) if self.suppression.is_some() => {
                (EmailStatus::Suppressed, RecipientState::Skipped, Some(reason))
            }
            Some(reason) => (EmailStatus::Skipped, RecipientState::Skipped, Some(reason)),
            None if is_held => (EmailStatus::InDoubt, RecipientState::InDoubt, None),
            None => (EmailStatus::Pending, RecipientState::Waiting, None),
        }
    }
}

/// Puts mails into the ledger of a campaign, those that are to be sent due at once, or held. Contacts that are in it
/// already stay as they are.
pub async fn freeze(
    tx: &mut Tx<'_>,
    run: &Run,
    entries: &[Entry],
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    fn texts<'a>(entries: &'a [Entry], text: impl Fn(&'a Entry) -> Option<&'a str>) -> Arg<'a> {
        Arg::Texts(entries.iter().map(|e| text(e).map(Into::into)).collect())
    }
    let source = Campaign::source(run.kind);
    let is_waiting = |entry: &Entry| entry.state(run.is_held).1 == RecipientState::Waiting;
    let is_held = |entry: &Entry| entry.state(run.is_held).1 == RecipientState::InDoubt;
    let entered: std::collections::HashSet<EmailId> = tx
        .each_returning(
            "insert into emails (project_id, id, contact_id, recipient, variables, message_id, status, recipient_state, reason, \
             suppression, due_at, campaign_id, from_address, from_name, reply_to, subject, content_hash, source, type, lane, \
             created_at, updated_at, deadline_at, topic_id, claim, attempts, in_doubt, error, log, opens, clicks) \
             select r.project_id, r.id, r.contact_id, r.recipient, r.variables, r.message_id, r.status, r.recipient_state, \
             r.reason, r.suppression, r.due_at, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $23, $24, $25, 0, 0, r.in_doubt, r.error, {json '[]'}, 0, 0 \
             from {rows r: project_id int, id id, contact_id id, recipient text, variables json, message_id text, \
             status text, recipient_state text, reason text, suppression json, due_at int, in_doubt int, error text} where true \
             on conflict (project_id, campaign_id, contact_id) where campaign_id is not null do nothing returning id",
            &[
                Arg::Ints(vec![Some(run.project.0); entries.len()]),
                Arg::Ids(entries.iter().map(|e| Some(e.id.into())).collect()),
                Arg::Ids(entries.iter().map(|e| Some(e.contact.into())).collect()),
                texts(entries, |e| Some(e.recipient.as_str())),
                Arg::Jsons(entries.iter().map(|e| Some(e.variables.as_str().into())).collect()),
                texts(entries, |e| Some(&e.message_id)),
                texts(entries, |e| Some(e.state(run.is_held).0.as_str())),
                texts(entries, |e| Some(e.state(run.is_held).1.as_str())),
                texts(entries, |e| e.skipped.map(Reason::as_str)),
                Arg::Jsons(entries.iter().map(|e| e.suppression.as_ref().map(|by| by.to_text().into())).collect()),
                Arg::Ints(entries.iter().map(|e| is_waiting(e).then_some(now.0)).collect()),
                Arg::Ints(entries.iter().map(|e| Some(i64::from(is_held(e)))).collect()),
                texts(entries, |e| is_held(e).then_some(held::WHY)),
                run.id.into(),
                (&run.from).into(),
                run.from_name.as_deref().into(),
                run.reply_to.as_ref().unwrap_or(&run.from).into(),
                run.subject.as_str().into(),
                run.content_hash.as_slice().into(),
                source.as_str().into(),
                run.kind.as_str().into(),
                Lane::Campaign.number().into(),
                now.into(),
                NO_DEADLINE.into(),
                run.topic.into(),
            ],
            |r| r.get(0),
        )
        .await?
        .into_iter()
        .collect();
    for entry in entries.iter().filter(|entry| entered.contains(&entry.id)) {
        let (status, recipient_state, reason) = entry.state(run.is_held);
        count::add(deltas, run.project, status, 1);
        let mail = (entry.id, entry.recipient.as_str());
        rollup::count_mail(deltas.sums(), run.project, Metric::Emails, mail, 1);
        if entry.skipped.is_none() {
            usage::count(deltas.sums(), run.project, Category::of(source, run.kind), now, (1, 0));
        }
        ledger::enter(deltas, run.project, run.id, (recipient_state, reason));
    }
    let new = || entries.iter().filter(|entry| entered.contains(&entry.id));
    let suppressed = new().filter(|entry| entry.suppression.is_some());
    suppression::mail::note(tx, run.project, &suppressed.map(|entry| entry.id).collect::<Vec<_>>()).await?;
    let doubted = new().filter(|entry| is_held(entry)).map(|entry| (entry.id, Some(run.id)));
    held::note(tx, run.project, &doubted.collect::<Vec<_>>()).await
}
