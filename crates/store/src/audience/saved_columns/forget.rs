//! When saved columns go: with a contact that is removed, and where one cannot go on from them any more.

use std::time::Duration;

use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;

use super::{empty, hold, outline};
use crate::args;
use crate::audience::contact_log::LOG;
use crate::body;
use crate::database::db::Db;
use crate::database::error::Result;
use crate::database::placed_log::Old;
use crate::database::tx::{Rx, Tx};

/// How long changes can be read. A log that nobody has followed for that long is off.
const KEPT: Duration = Duration::from_mins(10);
/// The same where columns are saved: a process that starts goes on from them, and reads all changes since.
const KEPT_FOR_SAVED: Duration = Duration::from_hours(24);
/// Most rows that are kept for saved columns. Reading every contact is faster than reading more of them.
const MOST_BEHIND: i64 = 20_000;
/// Parts of columns that one step removes.
const REMOVED_AT_ONCE: i64 = 20;

/// Removes what is old of the log of contacts, and saved columns from which nobody can go on.
pub async fn forget_old(db: &Db, project: ProjectNumber, now: Timestamp) -> Result<()> {
    if db.read(body!(async |rx| LOG.head(rx, project).await)).await?.is_none() {
        return Ok(()); // nobody ever followed
    }
    let (before, followed_since) = (now.minus(KEPT), now.minus(KEPT_FOR_SAVED));
    let mut position = db.read(body!(async |rx| usable(rx, project, followed_since).await)).await?;
    if position.is_none() {
        position = db.write(body!(async |tx| leave_usable(tx, project, followed_since).await)).await?;
        while db.write_in_background(body!(async |tx| forget_step(tx, project).await)).await? {}
    }
    let old = match position {
        Some(position) => Old { placed_before: before, up_to: position, used_before: followed_since },
        None => Old::before(before),
    };
    while db.write_in_background(body!(async |tx| LOG.remove_old(tx, project, old, now).await)).await? {}
    Ok(())
}

/// The position from which one can go on; `None` where nothing is stored, it is too far behind, or nobody has followed the
/// log since a time.
async fn usable(rx: &Rx<'_>, project: ProjectNumber, used_since: Timestamp) -> Result<Option<i64>> {
    let Some(position) = outline(rx, project).await?.position() else { return Ok(None) };
    let is_usable = rx
        .exists(
            "select 1 from contact_followers where project_id = $1 and is_on and used_at >= $2 \
             and removed_to <= $3 and position <= $4",
            args![project, used_since, position, position + MOST_BEHIND],
        )
        .await?;
    Ok(is_usable.then_some(position))
}

/// Has all parts be as good as removed, unless one can go on from them. Returns from which position.
async fn leave_usable(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    followed_since: Timestamp,
) -> Result<Option<i64>> {
    // whoever stores a part meanwhile waits
    hold(tx, project).await?;
    let position = usable(tx, project, followed_since).await?;
    if position.is_none() {
        empty_all(tx, project).await?;
    }
    Ok(position)
}

/// Takes away the part that has a contact which the transaction removes.
pub(crate) async fn forget_contact(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
) -> Result<()> {
    let followed = tx
        .execute(
            "update contact_followers set removals = removals + 1 where project_id = $1 and is_on",
            args![project],
        )
        .await?;
    if followed == 0 {
        return Ok(()); // nothing is stored
    }
    let part = tx
        .optional(
            "select first_id from contact_column_parts where project_id = $1 and first_id <= $2 \
             order by first_id desc limit 1",
            args![project, contact],
            |r| r.get(0),
        )
        .await?;
    match part {
        Some(first) => empty(tx, project, first).await,
        None => Ok(()),
    }
}

/// Removes all that is stored of a project.
pub(crate) async fn forget(db: &Db, project: ProjectNumber) -> Result<()> {
    let nothing = db.write(body!(async |tx| {
        hold(tx, project).await?;
        empty_all(tx, project).await
    }));
    nothing.await?;
    while db.write_in_background(body!(async |tx| forget_step(tx, project).await)).await? {}
    Ok(())
}

async fn forget_step(tx: &Tx<'_>, project: ProjectNumber) -> Result<bool> {
    let removed = tx
        .execute(
            "delete from contact_columns where project_id = $1 and (first_id, aspect) in \
             (select c.first_id, c.aspect from contact_columns c \
             join contact_column_parts p on p.project_id = c.project_id and p.first_id = c.first_id \
             where c.project_id = $1 and p.position is null limit $2)",
            args![project, REMOVED_AT_ONCE],
        )
        .await?;
    Ok(removed as i64 == REMOVED_AT_ONCE)
}

/// Notes that nothing is stored of any part; [`forget_step`] removes what there is.
async fn empty_all(tx: &Tx<'_>, project: ProjectNumber) -> Result<()> {
    tx.execute(
        "update contact_column_parts set position = null where project_id = $1 and position is not null",
        args![project],
    )
    .await?;
    Ok(())
}
