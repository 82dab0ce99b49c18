//! The contacts that changed, in the projects whose contacts some process keeps as columns in memory.
//!
//! Each transaction that changes what filters look at (a contact, its events, its mails, its place in a segment)
//! appends the ids of the contacts, and those of contacts that it removed.

use std::collections::BTreeSet;

use mailwright_core::ids::{ChangeId, ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::placed_log::PlacedLog;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// The log.
pub const LOG: PlacedLog = PlacedLog { rows: "contact_log", heads: "contact_followers" };

/// Bytes of an id.
const BYTES: usize = 16;
/// Contacts in a row of the log.
const MOST_IN_ROW: usize = 100;
/// Most rows without a position that are read at a time.
const NEW_ROWS: i64 = 50;

/// Appends contacts of projects whose log is on.
pub(crate) async fn append(
    tx: &Tx<'_>,
    changed: &BTreeSet<(ProjectNumber, ContactId)>,
    at: Timestamp,
) -> Result<()> {
    let all: Vec<_> = changed.iter().copied().collect();
    let of_projects = all.chunk_by(|(one, _), (other, _)| one == other);
    let rows: Vec<_> = of_projects.flat_map(|of_project| of_project.chunks(MOST_IN_ROW)).collect();
    let contacts = rows.iter().map(|row| {
        let ids = row.iter().flat_map(|(_, contact)| *contact.as_uuid().as_bytes());
        Some(ids.collect::<Vec<u8>>().into())
    });
    tx.each(
        "insert into contact_log (project_id, id, contacts) select r.project_id, r.id, r.contacts \
         from {rows r: project_id int, id id, contacts bytes}",
        &[
            Arg::Ints(rows.iter().map(|row| row.first().map(|(project, _)| project.0)).collect()),
            Arg::Ids(rows.iter().map(|_| Some(ChangeId::new(at, rand::random()).into())).collect()),
            Arg::Blobs(contacts.collect()),
        ],
    )
    .await?;
    Ok(())
}

/// What changed since a position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// The contacts.
    pub contacts: BTreeSet<ContactId>,
    /// The newest position among them; later ones are told again.
    pub position: i64,
    /// Rows that have no position yet.
    pub unplaced: usize,
    /// Whether there is more.
    pub has_more: bool,
}

/// How much of the log is read at a time.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// Rows.
    pub rows: i64,
    /// Contacts: no more rows are read once there are as many.
    pub contacts: usize,
}

/// The contacts that changed after a position, and those that have no position yet. `None` if the log has no longer all of
/// them.
pub async fn since(rx: &Rx<'_>, project: ProjectNumber, position: i64, most: Most) -> Result<Option<News>> {
    let head = LOG.head(rx, project).await?;
    if !head.is_some_and(|head| head.tells_after(position)) {
        return Ok(None);
    }
    // first, so that what gets a position meanwhile is told twice rather than not at all
    let new_rows = most.rows.min(NEW_ROWS);
    let unplaced: Vec<Vec<u8>> = rx
        .all(
            "select contacts from contact_log where project_id = $1 and position is null order by id limit $2",
            args![project, new_rows],
            |r| r.get(0),
        )
        .await?;
    let placed: Vec<(i64, Vec<u8>)> = rx
        .all(
            "select position, contacts from contact_log where project_id = $1 and position > $2 \
             order by position limit $3",
            args![project, position, most.rows],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?;
    let mut news = News { position, has_more: placed.len() as i64 == most.rows, ..News::default() };
    for (position, row) in placed {
        if news.contacts.len() >= most.contacts {
            news.has_more = true;
            break;
        }
        news.position = position;
        news.add(&row)?;
    }
    if !news.has_more {
        news.has_more = unplaced.len() as i64 == new_rows;
        news.unplaced = unplaced.len();
        unplaced.iter().try_for_each(|row| news.add(row))?;
    }
    Ok(Some(news))
}

impl News {
    fn add(&mut self, row: &[u8]) -> Result<()> {
        let (ids, []) = row.as_chunks::<BYTES>() else { return Err(corrupt()) };
        self.contacts.extend(ids.iter().map(|id| ContactId::from_bytes(*id)));
        Ok(())
    }
}

fn corrupt() -> Error {
    Error::Corrupt { column: 0, expected: "ids of contacts", detail: "an id is incomplete".to_owned() }
}
