//! Changes to single contacts by id, and the subscriptions of many.

use mailwright_core::address::EmailAddress;
use mailwright_core::consent::Evidence;
use mailwright_core::custom_data::DataPatch;
use mailwright_core::excess::Excess;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;

use super::record::{COLUMNS, read};
use super::upsert::{Fields, State, Upserted, count, expect, register_fields};
use crate::args;
use crate::audience::consent::Changes;
use crate::audience::erased;
use crate::audience::names::{Names, Wanted};
use crate::audience::{confirmation, former_address, suppression};
use crate::database::error::{Error, Result};
use crate::database::tx::Tx;
use crate::database::value::Arg;
use crate::insight::counter::Counter;
use crate::insight::deltas::Deltas;
use crate::sending::campaign;

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
    /// Whether the contact is asked to confirm instead of being subscribed, unless it is the person who acts.
    pub double_opt_in: bool,
}

/// A change to one contact by id. Returns the contact and the change of its subscription, or `None` if no contact has
/// the id.
///
/// Fails with a conflict on `email` when another contact has the new address, and with an excess when the contact or
/// its project cannot hold what the change would make of the data.
pub async fn change(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: ContactId,
    change: &Change,
    evidence: Evidence,
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
    let mut consent = Changes::default();
    contact.subscribed = change.subscribed.unwrap_or(before.subscribed);
    if evidence.asks(change.double_opt_in) && contact.subscribed && !before.subscribed {
        contact.subscribed = false;
        consent.ask(project, id, evidence, now);
    }
    contact.email = change.email.clone().unwrap_or(contact.email);
    if contact.email != before.email
        && erased::get(tx, project, &contact.email).await?.is_some_and(|erased| erased.kept_out)
    {
        return Err(Error::Excess(Excess::Erased));
    }
    let flip = (contact.subscribed != before.subscribed).then_some(contact.subscribed);
    if let Some(subscribed) = flip {
        consent.flip((project, id), subscribed, false, evidence, now);
    }
    if contact == before {
        consent.save(tx).await?;
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
        // what was sent to the address before confirms nothing for this one
        confirmation::withdraw_all(tx, project, id).await?;
        campaign::leave_address(tx, project, id, &before.email).await?;
        former_address::note(tx, project, id, &before.email, now).await?;
    }
    register_fields(tx, &fields).await?;
    consent.save(tx).await?;
    deltas.save(tx).await?;
    Ok(Some(Upserted { contact: state.contact, is_new: false, flip }))
}

/// A contact that [`subscribe`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Which contact.
    pub id: ContactId,
    /// Whether its subscription flipped. Otherwise it was in the wanted state already.
    pub flipped: bool,
}

/// How the subscription of many contacts is set.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    /// Its new state.
    pub subscribed: bool,
    /// How it is known that they want that.
    pub evidence: Evidence,
    /// Whether they are asked to confirm instead of being subscribed, unless it is they who act.
    pub double_opt_in: bool,
}

/// Sets the subscription of many contacts. Returns those that exist. Who is asked to confirm did not flip.
pub async fn subscribe(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    ids: &[ContactId],
    wish: Wish,
    now: Timestamp,
    deltas: &mut Deltas,
) -> Result<Vec<Found>> {
    let Wish { subscribed, evidence, double_opt_in } = wish;
    let mut rows = tx
        .all(
            "select id, email, subscribed, revision from contacts where project_id = $1 and id {in $2}",
            &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
            |r| Ok((r.get::<ContactId>(0)?, r.get::<EmailAddress>(1)?, r.get::<bool>(2)?, r.get::<i64>(3)?)),
        )
        .await?;
    // in the order in which other writers lock contacts, so that nobody waits for each other
    rows.sort_by(|(_, one, ..), (_, other, ..)| one.cmp(other));
    let concerned: Vec<_> = rows.iter().filter(|(_, _, before, _)| *before != subscribed).collect();
    let mut consent = Changes::default();
    if evidence.asks(double_opt_in) && subscribed {
        for (id, ..) in concerned {
            consent.ask(project, *id, evidence, now);
        }
        consent.save(tx).await?;
        return Ok(rows.into_iter().map(|(id, ..)| Found { id, flipped: false }).collect());
    }
    let flips = concerned;
    for (id, ..) in &flips {
        consent.flip((project, *id), subscribed, false, evidence, now);
    }
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
    consent.save(tx).await?;
    let flipped = flips.len() as i64;
    deltas.add(project, Counter::Subscribed, "", if subscribed { flipped } else { -flipped });
    Ok(rows.into_iter().map(|(id, _, before, _)| Found { id, flipped: before != subscribed }).collect())
}
