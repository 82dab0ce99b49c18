//! Judges contacts by the tracked segments of their project, in the transaction that stores the result.
//!
//! One transaction at a time does so for a project: it holds the project's row in `segment_upkeep`. It loads the facts
//! of the contacts, judges all tracked segments in the order in which they refer to each other (`core::segment::Live`),
//! and stores memberships, sums and `segment.<slug>.entry` and `.exit` events. So each joining and leaving is found
//! once, by one process, and its event is stored with it. These events are facts at once: if a segment looks at them,
//! the contacts are judged again, in a bounded number of passes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use mailwright_core::filter::{Facts, References};
use mailwright_core::ids::{ContactId, EventId, ProjectNumber, SegmentId};
use mailwright_core::lost::Stretch;
use mailwright_core::segment::{Change, Live, event_name};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::filter;
use mailwright_store::audience::segment::{self as store, Membership};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Result, Rx, Tx};
use quick_cache::sync::Cache;
use serde_json::json;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::App;
use crate::background::runner::Waker;

/// How many contacts one transaction judges.
pub(super) const BATCH: usize = 200;
/// Most projects whose segments are remembered: those of the least used are read again.
const REMEMBERED: usize = 1000;
/// How many projects' due segments write at the same time.
const TOGETHER: usize = 4;

/// The tracked segments as a process remembers them.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveSegments(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// With the version that each is of.
    known: Cache<ProjectNumber, (i64, Arc<Live>)>,
    waker: Waker,
    writes: Semaphore,
}

impl Default for Inner {
    fn default() -> Self {
        Self { known: Cache::new(REMEMBERED), waker: Waker::default(), writes: Semaphore::new(TOGETHER) }
    }
}

impl LiveSegments {
    /// The segments of a project as they were at `version`.
    pub(super) async fn live(
        &self,
        rx: &mut Rx<'_>,
        project: ProjectNumber,
        version: i64,
    ) -> Result<Arc<Live>> {
        if let Some((_, live)) = self.0.known.get(&project).filter(|(of, _)| *of == version) {
            return Ok(live);
        }
        let live = Arc::new(Live::new(&store::all(rx, project).await?));
        self.0.known.insert(project, (version, Arc::clone(&live)));
        Ok(live)
    }

    /// A turn to write for a segment that is due. Projects have their segments looked at all at once, and would
    /// otherwise take all connections to PostgreSQL.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.0.writes.acquire().await.ok()
    }

    /// The waker of the work on contacts that changed.
    pub(super) fn waker(&self) -> &Waker {
        &self.0.waker
    }
}

impl App {
    /// Says that contacts may have changed, so that tracked segments look at once. Without it they look a little later.
    pub(crate) fn wake_segments(&self) {
        self.0.audience.segments.0.waker.wake();
    }
}

/// Judges contacts and stores who joined and who left. Only the segments in `scope` change, where it is given. Returns
/// the segments that changed. The caller holds the project's lock. `lost` is the stretch that a restore lost, where they
/// may have joined and left in it.
pub(super) async fn judge(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    live: &Live,
    contacts: &[ContactId],
    scope: Option<&BTreeSet<SegmentId>>,
    lost: Option<Stretch>,
    now: Timestamp,
) -> Result<BTreeSet<SegmentId>> {
    let held = store::hold(tx, project, contacts).await?;
    if held.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut members: HashMap<ContactId, BTreeSet<SegmentId>> = HashMap::new();
    for member in store::memberships(tx, project, &held).await? {
        members.entry(member.contact).or_default().insert(member.segment);
    }
    // the memberships are known already
    let references = References { segments: BTreeSet::new(), ..live.references().clone() };
    let mut changes = Changes::default();
    let mut due = BTreeMap::new();
    for facts in filter::facts(tx, project, &held, &references).await? {
        let contact = facts.contact();
        let stored = members.remove(&contact.id).unwrap_or_default();
        due.insert(contact.id, live.due(contact, now));
        for (pass, found) in live.judge(&facts, stored, scope, now).into_iter().enumerate() {
            changes.add(pass, contact.id, found);
        }
    }
    if live.has_timers() {
        store::set_timers(tx, project, &due).await?;
    }
    changes.save(tx, project, live, lost, now).await
}

/// The contacts that joined and that left.
#[derive(Default)]
struct Changes {
    /// The contacts that join and that leave, pass by pass.
    passes: Vec<(Vec<Membership>, Vec<Membership>)>,
    /// The same in the order in which it happens to each contact.
    moves: Vec<(Membership, bool)>,
}

impl Changes {
    fn add(&mut self, pass: usize, contact: ContactId, found: Vec<Change>) {
        if self.passes.len() <= pass {
            self.passes.resize_with(pass + 1, Default::default);
        }
        let (entering, leaving) = &mut self.passes[pass];
        for change in found {
            let member = Membership { segment: change.segment, contact };
            if change.entered { &mut *entering } else { &mut *leaving }.push(member);
            self.moves.push((member, change.entered));
        }
    }

    /// Stores memberships, sums and events.
    async fn save(
        mut self,
        tx: &mut Tx<'_>,
        project: ProjectNumber,
        live: &Live,
        lost: Option<Stretch>,
        now: Timestamp,
    ) -> Result<BTreeSet<SegmentId>> {
        if self.moves.is_empty() {
            return Ok(BTreeSet::new());
        }
        for (entering, leaving) in &mut self.passes {
            entering.sort_unstable();
            leaving.sort_unstable();
            store::enter(tx, project, entering, now).await?;
            store::exit(tx, project, leaving, now).await?;
        }
        let mut sums: BTreeMap<SegmentId, i64> = BTreeMap::new();
        for (member, entered) in &self.moves {
            *sums.entry(member.segment).or_default() += if *entered { 1 } else { -1 };
        }
        store::count_changes(tx, project, &sums).await?;
        let mut deltas = Deltas::default();
        event::append(tx, &self.events(project, live, now), &mut deltas).await?;
        deltas.judged();
        deltas.lost(lost);
        deltas.save(tx).await?;
        Ok(sums.into_keys().collect())
    }

    /// The events, whose ids have the order in which things happen although all happen at one instant.
    fn events(&self, project: ProjectNumber, live: &Live, now: Timestamp) -> Vec<NewEvent> {
        let mut ids: Vec<EventId> = self.moves.iter().map(|_| EventId::new(now, rand::random())).collect();
        ids.sort_unstable();
        let moves = self.moves.iter().zip(ids);
        moves.filter_map(|((member, entered), id)| moved(project, live, *member, *entered, id, now)).collect()
    }
}

/// The event of a contact's joining or leaving (reference 5.4).
fn moved(
    project: ProjectNumber,
    live: &Live,
    member: Membership,
    entered: bool,
    id: EventId,
    now: Timestamp,
) -> Option<NewEvent> {
    let segment = live.get(member.segment)?;
    let data = json!({ "segmentId": segment.id, "segmentName": segment.name });
    let event = NewEvent::bare(project, &event_name(&segment.name, entered), member.contact, now);
    Some(NewEvent { id, data: Some(data.to_string()), ..event })
}
