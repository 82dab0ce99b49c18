//! Bulk operations on contacts, as background jobs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::bulk::{BulkProgress, ContactFailure, MAX_CONTACTS, Operation};
use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::ids::{ContactId, JobId, ProjectNumber};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::bulk::{self, Flip};
use mailwright_store::audience::contact::{self, Deleted, Wish};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::suppression;
use mailwright_store::background::job::{self as store, ClaimRef, Job, Progress};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::audit::Entry;
use mailwright_store::{Tx, body, project};
use serde_json::{Value, json};

use crate::App;
use crate::background::job::{Batch, JobHandler, Part, Status, StepResult, from_value, to_value};
use crate::error::{Error, Result};

/// Contacts whose subscription one transaction sets.
const SUBSCRIBED_TOGETHER: usize = 250;
/// Contacts that one transaction removes, each with some of its events and mails.
const DELETED_TOGETHER: usize = 25;
/// Why a contact could not be changed.
const UNKNOWN: &str = "Contact not found.";

const KINDS: [JobKind; 3] =
    [JobKind::SubscribeContacts, JobKind::UnsubscribeContacts, JobKind::DeleteContacts];

/// The result of a bulk operation.
#[derive(Debug)]
pub struct BulkDone {
    /// The operation.
    pub operation: Operation,
    /// The counts.
    pub counts: BulkProgress,
    /// Contacts that could not be changed, in the order given.
    pub failures: Vec<ContactFailure>,
}

impl App {
    /// Queues a change to 1 to 1,000 contacts.
    pub async fn queue_bulk(
        &self,
        project: &Project,
        actor: &Actor,
        operation: Operation,
        ids: Vec<ContactId>,
    ) -> Result<JobId> {
        if ids.is_empty() || ids.len() > MAX_CONTACTS {
            let text = format!("contactIds must be an array of 1 to {MAX_CONTACTS} contact ids");
            return Err(Error::BadRequest(text));
        }
        let mut seen = HashSet::new();
        let ids: Vec<_> = ids.into_iter().filter(|id| seen.insert(*id)).collect();
        let by_member = matches!(actor, Actor::User { .. });
        let progress = BulkProgress { total: ids.len() as u64, by_member, ..BulkProgress::default() };
        let input = ids.iter().flat_map(|id| *id.as_uuid().as_bytes()).collect();
        let kind = match operation {
            Operation::Subscribe => JobKind::SubscribeContacts,
            Operation::Unsubscribe => JobKind::UnsubscribeContacts,
            Operation::Delete => JobKind::DeleteContacts,
        };
        // what was asked for is recorded once, not contact by contact
        let entry = matches!(operation, Operation::Delete).then(|| {
            let entry = Entry::of_project(Action::ContactsDeleted).with(json!({ "contacts": ids.len() }));
            (actor.clone(), entry)
        });
        self.queue_job(project, kind, input, to_value(&progress), entry).await
    }

    /// Queues a job that sets back what a bulk operation flipped; `None` when the project has no such job.
    pub async fn undo_bulk(&self, project: &Project, actor: &Actor, id: JobId) -> Result<Option<JobId>> {
        let number = project.number;
        let read = self.read(body!(async |rx| {
            let Some(job) = store::get(rx, number, id).await? else { return Ok(None) };
            Ok(Some((job, bulk::flips(rx, number, id).await?)))
        }));
        let Some((job, flips)) = read.await? else { return Ok(None) };
        let Some(operation) = operation_of(job.kind) else { return Ok(None) };
        let kind = match operation {
            Operation::Subscribe => JobKind::UnsubscribeContacts,
            Operation::Unsubscribe => JobKind::SubscribeContacts,
            Operation::Delete => {
                return Err(Error::Conflict("Contacts that were deleted cannot be brought back.".into()));
            }
        };
        if job.finished_at.is_none() {
            return Err(Error::Conflict(format!(
                "The job is {}. It can be undone once it is completed or failed.",
                job.state
            )));
        }
        if flips.is_empty() {
            return Err(Error::Conflict(
                "The job changed no subscription, so there is nothing to undo.".into(),
            ));
        }
        let by_member = matches!(actor, Actor::User { .. });
        let progress = BulkProgress {
            total: flips.len() as u64,
            by_member,
            undoes: Some(id),
            ..BulkProgress::default()
        };
        self.queue_job(project, kind, Flip::write(&flips), to_value(&progress), None).await.map(Some)
    }

    /// The last bulk operations of a project, the newest first, with their counts so far.
    pub async fn bulk_operations(&self, project: &Project) -> Result<Vec<(Job, Operation, BulkProgress)>> {
        let jobs = self.jobs(project, &KINDS).await?;
        let counted = |job: Job| {
            let counts = from_value(&job.progress).unwrap_or_default();
            operation_of(job.kind).map(|operation| (job, operation, counts))
        };
        Ok(jobs.into_iter().filter_map(counted).collect())
    }

