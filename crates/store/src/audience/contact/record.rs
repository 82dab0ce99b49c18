//! The columns of a contact, and reading single contacts.

use std::collections::BTreeSet;

use mailwright_core::address::EmailAddress;
use mailwright_core::contact::Contact;
use mailwright_core::ids::{ContactId, ProjectNumber};

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

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
pub(super) async fn get_for_update(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: ContactId,
) -> Result<Option<Contact>> {
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
