//! Begins columns: from what is saved of them ([`saved_columns`]), and from the contacts for the rest.
//!
//! Parts are read at different moments. What changes meanwhile is in the log of contacts, which is on before the first
//! part is read, and is read again afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::filter::columns::{Aspect, Columns, Corrupt, StoredPart};
use mailwright_core::ids::{ContactId, ProjectNumber};

use super::load::Wanted;
use super::room::{Room, Unfit};
use crate::args;
use crate::audience::saved_columns::{self, Bounds, Saved};
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::tx::Rx;

/// How long the transactions that began earlier are waited for.
const PATIENCE: Duration = Duration::from_mins(2);
/// Parts that are read together.
const TOGETHER: usize = 4;
/// How often it is looked whether they have ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Columns that have just been read.
pub(super) struct Started {
    pub(super) columns: Columns,
    /// The position after which the log has to be read; `None` for where it was when it was switched on.
    pub(super) position: Option<i64>,
}

/// Reads columns of all contacts. The log of contacts is on.
pub(super) async fn start(
    db: &Db,
    project: ProjectNumber,
    aspects: &BTreeSet<Aspect>,
    room: &Room,
) -> Result<Result<Started, Unfit>> {
    if let Some(saved) = db.read(body!(async |rx| saved_columns::usable(rx, project).await)).await? {
        match from_saved(db, project, aspects, saved, room).await {
            Ok(started) => return Ok(Ok(started)),
            Err(Stop::Unfit) => return Ok(Err(Unfit)),
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Corrupt) => {}
        }
        tracing::warn!(project = project.0, "saved columns of contacts are corrupt; they are removed");
        saved_columns::forget(db, project).await?;
    }
    earlier_transactions(db).await?;
    let mut columns = Columns::new();
    columns.add_columns(aspects);
    let loaded = Wanted::of(aspects).load(db, project, room, &mut columns).await?;
    Ok(loaded.map(|()| Started { columns, position: None }))
}

/// Why columns do not go on from what is saved.
enum Stop {
    Unfit,
    Corrupt,
    Failed(Error),
}

impl From<Unfit> for Stop {
    fn from(Unfit: Unfit) -> Self {
        Self::Unfit
    }
}

impl From<Corrupt> for Stop {
    fn from(Corrupt: Corrupt) -> Self {
        Self::Corrupt
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

async fn from_saved(
    db: &Db,
    project: ProjectNumber,
    aspects: &BTreeSet<Aspect>,
    Saved { position, outline, contacts }: Saved,
    room: &Room,
) -> Result<Started, Stop> {
    let stored: BTreeSet<Aspect> = aspects.intersection(&outline.aspects).cloned().collect();
    let lacking: BTreeSet<Aspect> = aspects.difference(&stored).cloned().collect();
    if !room.admits(contacts * size_of::<ContactId>() + Columns::bytes_of(aspects, contacts)) {
        return Err(Stop::Unfit);
    }
    let of_parts = Arc::new(Wanted::of(&stored));
    let mut columns = Columns::new();
    columns.add_columns(&stored);
    columns.reserve(contacts);
    for begin in (0..outline.places.len()).step_by(TOGETHER) {
        let end = outline.places.len().min(begin + TOGETHER);
        let bounds: Vec<Bounds> =
            (begin..end).map(|at| (outline.places[at].first, outline.end(at))).collect();
        let (asked, names) = (bounds.clone(), stored.clone());
        let parts = db.read(body!(async |rx| saved_columns::read(rx, project, &asked, &names).await));
        let mut together = Vec::new();
        for (bounds, part) in bounds.into_iter().zip(parts.await?) {
            if let Some(part) = part {
                together.push(part);
                continue;
            }
            columns = append(columns, std::mem::take(&mut together)).await?;
            of_parts.load_between(db, project, bounds, room, &mut columns).await??;
        }
        columns = append(columns, together).await?;
        if !room.admits(columns.bytes()) {
            return Err(Stop::Unfit);
        }
    }
    if !room.admits(columns.bytes() + Columns::bytes_of(&lacking, columns.rows())) {
        return Err(Stop::Unfit);
    }
    columns.add_columns(&lacking);
    Wanted::more(&lacking).load(db, project, room, &mut columns).await??;
    Ok(Started { columns, position: Some(position) })
}

async fn append(mut columns: Columns, parts: Vec<StoredPart>) -> Result<Columns, Stop> {
    let appended = tokio::task::spawn_blocking(move || {
        parts.iter().try_for_each(|part| columns.append(part)).map(|()| columns)
    });
    Ok(appended.await.map_err(|e| Error::Panicked(e.to_string()))??)
}

/// Waits until every transaction has ended that may have begun before the log was on, and does not write into it.
async fn earlier_transactions(db: &Db) -> Result<()> {
    if !db.is_shared() {
        return Ok(()); // there is one writer
    }
    let mut left: Option<BTreeSet<String>> = None;
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let now: BTreeSet<String> =
            db.read(body!(async |rx| transactions(rx).await)).await?.into_iter().collect();
        let still = left.map_or_else(|| now.clone(), |left| left.intersection(&now).cloned().collect());
        if still.is_empty() {
            return Ok(());
        }
        if tokio::time::Instant::now() > until {
            return Err(Error::Busy);
        }
        left = Some(still);
        tokio::time::sleep(PAUSE).await;
    }
}

/// The transactions of other connections, as PostgreSQL calls them. Those of other programs that only read, such as a
/// backup that takes hours, write nothing that could be missed.
async fn transactions(rx: &Rx<'_>) -> Result<Vec<String>> {
    rx.all(
        "select l.virtualtransaction from pg_locks l join pg_stat_activity a on a.pid = l.pid \
         where l.locktype = 'virtualxid' and a.datname = current_database() and l.pid <> pg_backend_pid() \
         and (a.application_name = 'mailwright' or a.backend_xid is not null)",
        args![],
        |r| r.get(0),
    )
    .await
}