    /// How a bulk operation is getting on; `None` when the project has no such job.
    pub async fn bulk_status(&self, project: &Project, id: JobId) -> Result<Option<Status<BulkDone>>> {
        let Some((job, failures)) = self.job(project, id, &KINDS, MAX_CONTACTS as u64).await? else {
            return Ok(None);
        };
        let Some(operation) = operation_of(job.kind) else { return Ok(None) };
        let counts = from_value(&job.progress).unwrap_or_default();
        Ok(Some(Status {
            id: job.id,
            state: job.state,
            percent: job.percent,
            result: (job.state == JobState::Completed).then_some(BulkDone { operation, counts, failures }),
            failed_reason: job.failed_reason,
        }))
    }
}

/// What a job does to each contact, if it is a bulk operation.
fn operation_of(kind: JobKind) -> Option<Operation> {
    match kind {
        JobKind::SubscribeContacts => Some(Operation::Subscribe),
        JobKind::UnsubscribeContacts => Some(Operation::Unsubscribe),
        JobKind::DeleteContacts => Some(Operation::Delete),
        JobKind::ImportContacts
        | JobKind::EnrolSegment
        | JobKind::MigrateExecutions
        | JobKind::SimulateWorkflow
        | JobKind::ImportSuppressions
        | JobKind::VerifyAddresses => None,
    }
}

/// A bulk operation under way.
#[derive(Debug)]
pub(crate) struct Bulk {
    project: ProjectNumber,
    operation: Operation,
    contacts: Contacts,
}

/// The contacts of a bulk operation.
#[derive(Debug)]
enum Contacts {
    /// Those that were asked for.
    Chosen(Vec<ContactId>),
    /// Those that another one flipped, which is undone.
    Flipped(Vec<Flip>),
}

impl Contacts {
    fn ids(&self) -> Vec<ContactId> {
        match self {
            Self::Chosen(ids) => ids.clone(),
            Self::Flipped(flips) => flips.iter().map(|flip| flip.contact).collect(),
        }
    }

    /// Those from a place on, at most `most`.
    fn part(&self, from: usize, most: usize) -> Self {
        match self {
            Self::Chosen(ids) => Self::Chosen(ids.iter().skip(from).take(most).copied().collect()),
            Self::Flipped(flips) => Self::Flipped(flips.iter().skip(from).take(most).copied().collect()),
        }
    }
}

impl Bulk {
    /// Reads the ids, 16 bytes each, or what is to be undone.
    pub(crate) fn open(
        project: ProjectNumber,
        operation: Operation,
        progress: &Value,
        input: &[u8],
    ) -> Result<Self, String> {
        let begun: BulkProgress = from_value(progress)?;
        let contacts = if begun.undoes.is_some() {
            Contacts::Flipped(Flip::read(input))
        } else {
            let ids = input.as_chunks::<16>().0.iter().map(|bytes| ContactId::from_bytes(*bytes));
            Contacts::Chosen(ids.collect())
        };
        Ok(Self { project, operation, contacts })
    }
}

impl JobHandler for Bulk {
    fn next(&self, progress: &Value) -> Result<Part, String> {
        let before: BulkProgress = from_value(progress)?;
        let most = match self.operation {
            Operation::Subscribe | Operation::Unsubscribe => SUBSCRIBED_TOGETHER,
            Operation::Delete => DELETED_TOGETHER,
        };
        let contacts = self.contacts.part(before.done as usize, most);
        let (project, operation, ids) = (self.project, self.operation, contacts.ids());
        Ok(Part::Batch(Arc::new(Selection { project, operation, before, ids, contacts })))
    }
}

/// The contacts of a step.
#[derive(Debug)]
struct Selection {
    project: ProjectNumber,
    operation: Operation,
    before: BulkProgress,
    ids: Vec<ContactId>,
    contacts: Contacts,
}

