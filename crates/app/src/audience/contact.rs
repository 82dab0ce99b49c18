//! Contacts.

use futures_util::future::{join, join3};
use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::consent::Evidence;
use mailwright_core::contact::{Contact, Subscription};
use mailwright_core::custom_data::{self, Data, DataPatch};
use mailwright_core::excess::{Excess, MAX_LOADED};
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{
    self as store, Change, Contacts, Deleted, List, Sort, Total, Upsert,
};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::names::{Names, Wanted};
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::{Door, Error as StoreError, Load, Tx};

use crate::App;
use crate::audience::consent;
use crate::audience::locale::check_locale;
use crate::audience::track;
use crate::error::{Error, Resource, Result};

pub use mailwright_store::audience::contact::Upserted;

#[derive(Debug)]
pub(crate) struct Operation {
    project: ProjectNumber,
    email: EmailAddress,
    subscription: Subscription,
    evidence: Evidence,
    double_opt_in: bool,
    patch: DataPatch,
    at: Timestamp,
}

/// A page of contacts.
#[derive(Debug)]
pub struct Page {
    /// The contacts.
    pub contacts: Vec<Contact>,
    /// Whether more follow.
    pub has_more: bool,
    /// How many there are in all, on the first page; 0 on later ones.
    pub total: i64,
}

/// Changes of a `PATCH`.
#[derive(Debug, Clone, Default)]
pub struct ContactPatch {
    /// A new address.
    pub email: Option<EmailAddress>,
    /// A new state of the subscription.
    pub subscribed: Option<bool>,
    /// Changes to the custom data; null clears all of it.
    pub data: Patch<Data>,
}

impl App {
    /// Creates or updates the contact with an address.
    pub async fn upsert_contact(
        &self,
        project: &Project,
        actor: &Actor,
        email: EmailAddress,
        subscribed: Option<bool>,
        data: Data,
    ) -> Result<Upserted> {
        check_locale(&data)?;
        let evidence = consent::by(actor);
        let operation = Operation {
            project: project.number,
            subscription: Subscription { given: subscribed, default_for_new: true, preserve_existing: false },
            double_opt_in: project.double_opt_in,
            evidence,
            patch: DataPatch::new(data),
            at: self.0.clock.now(),
            email,
        };
        let route = track::route(project.number, &operation.email);
        let bytes = custom_data::size(&operation.patch.stored);
        let load = Load { project: project.number, rows: 1, bytes };
        let upserted = self.0.audience.upserts.call_sized(route, load, operation).await?;
        let upserted = upserted.map_err(|excess| Error::Invalid(vec![excess.issue()]))?;
        self.wake_segments();
        Ok(upserted)
    }

    /// One contact.
    pub async fn contact(&self, project: &Project, id: ContactId) -> Result<Contact> {
        let number = project.number;
        let found = self.read(body!(async |rx| store::get(rx, number, id).await)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Contact, id))
    }

    /// A page of contacts.
    pub async fn contacts(&self, project: &Project, mut list: List) -> Result<Page> {
        let number = project.number;
        let limit = list.limit;
        list.limit += 1; // one more tells whether there is more
        let known = match (&list.search, list.subscribed, list.after) {
            _ if list.after.is_some() => Some(0),
            (Some(search), None, _) if !search.is_empty() => {
                self.0.audience.email_search_caches.count(number, search).await?
            }
            _ => None,
        };
        let by_address = list.subscribed.is_none();
        let door = if is_slow(&list) { Door::Slow(number) } else { Door::Fast };
        let read = self
            .0
            .db
            .read_by(
                door,
                body!(async |rx| {
                    let total = match known {
                        Some(count) => Total { count, scanned: false },
                        None => store::total(rx, number, &list).await?,
                    };
                    let holding = (by_address && list.after.is_none()).then_some(total.count);
                    let list = List { holding, ..list.clone() };
                    Ok((store::list(rx, number, &list).await?, total))
                }),
            )
            .await;
        if by_address && read.as_ref().is_ok_and(|(_, total)| total.scanned) {
            self.0.audience.email_search_caches.write_soon(number);
        }
        page_of(read.map(|(contacts, total)| (contacts, total.count)), limit)
    }

    /// Changes a contact.
    pub async fn update_contact(
        &self,
        project: &Project,
        actor: &Actor,
        id: ContactId,
        patch: ContactPatch,
    ) -> Result<Contact> {
        let evidence = consent::by(actor);
        if let Patch::Value(data) = &patch.data {
            check_locale(data)?;
        }
        let change = Change {
            email: patch.email,
            subscribed: patch.subscribed,
            clear_data: patch.data == Patch::Null,
            patch: match patch.data {
                Patch::Value(data) => DataPatch::new(data),
                Patch::Absent | Patch::Null => DataPatch::default(),
            },
            double_opt_in: project.double_opt_in,
        };
        let (number, now) = (project.number, self.0.clock.now());
        let updated = self.write(body!(async |tx| {
            let change = change.clone();

            let updated = store::change(tx, number, id, &change, evidence, now).await?;
            let updated = updated.ok_or_else(|| Error::not_found(Resource::Contact, id))?;
            if let Some(subscribed) = updated.flip {
                let flip = NewEvent::flip(number, id, subscribed, evidence, now);
                let mut deltas = Deltas::default();
                event::append(tx, &[flip], &mut deltas).await?;
                deltas.save(tx).await?;
            }
            Ok(updated)
        }));
        let updated = updated.await.map_err(|error| match error {
            Error::Store(error) if error.is_conflict_on("contacts", "email") => {
                Error::Conflict("Another contact of this project has that email address.".into())
            }
            other => other,
        })?;
        self.wake_segments();
        Ok(updated.contact)
    }

    /// Removes a contact with everything that is about it.
    pub async fn delete_contact(&self, project: &Project, actor: &Actor, id: ContactId) -> Result<()> {
        let (number, now) = (project.number, self.0.clock.now());
        loop {
            let actor = actor.clone();
            let step = self.write(body!(async |tx| {
                let actor = actor.clone();

                let deleted = store::delete(tx, number, id, now).await?;
                if let Deleted::Wholly = deleted {
                    let entry = Entry::new(Action::ContactDeleted, id.to_string());
                    audit::record(tx, number, &actor, &entry, now).await?;
                }
                Ok(deleted)
            }));
            match step.await? {
                Deleted::NotFound => return Err(Error::not_found(Resource::Contact, id)),
                Deleted::Partly => {}
                Deleted::Wholly => return Ok(()),
            }
        }
    }

    /// Sorts addresses into those that are contacts and the others, as they were given.
    pub async fn lookup_contacts(
        &self,
        project: &Project,
        given: Vec<String>,
    ) -> Result<(Vec<String>, Vec<String>)> {
        let number = project.number;
        let parsed: Vec<EmailAddress> = given.iter().filter_map(|text| EmailAddress::parse(text)).collect();
        let existing = self.read(body!(async |rx| store::existing(rx, number, &parsed).await)).await?;
        Ok(given.into_iter().partition(|text| {
            EmailAddress::parse(text).is_some_and(|email| existing.contains(email.as_str()))
        }))
    }
}

