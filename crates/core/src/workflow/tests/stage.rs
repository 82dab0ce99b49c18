//! A contact in memory, to which the effects of steps happen.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::START;
use crate::address::EmailAddress;
use crate::contact::Contact;
use crate::custom_data::{Data, DataPatch};
use crate::event::Activity;
use crate::excess::Excess;
use crate::filter::{Facts, Filter};
use crate::ids::{ContactId, SegmentId, TemplateId};
use crate::suppression::Held;
use crate::template::TemplateType;
use crate::time::Timestamp;
use crate::time_zone::Zone;
use crate::workflow::execution::Execution;
use crate::workflow::rehearsal::Actor;
use crate::workflow::run::Stage;
use crate::workflow::version::{Place, Version};
use crate::workflow::world::{Effect, Happening, Sending, World};

/// What a board was told to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Told {
    Mail(TemplateId, String, Timestamp),
    Contact(Timestamp),
    Segment(SegmentId, bool),
    Request(Place),
}

impl Told {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Mail(..) => "mail",
            Self::Contact(_) => "contact",
            Self::Segment(..) => "segment",
            Self::Request(_) => "request",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Board {
    pub(super) contact: Contact,
    pub(super) templates: BTreeMap<TemplateId, TemplateType>,
    pub(super) events: BTreeMap<String, Timestamp>,
    pub(super) segments: BTreeSet<SegmentId>,
    pub(super) untracked: BTreeMap<SegmentId, Arc<Filter>>,
    pub(super) held: Held,
    pub(super) capped_until: Option<Timestamp>,
    /// The kind of mail of which there may be no more.
    pub(super) used_up: Option<TemplateType>,
    pub(super) zone: Zone,
    pub(super) told: Vec<Told>,
    /// How often there is still time for a step.
    pub(super) time: Cell<u32>,
}

impl Board {
    pub(super) fn new(data: Value) -> Self {
        Self::of(1, data)
    }

    /// One of several contacts.
    pub(super) fn of(number: i64, data: Value) -> Self {
        let contact = Contact {
            id: ContactId::first_of(Timestamp(number)),
            email: EmailAddress::parse("ada@example.com").unwrap(),
            subscribed: true,
            data: data.as_object().cloned().unwrap(),
            created_at: START,
            updated_at: START,
        };
        Self {
            contact,
            templates: BTreeMap::new(),
            events: BTreeMap::new(),
            segments: BTreeSet::new(),
            untracked: BTreeMap::new(),
            held: Held::Nothing,
            capped_until: None,
            used_up: None,
            zone: Zone::UTC,
            told: Vec::new(),
            time: Cell::new(u32::MAX),
        }
    }

    /// Adds a template. Returns the configuration of a step that sends it.
    pub(super) fn template(&mut self, kind: TemplateType) -> Value {
        let id = TemplateId::first_of(Timestamp(self.templates.len() as i64));
        self.templates.insert(id, kind);
        json!({ "templateId": id })
    }
}

impl Facts for Board {
    fn contact(&self) -> &Contact {
        &self.contact
    }

    fn last_event(&self, name: &str) -> Option<Timestamp> {
        self.events.get(name).copied()
    }

    fn last_activity(&self, _: Activity) -> Option<Timestamp> {
        None
    }

    fn is_member(&self, segment: SegmentId) -> bool {
        self.segments.contains(&segment)
    }
}

impl World for Board {
    fn template(&self, id: TemplateId) -> Sending {
        self.templates.get(&id).map_or(Sending::NoTemplate, |kind| Sending::Ready(*kind))
    }

    fn untracked(&self) -> &BTreeMap<SegmentId, Arc<Filter>> {
        &self.untracked
    }

    fn held(&self) -> Held {
        self.held
    }

    fn capped_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.capped_until.filter(|until| *until > now)
    }

    fn has_allowance(&self, kind: TemplateType, _: Timestamp) -> bool {
        self.used_up != Some(kind)
    }

    fn zone(&self) -> &Zone {
        &self.zone
    }

    fn fits(&self, patch: &DataPatch) -> Result<(), Excess> {
        patch.fits(&self.contact.data)
    }

    fn has_static_segment(&self, id: SegmentId) -> bool {
        id == SegmentId::first_of(Timestamp(1))
    }
}

impl Stage for Board {
    fn has_time(&self) -> bool {
        let left = self.time.get();
        self.time.set(left.saturating_sub(1));
        left > 0
    }

    fn apply(&mut self, _: &Version, execution: &mut Execution, effects: Vec<Effect>) {
        for effect in effects {
            let told = match effect {
                Effect::Mail { record, template, to, at, .. } => {
                    execution.log[record].output = json!({ "emailId": "a mail" });
                    let to = to.unwrap_or_else(|| self.contact.email.clone());
                    Told::Mail(template, to.to_string(), at)
                }
                Effect::Contact { patch, subscribed, at } => {
                    patch.apply(&mut self.contact.data);
                    self.contact.subscribed = subscribed.unwrap_or(self.contact.subscribed);
                    Told::Contact(at)
                }
                Effect::Segment { id, adds, .. } => {
                    if adds {
                        self.segments.insert(id)
                    } else {
                        self.segments.remove(&id)
                    };
                    Told::Segment(id, adds)
                }
                Effect::Request { step, .. } => Told::Request(step),
            };
            self.told.push(told);
        }
    }
}

impl Actor for Board {
    fn take_in(&mut self, event: &Happening) {
        self.events.insert(event.name.clone(), event.at);
    }

    fn caused(&mut self) -> Vec<Happening> {
        Vec::new()
    }
}

/// Data of an event that is stored with the contact as well, as its sender may have it.
pub(super) fn one_off(value: Value) -> Data {
    let mut data = Data::new();
    data.insert("order".into(), json!({ "value": value, "persistent": false }));
    data
}
