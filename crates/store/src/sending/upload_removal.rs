//! Objects that are to be removed from the store of uploaded pictures.
//!
//! The row of an object is written before the object, due in an hour, and taken back in the transaction that stores the
//! picture: so a crash in between leaves an object whose removal is planned. Whoever removes an object claims it first,
//! and what was claimed cannot be taken back.

use mailwright_core::ids::ProjectId;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// Plans the removal of an object.
pub async fn plan(tx: &Tx<'_>, object: &str, owner: ProjectId, due: Timestamp) -> Result<()> {
    tx.execute(
        "insert into upload_removals (object, owner, due_at, claimed) values ($1, $2, $3, $4) \
         on conflict (object) do nothing",
        args![object, owner, due, false],
    )
    .await
    .map(drop)
}

/// Takes the removal of an object back. Whether it was planned, and nobody had begun.
pub async fn take_back(tx: &Tx<'_>, object: &str) -> Result<bool> {
    let removed = tx
        .execute("delete from upload_removals where object = $1 and claimed = $2", args![object, false])
        .await?;
    Ok(removed == 1)
}

/// Has an object removed at once whose removal is planned.
pub async fn hasten(tx: &Tx<'_>, object: &str, now: Timestamp) -> Result<()> {
    tx.execute("update upload_removals set due_at = $2 where object = $1 and due_at > $2", args![object, now])
        .await
        .map(drop)
}

/// How many objects of a project are still to be removed, counted up to a number.
pub async fn waiting(rx: &Rx<'_>, owner: ProjectId, most: i64) -> Result<i64> {
    rx.one(
        "select count(*) from (select 1 from upload_removals where owner = $1 limit $2) as found",
        args![owner, most],
        |r| r.get(0),
    )
    .await
}

/// Some objects that are to be removed now. They are not given out again before `until`.
pub async fn claim(tx: &Tx<'_>, now: Timestamp, until: Timestamp, limit: usize) -> Result<Vec<String>> {
    tx.all(
        "update upload_removals set claimed = $3, due_at = $2 where object in \
         (select object from upload_removals where due_at <= $1 order by due_at limit $4 {skip_locked}) \
         returning object",
        args![now, until, true, limit],
        |r| r.get(0),
    )
    .await
}

/// Notes that objects were removed.
pub async fn done(tx: &Tx<'_>, objects: &[String]) -> Result<()> {
    let objects = objects.iter().map(|object| Some(object.as_str().into())).collect();
    tx.execute("delete from upload_removals where object {in $1}", &[Arg::Texts(objects)]).await.map(drop)
}
