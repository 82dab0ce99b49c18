//! Who was asked to confirm a subscription, or to be in a topic, and has not done so: double opt-in.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::consent::CONFIRMATION_PAUSE;
use mailwright_core::ids::{ContactId, ProjectNumber, TopicId};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::dialect::Sql;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

/// What stands for the subscription as a whole, among topics.
fn stored(topic: Option<TopicId>) -> TopicId {
    topic.unwrap_or(TopicId::from_bytes([0; 16]))
}

fn read_topic(row: &Row<'_>, column: usize) -> Result<Option<TopicId>> {
    Ok(Some(row.get(column)?).filter(|id| *id != stored(None)))
}

/// A request to a contact to confirm: project, contact, topic, and when it was made.
pub type Wanted = (ProjectNumber, ContactId, Option<TopicId>, Timestamp);

/// Asks contacts to confirm: a mail to each is due at once. Who was asked a short time ago is not asked again. Returns
/// those who are. A contact is named once for each topic.
pub async fn ask(tx: &Tx<'_>, wanted: &[Wanted]) -> Result<BTreeSet<(ContactId, Option<TopicId>)>> {
    let pause = CONFIRMATION_PAUSE.as_millis() as i64;
    // a number, since Citus takes no argument in what follows a conflict
    let sql = format!(
        "insert into confirmations (project_id, topic_id, contact_id, requested_at, due_at) \
         select r.project_id, r.topic_id, r.contact_id, r.at, r.at \
         from {{rows r: project_id int, topic_id id, contact_id id, at int}} where true \
         on conflict (project_id, topic_id, contact_id) do update set requested_at = excluded.requested_at, \
         due_at = excluded.due_at where confirmations.requested_at <= excluded.requested_at - {pause} \
         returning contact_id, topic_id"
    );
    let asked = tx
        .each_returning(
            sql,
            &[
                Arg::Ints(wanted.iter().map(|(project, ..)| Some(project.0)).collect()),
                Arg::Ids(wanted.iter().map(|(_, _, topic, _)| Some(stored(*topic).into())).collect()),
                Arg::Ids(wanted.iter().map(|(_, contact, ..)| Some((*contact).into())).collect()),
                Arg::Ints(wanted.iter().map(|(.., at)| Some(at.0)).collect()),
            ],
            |r| Ok((r.get(0)?, read_topic(r, 1)?)),
        )
        .await?;
    Ok(asked.into_iter().collect())
}

/// Removes the requests to confirm the subscriptions of contacts.
pub(crate) async fn settle(tx: &Tx<'_>, contacts: &BTreeSet<(ProjectNumber, ContactId)>) -> Result<()> {
    let mut projects: BTreeMap<ProjectNumber, Vec<ContactId>> = BTreeMap::new();
    for (project, contact) in contacts {
        projects.entry(*project).or_default().push(*contact);
    }
    for (project, contacts) in projects {
        let contacts = Arg::Ids(contacts.into_iter().map(|id| Some(id.into())).collect());
        tx.execute(
            "delete from confirmations where project_id = $1 and topic_id = $2 and contact_id {in $3}",
            &[project.into(), stored(None).into(), contacts],
        )
        .await?;
    }
    Ok(())
}

/// Removes a request; whether there was one.
pub async fn withdraw(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    topic: Option<TopicId>,
) -> Result<bool> {
    let removed = tx
        .execute(
            "delete from confirmations where project_id = $1 and topic_id = $2 and contact_id = $3",
            args![project, stored(topic), contact],
        )
        .await?;
    Ok(removed > 0)
}

/// Removes all requests to a contact.
pub async fn withdraw_all(tx: &Tx<'_>, project: ProjectNumber, contact: ContactId) -> Result<()> {
    tx.execute(
        "delete from confirmations where project_id = $1 and contact_id = $2",
        args![project, contact],
    )
    .await?;
    Ok(())
}

/// A request that nobody has confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// The contact.
    pub contact: ContactId,
    /// The topic; `None` for the subscription as a whole.
    pub topic: Option<TopicId>,
    /// When it was made.
    pub requested_at: Timestamp,
    /// When the mail was made that asks; `None` if it is still to be made.
    pub mailed_at: Option<Timestamp>,
}

const COLUMNS: &str = "contact_id, topic_id, requested_at, mailed_at";

fn read(row: &Row<'_>) -> Result<Open> {
    Ok(Open {
        contact: row.get(0)?,
        topic: read_topic(row, 1)?,
        requested_at: row.get(2)?,
        mailed_at: row.get(3)?,
    })
}

/// The requests to a contact that nobody has confirmed.
pub async fn of_contact(rx: &Rx<'_>, project: ProjectNumber, contact: ContactId) -> Result<Vec<Open>> {
    rx.all(
        format!(
            "select {COLUMNS} from confirmations where project_id = $1 and contact_id = $2 order by topic_id"
        ),
        args![project, contact],
        read,
    )
    .await
}

/// The projects with requests whose mails are due. It goes from one project to the next in the index.
pub async fn due_projects(rx: &Rx<'_>, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    rx.projects_with_work(
        Sql::Either {
whole: "with recursive waiting(project_id) as (select cast(0 as {int}) union all select \
         (select c.project_id from confirmations c where c.project_id > w.project_id and c.due_at is not null \
         order by c.project_id, c.due_at limit 1) from waiting w where w.project_id is not null) \
         select w.project_id from waiting w where w.project_id > 0 \
         and (select c.due_at from confirmations c where c.project_id = w.project_id and c.due_at is not null \
         order by c.due_at limit 1) <= $1",
divided: "select distinct project_id from confirmations where due_at <= $1",
},
        args![now],
    )
    .await
}

/// Takes requests whose mails are due: the caller makes the mails in this transaction.
pub async fn take_due(tx: &Tx<'_>, project: ProjectNumber, limit: i64, now: Timestamp) -> Result<Vec<Open>> {
    tx.all(
        format!(
            "with picked as (select topic_id, contact_id from confirmations where project_id = $1 and due_at <= $2 \
             order by due_at limit $3 {{skip_locked}}) \
             update confirmations set due_at = null, mailed_at = $2 where project_id = $1 \
             and (topic_id, contact_id) in (select topic_id, contact_id from picked) returning {COLUMNS}"
        ),
        args![project, now, limit],
        read,
    )
    .await
}

/// Puts off the mails that are due.
pub async fn put_off(tx: &Tx<'_>, project: ProjectNumber, now: Timestamp, until: Timestamp) -> Result<()> {
    tx.execute(
        "update confirmations set due_at = $3 where project_id = $1 and due_at <= $2",
        args![project, now, until],
    )
    .await?;
    Ok(())
}
