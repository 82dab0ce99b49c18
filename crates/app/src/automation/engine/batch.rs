//! One transaction of the engine: the executions of some contacts, as far as they go by themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::filter::Facts;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::execution::Execution;
use mailwright_core::workflow::figures::{Figure, changes, ways};
use mailwright_core::workflow::lifecycle::{cancel, fail, waits_for};
use mailwright_core::workflow::run::{Told, run};
use mailwright_core::workflow::world::Input;
use mailwright_store::audience::contact;
use mailwright_store::automation::due::{self, Load};
use mailwright_store::automation::execution::{self, Stored};
use mailwright_store::automation::signal::{self, Signal};
use mailwright_store::automation::{figures, forget, request, workflow};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::billing::allowance::Allowances;
use mailwright_store::{Error as StoreError, Result, Rx, Tx, project};

use super::effects::Pending;
use super::people::{self, People, Versions};
use super::stage::OnStage;
use super::told::{cause, kept, told};
use crate::App;

/// How many contacts a batch takes.
const CONTACTS: usize = 200;
/// How much of contacts, executions and signals a batch reads, in bytes of JSON; one contact at least.
const BYTES: u64 = 4 * 1024 * 1024;
/// For how long a batch takes steps. While it does, SQLite takes no other writes, and nobody else changes these contacts.
const LONGEST: Duration = Duration::from_millis(50);
/// Why an execution is cancelled whose project is disabled (reference 1.5).
const PROJECT_DISABLED: &str = "project_disabled";

/// Before the first contact.
pub(super) fn first() -> ContactId {
    ContactId::first_of(Timestamp(0))
}

/// The contacts that a batch is for: those with signals and those whose executions are due, at least half of the places
/// for each; then those that were enrolled with many others. Of those with signals, half have the oldest ones, and half
/// come `after` one: nobody waits for those who have many. Also returns after whom the next batch goes on.
pub(super) async fn contacts(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    mut after: ContactId,
    now: Timestamp,
) -> Result<(Vec<ContactId>, ContactId)> {
    let (all, quarter) = (CONTACTS as i64, CONTACTS / 4);
    let mut told = signal::contacts(rx, project, all).await?;
    let others = told.split_off(told.len().min(quarter));
    let mut contacts = told;
    if !contacts.is_empty() {
        let next = signal::contacts_after(rx, project, after, quarter as i64).await?;
        after = next.last().copied().filter(|_| next.len() == quarter).unwrap_or_else(first);
        contacts.extend(next);
    }
    contacts.extend(due::contacts(rx, project, false, now, all).await?);
    contacts.extend(others);
    let mut chosen = BTreeSet::new();
    let choose = |chosen: &mut BTreeSet<ContactId>, contacts: Vec<ContactId>| {
        for contact in contacts {
            if chosen.len() < CONTACTS {
                chosen.insert(contact);
            }
        }
    };
    choose(&mut chosen, contacts);
    if chosen.len() < CONTACTS {
        choose(&mut chosen, due::contacts(rx, project, true, now, all).await?);
    }
    Ok((chosen.into_iter().collect(), after))
}

/// What a batch did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    /// Contacts whose executions it had.
    pub(super) contacts: usize,
    /// Mails that it put into the outbox.
    pub(super) mails: usize,
    /// Requests that are to be made.
    pub(super) requests: usize,
    /// Contacts that it changed.
    pub(super) changes: usize,
    /// Steps that were taken.
    pub(super) steps: usize,
}

impl Done {
    pub(super) fn add(&mut self, other: Self) {
        self.contacts += other.contacts;
        self.mails += other.mails;
        self.requests += other.requests;
        self.changes += other.changes;
        self.steps += other.steps;
    }
}

/// Contacts whose executions are taken on.
pub(super) struct Batch {
    app: App,
    project: ProjectNumber,
    contacts: Vec<ContactId>,
    now: Timestamp,
}

impl Batch {
    pub(super) fn new(app: &App, project: ProjectNumber, contacts: Vec<ContactId>) -> Self {
        Self { app: app.clone(), project, contacts, now: app.0.clock.now() }
    }

