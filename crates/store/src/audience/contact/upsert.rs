//! Upserts of contacts in groups.
//!
//! Contacts are loaded without locks, changed in memory by the contract's merge (`core::custom_data`), and saved on
//! condition that their `revision` is unchanged. If another transaction was faster, the save fails with `Contention`
//! and the body runs again. Rows are saved in the order of their keys, so that groups cannot deadlock.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::{BoxFuture, join5};
use mailwright_core::activity::{Place, Source};
use mailwright_core::address::EmailAddress;
use mailwright_core::consent::Evidence;
use mailwright_core::contact::{Contact, Subscription};
use mailwright_core::custom_data::{self, Data, DataPatch, FieldType};
use mailwright_core::excess::Excess;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;

use super::record::{COLUMNS, read};
use crate::audience::consent::Changes;
use crate::audience::erased::{self, Erased};
use crate::audience::suppression;
use crate::database::error::{Error, Result};
use crate::database::tx::{Rx, Tx};
use crate::database::value::{Arg, json_text};
use crate::insight::cohorts;
use crate::insight::counter::Counter;
use crate::insight::deltas::Deltas;

type Key = (ProjectNumber, EmailAddress);

/// The changes that a request makes to a contact.
#[derive(Debug, Clone, Copy)]
pub struct Upsert<'a> {
    /// Project.
    pub project: ProjectNumber,
    /// Address.
    pub email: &'a EmailAddress,
    /// How the request changes the subscription.
    pub subscription: Subscription,
    /// Changes to the custom data.
    pub patch: &'a DataPatch,
    /// How it is known that the contact wants the subscription to be changed.
    pub evidence: Evidence,
    /// Whether a contact that it would subscribe is asked to confirm instead, unless it is the person who acts.
    pub double_opt_in: bool,
}

/// What an upsert did.
#[derive(Debug, Clone)]
pub struct Upserted {
    /// The contact as it is now.
    pub contact: Contact,
    /// Whether the upsert created it.
    pub is_new: bool,
    /// The new state of the subscription, if it flipped. Creating a contact is no flip.
    pub flip: Option<bool>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) contact: Contact,
    /// Whether somebody with the public key was told its id.
    pub(super) id_told: bool,
    /// Revision and values as stored; `None` for a contact that does not exist yet.
    pub(super) stored: Option<(i64, bool, Data)>,
    pub(super) dirty: bool,
}

/// The contacts a group of operations is about: loaded together, changed in memory, saved together.
///
/// Nothing is locked between loading and saving. A contact that another transaction changed or created meanwhile makes
/// [`Contacts::save`] fail with [`Error::Contention`], and the whole group is run again.
#[derive(Debug, Default)]
pub struct Contacts {
    states: BTreeMap<Key, State>,
    /// What is to be kept of changed subscriptions.
    changes: Changes,
    /// The addresses without a contact that were erased and are kept out.
    kept_out: BTreeMap<Key, Erased>,
    /// Those of them that are let in again, if a contact is made of them.
    readmitted: BTreeMap<Key, Erased>,
}

impl Contacts {
    /// Loads the contacts with the given addresses, as far as they exist.
    pub async fn load(
        rx: &Rx<'_>,
        keys: impl Iterator<Item = (ProjectNumber, &EmailAddress)>,
    ) -> Result<Self> {
        Self::load_within(rx, keys, usize::MAX).await
    }

    /// The same; fails with an excess when several contacts have more than `most` bytes of data together.
    pub async fn load_within(
        rx: &Rx<'_>,
        keys: impl Iterator<Item = (ProjectNumber, &EmailAddress)>,
        most: usize,
    ) -> Result<Self> {
        let keys: Vec<_> = keys.collect::<BTreeSet<_>>().into_iter().collect();
        let (mut states, mut bytes) = (BTreeMap::new(), 0);
        for keys in keys.chunks(LOADED_AT_ONCE) {
            for (contact, project, revision, id_told) in read_some(rx, keys).await? {
                bytes += custom_data::size(&contact.data);
                let stored = Some((revision, contact.subscribed, contact.data.clone()));
                states.insert(
                    (project, contact.email.clone()),
                    State { contact, id_told, stored, dirty: false },
                );
                if bytes > most && states.len() > 1 {
                    return Err(Error::Excess(Excess::Contacts));
                }
            }
        }
        let new: Vec<_> = keys
            .into_iter()
            .filter(|(project, email)| !states.contains_key(&(*project, (*email).clone())))
            .collect();
        let mut kept_out = erased::among(rx, &new).await?;
        kept_out.retain(|_, erased| erased.kept_out);
        Ok(Self { states, kept_out, ..Self::default() })
    }

