//! What the contacts of claimed mails are now, for a last look before the mails are handed over.

use std::collections::HashMap;

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{EmailId, ProjectNumber};

use super::claim::Claimed;
use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// A contact as it is now.
pub(crate) struct ContactNow {
    pub(crate) email: EmailAddress,
    pub(crate) subscribed: bool,
}

/// The contacts of some mails, by mail. Those that were deleted are missing.
pub(crate) async fn contacts_of<'m>(
    rx: &Rx<'_>,
    project: ProjectNumber,
    mails: impl Iterator<Item = &'m Claimed>,
) -> Result<HashMap<EmailId, ContactNow>> {
    let (ids, contacts): (Vec<_>, Vec<_>) =
        mails.map(|mail| (Some(mail.id.into()), Some(mail.contact.into()))).unzip();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let found = rx
        .each_returning(
            "select r.email_id, c.email, c.subscribed from {rows r: project_id int, email_id id, contact_id id} \
             join contacts c on c.project_id = r.project_id and c.id = r.contact_id",
            &[Arg::Ints(vec![Some(project.0); ids.len()]), Arg::Ids(ids), Arg::Ids(contacts)],
            |r| {
                Ok((r.get(0)?, ContactNow { email: r.get(1)?, subscribed: r.get(2)? }))
            },
        )
        .await?;
    Ok(found.into_iter().collect())
}
