//! A contact in memory, and whether a filter holds for it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{parse, timed, tree};
use crate::address::EmailAddress;
use crate::contact::Contact;
use crate::filter::{Activity, Facts};
use crate::ids::{ContactId, SegmentId};
use crate::time::Timestamp;

/// 2025-03-10T12:00:00Z.
pub(super) const NOW: Timestamp = Timestamp(1_741_608_000_000);
pub(super) const HOUR: i64 = 3_600_000;
pub(super) const DAY: i64 = 24 * HOUR;

pub(super) struct Person {
    pub(super) contact: Contact,
    pub(super) events: BTreeMap<&'static str, Timestamp>,
    pub(super) opened: Option<Timestamp>,
    pub(super) segments: BTreeSet<SegmentId>,
}

impl Facts for Person {
    fn contact(&self) -> &Contact {
        &self.contact
    }

    fn last_event(&self, name: &str) -> Option<Timestamp> {
        self.events.get(name).copied()
    }

    fn last_activity(&self, activity: Activity) -> Option<Timestamp> {
        self.opened.filter(|_| activity == Activity::Opened)
    }

    fn is_member(&self, segment: SegmentId) -> bool {
        self.segments.contains(&segment)
    }
}

pub(super) fn person(data: Value) -> Person {
    let Value::Object(data) = data else { panic!("custom data is an object") };
    let contact = Contact {
        id: ContactId::new(NOW, rand::random()),
        email: EmailAddress::parse("ada.l_%@example.com")
            .unwrap_or(EmailAddress::from_stored("ada.l_%@example.com")),
        subscribed: true,
        data,
        created_at: NOW,
        updated_at: NOW,
    };
    Person { contact, events: BTreeMap::new(), opened: None, segments: BTreeSet::new() }
}

pub(super) fn holds(person: &Person, filter: Value) -> bool {
    parse(&tree(&[filter])).matches(person, NOW)
}

/// Whether a filter on `data.x` holds where `x` has a value.
pub(super) fn of(value: Value, operator: &str, operand: Value) -> bool {
    holds(&person(json!({ "x": value })), timed("data.x", operator, operand, "days"))
}
