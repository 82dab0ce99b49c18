//! The feed as it happens: a log of its entries, for projects whose feed somebody follows.
//!
//! A transaction that makes entries appends them as rows of up to a hundred ([`MOST_IN_ROW`]), where somebody follows the
//! project's feed. The rows get their positions later: see [`PlacedLog`].

use std::collections::BTreeMap;

use mailwright_core::activity::Place;
use mailwright_core::ids::{ActivityLogId, ProjectNumber};

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::placed_log::PlacedLog;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// The log of the feed.
pub const LOG: PlacedLog = PlacedLog { rows: "activity_log", heads: "activity_streams" };

/// Entries of each project.
pub(crate) type Entries = BTreeMap<ProjectNumber, Vec<Place>>;

/// Most entries in a row of the log.
pub const MOST_IN_ROW: usize = 100;

/// Appends entries to the logs of the projects whose feed is followed.
pub(crate) async fn append(tx: &Tx<'_>, entries: &Entries) -> Result<()> {
    let (mut projects, mut ids, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for (project, places) in entries {
        let Some(at) = places.first().map(|place| place.at) else { continue };
        let mut places = places.clone();
        places.sort_unstable();
        // ids of one time are in the order in which they are made
        for places in places.chunks(MOST_IN_ROW) {
            projects.push(Some(project.0));
            ids.push(Some(ActivityLogId::new(at, rand::random()).into()));
            rows.push(Some(places.iter().flat_map(Place::to_bytes).collect::<Vec<u8>>().into()));
        }
    }
    if projects.is_empty() {
        return Ok(());
    }
    tx.each(
        "insert into activity_log (project_id, id, position, entries) select r.project_id, r.id, null, r.entries \
         from {rows r: project_id int, id id, entries bytes} \
         where exists (select 1 from activity_streams s where s.project_id = r.project_id and s.is_on)",
        &[Arg::Ints(projects), Arg::Ids(ids), Arg::Blobs(rows)],
    )
    .await?;
    Ok(())
}

/// Appends one entry to the log of a project, if its feed is followed.
pub async fn append_one(tx: &Tx<'_>, project: ProjectNumber, place: Place) -> Result<()> {
    append(tx, &Entries::from([(project, vec![place])])).await
}

/// The rows from a place on, in the order of places, so many at most.
pub async fn read(
    rx: &Rx<'_>,
    project: ProjectNumber,
    from: i64,
    limit: i64,
) -> Result<Vec<(i64, Vec<Place>)>> {
    rx.all(
        "select position, entries from activity_log where project_id = $1 and position >= $2 order by position limit $3",
        args![project, from, limit],
        |r| {
            let bytes: Vec<u8> = r.get(1)?;
            let places: Option<Vec<Place>> = bytes.chunks(Place::BYTES).map(Place::from_bytes).collect();
            Ok((r.get(0)?, places.ok_or_else(corrupt)?))
        },
    )
    .await
}

fn corrupt() -> Error {
    Error::Corrupt { column: 1, expected: "entries", detail: "an entry is incomplete".to_owned() }
}
