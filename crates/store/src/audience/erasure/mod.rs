//! Erasing a person: the receipts, and the steps of the work.
//!
//! A row of `erasures` is receipt, lock and cursor at once. [`begin`] removes the contact's row, so that from its commit
//! on nothing finds the person: no campaign, no workflow, no send and no event. A send or an event with the address is
//! refused until the erasure is done. Each [`step()`] is a transaction that holds the row, does a bounded part of the next
//! stage, and notes how far it came. So a process that dies loses one step at most, and several processes that work on
//! the same erasure wait for each other and repeat nothing.
//!
//! The first stages stop mail; the request is answered after them. The rows of mails stay, because ledgers, sums and
//! figures are sums of them: they lose the address and everything that was rendered.

mod mails;
mod records;
mod stage;
mod step;
mod words;

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::Actor;
use mailwright_core::contact::Contact;
use mailwright_core::erasure::{Counted, ErasureStatus};
use mailwright_core::ids::{ContactId, ErasureId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::{Map, Value as Json};
use uuid::Uuid;

pub use self::step::{Progress, step};

use self::records::Counts;
use self::stage::Stage;
use crate::args;
use crate::audience::{contact, erased, former_address};
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::insight::deltas::Deltas;
use crate::project::audit;
use crate::sending::campaign;

/// Who is to be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    /// A contact.
    Contact(ContactId),
    /// Whoever has an address: the contact, if there is one, and what is kept of the address itself.
    Address(EmailAddress),
}

/// An erasure that is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Project.
    pub project: ProjectNumber,
    /// Its identifier, if it is a new one.
    pub id: ErasureId,
    /// Who is to be erased.
    pub whom: Whom,
    /// Whether the address is kept out of the project afterwards.
    pub keep_out: bool,
    /// Who asks.
    pub actor: Actor,
    /// When.
    pub at: Timestamp,
}

/// What is known of an erasure: nothing of the person.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// Identifier.
    pub id: ErasureId,
    /// How far it is.
    pub status: ErasureStatus,
    /// Whether the address is kept out of the project.
    pub keep_out: bool,
    /// Who asked for it, without address or name.
    pub actor: Actor,
    /// The hash of the address, keyed with the project's key.
    pub address_hash: Vec<u8>,
    /// How many records went, by their kinds.
    pub counts: Map<String, Json>,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When nothing was left.
    pub completed_at: Option<Timestamp>,
}

const COLUMNS: &str = "id, status, keep_out, actor_type, actor_id, address_hash, {json_out counts}, requested_at, \
     completed_at";

