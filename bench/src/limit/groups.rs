//! The rows that calls write, made before the clock runs.

use mailwright_core::email::EmailStatus;
use mailwright_core::ids::{ContactId, EmailId, EventId};
use mailwright_core::time::{Clock, Timestamp};
use uuid::Uuid;

use crate::letter;
use crate::people::{self, EVENTS, Kind, People, SCORES, STRANGER_DATA, STRANGER_KEYS};
use crate::random::{Random, Shuffle};

/// Whose rows are written.
#[derive(Debug)]
pub(crate) enum Rows {
    /// Those of `/v1/track`.
    Track {
        /// Whether each contact that is not written is looked up by its address, as a server has to.
        look_up: bool,
    },
    /// Those of `/v1/send`.
    Send(Mail),
}

/// What all mails have in common.
#[derive(Debug, Clone)]
pub(crate) struct Mail {
    pub(crate) from: String,
    pub(crate) subject: &'static str,
    pub(crate) html: String,
}

impl Mail {
    /// Stands for the hash of the content.
    pub(super) const HASH: [u8; 32] = [0xBE; 32];
}

/// The rows of one transaction, column by column.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) contacts: Contacts,
    pub(super) events: Events,
    pub(super) mails: Mails,
    pub(super) counters: Counters,
    /// What all mails of the group have in common; `None` for events.
    pub(super) mail: Option<Mail>,
    /// Addresses to look up.
    pub(super) look_up: Vec<String>,
}

/// Contacts that are created or changed.
#[derive(Debug, Default)]
pub(super) struct Contacts {
    pub(super) ids: Vec<Uuid>,
    pub(super) emails: Vec<String>,
    pub(super) subscribed: Vec<bool>,
    pub(super) data: Vec<String>,
    pub(super) at: Vec<i64>,
}

/// Events.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) ids: Vec<Uuid>,
    pub(super) names: Vec<&'static str>,
    pub(super) contacts: Vec<Uuid>,
    pub(super) data: Vec<Option<String>>,
    pub(super) at: Vec<i64>,
}

/// Mails.
#[derive(Debug, Default)]
pub(super) struct Mails {
    pub(super) ids: Vec<Uuid>,
    pub(super) contacts: Vec<Uuid>,
    pub(super) recipients: Vec<String>,
    pub(super) variables: Vec<String>,
    pub(super) message_ids: Vec<String>,
    pub(super) at: Vec<i64>,
}

/// What is added to sums.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) kinds: Vec<&'static str>,
    pub(super) names: Vec<&'static str>,
    pub(super) deltas: Vec<i64>,
}

impl Group {
    /// Calls whose rows these are.
    pub(super) fn calls(&self) -> usize {
        self.events.ids.len() + self.mails.ids.len()
    }
}

impl Counters {
    fn add(&mut self, kind: &'static str, name: &'static str, delta: i64) {
        let known = self.kinds.iter().zip(&self.names).position(|(k, n)| (*k, *n) == (kind, name));
        if let Some(at) = known {
            self.deltas[at] += delta;
        } else {
            self.kinds.push(kind);
            self.names.push(name);
            self.deltas.push(delta);
        }
    }

    fn add_contact(&mut self, subscribed: bool, fields: &[&'static str]) {
        self.add("contacts", "", 1);
        if subscribed {
            self.add("subscribed", "", 1);
        }
        for field in fields {
            self.add("field", field, 1);
        }
    }
}

/// Makes groups.
pub(super) struct Source<'p> {
    people: &'p People,
    rows: &'p Rows,
    random: Random,
    order: Shuffle,
    clock: Clock,
}

impl<'p> Source<'p> {
    pub(super) fn new(people: &'p People, rows: &'p Rows) -> Self {
        let clock = Clock::system();
        // another part of the contacts each time
        let seed = clock.now().0 as u64;
        let order = Shuffle::new(people.len(), seed);
        Self { people, rows, random: Random::new(seed), order, clock }
    }

