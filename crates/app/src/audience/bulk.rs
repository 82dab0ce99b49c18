//! Bulk operations on contacts, as background jobs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::bulk::{BulkProgress, ContactFailure, MAX_CONTACTS, Operation};
use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::ids::{ContactId, JobId, ProjectNumber};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{self, Deleted, Wish};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::background::job::{self as store, ClaimRef, Progress};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::audit::Entry;
use mailwright_store::{Tx, project};
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

    /// How a bulk operation is getting on; `None` when the project has no such job.
    pub async fn bulk_status(&self, project: &Project, id: JobId) -> Result<Option<Status<BulkDone>>> {
        let Some((job, failures)) = self.job(project, id, &KINDS, MAX_CONTACTS as u64).await? else {
            return Ok(None);
        };
        let operation = match job.kind {
            JobKind::SubscribeContacts => Operation::Subscribe,
            JobKind::UnsubscribeContacts => Operation::Unsubscribe,
            JobKind::DeleteContacts => Operation::Delete,
            JobKind::ImportContacts
            | JobKind::EnrolSegment
            | JobKind::MigrateExecutions
            | JobKind::SimulateWorkflow
            | JobKind::ImportSuppressions
            | JobKind::VerifyAddresses => return Ok(None),
        };
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

/// A bulk operation under way.
#[derive(Debug)]
pub(crate) struct Bulk {
    project: ProjectNumber,
    operation: Operation,
    ids: Vec<ContactId>,
}

impl Bulk {
    /// Reads the ids, 16 bytes each.
    pub(crate) fn open(project: ProjectNumber, operation: Operation, input: &[u8]) -> Self {
        let ids = input.as_chunks::<16>().0.iter().map(|bytes| ContactId::from_bytes(*bytes)).collect();
        Self { project, operation, ids }
    }
}

impl JobHandler for Bulk {
    fn next(&self, progress: &Value) -> Result<Part, String> {
        let before: BulkProgress = from_value(progress)?;
        let most = match self.operation {
            Operation::Subscribe | Operation::Unsubscribe => SUBSCRIBED_TOGETHER,
            Operation::Delete => DELETED_TOGETHER,
        };
        let ids = self.ids.iter().skip(before.done as usize).take(most).copied().collect();
        let (project, operation) = (self.project, self.operation);
        Ok(Part::Batch(Arc::new(Selection { project, operation, before, ids })))
    }
}

/// The contacts of a step.
#[derive(Debug)]
struct Selection {
    project: ProjectNumber,
    operation: Operation,
    before: BulkProgress,
    ids: Vec<ContactId>,
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
                Operation::Subscribe => self.subscribe(tx, true, now).await?,
                Operation::Unsubscribe => self.subscribe(tx, false, now).await?,
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
                total: self.before.total,
                by_member: self.before.by_member,
                done: self.before.done + fates.len() as u64,
                succeeded: self.before.succeeded + count(ItemResult::Changed),
                unchanged: self.before.unchanged + count(ItemResult::Unchanged),
                failed: self.before.failed + count(ItemResult::Unknown),
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
    /// Sets subscriptions, with an event for each that flips. Who is asked to confirm is unchanged until then.
    async fn subscribe(
        &self,
        tx: &mut Tx<'_>,
        subscribed: bool,
        now: Timestamp,
    ) -> mailwright_store::Result<Vec<ItemResult>> {
        let (project, ids) = (self.project, &self.ids);
        let way = if self.before.by_member { ConsentWay::Dashboard } else { ConsentWay::Api };
        let evidence = Evidence::by(way);
        let double_opt_in = project::get(tx, project).await?.is_some_and(|project| project.double_opt_in);
        let wish = Wish { subscribed, evidence, double_opt_in };
        let mut deltas = Deltas::default();
        let found = contact::subscribe(tx, project, ids, wish, now, &mut deltas).await?;
        let flipped = found.iter().filter(|contact| contact.flipped);
        let events: Vec<_> =
            flipped.map(|contact| NewEvent::flip(project, contact.id, subscribed, evidence, now)).collect();
        event::append(tx, &events, &mut deltas).await?;
        deltas.save(tx).await?;
        let found: HashMap<_, _> = found.into_iter().map(|contact| (contact.id, contact.flipped)).collect();
        let fate = |id| match found.get(id) {
            Some(true) => ItemResult::Changed,
            Some(false) => ItemResult::Unchanged,
            None => ItemResult::Unknown,
        };
        Ok(ids.iter().map(fate).collect())
    }
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
