//! Contacts: upserts in groups, single changes, lists.
//!
//! Contacts are loaded without locks, changed in memory by the contract's merge (`core::custom_data`), and saved on
//! condition that their `revision` is unchanged. If another transaction was faster, the save fails with `Contention`
//! and the body runs again. Rows are saved in the order of their keys, so that groups cannot deadlock.
//!
//! Deleting a contact blanks the rows of its mails and keeps them. It takes a shared lock on the campaigns that are
//! freezing, so that none of them freezes the contact at the same time.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::{BoxFuture, join4};
use mailwright_core::address::EmailAddress;
use mailwright_core::contact::{Contact, Subscription};
use mailwright_core::custom_data::{self, Data, DataPatch, FieldType};
use mailwright_core::email::EmailStatus;
use mailwright_core::excess::Excess;
use mailwright_core::ids::{ContactId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::audience::event_day;
use crate::audience::names::{Names, Wanted};
use crate::audience::search::{self, Filter};
use crate::audience::segment;
use crate::audience::suppression;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::{Arg, json_text};
use crate::delivery::mailbox;
use crate::insight::counter::{Counter, Deltas};
use crate::sending::campaign::{self, ledger};

pub(crate) const COLUMNS: &str = "c.id, c.email, c.subscribed, {json_out c.data}, c.created_at, c.updated_at";

pub(crate) fn read(row: &Row<'_>) -> Result<Contact> {
    Ok(Contact {
        id: row.get(0)?,
        email: row.get(1)?,
        subscribed: row.get(2)?,
        data: row.get(3)?,
        created_at: row.get(4)?,
        updated_at: row.get(5)?,
    })
}

type Key = (ProjectNumber, EmailAddress);

/// What a request wants of a contact.
#[derive(Debug, Clone, Copy)]
pub struct Upsert<'a> {
    /// Project.
    pub project: ProjectNumber,
    /// Address.
    pub email: &'a EmailAddress,
    /// What the request says of the subscription.
    pub subscription: Subscription,
    /// Changes to the custom data.
    pub patch: &'a DataPatch,
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
struct State {
    contact: Contact,
    /// Whether somebody with the public key was told its id.
    id_told: bool,
    /// Revision and values as stored; `None` for a contact that does not exist yet.
    stored: Option<(i64, bool, Data)>,
    dirty: bool,
}

/// The contacts a group of operations is about: loaded together, changed in memory, saved together.
///
/// Nothing is locked between loading and saving. A contact that another transaction changed or created meanwhile makes
/// [`Contacts::save`] fail with [`Error::Contention`], and the whole group is run again.
#[derive(Debug)]
pub struct Contacts(BTreeMap<Key, State>);

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
        Ok(Self(states))
    }

    /// The contact with an address, changes in memory included.
    pub fn get(&self, project: ProjectNumber, email: &EmailAddress) -> Option<&Contact> {
        self.0.get(&(project, email.clone())).map(|state| &state.contact)
    }

    /// Notes that somebody with the public key is told the id of a contact.
    pub fn tell_id(&mut self, project: ProjectNumber, email: &EmailAddress) {
        if let Some(state) = self.0.get_mut(&(project, email.clone()))
            && !state.id_told
        {
            state.id_told = true;
            state.dirty = true;
        }
    }

    /// Whether a contact can hold what a patch would make of its data.
    pub fn check(
        &self,
        project: ProjectNumber,
        email: &EmailAddress,
        patch: &DataPatch,
    ) -> std::result::Result<(), Excess> {
        patch.fits(self.get(project, email).map_or(&Data::new(), |contact| &contact.data))
    }

    /// Applies an upsert in memory.
    pub fn upsert(&mut self, upsert: Upsert<'_>, now: Timestamp) -> Upserted {
        let key = (upsert.project, upsert.email.clone());
        if let Some(state) = self.0.get_mut(&key) {
            let before = state.contact.subscribed;
            state.contact.subscribed = upsert.subscription.for_existing(before);
            let flip = (state.contact.subscribed != before).then_some(state.contact.subscribed);
            if upsert.patch.apply(&mut state.contact.data) || flip.is_some() {
                state.dirty = true;
                state.contact.updated_at = now;
            }
            return Upserted { contact: state.contact.clone(), is_new: false, flip };
        }
        let mut data = Data::new();
        upsert.patch.apply(&mut data);
        let contact = Contact {
            id: ContactId::new(now, rand::random()),
            email: upsert.email.clone(),
            subscribed: upsert.subscription.for_new(),
            data,
            created_at: now,
            updated_at: now,
        };
        let state = State { contact: contact.clone(), id_told: false, stored: None, dirty: true };
        self.0.insert(key, state);
        Upserted { contact, is_new: true, flip: None }
    }

    /// Writes what changed. It is counted at once, and written when the future is awaited.
    pub fn save<'t>(self, tx: &'t Tx<'_>, deltas: &mut Deltas) -> BoxFuture<'t, Result<()>> {
        let changed: Vec<_> = self.0.into_iter().filter(|(_, state)| state.dirty).collect();
        let mut fields = BTreeMap::new();
        for ((project, _), state) in &changed {
            count(*project, state, deltas, &mut fields);
            deltas.touch(*project, state.contact.id, state.contact.updated_at);
        }
        Box::pin(write(tx, changed, fields))
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

type Fields = BTreeMap<(ProjectNumber, String), (FieldType, Timestamp)>;

/// Counts what a changed contact changes in the sums, and notes the fields it has for the first time.
fn count(project: ProjectNumber, state: &State, deltas: &mut Deltas, fields: &mut Fields) {
    let none = Data::new();
    let (was_subscribed, before) = if let Some((_, subscribed, data)) = &state.stored {
        (*subscribed, data)
    } else {
        deltas.add(project, Counter::Contacts, "", 1);
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

async fn write(tx: &Tx<'_>, changed: Vec<(Key, State)>, fields: Fields) -> Result<()> {
    let (new, old): (Vec<_>, Vec<_>) = changed.iter().partition(|(_, state)| state.stored.is_none());
    let subscribed_again = |state: &State| {
        state.contact.subscribed && state.stored.as_ref().is_some_and(|(_, before, _)| !before)
    };
    let lifted: Vec<_> = old
        .iter()
        .filter(|(_, state)| subscribed_again(state))
        .map(|((project, email), _)| (*project, email))
        .collect();
    let (inserted, updated, lifted, registered) = join4(
        insert(tx, &new),
        update(tx, &old),
        suppression::lift(tx, &lifted),
        register_fields(tx, &fields),
    )
    .await;
    inserted.and(updated).and(lifted).and(registered)
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
                Arg::Bools(rows.iter().map(|(_, s)| s.contact.subscribed).collect()),
                Arg::Bools(rows.iter().map(|(_, s)| s.id_told).collect()),
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
                Arg::Bools(rows.iter().map(|(_, s)| s.contact.subscribed).collect()),
                Arg::Bools(rows.iter().map(|(_, s)| s.id_told).collect()),
                Arg::Jsons(rows.iter().map(|(_, s)| Some(json_text(&s.contact.data).into())).collect()),
                Arg::Ints(rows.iter().map(|(_, s)| Some(s.contact.updated_at.0)).collect()),
            ],
        )
        .await?;
    expect(updated, rows.len(), "a contact was changed meanwhile")
}

fn expect(touched: u64, wanted: usize, otherwise: &str) -> Result<()> {
    if touched == wanted as u64 { Ok(()) } else { Err(Error::Contention(otherwise.to_owned())) }
}

/// Notes the type of fields seen for the first time in their project (contract, Custom data rule 8).
async fn register_fields(tx: &Tx<'_>, fields: &Fields) -> Result<()> {
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

/// One contact.
pub async fn get(rx: &mut Rx<'_>, project: ProjectNumber, id: ContactId) -> Result<Option<Contact>> {
    rx.optional(
        format!("select {COLUMNS} from contacts c where c.project_id = $1 and c.id = $2"),
        args![project, id],
        read,
    )
    .await
}

/// One contact, which nobody else changes or refers to before the transaction ends.
async fn get_for_update(tx: &mut Tx<'_>, project: ProjectNumber, id: ContactId) -> Result<Option<Contact>> {
    tx.optional(
        format!("select {COLUMNS} from contacts c where c.project_id = $1 and c.id = $2 {{for_update}}"),
        args![project, id],
        read,
    )
    .await
}

/// The project of a contact: for public pages, which know the contact's id alone.
pub async fn project_of(rx: &mut Rx<'_>, id: ContactId) -> Result<Option<ProjectNumber>> {
    rx.optional(
        "select p.number from projects p join contacts c on c.project_id = p.number and c.id = $1",
        args![id],
        |r| r.get(0),
    )
    .await
}

/// Whether somebody with the public key was told the id of a contact.
pub async fn is_id_told(rx: &mut Rx<'_>, project: ProjectNumber, id: ContactId) -> Result<bool> {
    rx.exists("select 1 from contacts where project_id = $1 and id = $2 and id_told", args![project, id])
        .await
}

/// A change to one contact by id. Returns the contact and the flip of its subscription, or `None` when there is none.
///
/// Fails with a conflict on `email` when another contact has the new address, and with an excess when the contact or
/// its project cannot hold what the change would make of the data.
pub async fn change(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: ContactId,
    change: &Change,
    now: Timestamp,
) -> Result<Option<Upserted>> {
    let found = tx
        .optional(
            format!("select {COLUMNS}, c.revision, c.id_told from contacts c where c.project_id = $1 and c.id = $2"),
            args![project, id],
            |r| Ok((read(r)?, r.get::<i64>(6)?, r.get::<bool>(7)?)),
        )
        .await?;
    let Some((mut contact, revision, id_told)) = found else { return Ok(None) };
    let stored = Some((revision, contact.subscribed, contact.data.clone()));
    let before = contact.clone();
    if change.clear_data {
        contact.data.clear();
    }
    change.patch.fits(&contact.data).map_err(Error::Excess)?;
    let mut wanted = Wanted::default();
    wanted.fields(project, change.patch.names().filter(|name| !before.data.contains_key(*name)));
    let mut names = Names::load(tx, &wanted).await?;
    let new = change.patch.names().filter(|name| !before.data.contains_key(*name));
    names.take(project, new, None, now).map_err(Error::Excess)?;
    change.patch.apply(&mut contact.data);
    contact.subscribed = change.subscribed.unwrap_or(contact.subscribed);
    contact.email = change.email.clone().unwrap_or(contact.email);
    let flip = (contact.subscribed != before.subscribed).then_some(contact.subscribed);
    if contact == before {
        return Ok(Some(Upserted { contact, is_new: false, flip }));
    }
    contact.updated_at = now;
    let state = State { contact, id_told, stored, dirty: true };
    let (mut deltas, mut fields) = (Deltas::default(), Fields::new());
    count(project, &state, &mut deltas, &mut fields);
    deltas.add(project, Counter::AddressRevisions, "", i64::from(state.contact.email != before.email));
    deltas.touch(project, id, now);
    let touched = tx
        .execute(
            "update contacts set email = $3, subscribed = $4, data = {json $5}, updated_at = $6, revision = revision + 1 \
             where project_id = $1 and id = $2 and revision = $7",
            args![project, id, &state.contact.email, state.contact.subscribed, &state.contact.data, now, revision],
        )
        .await?;
    expect(touched, 1, "the contact was changed meanwhile")?;
    if flip == Some(true) {
        suppression::lift(tx, &[(project, &state.contact.email)]).await?;
    }
    if before.email != state.contact.email {
        campaign::leave_address(tx, project, id, &before.email).await?;
    }
    register_fields(tx, &fields).await?;
    deltas.save(tx).await?;
    Ok(Some(Upserted { contact: state.contact, is_new: false, flip }))
}

/// Changes to one contact.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// A new address.
    pub email: Option<EmailAddress>,
    /// A new state of the subscription.
    pub subscribed: Option<bool>,
    /// Whether all custom data goes first.
    pub clear_data: bool,
    /// Changes to the custom data.
    pub patch: DataPatch,
}

/// A contact that [`subscribe`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Which contact.
    pub id: ContactId,
    /// Whether its subscription flipped. Otherwise it was in the wanted state already.
    pub flipped: bool,
}