    /// Does it. Contacts that somebody else holds are left to a later batch.
    pub(super) async fn run(self, tx: &mut Tx<'_>) -> Result<Done> {
        let Some(project) = project::get(tx, self.project).await? else { return Ok(Done::default()) };
        let free = self.app.free_allowance(); // asked before contacts are locked, as others do
        let allowances = Mutex::new(Allowances::of_project(tx, free, self.project, self.now).await?);
        let mut held = contact::hold_free(tx, self.project, &self.contacts).await?;
        held.sort_unstable();
        let mut deltas = Deltas::default();
        if held.len() < self.contacts.len() {
            forget::missing_contacts(tx, self.project, &self.contacts, &mut deltas).await?;
        }
        let loads = within_room(due::loads(tx, self.project, &held).await?);
        held = loads.iter().map(|load| load.contact).collect();
        let signals = signals(tx, self.project, &loads).await?;
        let mut executions = Vec::new();
        for found in execution::active_of(tx, self.project, &held).await? {
            match found {
                Ok(stored) => executions.push(stored),
                Err(id) => {
                    execution::give_up_unreadable(tx, self.project, id, deltas.sums(), self.now).await?;
                }
            }
        }
        executions.sort_by_key(|stored| (stored.execution.contact, stored.execution.id));
        let mut all = All::load(tx, self.project, &held, executions, self.now).await?;
        let mut untold = Vec::new();
        if project.disabled {
            all.cancel(&signals, self.now);
        } else if let Some(first_left) = all.advance(&loads, &signals, &allowances, &mut untold, self.now) {
            held.retain(|contact| *contact < first_left);
        }
        let is_told = |signal: &&Signal| held.binary_search(&signal.contact).is_ok();
        signal::remove(tx, self.project, signals.iter().filter(is_told)).await?;
        signal::add(tx, self.project, &untold).await?;
        allowances.into_inner().unwrap_or_else(PoisonError::into_inner).save(tx, self.now).await?;
        all.save(tx, &self.app, held.len(), deltas).await
    }
}

/// As many contacts as there is room for, one at least.
fn within_room(mut loads: Vec<Load>) -> Vec<Load> {
    let mut bytes = 0;
    let fitting = loads.iter().take_while(|load| {
        bytes += load.bytes;
        bytes <= BYTES
    });
    let fitting = fitting.count().max(1);
    loads.truncate(fitting);
    loads
}

/// What is told now.
async fn signals(tx: &Tx<'_>, project: ProjectNumber, loads: &[Load]) -> Result<Vec<Signal>> {
    let last = loads.iter().filter_map(|load| Some((load.contact, load.told_to?)));
    signal::up_to(tx, project, last).await
}

/// The executions of a batch with what is known of their contacts.
struct All {
    project: ProjectNumber,
    people: People,
    versions: Versions,
    names: BTreeMap<mailwright_core::ids::WorkflowId, String>,
    executions: Vec<Stored>,
    /// The executions that changed, as they were.
    before: BTreeMap<usize, Execution>,
    pending: Pending,
    /// Steps that were taken.
    steps: usize,
}

impl All {
    async fn load(
        tx: &mut Tx<'_>,
        project: ProjectNumber,
        contacts: &[ContactId],
        executions: Vec<Stored>,
        now: Timestamp,
    ) -> Result<Self> {
        let versions = people::versions(tx, project, &executions).await?;
        let mut workflows: Vec<_> = executions.iter().map(|stored| stored.workflow).collect();
        workflows.sort_unstable();
        workflows.dedup();
        let names = workflow::some(tx, project, &workflows).await?;
        let people = People::load(tx, project, contacts, &versions, now).await?;
        Ok(Self {
            project,
            people,
            versions,
            names: names.into_iter().map(|found| (found.id, found.name)).collect(),
            executions,
            before: BTreeMap::new(),
            pending: Pending::default(),
            steps: 0,
        })
    }

