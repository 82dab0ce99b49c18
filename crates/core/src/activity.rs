//! The feed of everything that happens in a project: what its entries are called, where each is in the one order that
//! all of them have, and which of them somebody asks for.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::event::{CONTACT_SUBSCRIBED, CONTACT_UNSUBSCRIBED, is_reserved};
use crate::ids::EventId;
use crate::names::names_in_json;
use crate::time::Timestamp;

names_in_json! {
    /// What an entry tells of.
    #[derive(PartialOrd, Ord)]
    pub enum ActivityType {
        /// Somebody recorded an event.
        EventTriggered = "event.triggered",
        /// The next hop took a mail.
        EmailSent = "email.sent",
        /// The recipient's host took it.
        EmailDelivered = "email.delivered",
        /// A mail came in.
        EmailReceived = "email.received",
        /// A mail was opened.
        EmailOpened = "email.opened",
        /// A link in it was followed.
        EmailClicked = "email.clicked",
        /// It was refused for good, or came back.
        EmailBounced = "email.bounced",
        /// The recipient called it spam.
        EmailComplaint = "email.complaint",
        /// The recipient opted out by it.
        EmailUnsubscribed = "email.unsubscribed",
        /// A campaign began to be sent.
        CampaignSent = "campaign.sent",
        /// A contact began a workflow.
        WorkflowStarted = "workflow.started",
        /// A contact's way through a workflow ended.
        WorkflowCompleted = "workflow.completed",
        /// A contact was created.
        ContactCreated = "contact.created",
        /// A contact was subscribed.
        ContactSubscribed = "contact.subscribed",
        /// A contact was unsubscribed.
        ContactUnsubscribed = "contact.unsubscribed",
        /// A contact came into a segment.
        SegmentEntered = "segment.entered",
        /// A contact left a segment.
        SegmentExited = "segment.exited",
    }
}

/// The types that are stored as events of one name each.
const NAMED: [(ActivityType, &str); 10] = [
    (ActivityType::EmailSent, "email.sent"),
    (ActivityType::EmailDelivered, "email.delivery"),
    (ActivityType::EmailReceived, "email.received"),
    (ActivityType::EmailOpened, "email.open"),
    (ActivityType::EmailClicked, "email.click"),
    (ActivityType::EmailBounced, "email.bounce"),
    (ActivityType::EmailComplaint, "email.complaint"),
    (ActivityType::EmailUnsubscribed, "email.unsubscribe"),
    (ActivityType::ContactSubscribed, CONTACT_SUBSCRIBED),
    (ActivityType::ContactUnsubscribed, CONTACT_UNSUBSCRIBED),
];

impl ActivityType {
    /// What an event of a name is in the feed.
    pub fn of_event(name: &str) -> Self {
        if let Some((kind, _)) = NAMED.iter().find(|(_, known)| *known == name) {
            return *kind;
        }
        match name.rsplit_once('.') {
            Some((_, "entry")) if is_reserved(name) => Self::SegmentEntered,
            Some((_, "exit")) if is_reserved(name) => Self::SegmentExited,
            _ => Self::EventTriggered,
        }
    }

    /// The one name of the events that it is stored as; `None` where it has many names, or is no event.
    pub fn event_name(self) -> Option<&'static str> {
        NAMED.iter().find(|(kind, _)| *kind == self).map(|(_, name)| *name)
    }

    /// Where entries of the type are stored.
    pub fn source(self) -> Source {
        match self {
            Self::ContactCreated => Source::Contact,
            Self::WorkflowStarted => Source::Started,
            Self::WorkflowCompleted => Source::Completed,
            Self::CampaignSent => Source::Campaign,
            _ => Source::Event,
        }
    }
}

/// What an entry is stored as, in the order in which entries of one time and id stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// An event.
    Event,
    /// A contact that was created.
    Contact,
    /// An execution that began.
    Started,
    /// An execution that ended.
    Completed,
    /// A campaign that was sent.
    Campaign,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Event, Self::Contact, Self::Started, Self::Completed, Self::Campaign];

    /// What stands behind the id of an entry that is no event, because one thing may have several entries.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Event => "",
            Self::Contact => "_created",
            Self::Started => "_started",
            Self::Completed => "_completed",
            Self::Campaign => "_sent",
        }
    }
}

/// The place of an entry in the feed, which is ordered by it. As text it is a cursor: `<ms>_<id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// When it happened.
    pub at: Timestamp,
    /// The id of what the entry is of.
    pub id: Uuid,
    /// What that is.
    pub source: Source,
}

impl Place {
    /// The place before all entries of a time and later.
    pub fn first_of(at: Timestamp) -> Self {
        Self { at, id: Uuid::nil(), source: Source::Event }
    }

    /// The id that no row before this place reaches, for rows whose id has the time of their entry in it.
    pub fn id_bound(&self, of: Source) -> Uuid {
        let (of_id, of_place) = (EventId::from(self.id).instant(), self.at);
        if of_id != of_place {
            // the entry is of something that is older: rows of its time may have any id
            return *EventId::first_of(self.at).as_uuid();
        }
        self.same_time_bound(of)
    }

    /// The id that no row of the time of this place and before it reaches.
    pub fn same_time_bound(&self, of: Source) -> Uuid {
        if of < self.source { Uuid::from_u128(self.id.as_u128().saturating_add(1)) } else { self.id }
    }

    /// How many bytes [`Self::to_bytes`] makes.
    pub const BYTES: usize = 25;