/// Sets the subscription of many contacts. Returns those that exist.
pub async fn subscribe(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    ids: &[ContactId],
    subscribed: bool,
    now: Timestamp,
    deltas: &mut Deltas,
) -> Result<Vec<Found>> {
    let mut rows = tx
        .all(
            "select id, email, subscribed, revision from contacts where project_id = $1 and id {in $2}",
            &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
            |r| Ok((r.get::<ContactId>(0)?, r.get::<EmailAddress>(1)?, r.get::<bool>(2)?, r.get::<i64>(3)?)),
        )
        .await?;
    // in the order in which other writers lock contacts, so that nobody waits for each other
    rows.sort_by(|(_, one, ..), (_, other, ..)| one.cmp(other));
    let flips: Vec<_> = rows.iter().filter(|(_, _, before, _)| *before != subscribed).collect();
    let changed = tx
        .each(
            "update contacts set subscribed = $4, updated_at = $5, revision = contacts.revision + 1 \
             from {rows r: project_id int, contact_id id, revision int} \
             where contacts.project_id = r.project_id and contacts.id = r.contact_id and contacts.revision = r.revision",
            &[
                Arg::Ints(flips.iter().map(|_| Some(project.0)).collect()),
                Arg::Ids(flips.iter().map(|(id, ..)| Some((*id).into())).collect()),
                Arg::Ints(flips.iter().map(|(.., revision)| Some(*revision)).collect()),
                subscribed.into(),
                now.into(),
            ],
        )
        .await?;
    expect(changed, flips.len(), "a contact was changed meanwhile")?;
    if subscribed {
        let lifted: Vec<_> = flips.iter().map(|(_, email, ..)| (project, email)).collect();
        suppression::lift(tx, &lifted).await?;
    }
    let flipped = flips.len() as i64;
    deltas.add(project, Counter::Subscribed, "", if subscribed { flipped } else { -flipped });
    Ok(rows.into_iter().map(|(id, _, before, _)| Found { id, flipped: before != subscribed }).collect())
}

