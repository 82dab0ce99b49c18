//! Which contacts join and leave the tracked segments of a project, judged contact by contact.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::contact::Contact;
use crate::event::event_of;
use crate::filter::{Activity, Facts, Filter, References, Window, WindowSource};
use crate::ids::SegmentId;
use crate::segment::graph::{Graph, Node};
use crate::segment::{Segment, SegmentType, event_name};
use crate::time::Timestamp;

/// How often a contact is judged anew because the events of its joining and leaving are themselves conditions.
///
/// Events are only ever added, and all of them at one instant, so that conditions on them change once: this ends by
/// itself as soon as no further segment is reached.
const PASSES: usize = 32;

/// A dynamic segment as it is kept up to date.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Identifier.
    pub id: SegmentId,
    /// Name.
    pub name: String,
    /// Whether its members are stored.
    pub tracked: bool,
    /// Its condition.
    pub tree: Arc<Filter>,
}

/// A contact's joining or leaving of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The segment.
    pub segment: SegmentId,
    /// Whether the contact joined it.
    pub entered: bool,
}

/// The tracked segments of a project, in the order in which they are judged, with all that they depend on.
#[derive(Debug, Default)]
pub struct Live {
    definitions: Vec<Definition>,
    graph: Graph,
    references: References,
    windows: BTreeSet<Window>,
    /// Whether a tracked segment looks at the events that tracked segments emit.
    depends_on_own_events: bool,
}

impl Live {
    /// Puts together what a project's segments need. Segments that no tracked one depends on are left out.
    pub fn new(segments: &[Segment]) -> Self {
        let mut graph = Graph::default();
        for segment in segments {
            let in_place = segment.kind == SegmentType::Dynamic && !segment.track_membership;
            graph.insert(segment.id, Node::new(condition(segment), in_place));
        }
        let by_id: BTreeMap<SegmentId, &Segment> = segments.iter().map(|s| (s.id, s)).collect();
        // a circle cannot be stored; if one were, its segments would have no members
        let order = graph.order().unwrap_or_default();
        let mut needed: BTreeSet<SegmentId> =
            segments.iter().filter(|s| s.is_tracked()).map(|s| s.id).collect();
        let mut definitions = Vec::new();
        for id in order.into_iter().rev() {
            let Some(segment) =
                by_id.get(&id).filter(|s| needed.contains(&id) && s.kind == SegmentType::Dynamic)
            else {
                continue;
            };
            let Some(Ok(tree)) = condition(segment).map(Filter::parse) else { continue };
            needed.extend(tree.references().segments);
            definitions.push(Definition {
                id,
                name: segment.name.clone(),
                tracked: segment.track_membership,
                tree: Arc::new(tree),
            });
        }
        definitions.reverse();
        let mut references = References::default();
        for definition in &definitions {
            references.extend(definition.tree.references());
        }
        let windows = definitions.iter().flat_map(|d| d.tree.windows()).collect();
        let depends_on_own_events = references.events.iter().any(|name| name.starts_with("segment."));
        Self { definitions, graph, references, windows, depends_on_own_events }
    }

    /// How many segments are judged.
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// What the conditions name.
    pub fn references(&self) -> &References {
        &self.references
    }

    /// One of the segments.
    pub fn get(&self, id: SegmentId) -> Option<&Definition> {
        self.definitions.iter().find(|d| d.id == id)
    }

    /// A segment and those whose members depend on its members.
    pub fn with_dependents(&self, id: SegmentId) -> BTreeSet<SegmentId> {
        let mut all = self.graph.dependents(id);
        all.insert(id);
        all
    }

    /// Where contacts are found that leave a window although nothing happens to them, as far as [`Live::due`] does not
    /// tell.
    pub fn sweeps(&self) -> BTreeSet<Sweep> {
        self.windows.iter().filter_map(Sweep::of).collect()
    }

    /// Whether contacts have to be remembered with the time at which they are to be judged again.
    pub fn has_timers(&self) -> bool {
        self.timed().next().is_some()
    }

