//! Topics, and which contacts are in them.
//!
//! Only choices are stored: a contact without one is in a topic if that is the topic's default. A topic that is deleted
//! is gone at once; the choices follow in the background.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use mailwright_core::ids::{ContactId, EmailId, ProjectNumber, TopicId};
use mailwright_core::time::Timestamp;
use mailwright_core::topic::{Topic, TopicVisibility};

use crate::args;
use crate::audience::names;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;

const COLUMNS: &str =
    "id, name, description, visibility, default_subscribed, double_opt_in, position, created_at, updated_at";

fn read(row: &Row<'_>) -> Result<Topic> {
    Ok(Topic {
        id: row.get(0)?,
        name: row.get(1)?,
        description: row.get(2)?,
        visibility: row.named(3, "topics.visibility", TopicVisibility::from_name)?,
        default_subscribed: row.get(4)?,
        double_opt_in: row.get(5)?,
        position: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
    })
}

/// The topics of a project, in their order.
pub async fn all(rx: &Rx<'_>, project: ProjectNumber) -> Result<Vec<Topic>> {
    rx.all(
        format!(
            "select {COLUMNS} from topics where project_id = $1 and removed_at is null order by position, id"
        ),
        args![project],
        read,
    )
    .await
}

/// One topic.
pub async fn get(rx: &Rx<'_>, project: ProjectNumber, id: TopicId) -> Result<Option<Topic>> {
    one(rx, project, id, "").await
}

/// One topic, which nobody else changes before the transaction ends.
pub async fn get_for_update(tx: &Tx<'_>, project: ProjectNumber, id: TopicId) -> Result<Option<Topic>> {
    one(tx, project, id, " {for_update}").await
}

/// One topic, which nobody changes or deletes before the transaction ends.
pub async fn keep(tx: &Tx<'_>, project: ProjectNumber, id: TopicId) -> Result<Option<Topic>> {
    one(tx, project, id, " {for_share}").await
}

async fn one(rx: &Rx<'_>, project: ProjectNumber, id: TopicId, how: &str) -> Result<Option<Topic>> {
    let sql =
        format!("select {COLUMNS} from topics where project_id = $1 and id = $2 and removed_at is null{how}");
    rx.optional(sql, args![project, id], read).await
}