/// How many rows of each other table one call of [`delete`] removes at most.
const DELETE_CHUNK: i64 = 500;

/// What a call of [`delete`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// There is no such contact.
    NotFound,
    /// Some of its history is gone; call again.
    Partly,
    /// It is gone.
    Wholly,
}

/// Removes a contact with its events, mails and captured mails: a chunk of them per call, the contact with the last.
///
/// The mails of campaigns stay in their ledgers, without what is personal.
pub async fn delete(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: ContactId,
    now: Timestamp,
) -> Result<Deleted> {
    let Some(contact) = get_for_update(tx, project, id).await? else { return Ok(Deleted::NotFound) };
    campaign::hold_freezing(tx, project).await?;
    let mut deltas = Deltas::default();
    let events = tx
        .all(
            "delete from events where project_id = $1 and id in \
             (select id from events where project_id = $1 and contact_id = $2 limit $3) \
             returning id, name, created_at",
            args![project, id, DELETE_CHUNK],
            |r| Ok((r.get::<EventId>(0)?, r.get::<String>(1)?, r.get::<Timestamp>(2)?)),
        )
        .await?;
    for (_, name, _) in &events {
        deltas.add(project, Counter::Event, name, -1);
    }
    let gone = events.iter().map(|(id, name, at)| (*id, name.as_str(), *at));
    event_day::forget(tx, project, gone, &mut deltas).await?;
    let emails = tx
        .all(
            "delete from emails where project_id = $1 and id in (select id from emails where project_id = $1 \
             and contact_id = $2 and campaign_id is null limit $3) returning status",
            args![project, id, DELETE_CHUNK],
            |r| r.get::<String>(0),
        )
        .await?;
    for status in &emails {
        // the sums do not tell whether a waiting mail is on the wire (see `email::conclude`)
        let waiting = status == EmailStatus::Sending.as_str();
        let counted = if waiting { EmailStatus::Pending.as_str() } else { status };
        deltas.add(project, Counter::Email, counted, -1);
    }
    let kept = ledger::forget_contact(tx, project, id, DELETE_CHUNK, &mut deltas, now).await?;
    let captured = mailbox::forget_contact(tx, project, id, DELETE_CHUNK, &mut deltas).await?;
    let most = events.len().max(emails.len()).max(kept).max(captured) as i64;
    if most == DELETE_CHUNK {
        deltas.save(tx).await?;
        return Ok(Deleted::Partly);
    }
    segment::forget(tx, project, id).await?;
    tx.execute_one("delete from contacts where project_id = $1 and id = $2", args![project, id]).await?;
    deltas.add(project, Counter::Contacts, "", -1);
    deltas.add(project, Counter::AddressRevisions, "", 1);
    deltas.add(project, Counter::Subscribed, "", -i64::from(contact.subscribed));
    for key in contact.data.keys() {
        deltas.add(project, Counter::Field, key, -1);
    }
    deltas.save(tx).await?;
    Ok(Deleted::Wholly)
}