    /// Whether an address was erased and no contact may be made of it.
    pub fn is_kept_out(&self, project: ProjectNumber, email: &EmailAddress) -> bool {
        self.kept_out.contains_key(&(project, email.clone()))
    }

    /// Lets an address in again, because its owner asks for it. Not while the erasure is under way.
    pub fn readmit(&mut self, project: ProjectNumber, email: &EmailAddress) {
        let key = (project, email.clone());
        if let Some(erased) = self.kept_out.get(&key).filter(|erased| !erased.is_under_way).cloned() {
            self.kept_out.remove(&key);
            self.readmitted.insert(key, erased);
        }
    }

    /// The contact with an address, changes in memory included.
    pub fn get(&self, project: ProjectNumber, email: &EmailAddress) -> Option<&Contact> {
        self.states.get(&(project, email.clone())).map(|state| &state.contact)
    }

    /// Notes that an answer to the public key contains the id of a contact.
    pub fn tell_id(&mut self, project: ProjectNumber, email: &EmailAddress) {
        if let Some(state) = self.states.get_mut(&(project, email.clone()))
            && !state.id_told
        {
            state.id_told = true;
            state.dirty = true;
        }
    }

    /// Whether a contact may be there, and can hold what a patch would make of its data.
    pub fn check(
        &self,
        project: ProjectNumber,
        email: &EmailAddress,
        patch: &DataPatch,
    ) -> std::result::Result<(), Excess> {
        if self.is_kept_out(project, email) {
            return Err(Excess::Erased);
        }
        patch.fits(self.get(project, email).map_or(&Data::new(), |contact| &contact.data))
    }

    /// Applies an upsert in memory.
    pub fn upsert(&mut self, upsert: Upsert<'_>, now: Timestamp) -> Upserted {
        let Upsert { project, email, subscription, patch, evidence, double_opt_in } = upsert;
        let asks = evidence.asks(double_opt_in);
        let key = (project, email.clone());
        if let Some(state) = self.states.get_mut(&key) {
            let (id, before) = (state.contact.id, state.contact.subscribed);
            let wanted = subscription.for_existing(before);
            let is_asked = asks && wanted && !before;
            state.contact.subscribed = wanted && !is_asked;
            let flip = (state.contact.subscribed != before).then_some(state.contact.subscribed);
            if patch.apply(&mut state.contact.data) || flip.is_some() {
                state.dirty = true;
                state.contact.updated_at = now;
            }
            if is_asked {
                self.changes.ask(project, id, evidence, now);
            } else if let Some(subscribed) = flip {
                self.changes.flip((project, id), subscribed, false, evidence, now);
            }
            return Upserted { contact: state.contact.clone(), is_new: false, flip };
        }
        let mut data = Data::new();
        patch.apply(&mut data);
        let (id, wanted) = (ContactId::new(now, rand::random()), subscription.for_new());
        let is_asked = asks && wanted;
        let contact = Contact {
            id,
            email: email.clone(),
            subscribed: wanted && !is_asked,
            data,
            created_at: now,
            updated_at: now,
        };
        if is_asked {
            self.changes.ask(project, id, evidence, now);
        } else {
            self.changes.flip((project, id), wanted, true, evidence, now);
        }
        let state = State { contact: contact.clone(), id_told: false, stored: None, dirty: true };
        self.states.insert(key, state);
        Upserted { contact, is_new: true, flip: None }
    }

