//! What an event does in the transaction that stores it: it begins executions, and leaves a signal for those that wait.
//!
//! Nothing runs here. An execution that begins is a row that is due at once, and the engine gives it its first step. So
//! an event costs its transaction an insert for each workflow that it starts, and nothing else of what workflows do.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::custom_data::{self, Data};
use mailwright_core::filter::{Facts, Filter, References, Resolved};
use mailwright_core::ids::{ContactId, EventId, ExecutionId, ProjectNumber, SignalId, WorkflowId};
use mailwright_core::lost::Stretch;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::kind::Refused;
use mailwright_core::workflow::lifecycle::{self, begin};
use mailwright_core::workflow::limits::{MAX_CONTEXT, MAX_TEXT_OF_EVENT};
use mailwright_core::workflow::trigger::Trigger;
use mailwright_core::workflow::world::{Happening, WithContext};
use serde_json::{Value as Json, json};

use super::beginning::{self, Beginning};
use super::execution::Stored;
use super::listener::{self, ANY_CHANGE, Listener, Listeners};
use super::refusal::{self, Reason, Refusal};
use super::signal::{self, News, Signal};
use super::version;
use crate::audience::event_data;
use crate::audience::filter::Segments;
use crate::audience::filter::facts::{FactsOf, facts};
use crate::audience::segment::definition::resolve_all;
use crate::database::error::Result as StoreResult;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::Sums;

/// Most conditions of a filter that are told of with a refusal.
const MOST_SEEN: usize = 3;

/// An event that a transaction stored.
#[derive(Debug, Clone)]
pub(crate) struct Happened {
    pub(crate) project: ProjectNumber,
    pub(crate) event: EventId,
    pub(crate) name: String,
    pub(crate) contact: ContactId,
    pub(crate) at: Timestamp,
}

/// Who is told of the events, and of changes of contacts in these projects.
pub(crate) async fn listeners(
    rx: &Rx<'_>,
    happened: &[Happened],
    changed: &BTreeSet<ProjectNumber>,
) -> StoreResult<Listeners> {
    let mut names: BTreeSet<_> = happened.iter().map(|event| (event.project, event.name.as_str())).collect();
    names.extend(changed.iter().map(|project| (*project, ANY_CHANGE)));
    listener::of(rx, &names).await
}

/// What a transaction has to tell workflows.
#[derive(Debug)]
#[must_use]
pub struct Heard {
    projects: BTreeMap<ProjectNumber, OfProject>,
    /// The lost stretch in which it may have happened before.
    lost: Option<Stretch>,
}

/// What happened in a project.
#[derive(Debug, Default)]
struct OfProject {
    /// Events that begin executions.
    enrolling: Vec<(Happened, Listener)>,
    /// Events that executions wait for.
    waited: Vec<Happened>,
    /// Contacts whose change may be a goal.
    changed: BTreeMap<ContactId, Timestamp>,
    /// The workflows that wait for events or changes.
    waiting: BTreeSet<WorkflowId>,
}

/// The contacts whose executions began, with the events that began them.
type Begun = BTreeMap<ContactId, BTreeSet<EventId>>;

impl Heard {
    pub(crate) fn new(
        listeners: Listeners,
        happened: Vec<Happened>,
        touched: BTreeMap<(ProjectNumber, ContactId), Timestamp>,
        lost: Option<Stretch>,
    ) -> Self {
        let mut projects: BTreeMap<ProjectNumber, OfProject> = BTreeMap::new();
        if listeners.is_empty() {
            return Self { projects, lost };
        }
        for event in happened {
            let Some(told) = listeners.get(&(event.project, event.name.clone())) else { continue };
            let of = projects.entry(event.project).or_default();
            of.enrolling.extend(told.iter().filter(|one| one.enrols).map(|one| (event.clone(), *one)));
            let waiting = told.iter().filter(|one| !one.enrols).map(|one| one.workflow);
            of.waiting.extend(waiting);
            if told.iter().any(|one| !one.enrols) {
                of.waited.push(event);
            }
        }
        for ((project, contact), at) in touched {
            let Some(told) = listeners.get(&(project, ANY_CHANGE.to_owned())) else { continue };
            let of = projects.entry(project).or_default();
            of.waiting.extend(told.iter().map(|one| one.workflow));
            of.changed.insert(contact, at);
        }
        Self { projects, lost }
    }

    /// Whether there is nothing to tell.
    pub fn is_nothing(&self) -> bool {
        self.projects.is_empty()
    }