impl Batch for Selection {
    fn run<'t>(
        &'t self,
        tx: &'t mut Tx<'_>,
        claim: ClaimRef,
        now: Timestamp,
    ) -> BoxFuture<'t, mailwright_store::Result<StepResult>> {
        Box::pin(async move {
            let fates = match self.operation {
                Operation::Subscribe => self.subscribe(tx, claim.id, true, now).await?,
                Operation::Unsubscribe => self.subscribe(tx, claim.id, false, now).await?,
                Operation::Delete => delete(tx, self.project, &self.ids, now).await?,
            };
            let count = |fate: ItemResult| fates.iter().filter(|found| **found == fate).count() as u64;
            let unknown = self.ids.iter().zip(&fates).filter(|(_, fate)| **fate == ItemResult::Unknown);
            let failures = unknown.map(|(id, _)| {
                to_value(&ContactFailure { contact_id: *id, email: None, error: UNKNOWN.to_owned() })
                    .to_string()
            });
            store::add_failures(tx, claim, self.before.failed, &failures.collect::<Vec<_>>()).await?;
            let counts = BulkProgress {
                done: self.before.done + fates.len() as u64,
                succeeded: self.before.succeeded + count(ItemResult::Changed),
                unchanged: self.before.unchanged + count(ItemResult::Unchanged),
                failed: self.before.failed + count(ItemResult::Unknown),
                ..self.before
            };
            let percent = (counts.done * 100 / counts.total.max(1)) as i64;
            let progress = Progress { progress: to_value(&counts), percent };
            Ok(StepResult { progress, is_last: counts.done >= counts.total })
        })
    }
}

/// The result for one contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemResult {
    Changed,
    Unchanged,
    Unknown,
}

impl Selection {
    /// Sets subscriptions, with an event for each that flips. Who is asked to confirm is unchanged until then. What is
    /// undone is set back without asking: it was so before.
    async fn subscribe(
        &self,
        tx: &mut Tx<'_>,
        job: JobId,
        subscribed: bool,
        now: Timestamp,
    ) -> mailwright_store::Result<Vec<ItemResult>> {
        let project = self.project;
        let way = if self.before.by_member { ConsentWay::Dashboard } else { ConsentWay::Api };
        let evidence = Evidence::by(way);
        let mut fates = HashMap::new();
        let (ids, double_opt_in) = match &self.contacts {
            Contacts::Chosen(ids) => {
                let project = project::get(tx, project).await?;
                (ids.clone(), project.is_some_and(|project| project.double_opt_in))
            }
            Contacts::Flipped(flips) => {
                let (there, fit) = as_left(tx, project, flips, subscribed, now).await?;
                fates.extend(there.into_iter().map(|id| (id, ItemResult::Unchanged)));
                (fit, false)
            }
        };
        let wish = Wish { subscribed, evidence, double_opt_in };
        let mut deltas = Deltas::default();
        let found = contact::subscribe(tx, project, &ids, wish, now, &mut deltas).await?;
        let flipped = || found.iter().filter(|contact| contact.flipped).map(|contact| contact.id);
        let events: Vec<_> =
            flipped().map(|id| NewEvent::flip(project, id, subscribed, evidence, now)).collect();
        event::append(tx, &events, &mut deltas).await?;
        deltas.save(tx).await?;
        let flips: Vec<_> = flipped().map(|contact| Flip { contact, at: now }).collect();
        bulk::keep(tx, project, job, self.before.done, &flips).await?;
        fates.extend(found.into_iter().map(|contact| {
            (contact.id, if contact.flipped { ItemResult::Changed } else { ItemResult::Unchanged })
        }));
        let fate = |id| fates.get(id).copied().unwrap_or(ItemResult::Unknown);
        Ok(self.ids.iter().map(fate).collect())
    }
}

/// The contacts that a job flipped, as far as they exist, and those among them that can be set back to `subscribed`:
/// nothing changed their subscription since, and no list keeps mail from the address.
async fn as_left(
    tx: &Tx<'_>,
    project: ProjectNumber,
    flips: &[Flip],
    subscribed: bool,
    now: Timestamp,
) -> mailwright_store::Result<(Vec<ContactId>, Vec<ContactId>)> {
    // a person who refuses meanwhile waits, or is waited for
    contact::hold_all(tx, project, &flips.iter().map(|flip| flip.contact).collect::<Vec<_>>()).await?;
    let found = bulk::flipped(tx, project, flips, !subscribed).await?;
    let held = if subscribed {
        let emails = found.iter().map(|contact| &contact.email).collect();
        suppression::held(tx, project, &emails, now).await?
    } else {
        BTreeMap::new()
    };
    let fit = found.iter().filter(|contact| contact.is_as_left && !held.contains_key(&contact.email));
    Ok((found.iter().map(|contact| contact.id).collect(), fit.map(|contact| contact.id).collect()))
}

/// Removes contacts, as many of them as this transaction finishes: one with a long history takes several.
async fn delete(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    ids: &[ContactId],
    now: Timestamp,
) -> mailwright_store::Result<Vec<ItemResult>> {
    let mut fates = Vec::with_capacity(ids.len());
    for id in ids {
        fates.push(match contact::delete(tx, project, *id, now).await? {
            Deleted::Wholly => ItemResult::Changed,
            Deleted::NotFound => ItemResult::Unknown,
            Deleted::Partly => break,
        });
    }
    Ok(fates)
}
