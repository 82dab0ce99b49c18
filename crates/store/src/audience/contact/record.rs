//! The columns of a contact, and reading single contacts.

use std::collections::BTreeSet;

use mailwright_core::address::EmailAddress;
use mailwright_core::contact::Contact;
use mailwright_core::ids::{ContactId, ProjectNumber};

use crate::args;
use crate::database::dialect::Sql;
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

/// Several contacts, as far as they exist, in the order of their ids.
pub async fn some(rx: &Rx<'_>, project: ProjectNumber, ids: &[ContactId]) -> Result<Vec<Contact>> {
    rx.all(
        format!("select {COLUMNS} from contacts c where c.project_id = $1 and c.id {{in $2}} order by c.id"),
        &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
        read,
    )
    .await
}

/// One contact, which nobody else changes or refers to before the transaction ends.
pub(crate) async fn get_for_update(
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

/// Holds contacts that nobody else holds, until the transaction ends. Returns those; they exist.
pub async fn hold_free(tx: &Tx<'_>, project: ProjectNumber, ids: &[ContactId]) -> Result<Vec<ContactId>> {
    tx.all(
        "select id from contacts where project_id = $1 and id {in $2} order by id {skip_locked}",
        &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
        |r| r.get(0),
    )
    .await
}

/// The next contacts of a project, in the order of their ids.
pub async fn next_ids(
    rx: &Rx<'_>,
    project: ProjectNumber,
    after: Option<ContactId>,
    until: ContactId,
    limit: i64,
) -> Result<Vec<ContactId>> {
    let after = after.unwrap_or(ContactId::from_bytes([0; 16]));
    rx.all(
        "select id from contacts where project_id = $1 and id > $2 and id < $3 order by id limit $4",
        args![project, after, until, limit],
        |r| r.get(0),
    )
    .await
}

/// Holds contacts until the transaction ends, in the order of their ids.
pub async fn hold_all(tx: &Tx<'_>, project: ProjectNumber, ids: &[ContactId]) -> Result<()> {
    lock(tx, project, ids, "{for_update}").await
}

/// Has contacts stay until the transaction ends. Others may change them.
pub async fn keep_all(tx: &Tx<'_>, project: ProjectNumber, ids: &[ContactId]) -> Result<()> {
    lock(tx, project, ids, "{for_key_share}").await
}

async fn lock(tx: &Tx<'_>, project: ProjectNumber, ids: &[ContactId], how: &str) -> Result<()> {
    tx.all(
        format!("select id from contacts where project_id = $1 and id {{in $2}} order by id {how}"),
        &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
        |r| r.get::<ContactId>(0),
    )
    .await
    .map(drop)
}

/// Holds a contact until the transaction ends; whether it exists.
pub async fn hold(tx: &Tx<'_>, project: ProjectNumber, id: ContactId) -> Result<bool> {
    tx.exists("select 1 from contacts where project_id = $1 and id = $2 {for_update}", args![project, id])
        .await
}

/// The project of a contact: for public pages, which know the contact's id alone.
pub async fn project_of(rx: &mut Rx<'_>, id: ContactId) -> Result<Option<ProjectNumber>> {
    rx.optional(
        Sql::Either {
            whole: "select p.number from projects p join contacts c on c.project_id = p.number and c.id = $1",
            divided: "select project_id from contacts where id = $1",
        },
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