/// Which of the given addresses exist.
pub async fn existing(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    emails: &[EmailAddress],
) -> Result<BTreeSet<String>> {
    let found = rx
        .all(
            "select email from contacts where project_id = $1 and email {in $2}",
            &[project.into(), Arg::Texts(emails.iter().map(|e| Some(e.as_str().into())).collect())],
            |r| r.get::<String>(0),
        )
        .await?;
    Ok(found.into_iter().collect())
}

/// What a list is ordered by; ties cannot occur, since the creation time is part of the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// By address.
    Email,
    /// By creation.
    CreatedAt,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct List {
    /// Most rows.
    pub limit: usize,
    /// The last row of the page before: its id.
    pub after: Option<ContactId>,
    /// Substring of the address, lower-cased, taken literally.
    pub search: Option<String>,
    /// State of the subscription.
    pub subscribed: Option<bool>,
    /// Order.
    pub sort: Sort,
    /// Whether the order is reversed.
    pub descending: bool,
}

/// Whether an id that no contact of a project has may have been one of them: its time lies in the project's life, and
/// it is no other project's.
async fn could_have_been(rx: &mut Rx<'_>, project: ProjectNumber, id: ContactId) -> Result<bool> {
    let Some(made) = id.as_uuid().get_timestamp() else { return Ok(false) };
    let (seconds, nanos) = made.to_unix();
    let made = Timestamp((seconds * 1000) as i64 + i64::from(nanos / 1_000_000));
    let alive = rx
        .optional(
            "select 1 from projects where number = $1 and created_at <= $2",
            args![project, made],
            |_| Ok(()),
        )
        .await?;
    Ok(id.as_uuid().get_version_num() == 7 && alive.is_some() && project_of(rx, id).await?.is_none())
}