    /// Ends the executions that would go on: that are due, or are told what they wait for.
    fn cancel(&mut self, signals: &[Signal], now: Timestamp) {
        for (index, stored) in self.executions.iter_mut().enumerate() {
            let compiled = self.versions.get(&(stored.workflow, stored.version));
            let told = compiled.map(|compiled| told(signals, stored, compiled)).unwrap_or_default();
            let goes_on = |(_, input): &Told<'_>| match input {
                Input::Event(event) => {
                    compiled.is_some_and(|found| waits_for(&found.version, &stored.execution, &event.name))
                }
                Input::Answered(_) => true,
                Input::Due | Input::Changed => false,
            };
            if stored.execution.is_due(now) || told.iter().any(goes_on) {
                self.before.insert(index, stored.execution.clone());
                cancel(&mut stored.execution, PROJECT_DISABLED, now);
            }
        }
    }

    /// Takes the executions on, contact by contact, until all or the time of a batch is over. Returns the first contact that
    /// is left to another batch. What there was no time to tell executions of the last contact is `untold`. Where more
    /// signals wait than are told, what is due after the last of those has to wait for the others.
    fn advance(
        &mut self,
        loads: &[Load],
        signals: &[Signal],
        allowances: &Mutex<Allowances>,
        untold: &mut Vec<Signal>,
        now: Timestamp,
    ) -> Option<ContactId> {
        let (began, mut last) = (Instant::now(), None);
        let until: BTreeMap<ContactId, Timestamp> =
            loads.iter().filter_map(|load| Some((load.contact, load.told_until?))).collect();
        for (index, stored) in self.executions.iter_mut().enumerate() {
            let contact = stored.execution.contact;
            if last.is_some_and(|last| last != contact) && began.elapsed() > LONGEST {
                return Some(contact);
            }
            last = Some(contact);
            let Some(facts) = self.people.facts.get_mut(&stored.execution.contact) else { continue };
            let before = stored.execution.clone();
            let mark = stored.lost;
            let compiled = self.versions.get(&(stored.workflow, stored.version));
            let name = self.names.get(&stored.workflow);
            if let (Some(compiled), Some(name)) = (compiled, name) {
                let told = told(signals, stored, compiled);
                let until = until.get(&contact).map_or(now, |until| now.min(*until));
                let cause = stored.lost.and_then(|lost| cause(lost, &stored.execution, &told, until));
                if let (Some(lost), Some(then)) = (stored.lost, cause) {
                    stored.lost = lost.stepped(then, now);
                }
                let mut stage = OnStage {
                    project: self.project,
                    workflow: (stored.workflow, name),
                    surroundings: &self.people.surroundings,
                    held: self.people.held.get(&facts.contact().email).copied().unwrap_or_default(),
                    got: self.people.got.entry(stored.execution.contact).or_default(),
                    facts,
                    allowances,
                    pending: &mut self.pending,
                    is_lost: stored.lost.is_some(),
                    has_time: &|| began.elapsed() < LONGEST,
                };
                let ran = run(&compiled.version, &mut stored.execution, &told, &mut stage, until);
                self.steps += ran.steps;
                untold.extend(told[ran.told..].iter().filter_map(|told| kept(told, stored, compiled)));
            } else {
                fail(&mut stored.execution, "The version of the workflow does not exist any more.", now);
            }
            if stored.execution == before {
                stored.lost = mark; // no step was taken
            } else {
                self.before.insert(index, before);
            }
        }
        None
    }

    async fn save(self, tx: &mut Tx<'_>, app: &App, contacts: usize, mut deltas: Deltas) -> Result<Done> {
        let (mails, requests) = (self.pending.mails.len(), self.pending.requests.len());
        let changes = self.pending.changes.len() + self.pending.moves.len();
        let mut stepped = Vec::with_capacity(self.before.len());
        let mut ended = Vec::new();
        for (index, before) in &self.before {
            let stored = &self.executions[*index];
            count(&mut deltas, self.project, stored, before, &self.versions);
            if before.status.is_active() && !stored.execution.status.is_active() {
                ended.push(stored.execution.id);
            }
            stepped.push(stored.clone());
        }
        execution::save(tx, self.project, &stepped, deltas.sums()).await?;
        self.pending.save(tx, self.project, app.contents(), &mut deltas).await?;
        if !ended.is_empty() {
            request::forget(tx, self.project, &ended).await?;
        }
        deltas.save(tx).await?;
        Ok(Done { contacts, mails, requests, changes, steps: self.steps })
    }
}

fn count(
    deltas: &mut Deltas,
    project: ProjectNumber,
    stored: &Stored,
    before: &Execution,
    versions: &Versions,
) {
    if let Some(compiled) = versions.get(&(stored.workflow, stored.version)) {
        let found = changes(&compiled.version, before, &stored.execution);
        figures::add(deltas.sums(), project, stored.workflow, &found);
        let taken = ways(&compiled.version, before, &stored.execution);
        figures::add_ways(deltas.sums(), project, stored.workflow, &taken);
    }
}

/// Ends the executions of a contact that cannot be taken on, and drops what they were to be told.
pub(super) async fn give_up(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: ContactId,
    now: Timestamp,
) -> Result<()> {
    if contact::hold_free(tx, project, &[id]).await?.is_empty() {
        return Ok(());
    }
    // they are not read: they may be what cannot be taken on
    for last in due::loads(tx, project, &[id]).await?.into_iter().filter_map(|load| load.told_to) {
        signal::drop_up_to(tx, project, id, last).await?;
    }
    let mut deltas = Deltas::default();
    let mut failed = Vec::new();
    for found in execution::active_of(tx, project, &[id]).await? {
        match found {
            Ok(mut stored) => {
                let before = stored.execution.clone();
                fail(&mut stored.execution, "An unexpected error stopped the execution.", now);
                match people::versions(tx, project, std::slice::from_ref(&stored)).await {
                    Ok(versions) => count(&mut deltas, project, &stored, &before, &versions),
                    // the version may be what cannot be read
                    Err(StoreError::Corrupt { .. }) => {
                        let ended = [(None, Figure::Waiting, -1), (None, Figure::Failed, 1)];
                        figures::add(deltas.sums(), project, stored.workflow, &ended);
                    }
                    Err(error) => return Err(error),
                }
                failed.push(stored);
            }
            Err(unreadable) => {
                execution::give_up_unreadable(tx, project, unreadable, deltas.sums(), now).await?;
            }
        }
    }
    execution::save(tx, project, &failed, deltas.sums()).await?;
    let ended: Vec<_> = failed.iter().map(|stored| stored.execution.id).collect();
    request::forget(tx, project, &ended).await?;
    deltas.save(tx).await
}
