//! The mails that were not sent because of a list or a rule.

use mailwright_core::ids::{EmailId, ProjectNumber};

use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

fn ids(mails: &[EmailId]) -> Arg<'static> {
    Arg::Ids(mails.iter().map(|id| Some((*id).into())).collect())
}

/// Notes mails that are not sent.
pub(crate) async fn note(tx: &Tx<'_>, project: ProjectNumber, mails: &[EmailId]) -> Result<()> {
    tx.each(
        "insert into suppressed_emails (project_id, email_id) select $2, r.email_id from {rows r: email_id id} \
         where true on conflict (project_id, email_id) do nothing",
        &[ids(mails), project.into()],
    )
    .await?;
    Ok(())
}

/// Forgets mails that were removed, or are to be sent after all.
pub(crate) async fn forget(tx: &Tx<'_>, project: ProjectNumber, mails: &[EmailId]) -> Result<()> {
    if !mails.is_empty() {
        tx.execute(
            "delete from suppressed_emails where project_id = $1 and email_id {in $2}",
            &[project.into(), ids(mails)],
        )
        .await?;
    }
    Ok(())
}

/// The ids of up to `limit` of these mails, newest first, those that come after `after` in this order.
pub(crate) async fn page(
    rx: &Rx<'_>,
    project: ProjectNumber,
    after: Option<EmailId>,
    limit: usize,
) -> Result<Vec<EmailId>> {
    let mut args: Vec<Arg<'_>> = vec![project.into(), limit.into()];
    let range = after.map_or("", |_| " and email_id < $3");
    args.extend(after.map(Arg::from));
    rx.all(
        format!(
            "select email_id from suppressed_emails where project_id = $1{range} order by email_id desc limit $2"
        ),
        &args,
        |r| r.get(0),
    )
    .await
}
