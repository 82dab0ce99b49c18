//! A snapshot: the whole database in a file of its own.

use std::path::Path;

use rusqlite::Connection;

use super::spool::room;
use crate::database::error::{Error, Result};
use crate::database::sqlite::backup::{Copied, copy_pages, describe};

/// Bytes that stay free on the disk.
const SPARE: u64 = 64 * 1024 * 1024;

/// Fails if there is no room for a copy of a database.
pub(super) fn assert_room(database: &Path, to: &Path) -> Result<()> {
    let size = std::fs::metadata(database).map_or(0, |file| file.len());
    let log = format!("{}-wal", database.display());
    let size = size + std::fs::metadata(log).map_or(0, |file| file.len());
    let folder = to.parent().unwrap_or(to);
    match room(folder) {
        Some(room) if room < size + SPARE => Err(Error::Full(format!(
            "a snapshot needs {} MB on the disk of {}, and {} MB are free",
            (size + SPARE) >> 20,
            folder.display(),
            room >> 20
        ))),
        _ => Ok(()),
    }
}

/// Copies what a connection reads, whose transaction has begun.
pub(super) fn copy(source: &Connection, to: &Path) -> Result<Copied> {
    let mut copy = Connection::open(to)?;
    copy.execute_batch("pragma synchronous = off")?;
    copy_pages(source, &mut copy)?;
    source.execute_batch("commit")?;
    copy.execute_batch("pragma journal_mode = delete")?;
    let copied = describe(&copy)?;
    copy.close().map_err(|(_, error)| Error::from(error))?;
    Ok(copied)
}
