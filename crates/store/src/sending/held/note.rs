//! The rows that say which mails are held.

use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};

use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;

/// What is said of a mail that is held.
pub(crate) const WHY: &str = "It may have been sent before a backup was restored. It is held until the operator decides \
     whether to send it: mailwright restore --list.";

/// Mails as an argument.
pub(super) fn ids(mails: &[EmailId]) -> Arg<'static> {
    Arg::Ids(mails.iter().map(|id| Some((*id).into())).collect())
}

/// Notes mails that are held, with their campaigns.
pub(crate) async fn note(
    tx: &Tx<'_>,
    project: ProjectNumber,
    mails: &[(EmailId, Option<CampaignId>)],
) -> Result<()> {
    if mails.is_empty() {
        return Ok(());
    }
    tx.each(
        "insert into held_emails (project_id, email_id, campaign_id) select $3, r.email_id, r.campaign_id \
         from {rows r: email_id id, campaign_id id} where true on conflict (project_id, email_id) do nothing",
        &[
            Arg::Ids(mails.iter().map(|(id, _)| Some((*id).into())).collect()),
            Arg::Ids(mails.iter().map(|(_, campaign)| campaign.map(Into::into)).collect()),
            project.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Forgets mails that were removed, or that somebody has decided about.
pub(crate) async fn forget(tx: &Tx<'_>, project: ProjectNumber, mails: &[EmailId]) -> Result<()> {
    if !mails.is_empty() {
        tx.execute(
            "delete from held_emails where project_id = $1 and email_id {in $2}",
            &[project.into(), ids(mails)],
        )
        .await?;
    }
    Ok(())
}