fn read(row: &Row<'_>) -> Result<Receipt> {
    let (kind, by): (String, Option<Uuid>) = (row.get(3)?, row.get(4)?);
    let counts: Json = row.get(6)?;
    Ok(Receipt {
        id: row.get(0)?,
        status: row.named(1, "erasures.status", ErasureStatus::from_name)?,
        keep_out: row.get(2)?,
        actor: audit::read(&kind, by, None),
        address_hash: row.get(5)?,
        counts: counts.as_object().cloned().unwrap_or_default(),
        requested_at: row.get(7)?,
        completed_at: row.get(8)?,
    })
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Begun {
    /// The receipt.
    pub receipt: Receipt,
    /// Whether the request began it; otherwise it is one that was there.
    pub is_new: bool,
}

/// Begins an erasure. A contact that was erased before, and an address that is being erased, have the receipt of that.
/// `None` when there never was such a contact.
pub async fn begin(tx: &mut Tx<'_>, request: &Request) -> Result<Option<Begun>> {
    let project = request.project;
    let found = match &request.whom {
        Whom::Contact(id) => contact::get_for_update(tx, project, *id).await?,
        Whom::Address(email) => holder(tx, project, email).await?,
    };
    let email = match (&found, &request.whom) {
        (Some(found), _) => found.email.clone(),
        (None, Whom::Address(email)) => email.clone(),
        (None, Whom::Contact(id)) => return of_erased_contact(tx, request, *id).await,
    };
    let key = erased::key_for_erasing(tx, project).await?;
    let hash = key.address(&email);
    let before = erased::get(tx, project, &email).await?;
    if before.as_ref().is_some_and(|before| before.is_under_way)
        && let Some(receipt) = under_way(tx, project, &hash).await?
    {
        return Ok(Some(Begun { receipt: also_keep_out(tx, request, receipt).await?, is_new: false }));
    }
    // what was kept out stays so, whatever a later request says
    let keep_out = request.keep_out || before.is_some_and(|before| before.kept_out);
    let mut counts = Counts::default();
    let mut formerly = Vec::new();
    if let Some(found) = &found {
        formerly = former_address::of_contact(tx, project, found.id).await?;
        formerly.retain(|former| *former != email);
        remove(tx, project, found, &mut counts, request.at).await?;
    }
    let complained = records::forget_suppression(tx, project, &email, &mut counts).await?;
    for former in &formerly {
        records::forget_suppression(tx, project, former, &mut counts).await?;
    }
    erased::begin(tx, project, &hash, complained, request.id).await?;
    let (kind, by, _) = audit::stored(&request.actor);
    let contact = found.as_ref().map(|found| found.id);
    tx.execute_one(
        "insert into erasures (project_id, id, address_hash, contact_hash, email, contact_id, keep_out, actor_type, \
         actor_id, status, stage, place, counts, due_at, requested_at, formerly) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, '', {json $12}, $13, $13, {json $14})",
        args![
            project,
            request.id,
            &hash[..],
            contact.map(|id| key.contact(id)),
            &email,
            contact,
            keep_out,
            kind,
            by,
            ErasureStatus::Running.as_str(),
            Stage::FIRST.as_str(),
            counts.to_json(),
            request.at,
            Json::from(formerly.iter().map(EmailAddress::as_str).collect::<Vec<_>>())
        ],
    )
    .await?;
    Ok(get(tx, project, request.id).await?.map(|receipt| Begun { receipt, is_new: true }))
}

/// The contact with an address, which nobody else changes before the transaction ends.
async fn holder(tx: &mut Tx<'_>, project: ProjectNumber, email: &EmailAddress) -> Result<Option<Contact>> {
    let found = tx
        .optional(
            "select id from contacts where project_id = $1 and email = $2",
            args![project, email],
            |r| r.get::<ContactId>(0),
        )
        .await?;
    let Some(id) = found else { return Ok(None) };
    let held = contact::get_for_update(tx, project, id).await?;
    Ok(held.filter(|held| held.email == *email))
}

/// Removes the contact's row, with what is counted of it.
async fn remove(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    found: &Contact,
    counts: &mut Counts,
    now: Timestamp,
) -> Result<()> {
    campaign::hold_freezing(tx, project).await?;
    for (what, sql) in [
        (Counted::Consents, "select count(*) from consents where project_id = $1 and contact_id = $2"),
        (Counted::Topics, "select count(*) from topic_choices where project_id = $1 and contact_id = $2"),
        (
            Counted::Confirmations,
            "select count(*) from confirmations where project_id = $1 and contact_id = $2",
        ),
        (Counted::Segments, "select count(*) from segment_members where project_id = $1 and contact_id = $2"),
    ] {
        let number = tx.one(sql, args![project, found.id], |r| r.get::<i64>(0)).await?;
        counts.add(what, number as u64);
    }
    let mut deltas = Deltas::default();
    contact::remove(tx, project, found, &mut deltas, now).await?;
    deltas.save(tx).await?;
    counts.add(Counted::Contacts, 1);
    Ok(())
}

/// The receipt of a contact that is gone because it was erased.
async fn of_erased_contact(tx: &Tx<'_>, request: &Request, id: ContactId) -> Result<Option<Begun>> {
    let Some(key) = erased::key(tx, request.project).await? else { return Ok(None) };
    let found = tx
        .optional(
            format!(
                "select {COLUMNS} from erasures where project_id = $1 and contact_hash = $2 order by id desc limit 1"
            ),
            args![request.project, key.contact(id)],
            read,
        )
        .await?;
    let Some(receipt) = found else { return Ok(None) };
    Ok(Some(Begun { receipt: also_keep_out(tx, request, receipt).await?, is_new: false }))
}

async fn under_way(tx: &Tx<'_>, project: ProjectNumber, hash: &[u8]) -> Result<Option<Receipt>> {
    tx.optional(
        format!(
            "select {COLUMNS} from erasures where project_id = $1 and address_hash = $2 and due_at is not null \
             order by id desc limit 1"
        ),
        args![project, hash],
        read,
    )
    .await
}

/// Keeps the address out if the request asks for it and the one before did not.
async fn also_keep_out(tx: &Tx<'_>, request: &Request, mut receipt: Receipt) -> Result<Receipt> {
    if request.keep_out && !receipt.keep_out {
        tx.execute_one(
            "update erasures set keep_out = true where project_id = $1 and id = $2",
            args![request.project, receipt.id],
        )
        .await?;
        erased::keep_out(tx, request.project, &receipt.address_hash).await?;
        receipt.keep_out = true;
    }
    Ok(receipt)
}

/// A receipt.
pub async fn get(rx: &Rx<'_>, project: ProjectNumber, id: ErasureId) -> Result<Option<Receipt>> {
    rx.optional(
        format!("select {COLUMNS} from erasures where project_id = $1 and id = $2"),
        args![project, id],
        read,
    )
    .await
}

/// The newest receipts of erasures of an address, at most so many.
pub async fn of_address(
    rx: &Rx<'_>,
    project: ProjectNumber,
    email: &EmailAddress,
    limit: usize,
) -> Result<Vec<Receipt>> {
    let Some(key) = erased::key(rx, project).await? else { return Ok(Vec::new()) };
    rx.all(
        format!(
            "select {COLUMNS} from erasures where project_id = $1 and address_hash = $2 order by id desc limit $3"
        ),
        args![project, key.address(email), limit],
        read,
    )
    .await
}

/// The erasures whose next step is due, at most so many.
pub async fn due(rx: &Rx<'_>, now: Timestamp, limit: i64) -> Result<Vec<(ProjectNumber, ErasureId)>> {
    rx.all(
        "select p.number, e.id from projects p join erasures e on e.project_id = p.number \
         where p.retired_at is null and e.due_at <= $1 order by e.due_at limit $2",
        args![now, limit],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Has the next step of an erasure wait, because the last one failed.
pub async fn put_off(tx: &Tx<'_>, project: ProjectNumber, id: ErasureId, until: Timestamp) -> Result<()> {
    tx.execute(
        "update erasures set due_at = $3 where project_id = $1 and id = $2 and due_at is not null",
        args![project, id, until],
    )
    .await?;
    Ok(())
}

/// How many erasures of a project are under way.
pub async fn running(rx: &Rx<'_>, project: ProjectNumber) -> Result<i64> {
    rx.one(
        "select count(*) from erasures where project_id = $1 and due_at is not null",
        args![project],
        |r| r.get(0),
    )
    .await
}
