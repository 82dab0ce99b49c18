//! Puts a database together from a snapshot and what follows it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use mailwright_core::time::Timestamp;

use super::segment::{Head, decode};
use crate::database::error::{Error, Result};
use crate::database::sqlite::connection::connect;

/// A database that is being put together.
#[derive(Debug)]
pub struct Rebuild {
    path: PathBuf,
    file: File,
    /// The size, once an object said it.
    bytes: Option<u64>,
}

impl Rebuild {
    /// Begins with an empty file, which must not be there yet.
    pub fn new(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|error| unwritten(path, &error))?;
        Ok(Self { path: path.to_owned(), file, bytes: None })
    }

    /// Adds the next part of the snapshot.
    pub fn snapshot(&mut self, part: &[u8]) -> Result<()> {
        self.file.write_all(part).map_err(|error| unwritten(&self.path, &error))
    }

    /// Puts the pages of an object over what is there. All objects of a segment must follow before the database is one.
    pub fn apply(&mut self, object: &[u8]) -> Result<Head> {
        let (head, pages) = decode(object)?;
        for (number, page) in pages {
            let at = (u64::from(number) - 1) * head.page_bytes as u64;
            self.file.write_all_at(page, at).map_err(|error| unwritten(&self.path, &error))?;
        }
        self.bytes = Some(u64::from(head.database_pages) * head.page_bytes as u64);
        Ok(head)
    }

    /// Ends it. The mark of a backup of that moment is in the database, which says that it is a copy.
    pub fn finish(self, made_at: Timestamp, program: &str) -> Result<()> {
        let Self { path, file, bytes } = self;
        let sized = bytes.map_or(Ok(()), |bytes| file.set_len(bytes));
        sized.and_then(|()| file.sync_all()).map_err(|error| unwritten(&path, &error))?;
        // closed before the file is opened as a database, whose locks it would let go
        drop(file);
        let database = connect(&path)?;
        database.execute_batch("pragma journal_mode = delete")?;
        database.execute(
            "insert into backup_marks (made_at, program, is_copy) values (?1, ?2, 1) \
             on conflict (made_at) do update set is_copy = 1",
            (made_at.0, program),
        )?;
        database.close().map_err(|(_, error)| Error::from(error))?;
        File::open(&path).and_then(|file| file.sync_all()).map_err(|error| unwritten(&path, &error))
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::Full(format!("{}: {error}", path.display()))
}