    /// Begins executions and leaves signals. Contacts and events are stored by then.
    pub async fn tell(self, tx: &Tx<'_>) -> StoreResult<()> {
        for (project, of) in self.projects {
            let under_way = of.under_way(tx, project).await?;
            let begun = of.enrol(tx, project, self.lost).await?;
            of.signal(tx, project, &under_way, &begun).await?;
        }
        Ok(())
    }
}

impl OfProject {
    /// The contacts that go through a workflow that waits.
    async fn under_way(&self, tx: &Tx<'_>, project: ProjectNumber) -> StoreResult<BTreeSet<ContactId>> {
        let contacts: BTreeSet<ContactId> =
            self.waited.iter().map(|event| event.contact).chain(self.changed.keys().copied()).collect();
        waiting(tx, project, &contacts, &self.waiting).await
    }

    /// Leaves signals for the contacts that go through a workflow that waits, those included that just began.
    async fn signal(
        &self,
        tx: &Tx<'_>,
        project: ProjectNumber,
        waiting: &BTreeSet<ContactId>,
        begun: &Begun,
    ) -> StoreResult<()> {
        // an event is nothing to the execution that it began
        let is_new_to = |event: &Happened| {
            begun.get(&event.contact).is_some_and(|sources| sources.iter().any(|id| *id != event.event))
        };
        let is_heard = |event: &&Happened| waiting.contains(&event.contact) || is_new_to(event);
        let waited: Vec<&Happened> = self.waited.iter().filter(is_heard).collect();
        let ids: Vec<EventId> = waited.iter().map(|event| event.event).collect();
        let mut data = data_of(tx, project, &ids).await?;
        let mut signals = Vec::with_capacity(waited.len());
        for event in waited {
            let data = data.remove(&event.event).unwrap_or_default();
            let (id, name, at) = (event.event, event.name.clone(), event.at);
            let news = News::Event(Happening { id, name, data, at });
            let id = SignalId::new(at, rand::random());
            signals.push(Signal { id, contact: event.contact, execution: None, news, at });
        }
        let changed = self.changed.iter().filter(|(contact, _)| waiting.contains(contact));
        signals.extend(changed.map(|(contact, at)| Signal {
            id: SignalId::new(*at, rand::random()),
            contact: *contact,
            execution: None,
            news: News::Changed,
            at: *at,
        }));
        signal::add(tx, project, &signals).await
    }

    /// Begins executions. Returns those of workflows that wait for something.
    async fn enrol(&self, tx: &Tx<'_>, project: ProjectNumber, lost: Option<Stretch>) -> StoreResult<Begun> {
        if self.enrolling.is_empty() {
            return Ok(Begun::new());
        }
        let ids: Vec<EventId> = self.enrolling.iter().map(|(event, _)| event.event).collect();
        let data = data_of(tx, project, &ids).await?;
        let filters = Filters::load(tx, project, &self.enrolling).await?;
        let mut refusals: BTreeMap<EventId, Refusal> = BTreeMap::new();
        let mut beginnings: Vec<(Beginning, EventId)> = Vec::new();
        let none = Data::new();
        for of_event in self.enrolling.chunk_by(|(one, _), (other, _)| one.event == other.event) {
            let event = &of_event[0].0;
            let context = data.get(&event.event).unwrap_or(&none);
            let known = filters.known(event);
            for (_, listener) in of_event {
                let held = filters.hold(known.as_ref(), event, listener, context);
                let (why, seen) = if let Err(refused) = held {
                    refused
                } else if custom_data::size(context) > MAX_CONTEXT {
                    (Refused::TooLarge, Json::Null)
                } else {
                    beginnings.push((beginning(event, listener, context, lost), event.event));
                    continue;
                };
                let reason = Reason { workflow: listener.workflow, why, seen };
                refuse(&mut refusals, event.event, event.contact, reason);
            }
        }
        let mut sums = Sums::default();
        let all: Vec<Beginning> = beginnings.iter().map(|(one, _)| one.clone()).collect();
        let refused = beginning::begin(tx, project, &all, &mut sums).await?;
        let mut begun = Begun::new();
        for (one, event) in &beginnings {
            let (workflow, contact) = (one.stored.workflow, one.stored.execution.contact);
            if let Some(why) = refused.get(&one.stored.execution.id) {
                refuse(&mut refusals, *event, contact, Reason { workflow, why: *why, seen: Json::Null });
            } else if self.waiting.contains(&workflow) {
                begun.entry(contact).or_default().insert(*event);
            }
        }
        refusal::add(tx, project, &refusals.into_values().collect::<Vec<_>>()).await?;
        sums.save(tx).await?;
        Ok(begun)
    }
}

fn refuse(refusals: &mut BTreeMap<EventId, Refusal>, event: EventId, contact: ContactId, reason: Reason) {
    let of = Refusal { event, contact, refused: Vec::new() };
    refusals.entry(event).or_insert(of).refused.push(reason);
}

