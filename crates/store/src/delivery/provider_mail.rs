//! The ids that a service gave mails which it took. Its news names them, and not always anything of ours.

use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// A mail under the id of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderMail {
    /// The id that the service gave it.
    pub provider_id: String,
    /// Project.
    pub project: ProjectNumber,
    /// Mail.
    pub email: EmailId,
}

/// Notes under which ids mails were taken.
pub async fn note(tx: &mut Tx<'_>, mails: &[ProviderMail], now: Timestamp) -> Result<()> {
    if mails.is_empty() {
        return Ok(());
    }
    tx.each(
        "insert into provider_mails (provider_id, project, email_id, created_at) \
         select r.provider_id, r.project, r.email_id, $4 \
         from {rows r: provider_id text, project int, email_id id} where true on conflict (provider_id) do nothing",
        &[
            Arg::Texts(mails.iter().map(|mail| Some(mail.provider_id.as_str().into())).collect()),
            Arg::Ints(mails.iter().map(|mail| Some(mail.project.0)).collect()),
            Arg::Ids(mails.iter().map(|mail| Some(mail.email.into())).collect()),
            now.into(),
        ],
    )
    .await?;
    Ok(())
}

/// The mail that a service took under an id.
pub async fn find(rx: &mut Rx<'_>, provider_id: &str) -> Result<Option<(ProjectNumber, EmailId)>> {
    let sql = "select project, email_id from provider_mails where provider_id = $1";
    rx.optional(sql, args![provider_id], |r| Ok((r.get(0)?, r.get(1)?))).await
}

/// Forgets the ids that are older than `before`, `most` at a time. Returns how many there were.
pub async fn forget(tx: &mut Tx<'_>, before: Timestamp, most: i64) -> Result<u64> {
    tx.execute(
        "delete from provider_mails where provider_id in \
         (select provider_id from provider_mails where created_at < $1 order by created_at limit $2)",
        args![before, most],
    )
    .await
}