    /// Writes what changed. It is counted at once, and written when the future is awaited.
    ///
    /// Fails with an excess when a contact was made of an address that is kept out, which [`Contacts::check`] tells before.
    pub fn save<'t>(self, tx: &'t Tx<'_>, deltas: &mut Deltas) -> BoxFuture<'t, Result<()>> {
        if self.kept_out.keys().any(|key| self.states.contains_key(key)) {
            return Box::pin(async { Err(Error::Excess(Excess::Erased)) });
        }
        let readmitted: Vec<_> = self
            .readmitted
            .into_iter()
            .filter(|(key, _)| self.states.contains_key(key))
            .map(|((project, _), erased)| (project, erased.hash))
            .collect();
        let changed: Vec<_> = self.states.into_iter().filter(|(_, state)| state.dirty).collect();
        let mut fields = BTreeMap::new();
        for ((project, _), state) in &changed {
            count(*project, state, deltas, &mut fields);
            deltas.touch(*project, state.contact.id, state.contact.updated_at);
        }
        let written = write(tx, changed, fields, self.changes);
        Box::pin(async move {
            erased::readmit(tx, &readmitted).await?;
            written.await
        })
    }
}

/// How many contacts are read with one statement.
const LOADED_AT_ONCE: usize = 256;

async fn read_some(
    rx: &Rx<'_>,
    keys: &[(ProjectNumber, &EmailAddress)],
) -> Result<Vec<(Contact, ProjectNumber, i64, bool)>> {
    rx.each_returning(
        format!(
            "select {COLUMNS}, c.project_id, c.revision, c.id_told from {{rows r: project_id int, email text}} \
             join contacts c on c.project_id = r.project_id and c.email = r.email"
        ),
        &[
            Arg::Ints(keys.iter().map(|(project, _)| Some(project.0)).collect()),
            Arg::Texts(keys.iter().map(|(_, email)| Some(email.as_str().into())).collect()),
        ],
        |r| Ok((read(r)?, ProjectNumber(r.get(6)?), r.get::<i64>(7)?, r.get::<bool>(8)?)),
    )
    .await
}

pub(super) type Fields = BTreeMap<(ProjectNumber, String), (FieldType, Timestamp)>;

/// Counts what a changed contact changes in the sums, and notes the fields it has for the first time.
pub(super) fn count(project: ProjectNumber, state: &State, deltas: &mut Deltas, fields: &mut Fields) {
    let none = Data::new();
    let (was_subscribed, before) = if let Some((_, subscribed, data)) = &state.stored {
        (*subscribed, data)
    } else {
        deltas.add(project, Counter::Contacts, "", 1);
        let (at, id) = (state.contact.created_at, state.contact.id.into());
        cohorts::count(deltas.sums(), project, state.contact.id, 1);
        deltas.sums().note(project, Place { at, id, source: Source::Contact });
        (false, &none)
    };
    deltas.add(
        project,
        Counter::Subscribed,
        "",
        i64::from(state.contact.subscribed) - i64::from(was_subscribed),
    );
    for (key, value) in &state.contact.data {
        if !before.contains_key(key) {
            deltas.add(project, Counter::Field, key, 1);
            fields
                .entry((project, key.clone()))
                .or_insert((FieldType::infer(value), state.contact.updated_at));
        }
    }
    for key in before.keys().filter(|key| !state.contact.data.contains_key(*key)) {
        deltas.add(project, Counter::Field, key, -1);
    }
}

async fn write(tx: &Tx<'_>, changed: Vec<(Key, State)>, fields: Fields, consent: Changes) -> Result<()> {
    let (new, old): (Vec<_>, Vec<_>) = changed.iter().partition(|(_, state)| state.stored.is_none());
    let subscribed_again = |state: &State| {
        state.contact.subscribed && state.stored.as_ref().is_some_and(|(_, before, _)| !before)
    };
    let lifted: Vec<_> = old
        .iter()
        .filter(|(_, state)| subscribed_again(state))
        .map(|((project, email), _)| (*project, email))
        .collect();
    let (inserted, updated, lifted, registered, kept) = join5(
        insert(tx, &new),
        update(tx, &old),
        suppression::lift(tx, &lifted),
        register_fields(tx, &fields),
        consent.save(tx),
    )
    .await;
    inserted.and(updated).and(lifted).and(registered).and(kept)
}