/// Reads a page of contacts. Fails with [`Error::ForeignCursor`] when `after` cannot be a contact of the project; a
/// removed one counts when the list is ordered by creation.
pub async fn list(rx: &mut Rx<'_>, project: ProjectNumber, list: &List) -> Result<Vec<Contact>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), list.limit.into()];
    let Filter { condition: mut filter, plus, .. } =
        search::filter(rx, project, list.search.as_deref(), &mut args).await?;
    if let Some(subscribed) = list.subscribed {
        args.push(subscribed.into());
        filter += &format!(" and {plus}c.subscribed = ${}", args.len());
    }
    let (column, beyond, direction) = match (list.sort, list.descending) {
        (Sort::Email, true) => ("c.email", "<", "desc"),
        (Sort::Email, false) => ("c.email", ">", "asc"),
        (Sort::CreatedAt, true) => ("c.id", "<", "desc"),
        (Sort::CreatedAt, false) => ("c.id", ">", "asc"),
    };
    if let Some(after) = list.after {
        args.push(match (list.sort, get(rx, project, after).await?) {
            (Sort::Email, Some(previous)) => previous.email.as_str().to_owned().into(),
            (Sort::CreatedAt, Some(_)) => after.into(),
            // the contact may have been removed since the page before; its id is the bound all the same
            (Sort::CreatedAt, None) if could_have_been(rx, project, after).await? => after.into(),
            (Sort::Email | Sort::CreatedAt, None) => return Err(Error::ForeignCursor),
        });
        filter += &format!(" and {plus}{column} {beyond} ${}", args.len());
    }
    rx.all(
        format!("select {COLUMNS} from contacts c where {plus}c.project_id = $1{filter} order by {plus}{column} {direction} limit $2"),
        &args,
        read,
    )
    .await
}

/// How many contacts a list has in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// How many.
    pub count: i64,
    /// Whether many contacts had to be gone through to know that.
    pub scanned: bool,
}

/// How many contacts a list has in all: from the counters, or counted where a search narrows it.
pub async fn total(rx: &mut Rx<'_>, project: ProjectNumber, list: &List) -> Result<Total> {
    if list.search.is_none() {
        let subscribed = crate::insight::counter::value(rx, project, Counter::Subscribed, "").await?;
        let all = crate::insight::counter::value(rx, project, Counter::Contacts, "").await?;
        let count = match list.subscribed {
            Some(true) => subscribed,
            Some(false) => all - subscribed,
            None => all,
        };
        return Ok(Total { count, scanned: false });
    }
    let mut args: Vec<Arg<'_>> = vec![project.into()];
    let Filter { condition: mut filter, plus, scans } =
        search::filter(rx, project, list.search.as_deref(), &mut args).await?;
    if let Some(subscribed) = list.subscribed {
        args.push(subscribed.into());
        filter += &format!(" and {plus}c.subscribed = ${}", args.len());
    }
    let count = rx
        .one(format!("select count(*) from contacts c where {plus}c.project_id = $1{filter}"), &args, |r| {
            r.get(0)
        })
        .await?;
    Ok(Total { count, scanned: scans && count > search::COMMON as i64 })
}
