//! A contact of a rehearsal: what its steps do happens in memory alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use mailwright_core::consent::ConsentWay;
use mailwright_core::contact::Contact;
use mailwright_core::custom_data::{Data, DataPatch};
use mailwright_core::event::{Activity, subscription_event};
use mailwright_core::excess::Excess;
use mailwright_core::filter::{Facts, Filter};
use mailwright_core::ids::{ContactId, EventId, SegmentId, TemplateId};
use mailwright_core::project::MarketingCap;
use mailwright_core::suppression::Held;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_core::time_zone::Zone;
use mailwright_core::workflow::execution::Execution;
use mailwright_core::workflow::rehearsal::Actor;
use mailwright_core::workflow::run::Stage;
use mailwright_core::workflow::version::Version;
use mailwright_core::workflow::world::{Effect, Happening, Sending, World};
use mailwright_store::audience::filter::FactsOf;

/// What is the same for all contacts of a rehearsal.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) zone: Zone,
    pub(super) cap: Option<MarketingCap>,
    pub(super) templates: BTreeMap<TemplateId, Sending>,
    pub(super) untracked: BTreeMap<SegmentId, Arc<Filter>>,
    pub(super) static_segments: BTreeSet<SegmentId>,
}

/// A contact as it begins.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) facts: FactsOf,
    pub(super) held: Held,
    /// When it got mails that the cap counts, the newest first.
    pub(super) got: Vec<Timestamp>,
}

impl Known {
    pub(super) fn id(&self) -> ContactId {
        self.facts.contact().id
    }
}

/// A contact of a rehearsal.
pub(super) struct Person<'s> {
    pub(super) scene: &'s Scene,
    pub(super) facts: FactsOf,
    pub(super) held: Held,
    /// When it got mails that the cap counts, the newest first.
    got: Vec<Timestamp>,
    caused: Vec<Happening>,
    /// Until when steps are taken.
    ends: Instant,
}

impl<'s> Person<'s> {
    pub(super) fn new(scene: &'s Scene, begins: Known, ends: Instant) -> Self {
        let Known { facts, held, got } = begins;
        Self { scene, facts, held, got, caused: Vec::new(), ends }
    }
}

impl Facts for Person<'_> {
    fn contact(&self) -> &Contact {
        self.facts.contact()
    }

    fn last_event(&self, name: &str) -> Option<Timestamp> {
        self.facts.last_event(name)
    }

    fn last_activity(&self, activity: Activity) -> Option<Timestamp> {
        self.facts.last_activity(activity)
    }

    fn is_member(&self, segment: SegmentId) -> bool {
        self.facts.is_member(segment)
    }
}

impl World for Person<'_> {
    fn template(&self, id: TemplateId) -> Sending {
        self.scene.templates.get(&id).copied().unwrap_or(Sending::NoTemplate)
    }

    fn untracked(&self) -> &BTreeMap<SegmentId, Arc<Filter>> {
        &self.scene.untracked
    }

    fn held(&self) -> Held {
        self.held
    }

    fn capped_until(&self, now: Timestamp) -> Option<Timestamp> {
        let later = self.got.partition_point(|at| *at > now);
        self.scene.cap.and_then(|cap| cap.until(&self.got[later..], now))
    }

    /// Nobody knows how much of a limit is used by the time that is rehearsed.
    fn has_allowance(&self, _: TemplateType, _: Timestamp) -> bool {
        true
    }

    fn zone(&self) -> &Zone {
        &self.scene.zone
    }

    fn fits(&self, patch: &DataPatch) -> Result<(), Excess> {
        patch.fits(&self.facts.contact().data)
    }

    fn has_static_segment(&self, id: SegmentId) -> bool {
        self.scene.static_segments.contains(&id)
    }
}

impl Stage for Person<'_> {
    fn has_time(&self) -> bool {
        Instant::now() < self.ends
    }

    fn apply(&mut self, _: &Version, _: &mut Execution, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Mail { template, to, at, .. } => {
                    if self.template(template).counts_for_cap(to.as_ref()) {
                        let later = self.got.partition_point(|got| *got > at);
                        self.got.insert(later, at);
                    }
                }
                Effect::Contact { patch, subscribed, at } => self.change(&patch, subscribed, at),
                Effect::Segment { id, adds, .. } => self.facts.set_member(id, adds),
                Effect::Request { .. } => {}
            }
        }
    }
}

impl Person<'_> {
    fn change(&mut self, patch: &DataPatch, subscribed: Option<bool>, at: Timestamp) {
        let contact = self.facts.contact_mut();
        let before = contact.subscribed;
        contact.subscribed = subscribed.unwrap_or(before);
        let flipped = contact.subscribed != before;
        if patch.apply(&mut contact.data) || flipped {
            contact.updated_at = at;
        }
        if flipped {
            let name = subscription_event(contact.subscribed).to_owned();
            // it comes after all that was recorded at this instant
            let id = EventId::first_of(Timestamp(at.0 + 1));
            self.caused.push(Happening { id, name, data: flip_data(contact.subscribed), at });
        }
    }
}

/// What the event says when a step changes a subscription.
pub(super) fn flip_data(subscribed: bool) -> Data {
    let mut data = Data::new();
    if !subscribed {
        data.insert("reason".to_owned(), ConsentWay::Workflow.as_str().into());
    }
    data
}

impl Actor for Person<'_> {
    /// What an event carries is stored with the contact, as tracking does.
    fn take_in(&mut self, event: &Happening) {
        // what the service records of a subscription says how that is known, and nothing of the contact
        let is_flip = [true, false].map(subscription_event).contains(&event.name.as_str());
        let data = if is_flip { Data::new() } else { event.data.clone() };
        let patch = DataPatch::new(data);
        let contact = self.facts.contact_mut();
        if patch.fits(&contact.data).is_ok() && patch.apply(&mut contact.data) {
            contact.updated_at = event.at;
        }
        self.facts.set_last_event(&event.name, event.at);
    }

    fn caused(&mut self) -> Vec<Happening> {
        std::mem::take(&mut self.caused)
    }
}
