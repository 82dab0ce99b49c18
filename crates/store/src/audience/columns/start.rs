//! Begins columns: from what is saved of them ([`saved_columns`]), and from the contacts for the rest.
//!
//! Parts are read at different moments. What changes meanwhile is in the log of contacts, which is on before the first
//! part is read, and is read again afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::filter::columns::{Aspect, Columns, Corrupt, StoredPart};
use mailwright_core::ids::ProjectNumber;

use super::Unfit;
use super::load::Wanted;
use crate::args;
use crate::audience::saved_columns::{self, Saved};
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::tx::Rx;

/// How long the transactions that began earlier are waited for.
const PATIENCE: Duration = Duration::from_mins(2);
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
    most: usize,
) -> Result<Result<Started, Unfit>> {
    let wanted = aspects.clone();
    let saved = db.read(body!(async |rx| saved_columns::read(rx, project, &wanted).await)).await?;
    if let Some(saved) = saved {
        match from_saved(db, project, aspects, saved, most).await {
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
    let loaded = Wanted::of(aspects).load(db, project, most, &mut columns).await?;
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
    mut saved: Saved,
    most: usize,
) -> Result<Started, Stop> {
    let stored: BTreeSet<Aspect> = aspects.intersection(&saved.outline.aspects).cloned().collect();
    let lacking: BTreeSet<Aspect> = aspects.difference(&stored).cloned().collect();
    let of_parts = Arc::new(Wanted::of(&stored));
    let mut columns = Columns::new();
    columns.add_columns(&stored);
    columns.reserve(saved.parts.values().map(StoredPart::contacts).sum());
    let mut together = Vec::new();
    for (at, place) in saved.outline.places.iter().enumerate() {
        if let Some(part) = place.position.and_then(|_| saved.parts.remove(&place.first)) {
            together.push(part);
            continue;
        }
        columns = append(columns, std::mem::take(&mut together)).await?;
        let bounds = (place.first, saved.outline.end(at));
        of_parts.load_between(db, project, bounds, &mut columns).await??;
    }
    columns = append(columns, together).await?;
    columns.add_columns(&lacking);
    if columns.bytes() > most {
        return Err(Stop::Unfit);
    }
    Wanted::more(&lacking).load(db, project, most, &mut columns).await??;
    Ok(Started { columns, position: Some(saved.position) })
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

/// The transactions of other connections, as PostgreSQL calls them.
async fn transactions(rx: &Rx<'_>) -> Result<Vec<String>> {
    rx.all(
        "select l.virtualtransaction from pg_locks l join pg_stat_activity a on a.pid = l.pid \
         where l.locktype = 'virtualxid' and a.datname = current_database() and l.pid <> pg_backend_pid()",
        args![],
        |r| r.get(0),
    )
    .await
}
