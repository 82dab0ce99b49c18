//! The addresses that contacts had before. They are kept so that whoever is erased is erased under them, too: mails,
//! suppressions and rows of jobs know an address and not the contact.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// Most former addresses of a contact that are kept, the newest ones.
const MOST: i64 = 100;

/// Notes that a contact had an address until now.
pub(crate) async fn note(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    email: &EmailAddress,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "insert into former_addresses (project_id, contact_id, email, changed_at) values ($1, $2, $3, $4) \
         on conflict (project_id, contact_id, email) do update set changed_at = excluded.changed_at",
        args![project, contact, email, now],
    )
    .await?;
    tx.execute(
        "delete from former_addresses where project_id = $1 and contact_id = $2 and changed_at < (select f.changed_at \
         from former_addresses f where f.project_id = $1 and f.contact_id = $2 order by f.changed_at desc \
         limit 1 offset $3)",
        args![project, contact, MOST - 1],
    )
    .await?;
    Ok(())
}

/// The former addresses of a contact, but for those that some contact has now: they are somebody else's by now.
pub(crate) async fn of_contact(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
) -> Result<Vec<EmailAddress>> {
    rx.all(
        "select f.email from former_addresses f where f.project_id = $1 and f.contact_id = $2 and not exists \
         (select 1 from contacts c where c.project_id = $1 and c.email = f.email) order by f.changed_at desc limit $3",
        args![project, contact, MOST],
        |r| r.get(0),
    )
    .await
}

/// Some of the contacts that had an address before.
pub(crate) async fn holders(
    rx: &Rx<'_>,
    project: ProjectNumber,
    email: &EmailAddress,
) -> Result<Vec<ContactId>> {
    rx.all(
        "select contact_id from former_addresses where project_id = $1 and email = $2 order by contact_id limit $3",
        args![project, email, MOST],
        |r| r.get(0),
    )
    .await
}

/// Forgets that a contact had an address.
pub(crate) async fn forget(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    email: &EmailAddress,
) -> Result<()> {
    tx.execute(
        "delete from former_addresses where project_id = $1 and contact_id = $2 and email = $3",
        args![project, contact, email],
    )
    .await?;
    Ok(())
}

/// Forgets the former addresses of a contact that is removed.
pub(crate) async fn forget_contact(tx: &Tx<'_>, project: ProjectNumber, contact: ContactId) -> Result<()> {
    tx.execute(
        "delete from former_addresses where project_id = $1 and contact_id = $2",
        args![project, contact],
    )
    .await?;
    Ok(())
}