/// Whether a page of contacts may need a look at all contacts, because no index has the order and the conditions.
/// A page of what was read: one contact more than `limit` if there is more, and how many there are in all.
pub(super) fn page_of(read: mailwright_store::Result<(Vec<Contact>, i64)>, limit: usize) -> Result<Page> {
    let (mut contacts, total) = read.map_err(|error| match error {
        StoreError::ForeignCursor => {
            Error::BadRequest("The cursor does not belong to this list. Start again without a cursor.".into())
        }
        other => other.into(),
    })?;
    let has_more = contacts.len() > limit;
    contacts.truncate(limit);
    Ok(Page { contacts, has_more, total })
}

fn is_slow(list: &List) -> bool {
    let searches = list.search.as_ref().is_some_and(|search| !search.is_empty());
    searches || (list.subscribed.is_some() && list.sort == Sort::Email)
}

pub(crate) type Outcome = std::result::Result<Upserted, Excess>;

pub(crate) async fn run(tx: &mut Tx<'_>, operations: &[Operation]) -> mailwright_store::Result<Vec<Outcome>> {
    let mut wanted = Wanted::default();
    for operation in operations {
        wanted.fields(operation.project, operation.patch.names());
    }
    let (contacts, names) = join(
        Contacts::load_within(tx, operations.iter().map(|o| (o.project, &o.email)), MAX_LOADED),
        Names::load(tx, &wanted),
    )
    .await;
    let (mut contacts, mut names) = (contacts?, names?);
    let mut events = Vec::new();
    let mut outcomes = Vec::with_capacity(operations.len());
    for operation in operations {
        let fits = contacts
            .check(operation.project, &operation.email, &operation.patch)
            .and_then(|()| names.take(operation.project, operation.patch.names(), None, operation.at));
        if let Err(excess) = fits {
            outcomes.push(Err(excess));
            continue;
        }
        let upsert = Upsert {
            project: operation.project,
            email: &operation.email,
            subscription: operation.subscription,
            patch: &operation.patch,
            evidence: operation.evidence,
            double_opt_in: operation.double_opt_in,
        };
        let upserted = contacts.upsert(upsert, operation.at);
        if let Some(subscribed) = upserted.flip {
            let (contact, evidence) = (upserted.contact.id, operation.evidence);
            events.push(NewEvent::flip(operation.project, contact, subscribed, evidence, operation.at));
        }
        outcomes.push(Ok(upserted));
    }
    let mut deltas = Deltas::default();
    let saved = contacts.save(tx, &mut deltas);
    let appended = event::append(tx, &events, &mut deltas);
    let (saved, appended, heard) = join3(saved, appended, deltas.write(tx)).await;
    saved.and(appended)?;
    heard?.tell(tx).await?;
    Ok(outcomes)
}