fn beginning(event: &Happened, listener: &Listener, context: &Data, lost: Option<Stretch>) -> Beginning {
    let execution = begin(lifecycle::Beginning {
        id: ExecutionId::new(event.at, rand::random()),
        workflow: listener.workflow,
        contact: event.contact,
        source: Some(event.event),
        context: context.clone(),
        at: event.at,
    });
    let (workflow, version) = (listener.workflow, listener.number);
    let lost = lost.and_then(|stretch| stretch.begun(stretch.from, event.at));
    let stored = Stored { workflow, version, is_bulk: false, lost, execution };
    Beginning { stored, allow_reentry: listener.allow_reentry }
}

async fn data_of(
    tx: &Tx<'_>,
    project: ProjectNumber,
    ids: &[EventId],
) -> StoreResult<BTreeMap<EventId, Data>> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    event_data::of(tx, project, ids).await
}

/// Those of some contacts that go through one of the workflows.
async fn waiting(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &BTreeSet<ContactId>,
    workflows: &BTreeSet<WorkflowId>,
) -> StoreResult<BTreeSet<ContactId>> {
    if contacts.is_empty() {
        return Ok(BTreeSet::new());
    }
    let found = rx
        .all(
            "select distinct contact_id from workflow_executions where project_id = $1 and contact_id {in $2} \
             and workflow_id {in $3} and completed_at is null",
            &[
                project.into(),
                Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect()),
                Arg::Ids(workflows.iter().map(|id| Some((*id).into())).collect()),
            ],
            |r| r.get(0),
        )
        .await?;
    Ok(found.into_iter().collect())
}

/// The filters of triggers, with what they look at.
#[derive(Default)]
struct Filters {
    by_version: BTreeMap<(WorkflowId, i64), Filter>,
    segments: Segments,
    facts: BTreeMap<ContactId, FactsOf>,
}

impl Filters {
    async fn load(
        tx: &Tx<'_>,
        project: ProjectNumber,
        enrolling: &[(Happened, Listener)],
    ) -> StoreResult<Self> {
        let mut filters = Self::default();
        let (mut references, mut contacts) = (References::default(), BTreeSet::new());
        for (event, listener) in enrolling.iter().filter(|(_, listener)| listener.has_filter) {
            contacts.insert(event.contact);
            let key = (listener.workflow, listener.number);
            if filters.by_version.contains_key(&key) {
                continue;
            }
            let compiled = version::compiled(tx, project, listener.workflow, listener.number).await?;
            if let Some(Trigger::Event { filter: Some(filter), .. }) =
                compiled.as_ref().and_then(|compiled| compiled.trigger.as_ref())
            {
                references.extend(filter.references());
                filters.by_version.insert(key, filter.clone());
            }
        }
        if filters.by_version.is_empty() {
            return Ok(filters);
        }
        filters.segments = resolve_all(tx, project, references.segments.clone()).await?;
        let references = filters.segments.all_references(references);
        let contacts: Vec<ContactId> = contacts.into_iter().collect();
        let found = facts(tx, project, &contacts, &references).await?;
        filters.facts = found.into_iter().map(|facts| (facts.contact().id, facts)).collect();
        Ok(filters)
    }

    /// What the filters of an event know of its contact, and how much they may still look at.
    fn known(&self, event: &Happened) -> Option<Resolved<'_, FactsOf>> {
        let facts = self.facts.get(&event.contact)?;
        Some(Resolved::new(facts, self.segments.trees(), event.at).with_text(MAX_TEXT_OF_EVENT))
    }

    /// Whether the filter of a trigger holds; otherwise why not, with what those of its conditions saw that do not. One
    /// that cannot be read does not hold.
    fn hold(
        &self,
        known: Option<&Resolved<'_, FactsOf>>,
        event: &Happened,
        listener: &Listener,
        context: &Data,
    ) -> Result<(), (Refused, Json)> {
        if !listener.has_filter {
            return Ok(());
        }
        let filter = self.by_version.get(&(listener.workflow, listener.number));
        let (Some(filter), Some(resolved)) = (filter, known) else {
            return Err((Refused::Filter, Json::Null));
        };
        let known = WithContext { world: resolved, context };
        let holds = filter.matches(&known, event.at);
        if resolved.is_over() {
            return Err((Refused::TooMuchText, Json::Null));
        }
        if holds {
            return Ok(());
        }
        let mut seen = filter.explain(&known, event.at);
        seen.retain(|condition| !condition.holds);
        seen.truncate(MOST_SEEN);
        Err((Refused::Filter, json!(seen)))
    }
}