async fn insert(tx: &Tx<'_>, rows: &[&(Key, State)]) -> Result<()> {
    let inserted = tx
        .insert_each(
            "insert into contacts (project_id, id, email, subscribed, id_told, data, revision, created_at, updated_at) \
             select r.project_id, r.id, r.email, r.subscribed, r.id_told, r.data, 1, r.created_at, r.created_at \
             from {rows r: project_id int, id id, email text, subscribed bool, id_told bool, data json, created_at int} \
             where true \
             on conflict (project_id, email) do nothing",
            &[
                Arg::Ints(rows.iter().map(|((project, _), _)| Some(project.0)).collect()),
                Arg::Ids(rows.iter().map(|(_, s)| Some(s.contact.id.into())).collect()),
                Arg::Texts(rows.iter().map(|((_, email), _)| Some(email.as_str().into())).collect()),
                Arg::Bools(rows.iter().map(|(_, s)| Some(s.contact.subscribed)).collect()),
                Arg::Bools(rows.iter().map(|(_, s)| Some(s.id_told)).collect()),
                Arg::Jsons(rows.iter().map(|(_, s)| Some(json_text(&s.contact.data).into())).collect()),
                Arg::Ints(rows.iter().map(|(_, s)| Some(s.contact.created_at.0)).collect()),
            ],
        )
        .await?;
    expect(inserted, rows.len(), "a contact was created meanwhile")
}

async fn update(tx: &Tx<'_>, rows: &[&(Key, State)]) -> Result<()> {
    let updated = tx
        .each(
            "update contacts set subscribed = r.subscribed, id_told = r.id_told, data = r.data, \
             updated_at = r.updated_at, revision = contacts.revision + 1 \
             from {rows r: project_id int, contact_id id, revision int, subscribed bool, id_told bool, data json, \
             updated_at int} \
             where contacts.project_id = r.project_id and contacts.id = r.contact_id and contacts.revision = r.revision",
            &[
                Arg::Ints(rows.iter().map(|((project, _), _)| Some(project.0)).collect()),
                Arg::Ids(rows.iter().map(|(_, s)| Some(s.contact.id.into())).collect()),
                Arg::Ints(rows.iter().map(|(_, s)| s.stored.as_ref().map(|(revision, ..)| *revision)).collect()),
                Arg::Bools(rows.iter().map(|(_, s)| Some(s.contact.subscribed)).collect()),
                Arg::Bools(rows.iter().map(|(_, s)| Some(s.id_told)).collect()),
                Arg::Jsons(rows.iter().map(|(_, s)| Some(json_text(&s.contact.data).into())).collect()),
                Arg::Ints(rows.iter().map(|(_, s)| Some(s.contact.updated_at.0)).collect()),
            ],
        )
        .await?;
    expect(updated, rows.len(), "a contact was changed meanwhile")
}

pub(super) fn expect(touched: u64, wanted: usize, otherwise: &str) -> Result<()> {
    if touched == wanted as u64 { Ok(()) } else { Err(Error::Contention(otherwise.to_owned())) }
}

/// Notes the type of fields seen for the first time in their project (contract, Custom data rule 8).
pub(super) async fn register_fields(tx: &Tx<'_>, fields: &Fields) -> Result<()> {
    tx.each(
        "insert into contact_fields (project_id, name, type, created_at) \
         select r.project_id, r.name, r.type, r.created_at \
         from {rows r: project_id int, name text, type text, created_at int} where true \
         on conflict (project_id, name) do nothing",
        &[
            Arg::Ints(fields.keys().map(|(project, _)| Some(project.0)).collect()),
            Arg::Texts(fields.keys().map(|(_, name)| Some(name.as_str().into())).collect()),
            Arg::Texts(fields.values().map(|(kind, _)| Some(kind.as_str().into())).collect()),
            Arg::Ints(fields.values().map(|(_, at)| Some(at.0)).collect()),
        ],
    )
    .await?;
    Ok(())
}