    /// The windows of one segment that such a time is remembered for, those of the segments in its place included.
    pub fn timed_of(&self, id: SegmentId) -> BTreeSet<Window> {
        let mut found = BTreeSet::new();
        let mut open = vec![id];
        let mut seen = BTreeSet::new();
        while let Some(definition) = open.pop().and_then(|id| self.get(id)) {
            // whoever is in one with stored members is remembered for that one
            if seen.insert(definition.id) && (definition.id == id || !definition.tracked) {
                found.extend(definition.tree.windows().into_iter().filter(is_timed));
                open.extend(definition.tree.references().segments);
            }
        }
        found
    }

    fn timed(&self) -> impl Iterator<Item = &Window> {
        self.windows.iter().filter(|window| is_timed(window))
    }

    /// When a contact is to be judged again although nothing happens to it: the first of the instants after `now` at
    /// which one of its dates leaves a window.
    pub fn due(&self, contact: &Contact, now: Timestamp) -> Option<Timestamp> {
        self.timed().filter_map(|window| window.passes(contact)).filter(|at| *at > now).min()
    }

    /// Judges a contact. `members` are the segments that it is a stored member of; only the segments in `scope` change,
    /// or all tracked ones without it. Returns the changes pass by pass, in the order in which they happen.
    pub fn judge(
        &self,
        facts: &impl Facts,
        members: BTreeSet<SegmentId>,
        scope: Option<&BTreeSet<SegmentId>>,
        now: Timestamp,
    ) -> Vec<Vec<Change>> {
        let mut view = View { facts, members, emitted: BTreeSet::new(), now };
        let mut passes = Vec::new();
        while passes.len() < PASSES {
            let changes = self.pass(&mut view, scope);
            if changes.is_empty() {
                break;
            }
            passes.push(changes);
            if !self.depends_on_own_events {
                break;
            }
        }
        passes
    }

    fn pass<F: Facts>(&self, view: &mut View<'_, F>, scope: Option<&BTreeSet<SegmentId>>) -> Vec<Change> {
        let mut changes = Vec::new();
        for definition in &self.definitions {
            let id = definition.id;
            if definition.tracked && scope.is_some_and(|scope| !scope.contains(&id)) {
                continue;
            }
            let entered = definition.tree.matches(view, view.now);
            let moved = if entered { view.members.insert(id) } else { view.members.remove(&id) };
            if definition.tracked && moved {
                changes.push(Change { segment: id, entered });
            }
        }
        for change in &changes {
            let name = self.get(change.segment).map(|d| event_name(&d.name, change.entered));
            view.emitted.extend(name);
        }
        changes
    }
}

/// A window whose passing an index finds, because ids are ordered by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sweep {
    /// The events that the window looks at; `None` for the creation of contacts.
    pub event: Option<String>,
    /// How long the window is.
    pub length: Duration,
}

impl Sweep {
    fn of(window: &Window) -> Option<Self> {
        let event = match &window.source {
            WindowSource::CreatedAt => None,
            WindowSource::Event(name) => Some(name.clone()),
            // what becomes of a mail is an event as well, of the same instant
            WindowSource::Activity(activity) => Some(event_of(*activity).to_owned()),
            WindowSource::UpdatedAt | WindowSource::Data(_) => return None,
        };
        Some(Self { event, length: window.length })
    }
}

fn condition(segment: &Segment) -> Option<&Value> {
    segment.condition.as_ref().filter(|_| segment.kind == SegmentType::Dynamic)
}

/// Whether contacts are remembered with the instant at which they leave this window.
fn is_timed(window: &Window) -> bool {
    Sweep::of(window).is_none()
}

/// The facts of a contact while it is judged.
struct View<'a, F> {
    facts: &'a F,
    members: BTreeSet<SegmentId>,
    emitted: BTreeSet<String>,
    now: Timestamp,
}

impl<F: Facts> Facts for View<'_, F> {
    fn contact(&self) -> &Contact {
        self.facts.contact()
    }

    fn last_event(&self, name: &str) -> Option<Timestamp> {
        if self.emitted.contains(name) { Some(self.now) } else { self.facts.last_event(name) }
    }

    fn last_activity(&self, activity: Activity) -> Option<Timestamp> {
        self.facts.last_activity(activity)
    }

    fn is_member(&self, segment: SegmentId) -> bool {
        self.members.contains(&segment)
    }
}
