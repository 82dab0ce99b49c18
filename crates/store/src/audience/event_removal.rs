//! Removing events, when what they are about is removed: sums and figures lose what they counted of them.

use mailwright_core::ids::{ContactId, EmailId, EventId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::audience::event_counts;
use crate::database::error::Result;
use crate::database::tx::{Row, Tx};
use crate::database::value::Arg;
use crate::insight::counter::Counter;
use crate::insight::deltas::Deltas;

type Gone = (EventId, String, Timestamp, Option<ContactId>);

fn read(row: &Row<'_>) -> Result<Gone> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

/// Removes events of a contact, at most so many; how many.
pub(crate) async fn of_contact(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    limit: i64,
    deltas: &mut Deltas,
) -> Result<usize> {
    let gone = tx
        .all(
            "delete from events where project_id = $1 and id in \
             (select id from events where project_id = $1 and contact_id = $2 limit $3) \
             returning id, name, created_at, contact_id",
            args![project, contact, limit],
            read,
        )
        .await?;
    forget(tx, project, &gone, deltas).await?;
    Ok(gone.len())
}

/// Removes the events of a contact about some mails; how many.
pub(crate) async fn of_mails(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    mails: &[EmailId],
    deltas: &mut Deltas,
) -> Result<usize> {
    let mails = Arg::Ids(mails.iter().map(|id| Some((*id).into())).collect());
    let gone = tx
        .all(
            "delete from events where project_id = $1 and contact_id = $2 and email_id {in $3} \
             returning id, name, created_at, contact_id",
            &[project.into(), contact.into(), mails],
            read,
        )
        .await?;
    forget(tx, project, &gone, deltas).await?;
    Ok(gone.len())
}

/// Removes the events of a name about a mail that happened from one time on and before another.
pub(crate) async fn of_mail(
    tx: &Tx<'_>,
    project: ProjectNumber,
    (name, mail): (&str, EmailId),
    (from, until): (Timestamp, Timestamp),
    deltas: &mut Deltas,
) -> Result<()> {
    let gone = tx
        .all(
            "delete from events where project_id = $1 and name = $2 and id >= $4 and id < $5 and email_id = $3 \
             returning id, name, created_at, contact_id",
            args![project, name, mail, EventId::first_of(from), EventId::first_of(until)],
            read,
        )
        .await?;
    forget(tx, project, &gone, deltas).await
}

async fn forget(tx: &Tx<'_>, project: ProjectNumber, gone: &[Gone], deltas: &mut Deltas) -> Result<()> {
    for (_, name, at, contact) in gone {
        deltas.add(project, Counter::Event, name, -1);
        if let Some(contact) = contact {
            deltas.followed(project, *contact, *at);
        }
    }
    let gone = gone.iter().map(|(id, name, at, _)| (*id, name.as_str(), *at));
    event_counts::forget(tx, project, gone, deltas).await
}