/// How many topics a project has, and the highest of their positions. Nobody else adds one before the transaction ends.
pub async fn count_for_update(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<(usize, i64)> {
    names::lock(tx, project).await?;
    let (count, last) = tx
        .one(
            "select count(*), coalesce(max(position), 0) from topics where project_id = $1 and removed_at is null",
            args![project],
            |r| Ok((r.get::<i64>(0)?, r.get::<i64>(1)?)),
        )
        .await?;
    Ok((count as usize, last))
}

/// Stores a new topic.
pub async fn create(tx: &Tx<'_>, project: ProjectNumber, topic: &Topic) -> Result<()> {
    tx.execute_one(
        format!(
            "insert into topics (project_id, {COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
        ),
        args![
            project,
            topic.id,
            &topic.name,
            topic.description.as_deref(),
            topic.visibility.as_str(),
            topic.default_subscribed,
            topic.double_opt_in,
            topic.position,
            topic.created_at,
            topic.updated_at,
        ],
    )
    .await
}

/// Stores a changed topic.
pub async fn update(tx: &Tx<'_>, project: ProjectNumber, topic: &Topic) -> Result<()> {
    tx.execute_one(
        "update topics set name = $3, description = $4, visibility = $5, default_subscribed = $6, double_opt_in = $7, \
         position = $8, updated_at = $9 where project_id = $1 and id = $2",
        args![
            project,
            topic.id,
            &topic.name,
            topic.description.as_deref(),
            topic.visibility.as_str(),
            topic.default_subscribed,
            topic.double_opt_in,
            topic.position,
            topic.updated_at,
        ],
    )
    .await
}

/// Deletes a topic. The choices go later ([`forget`]).
pub async fn delete(tx: &Tx<'_>, project: ProjectNumber, id: TopicId, now: Timestamp) -> Result<()> {
    tx.execute_one(
        "update topics set removed_at = $3 where project_id = $1 and id = $2",
        args![project, id, now],
    )
    .await
}

/// Names of what belongs to a topic and is still to be sent: templates, and campaigns that are not over; at most `most`
/// of each.
pub async fn users(rx: &Rx<'_>, project: ProjectNumber, id: TopicId, most: i64) -> Result<Vec<String>> {
    let mut users = Vec::new();
    for sql in [
        "select name from templates where project_id = $1 and topic_id = $2 order by id limit $3",
        "select name from campaigns where project_id = $1 and topic_id = $2 \
         and status in ('DRAFT', 'SCHEDULED', 'SENDING') order by id limit $3",
    ] {
        users.extend(rx.all(sql, args![project, id, most], |r| r.get::<String>(0)).await?);
    }
    Ok(users)
}

/// Removes some of what is left of deleted topics; returns how many rows went.
pub async fn forget(tx: &Tx<'_>, project: ProjectNumber, most: i64) -> Result<u64> {
    let removed = tx
        .optional(
            "select id from topics where project_id = $1 and removed_at is not null order by id limit 1",
            args![project],
            |r| r.get::<TopicId>(0),
        )
        .await?;
    let Some(topic) = removed else { return Ok(0) };
    let mut gone = 0;
    for sql in [
        "delete from topic_choices where project_id = $1 and topic_id = $2 and contact_id in \
         (select contact_id from topic_choices where project_id = $1 and topic_id = $2 limit $3)",
        "delete from confirmations where project_id = $1 and topic_id = $2 and contact_id in \
         (select contact_id from confirmations where project_id = $1 and topic_id = $2 limit $3)",
    ] {
        gone += tx.execute(sql, args![project, topic, most]).await?;
    }
    if gone == 0 {
        gone =
            tx.execute("delete from topics where project_id = $1 and id = $2", args![project, topic]).await?;
    }
    Ok(gone)
}

/// What a contact chose.
pub async fn choices(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
) -> Result<BTreeMap<TopicId, bool>> {
    let found = rx
        .all(
            "select topic_id, subscribed from topic_choices where project_id = $1 and contact_id = $2",
            args![project, contact],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    Ok(found.into_iter().collect())
}

/// Stores what a contact chose.
pub async fn choose(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    topic: TopicId,
    subscribed: bool,
    now: Timestamp,
) -> Result<()> {
    tx.execute_one(
        "insert into topic_choices (project_id, topic_id, contact_id, subscribed, updated_at) \
         values ($1, $2, $3, $4, $5) on conflict (project_id, topic_id, contact_id) \
         do update set subscribed = excluded.subscribed, updated_at = excluded.updated_at",
        args![project, topic, contact, subscribed, now],
    )
    .await
}

/// Those of some contacts that are not in a topic.
pub async fn outside(
    rx: &Rx<'_>,
    project: ProjectNumber,
    topic: &Topic,
    contacts: &[ContactId],
) -> Result<BTreeSet<ContactId>> {
    let ids = Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect());
    let other: BTreeSet<ContactId> = rx
        .all(
            "select contact_id from topic_choices where project_id = $1 and topic_id = $2 and contact_id {in $3} \
             and subscribed = $4",
            &[project.into(), topic.id.into(), ids, (!topic.default_subscribed).into()],
            |r| r.get(0),
        )
        .await?
        .into_iter()
        .collect();
    Ok(if topic.default_subscribed {
        other
    } else {
        contacts.iter().filter(|id| !other.contains(id)).copied().collect()
    })
}

/// Those of some mails, with their contacts and topics, whose contact is not in the topic.
pub(crate) async fn mails_outside(
    rx: &Rx<'_>,
    project: ProjectNumber,
    mails: impl Iterator<Item = (EmailId, ContactId, TopicId)>,
) -> Result<HashSet<EmailId>> {
    let mut by_topic: BTreeMap<TopicId, Vec<(ContactId, EmailId)>> = BTreeMap::new();
    for (mail, contact, topic) in mails {
        by_topic.entry(topic).or_default().push((contact, mail));
    }
    let mut found = HashSet::new();
    for (topic, mails) in by_topic {
        let Some(topic) = get(rx, project, topic).await? else { continue };
        let contacts: Vec<ContactId> = mails.iter().map(|(contact, _)| *contact).collect();
        let outside = outside(rx, project, &topic, &contacts).await?;
        found.extend(mails.iter().filter(|(contact, _)| outside.contains(contact)).map(|(_, mail)| *mail));
    }
    Ok(found)
}
