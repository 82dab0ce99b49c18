//! A made-up history, as plain lists. Figures are counted again from these.

use std::ops::Range;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, EventId, ExecutionId};
use mailwright_core::workflow::kind::ExecutionStatus;
use mailwright_tests::random::Random;
use uuid::Uuid;

/// The time zones in which days are counted. Each sets its clocks twice a year, the last one by half an hour.
pub(super) const ZONES: [&str; 3] = ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe"];

/// The zone of a name.
pub(super) fn zone(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).expect("a time zone")
}

/// How much of everything there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) contacts: usize,
    pub(super) campaigns: usize,
    pub(super) mails: usize,
    pub(super) tracked: usize,
    pub(super) executions: usize,
    pub(super) inbound: usize,
    /// Workflows and templates that mails and executions may be of.
    pub(super) workflows: usize,
    pub(super) templates: usize,
}

#[derive(Debug)]
pub(super) struct Contact {
    /// Nil until it is stored.
    pub(super) id: ContactId,
    pub(super) at: i64,
    pub(super) address: String,
}

#[derive(Debug)]
pub(super) struct Campaign {
    pub(super) id: CampaignId,
    pub(super) name: String,
    pub(super) at: i64,
    pub(super) state: CampaignState,
    /// What its mails link to, in the order of the mail; two may lead to the same.
    pub(super) links: Vec<Link>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CampaignState {
    Draft,
    Scheduled,
    Cancelled,
    Sent(i64),
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) url: String,
    pub(super) clicks: i64,
    pub(super) people: i64,
    pub(super) machines: i64,
}

#[derive(Debug)]
pub(super) struct Mail {
    pub(super) id: EmailId,
    /// When it was accepted.
    pub(super) at: i64,
    pub(super) contact: usize,
    pub(super) campaign: Option<usize>,
    pub(super) workflow: Option<usize>,
    pub(super) template: Option<usize>,
    pub(super) fate: Fate,
    /// The events that tell what became of it.
    pub(super) events: Range<usize>,
}

/// What became of a mail.
#[derive(Debug)]
pub(super) enum Fate {
    Suppressed,
    /// Of campaigns only: the contact was not subscribed.
    Skipped,
    Waiting,
    BeingHandedOver,
    Failed,
    InDoubt,
    /// Refused when it was handed over.
    Refused(i64),
    Sent(Left),
}

/// What became of a mail that left.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) at: i64,
    pub(super) delivered: Option<i64>,
    pub(super) opens: Vec<i64>,
    pub(super) clicks: Vec<i64>,
    pub(super) bounced: Option<i64>,
    pub(super) complained: Option<i64>,
    pub(super) unsubscribed: Option<i64>,
    pub(super) is_opened_by_machine: bool,
}

impl Mail {
    pub(super) fn left(&self) -> Option<&Left> {
        match &self.fate {
            Fate::Sent(left) => Some(left),
            _ => None,
        }
    }

    pub(super) fn is_bounced(&self) -> bool {
        matches!(self.fate, Fate::Refused(_)) || self.left().is_some_and(|left| left.bounced.is_some())
    }
}

/// What an event is about besides its contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    Nothing,
    Mail(usize),
    Inbound(usize),
}

#[derive(Debug)]
pub(super) struct Event {
    pub(super) id: EventId,
    pub(super) at: i64,
    pub(super) name: String,
    pub(super) contact: usize,
    pub(super) about: About,
}

#[derive(Debug)]
pub(super) struct Execution {
    pub(super) id: ExecutionId,
    pub(super) at: i64,
    pub(super) workflow: usize,
    pub(super) contact: usize,
    pub(super) ended: Option<(i64, ExecutionStatus)>,
}

#[derive(Debug)]
pub(super) struct Inbound {
    pub(super) id: EmailId,
    pub(super) at: i64,
    pub(super) contact: usize,
}

/// Everything.
#[derive(Debug)]
pub(super) struct History {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) contacts: Vec<Contact>,
    pub(super) campaigns: Vec<Campaign>,
    pub(super) mails: Vec<Mail>,
    pub(super) events: Vec<Event>,
    /// Those of the events that are about no mail that was sent.
    pub(super) tracked: Range<usize>,
    pub(super) executions: Vec<Execution>,
    pub(super) inbound: Vec<Inbound>,
}

/// An identifier of version 7 that the generator alone decides.
pub(super) fn id<T: From<Uuid>>(at: i64, random: &mut Random) -> T {
    let bytes: [u8; 10] = std::array::from_fn(|_| random.below(256) as u8);
    uuid::Builder::from_unix_timestamp_millis(at as u64, &bytes).into_uuid().into()
}

/// The recipient's domain.
pub(super) fn domain(address: &str) -> &str {
    address.rsplit_once('@').map_or("", |(_, domain)| domain)
}

impl History {
    /// Adds events that happened a moment ago: `count` of them, each so many milliseconds before `now`.
    pub(super) fn add_recent(&mut self, random: &mut Random, now: i64, ago: Range<i64>, count: usize) {
        let length = (ago.end - ago.start) as u64;
        for _ in 0..count {
            let at = now - ago.start - random.below(length) as i64;
            let contact = random.below(self.contacts.len() as u64) as usize;
            let (id, name) = (id(at, random), "page.viewed".to_owned());
            self.events.push(Event { id, at, name, contact, about: About::Nothing });
        }
    }
}