    /// The place as bytes, for storage.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [self.source as u8; Self::BYTES];
        let (at, id) = bytes[1..].split_at_mut(8);
        at.copy_from_slice(&self.at.0.to_be_bytes());
        id.copy_from_slice(self.id.as_bytes());
        bytes
    }

    /// The place that is stored as such bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (source, rest) = bytes.split_first()?;
        let (at, id) = rest.split_first_chunk()?;
        Some(Self {
            at: Timestamp(i64::from_be_bytes(*at)),
            id: Uuid::from_slice(id).ok()?,
            source: Source::ALL.get(usize::from(*source)).copied()?,
        })
    }

    /// The id of the entry.
    pub fn entry_id(&self) -> String {
        format!("{}{}", self.id, self.source.suffix())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.at.0, self.entry_id())
    }
}

/// A text that is no place in the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoPlace;

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let (at, rest) = text.split_once('_').ok_or(NoPlace)?;
        let at = Timestamp(at.parse().map_err(|_| NoPlace)?);
        let (id, suffix) = rest.find('_').map_or((rest, ""), |place| rest.split_at(place));
        let source = Source::ALL.into_iter().find(|source| source.suffix() == suffix).ok_or(NoPlace)?;
        let place = Self { at, id: id.parse().map_err(|_| NoPlace)?, source };
        // what is read back otherwise was not made here
        if place.to_string() == text { Ok(place) } else { Err(NoPlace) }
    }
}

/// Which events an answer has, by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventNames {
    /// All.
    All,
    /// Those of the types.
    OfTypes(BTreeSet<ActivityType>),
}

impl EventNames {
    /// The events of some types; all types where none are given.
    pub fn of(types: Option<&BTreeSet<ActivityType>>) -> Self {
        types.map_or(Self::All, |types| {
            Self::OfTypes(types.iter().copied().filter(|kind| kind.source() == Source::Event).collect())
        })
    }

    /// Whether an event has one of the names.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::OfTypes(types) => types.contains(&ActivityType::of_event(name)),
        }
    }

    /// The names, where they are few and known.
    pub fn known(&self) -> Option<Vec<&'static str>> {
        match self {
            Self::All => None,
            Self::OfTypes(types) => types.iter().map(|kind| kind.event_name()).collect(),
        }
    }

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::OfTypes(types) if types.is_empty())
    }
}

/// The names of the events of a mail.
pub fn names_of_mail() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|(_, name)| *name).filter(|name| name.starts_with("email."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    fn place(at: i64, source: Source) -> Place {
        Place { at: Timestamp(at), id: ID.parse().unwrap(), source }
    }

    #[test]
    fn events_have_their_types() {
        for (name, kind) in [
            ("email.open", ActivityType::EmailOpened),
            ("email.unsubscribe", ActivityType::EmailUnsubscribed),
            ("contact.subscribed", ActivityType::ContactSubscribed),
            ("segment.vip.entry", ActivityType::SegmentEntered),
            ("segment.a.b.exit", ActivityType::SegmentExited),
            ("segment.entry.x", ActivityType::EventTriggered),
            ("my.entry", ActivityType::EventTriggered),
            ("paid", ActivityType::EventTriggered),
        ] {
            assert_eq!(ActivityType::of_event(name), kind, "{name}");
            assert!(EventNames::of(Some(&BTreeSet::from([kind]))).has(name));
        }
        for kind in ActivityType::ALL {
            if let Some(name) = kind.event_name() {
                assert_eq!(ActivityType::of_event(name), kind);
            }
        }
    }

    #[test]
    fn a_place_is_read_as_it_was_written() {
        for source in Source::ALL {
            let place = place(1_700_000_000_000, source);
            assert_eq!(place.to_string().parse(), Ok(place));
            assert_eq!(Place::from_bytes(&place.to_bytes()), Some(place));
        }
        assert_eq!(Place::from_bytes(&[5; Place::BYTES]), None);
        assert_eq!(Place::from_bytes(&[0; 24]), None);
        let upper = ID.to_uppercase();
        for bad in ["", "_", "1_", &format!("1_{ID}_x"), &format!("x_{ID}"), &format!("01_{ID}"), &upper] {
            assert_eq!(bad.parse::<Place>(), Err(NoPlace), "{bad}");
        }
    }

    #[test]
    fn the_bound_of_ids_parts_the_rows_as_places_do() {
        let of = EventId::from(ID.parse::<Uuid>().unwrap()).instant();
        let id = |at: i64, low: u128| {
            let first = EventId::first_of(Timestamp(at)).as_uuid().as_u128();
            Uuid::from_u128(first + low)
        };
        let rows: Vec<Uuid> = [-1, 0, 1]
            .into_iter()
            .flat_map(|step| [id(of.0 + step, 0), id(of.0 + step, 5)])
            .chain([ID.parse().unwrap(), Uuid::from_u128(ID.parse::<Uuid>().unwrap().as_u128() + 1)])
            .collect();
        for at in [of.0, of.0 + 1] {
            for source in Source::ALL {
                let bound = place(at, source);
                for of in [Source::Event, Source::Contact, Source::Started] {
                    for row in &rows {
                        let there = Place { at: EventId::from(*row).instant(), id: *row, source: of };
                        assert_eq!(*row < bound.id_bound(of), there < bound, "{row} {of:?} {bound}");
                    }
                }
            }
        }
    }
}
