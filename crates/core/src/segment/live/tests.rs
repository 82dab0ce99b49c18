use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Live, Segment, SegmentType, Sweep};
use crate::address::EmailAddress;
use crate::contact::Contact;
use crate::filter::{Activity, Facts};
use crate::ids::{ContactId, SegmentId};
use crate::time::Timestamp;

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
    assert_eq!(judged(&live, &person(&json!({"plan": "pro"})), &[]), [[(pro.id, true), (outer.id, true)]]);
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
    assert_eq!(judged(&live, &person(&json!({"plan": "pro"})), &[]), [[(pro.id, true)], [(hears.id, true)]]);
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
