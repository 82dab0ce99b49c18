//! Rehearsing with events that are given.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_core::address::EmailAddress;
use mailwright_core::contact::Contact;
use mailwright_core::custom_data::Data;
use mailwright_core::ids::{ContactId, EventId, ProjectNumber, WorkflowId};
use mailwright_core::project::Project;
use mailwright_core::suppression::Held;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::world::Happening;
use mailwright_store::audience::contact::Contacts;
use mailwright_store::audience::filter::FactsOf;
use mailwright_store::{Error as StoreError, Result as StoreResult, Rx, body};
use sha2::{Digest, Sha256};
use tokio::task::block_in_place;
use uuid::Uuid;

use super::person::Known;
use super::plan::{Rehearsal, Which};
use super::rehearsed::Rehearsed;
use super::setting::Setting;
use crate::App;
use crate::error::Result;

/// The most events that one request can give.
pub const MAX_EVENTS: usize = 10_000;

/// How long a request with given events may take.
pub const LONGEST_REQUEST: Duration = Duration::from_secs(20);
/// How many contacts are read at a time.
const TOGETHER: usize = 500;

/// An event that is given.
#[derive(Debug, Clone)]
pub struct ScriptedEvent {
    /// The contact's address. One that is no contact begins as a new one.
    pub email: EmailAddress,
    /// The name.
    pub name: String,
    /// Its data, as tracking takes it.
    pub data: Data,
    /// When it happens.
    pub at: Timestamp,
}

/// A contact with the events that are given of it.
type Scripted = (EmailAddress, Vec<Happening>);

impl App {
    /// Rehearses a workflow with given events until `until`. The events come in parts, each with all events of its
    /// contacts; a part takes a time at most, if there is a limit. Everything that became of a contact is told if it is
    /// the only one.
    pub async fn simulate_events(
        &self,
        project: &Project,
        id: WorkflowId,
        which: (Which, Option<Which>),
        parts: impl IntoIterator<Item = Vec<ScriptedEvent>>,
        until: Timestamp,
        limit: Option<Duration>,
    ) -> Result<Rehearsed> {
        let script = self.script(project, id, which, (Timestamp::FIRST, until)).await?;
        let (number, rehearsal) = (project.number, Arc::new(Rehearsal::new(script)));
        let (mut rehearsed, mut count) = (Rehearsed::begin(&rehearsal), 0);
        for part in parts {
            let (rehearsal, mut into) = (Arc::clone(&rehearsal), rehearsed);
            let contacts = by_contact(part);
            count += contacts.len();
            rehearsed = self
                .read_slow(
                    number,
                    body!(async |rx| {
                        let setting = Setting::load(rx, number, &rehearsal).await?;
                        let ends = limit.map(|limit| (Instant::now() + limit, limit));
                        for page in contacts.chunks(TOGETHER) {
                            add_page(rx, number, (&rehearsal, &setting), page, ends, &mut into).await?;
                        }
                        Ok(into)
                    }),
                )
                .await?;
        }
        if count != 1 {
            rehearsed.trace = None;
        }
        Ok(rehearsed)
    }
}

fn by_contact(events: Vec<ScriptedEvent>) -> Vec<Scripted> {
    let mut of_contacts: BTreeMap<EmailAddress, Vec<Happening>> = BTreeMap::new();
    for ScriptedEvent { email, name, data, at } in events {
        let happening = Happening { id: EventId::first_of(at), name, data, at };
        of_contacts.entry(email).or_default().push(happening);
    }
    for events in of_contacts.values_mut() {
        events.sort_by_key(|event| event.at);
        for (number, event) in events.iter_mut().enumerate() {
            event.id = numbered(event.at, number);
        }
    }
    of_contacts.into_iter().collect()
}

async fn add_page(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    (rehearsal, setting): (&Rehearsal, &Setting),
    page: &[Scripted],
    ends: Option<(Instant, Duration)>,
    into: &mut Rehearsed,
) -> StoreResult<()> {
    let contacts = Contacts::load(rx, page.iter().map(|(email, _)| (project, email))).await?;
    let id = |email: &EmailAddress| contacts.get(project, email).map(|contact| contact.id);
    let ids: Vec<ContactId> = page.iter().filter_map(|(email, _)| id(email)).collect();
    let mut known = setting.known(rx, project, &ids, Timestamp::LAST).await?;
    block_in_place(|| {
        for (email, events) in page {
            if let Some((_, limit)) = ends.filter(|(at, _)| Instant::now() > *at) {
                return Err(StoreError::TooSlow(limit));
            }
            let known = id(email).and_then(|id| known.remove(&id));
            let known = known.unwrap_or_else(|| new_contact(email, events));
            // whether there are others is not known yet
            let is_first = into.trace.is_none();
            into.add(rehearsal, setting, known, events.clone(), is_first)?;
        }
        Ok(())
    })
}

/// A contact that its first event makes.
fn new_contact(email: &EmailAddress, events: &[Happening]) -> Known {
    let at = events.first().map_or(Timestamp(0), |event| event.at);
    let contact = Contact {
        id: made(at, chosen_by(email)).into(),
        email: email.clone(),
        subscribed: true,
        data: Data::new(),
        created_at: at,
        updated_at: at,
    };
    Known { facts: FactsOf::new(contact), held: Held::Nothing, got: Vec::new() }
}

/// The id of an event, by its number among those of its contact: those of an instant are in order.
fn numbered(at: Timestamp, number: usize) -> EventId {
    let mut rest = [0; 10];
    rest[2..].copy_from_slice(&(number as u64).to_be_bytes());
    made(at, rest).into()
}

/// An id that is the same in each rehearsal.
fn made(at: Timestamp, rest: [u8; 10]) -> Uuid {
    let millis = u64::try_from(at.0).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(millis, &rest).into_uuid()
}

/// What chance decides by for a contact that does not exist: the same in each rehearsal.
fn chosen_by(email: &EmailAddress) -> [u8; 10] {
    let mut chosen = [0; 10];
    chosen.copy_from_slice(&Sha256::digest(email.as_str())[..10]);
    chosen
}
