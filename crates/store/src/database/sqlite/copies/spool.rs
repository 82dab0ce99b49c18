//! What was read from the log and is not at the destination yet: files in a folder, as many as the operator allows.
//!
//! They are not brought to the disk. After a crash nothing of them is used: what follows the last object at the
//! destination is read from the log again.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::segment::Head;

/// Most files, however small.
const FILES: usize = 100_000;
/// The files use at most the free room on the disk, their own size included, divided by this.
const PART_OF_ROOM: u64 = 4;

/// An object that waits.
#[derive(Debug, Clone)]
pub struct Spooled {
    /// What it says of itself.
    pub head: Head,
    /// Where its bytes are.
    pub path: PathBuf,
    /// How many they are.
    pub bytes: u64,
}

/// Why nothing more is taken.
#[derive(Debug)]
pub(super) enum Refused {
    /// It is full.
    Full,
    /// The disk cannot be written.
    Io(io::Error),
}

#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    most: u64,
    waiting: Mutex<(VecDeque<Spooled>, u64)>,
}

impl Spool {
    /// Makes the folder, and removes what is in it.
    pub(super) fn new(folder: &Path, most: u64) -> io::Result<Self> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(folder)?,
        }
        Ok(Self { folder: folder.to_owned(), most, waiting: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, (VecDeque<Spooled>, u64)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an object.
    pub(super) fn push(&self, head: Head, bytes: &[u8]) -> Result<(), Refused> {
        let (count, used) = {
            let waiting = self.lock();
            (waiting.0.len(), waiting.1)
        };
        let size = bytes.len() as u64;
        let most = room(&self.folder).map_or(self.most, |room| ((room + used) / PART_OF_ROOM).min(self.most));
        if count >= FILES || used + size > most {
            return Err(Refused::Full);
        }
        let path = self.folder.join(format!("{}-{}", head.generation, head.name()));
        if let Err(error) = fs::write(&path, bytes) {
            let _ = fs::remove_file(&path);
            return Err(Refused::Io(error));
        }
        let mut waiting = self.lock();
        waiting.0.push_back(Spooled { head, path, bytes: size });
        waiting.1 += size;
        Ok(())
    }

    /// The first object that waits.
    pub(super) fn first(&self) -> Option<Spooled> {
        self.lock().0.front().cloned()
    }

    /// Removes the first object.
    pub(super) fn done(&self) {
        let mut waiting = self.lock();
        if let Some(first) = waiting.0.pop_front() {
            waiting.1 -= first.bytes;
            let _ = fs::remove_file(&first.path);
        }
    }

    /// Removes all objects.
    pub(super) fn clear(&self) {
        while self.first().is_some() {
            self.done();
        }
    }

    /// Bytes that wait.
    pub(super) fn bytes(&self) -> u64 {
        self.lock().1
    }
}

/// Free bytes on the disk of a folder.
pub(super) fn room(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use mailwright_core::time::Timestamp;

    use super::*;

    fn head(sequence: u64) -> Head {
        Head {
            generation: "g".into(),
            sequence,
            is_last: true,
            page_bytes: 512,
            database_pages: 1,
            complete_until: Timestamp(1),
            committed_by: Timestamp(1),
            place: None,
        }
    }

    #[test]
    fn no_more_waits_than_is_allowed_and_all_in_order() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("spool");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("left over"), "x").unwrap();
        let spool = Spool::new(&folder, 100).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        spool.push(head(1), &[0; 60]).unwrap();
        spool.push(head(2), &[0; 40]).unwrap();
        assert!(matches!(spool.push(head(3), &[0; 1]), Err(Refused::Full)));
        assert_eq!(spool.first().unwrap().head.sequence, 1);
        spool.done();
        spool.push(head(3), &[0; 60]).unwrap();
        assert_eq!((spool.first().unwrap().head.sequence, spool.bytes()), (2, 100));
        spool.clear();
        assert_eq!((fs::read_dir(&folder).unwrap().count(), spool.bytes()), (0, 0));
        fs::remove_dir(&folder).unwrap();
        assert!(matches!(spool.push(head(4), &[0; 1]), Err(Refused::Io(_))));
    }
}