    /// The rows of `calls` calls.
    pub(super) fn group(&mut self, calls: usize) -> Group {
        let mut group = Group::default();
        for _ in 0..calls {
            let now = self.clock.now();
            match self.rows {
                Rows::Track { look_up } => self.track(*look_up, now, &mut group),
                Rows::Send(mail) => self.send(mail, now, &mut group),
            }
        }
        group
    }

    fn track(&mut self, look_up: bool, now: Timestamp, group: &mut Group) {
        let kind = Kind::of(self.random.next());
        let name = EVENTS[self.random.below(EVENTS.len())];
        let (contact, data) = match kind {
            Kind::New => {
                let id = self.stranger(true, STRANGER_DATA.to_owned(), &STRANGER_KEYS, now, group);
                (id, Some(STRANGER_DATA.to_owned()))
            }
            Kind::Changed | Kind::Known => {
                let number = self.order.next();
                let id = self.people.id(number);
                let mut data = None;
                if kind == Kind::Changed {
                    let score = SCORES + self.random.below(1_000_000_000);
                    data = Some(format!("{{\"score\":{score}}}"));
                    let email = people::email(number);
                    group.contacts.push(id, email, true, people::data_with_score(number, score), now);
                } else if look_up {
                    group.look_up.push(people::email(number));
                }
                (id, data)
            }
        };
        let events = &mut group.events;
        events.ids.push(EventId::new(now, rand::random()).into());
        events.names.push(name);
        events.contacts.push(contact);
        events.data.push(data);
        events.at.push(now.0);
        group.counters.add("event", name, 1);
    }

    fn send(&mut self, mail: &Mail, now: Timestamp, group: &mut Group) {
        let code = self.random.below(1_000_000);
        let (contact, recipient, first_name) = if Kind::of(self.random.next()) == Kind::New {
            let data = r#"{"firstName":"Ada"}"#.to_owned();
            let id = self.stranger(false, data, &["firstName"], now, group);
            (id, group.contacts.emails.last().cloned().unwrap_or_default(), "Ada")
        } else {
            let number = self.order.next();
            (self.people.id(number), people::email(number), people::first_name(number))
        };
        let id = EmailId::new(now, rand::random());
        let domain = mail.from.rsplit_once('@').map_or("", |(_, domain)| domain);
        let mails = &mut group.mails;
        mails.ids.push(id.into());
        mails.contacts.push(contact);
        mails.recipients.push(recipient);
        mails.variables.push(letter::variables(first_name, code));
        mails.message_ids.push(format!("{id}@{domain}"));
        mails.at.push(now.0);
        group.counters.add("email", EmailStatus::Pending.as_str(), 1);
        if group.mail.is_none() {
            group.mail = Some(mail.clone());
        }
    }

    /// Somebody who is not in the database yet.
    fn stranger(
        &mut self,
        subscribed: bool,
        data: String,
        fields: &[&'static str],
        now: Timestamp,
        group: &mut Group,
    ) -> Uuid {
        let id = ContactId::new(now, rand::random()).into();
        group.contacts.push(id, self.people.stranger(), subscribed, data, now);
        group.counters.add_contact(subscribed, fields);
        id
    }
}

impl Contacts {
    fn push(&mut self, id: Uuid, email: String, subscribed: bool, data: String, at: Timestamp) {
        self.ids.push(id);
        self.emails.push(email);
        self.subscribed.push(subscribed);
        self.data.push(data);
        self.at.push(at.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_the_rows_of_their_calls() {
        let people = People::new((0..1000).map(|_| Uuid::nil()).collect());
        let group = Source::new(&people, &Rows::Track { look_up: true }).group(400);
        assert_eq!((group.calls(), group.mails.ids.len()), (400, 0));
        assert_eq!(group.contacts.ids.len() + group.look_up.len(), 400);
        let mail = Mail { from: "a@b.cc".into(), subject: "x", html: String::new() };
        let group = Source::new(&people, &Rows::Send(mail)).group(400);
        assert_eq!((group.calls(), group.events.ids.len()), (400, 0));
        assert_eq!(
            group.counters.deltas[group.counters.kinds.iter().position(|k| *k == "email").unwrap()],
            400
        );
    }
}
