//! Which contacts join and leave the tracked segments of a project, judged contact by contact.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::graph::{Graph, Node};
use super::{Segment, SegmentType, event_name};
use crate::contact::Contact;
use crate::event::event_of;
use crate::filter::{Activity, Facts, Filter, References, Window, WindowSource};
use crate::ids::SegmentId;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::address::EmailAddress;
    use crate::ids::ContactId;

    const NOW: Timestamp = Timestamp(1_763_000_000_000);

    struct Person {
        contact: Contact,
        events: BTreeMap<String, Timestamp>,
    }

    impl Facts for Person {
        fn contact(&self) -> &Contact {
            &self.contact
        }

        fn last_event(&self, name: &str) -> Option<Timestamp> {
            self.events.get(name).copied()
        }

        fn last_activity(&self, _: Activity) -> Option<Timestamp> {
            None
        }

        fn is_member(&self, _: SegmentId) -> bool {
            unreachable!("the view knows the members")
        }
    }

    fn person(data: &Value) -> Person {
        let contact = Contact {
            id: ContactId::new(NOW, rand::random()),
            email: EmailAddress::parse("ann@example.com").unwrap(),
            subscribed: true,
            data: data.as_object().unwrap().clone(),
            created_at: NOW,
            updated_at: NOW,
        };
        Person { contact, events: BTreeMap::new() }
    }

    fn segment(n: i64, name: &str, track_membership: bool, filter: &Value) -> Segment {
        Segment {
            id: SegmentId::first_of(Timestamp(n)),
            name: name.to_owned(),
            description: None,
            kind: SegmentType::Dynamic,
            condition: Some(json!({"logic": "AND", "groups": [{"filters": [filter]}]})),
            track_membership,
            member_count: 0,
            created_at: NOW,
            updated_at: NOW,
        }
    }

    fn plan(plan: &str) -> Value {
        json!({"field": "data.plan", "operator": "equals", "value": plan})
    }

    fn member_of(segment: &Segment) -> Value {
        json!({"field": format!("segment.{}", segment.id), "operator": "memberOfSegment"})
    }

    fn judged(live: &Live, person: &Person, members: &[&Segment]) -> Vec<Vec<(SegmentId, bool)>> {
        let members = members.iter().map(|s| s.id).collect();
        let passes = live.judge(person, members, None, NOW);
        passes.iter().map(|p| p.iter().map(|c| (c.segment, c.entered)).collect()).collect()
    }

    #[test]
    fn contacts_join_and_leave_as_the_condition_says() {
        let pro = segment(1, "Pro", true, &plan("pro"));
        let live = Live::new(std::slice::from_ref(&pro));
        let (member, other) = (person(&json!({"plan": "pro"})), person(&json!({"plan": "free"})));
        assert_eq!(judged(&live, &member, &[]), [[(pro.id, true)]]);
        assert!(judged(&live, &member, &[&pro]).is_empty());
        assert_eq!(judged(&live, &other, &[&pro]), [[(pro.id, false)]]);
        assert!(judged(&live, &other, &[]).is_empty());
    }

    #[test]
    fn segments_follow_those_they_name() {
        let pro = segment(3, "Pro", true, &plan("pro"));
        let between = segment(2, "Between", false, &member_of(&pro));
        let outer = segment(1, "Outer", true, &member_of(&between));
        let idle = segment(4, "Idle", false, &plan("idle"));
        let live = Live::new(&[outer.clone(), between.clone(), pro.clone(), idle.clone()]);
        assert!(live.get(idle.id).is_none() && live.get(between.id).is_some());
        assert_eq!(
            judged(&live, &person(&json!({"plan": "pro"})), &[]),
            [[(pro.id, true), (outer.id, true)]]
        );
        // a membership from the time when it was tracked counts no longer
        assert_eq!(judged(&live, &person(&json!({})), &[&between, &outer]), [[(outer.id, false)]]);
        let scope = BTreeSet::from([outer.id]);
        let changes = live.judge(&person(&json!({"plan": "pro"})), BTreeSet::new(), Some(&scope), NOW);
        assert!(changes.is_empty(), "the stored members of the others count: {changes:?}");
    }

    #[test]
    fn the_events_of_joining_and_leaving_are_events() {
        let entry = json!({"field": "event.segment.pro.entry", "operator": "triggered"});
        let pro = segment(2, "Pro", true, &plan("pro"));
        let hears = segment(1, "Hears", true, &entry);
        let live = Live::new(&[pro.clone(), hears.clone()]);
        assert_eq!(
            judged(&live, &person(&json!({"plan": "pro"})), &[]),
            [[(pro.id, true)], [(hears.id, true)]]
        );
    }

    #[test]
    fn a_segment_on_its_own_events_settles() {
        let once = json!({"field": "event.segment.once.entry", "operator": "notTriggered"});
        let once = segment(1, "Once", true, &once);
        let live = Live::new(std::slice::from_ref(&once));
        assert_eq!(judged(&live, &person(&json!({})), &[]), [[(once.id, true)], [(once.id, false)]]);
    }

    #[test]
    fn windows_are_swept_or_timed() {
        let within = |field: &str, operator: &str| json!({"field": field, "operator": operator, "value": 2, "unit": "hours"});
        let hours = Duration::from_hours(2);
        let segments = [
            segment(1, "Date", true, &within("data.renewal", "within")),
            segment(2, "New", true, &within("createdAt", "olderThan")),
            segment(3, "Active", true, &within("event.login", "triggeredWithin")),
            segment(4, "Opened", true, &within("email.opened", "notTriggeredWithin")),
        ];
        let live = Live::new(&segments);
        let sweeps = [None, Some("email.open"), Some("login")];
        let sweeps = sweeps.map(|event| Sweep { event: event.map(str::to_owned), length: hours });
        assert_eq!(live.sweeps(), BTreeSet::from(sweeps));
        assert!(live.has_timers());
        assert_eq!(live.timed_of(segments[0].id).len(), 1);
        assert!(live.timed_of(segments[1].id).is_empty());
        let in_place = segment(5, "In place", false, &within("data.trial", "within"));
        let stands_in = segment(6, "Stands in", true, &member_of(&in_place));
        let stored = segment(7, "Stored", true, &member_of(&segments[0]));
        let naming = Live::new(&[segments[0].clone(), in_place, stands_in.clone(), stored.clone()]);
        assert_eq!(naming.timed_of(stands_in.id).len(), 1);
        assert!(naming.timed_of(stored.id).is_empty(), "the stored segment's own");
        let person = person(&json!({"renewal": "2025-11-13T02:00:00"}));
        let due = Timestamp::parse("2025-11-13T04:00:00.001Z").unwrap();
        assert_eq!(live.due(&person.contact, NOW), Some(due));
        assert_eq!(live.due(&person.contact, due), None);
    }
}
