//! Reads the write-ahead log while the service writes it, so that nothing that was committed is left out.
//!
//! Two things could take frames away before they are read. A checkpoint that has copied the whole log lets the next
//! write start it anew. And another command of the program may do both. So a transaction that reads, the **pin**, is
//! always open, and the next one is begun before it is ended. SQLite keeps its rules for readers: a pin that was begun
//! while part of the log was not in the database keeps the log from being started anew. One that was begun when all of
//! it was there keeps anything more from being copied, so that the log is started anew once at most, and then with
//! everything of the old one read: a pin is begun only when the log was read to where the pin before it stands. A log
//! that was started anew has a first salt that is greater by one; any other salts mean that something was missed. Then
//! the line ends, and a new one begins with a snapshot.
//!
//! The first pin is begun by the thread that writes, which keeps all others from writing meanwhile. So it is known
//! exactly what the first snapshot has.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_core::time::{Clock, Timestamp};
use rusqlite::Connection;

use super::frames::{Header, LogFile, Place, Transactions};
use super::segment::{self, Head, PAGES};
use super::spool::{Refused, Spool};
use crate::database::sqlite::connection::connect;

/// How long a line is kept when the log cannot be read. Meanwhile the log grows.
const PATIENCE: Duration = Duration::from_secs(30);
/// After how long without a write an object without pages says that nothing was written.
const SIGN_OF_LIFE: Duration = Duration::from_mins(1);

/// Why a line of copies ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Frames may have been missed.
    #[error("the log is not the one that was read before")]
    Gap,
    /// As much waits as may.
    #[error(
        "as much waits for the destination as may; backup.spool_mb and the free room on the disk bound it"
    )]
    Full,
    /// The log cannot be read, or the spool not be written.
    #[error("{0}")]
    Io(String),
}

/// What reading to the end of the log came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    /// All of it is read; whether there was something new.
    All { grew: bool },
    /// The log is just being changed: again later.
    Part,
}

/// A line of copies that is being written.
#[derive(Debug, Clone)]
pub(super) struct Course {
    pub(super) generation: String,
    /// The number of the next object.
    pub(super) next: u64,
    /// What was read; `None` while the log is empty, or nothing of it counts yet.
    place: Option<Place>,
    /// Whether the pins are unbroken since that place was right.
    is_pinned: bool,
    /// Whether what is read goes into the spool: not before the snapshot that it follows.
    spools: bool,
    pub(super) complete_until: Timestamp,
    committed_by: Timestamp,
    page_bytes: usize,
    database_pages: u32,
    last_object: Instant,
}

pub(super) struct Follower {
    log: PathBuf,
    /// Asks how long the log is.
    counting: Connection,
    pin: Connection,
    spare: Connection,
    clock: Clock,
    spool: Arc<Spool>,
    pub(super) course: Option<Course>,
    pub(super) trouble: Option<Trouble>,
    /// Since when nothing could be read to the end.
    stuck: Option<Instant>,
}

impl Follower {
    pub(super) fn new(database: &Path, spool: Arc<Spool>, clock: Clock) -> crate::Result<Self> {
        Ok(Self {
            log: PathBuf::from(format!("{}-wal", database.display())),
            counting: connect(database)?,
            pin: connect(database)?,
            spare: connect(database)?,
            clock,
            spool,
            course: None,
            trouble: None,
            stuck: None,
        })
    }

    /// Begins a line, or goes on with one whose last object ends at a place in the log. Nothing is promised before
    /// [`Follower::anchor`].
    pub(super) fn prepare(&mut self, generation: &str, resumed: Option<(Place, u64)>) {
        self.leave();
        let now = self.clock.now();
        self.course = Some(Course {
            generation: generation.to_owned(),
            next: resumed.map_or(1, |(_, last)| last + 1),
            place: resumed.map(|(place, _)| place),
            is_pinned: false,
            spools: resumed.is_some(),
            complete_until: now,
            committed_by: now,
            page_bytes: 0,
            database_pages: 0,
            last_object: Instant::now(),
        });
        self.trouble = None;
        self.advance();
    }

    /// By the thread that writes, in a transaction: reads what is left, and begins the first pin. From now on everything
    /// that is committed is read.
    pub(super) fn anchor(&mut self) -> Result<(), Trouble> {
        for _ in 0..2 {
            let read = self.read()?;
            let Some(course) = &mut self.course else { return Err(Trouble::Gap) };
            match read {
                Read::Part if course.spools => return Err(Trouble::Gap),
                // the log was started anew since it was looked at
                Read::Part => course.place = None,
                Read::All { .. } => {
                    course.is_pinned = true;
                    course.spools = true;
                    return self.begin_pin().map_err(|error| Trouble::Io(error.to_string()));
                }
            }
        }
        Err(Trouble::Io("the log could not be read to its end".into()))
    }

    /// Reads what is new, and moves the pin behind it. Whether all was read.
    pub(super) fn advance(&mut self) -> bool {
        match self.try_advance() {
            Ok(true) => {
                self.stuck = None;
                true
            }
            Ok(false) => {
                if self.stuck.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                    self.end(Trouble::Io("the log could not be read to its end for half a minute".into()));
                }
                false
            }
            Err(trouble) => {
                self.end(trouble);
                false
            }
        }
    }

    fn try_advance(&mut self) -> Result<bool, Trouble> {
        if self.course.is_none() {
            return Ok(true);
        }
        match self.read()? {
            Read::Part => Ok(false),
            Read::All { grew: true } if self.is_pinned() => Ok(self.begin_pin().is_ok()),
            Read::All { .. } => Ok(true),
        }
    }

    /// By the thread that writes, between two transactions: makes way for the log to be started anew. Whether that may be
    /// tried.
    pub(super) fn make_way(&mut self, writer: &Connection) -> bool {
        if !self.is_pinned() {
            return true;
        }
        if !self.advance() {
            return self.course.is_none();
        }
        // what is before the pin comes into the database; then a pin that is begun stands outside of the log
        writer.query_row("pragma wal_checkpoint(passive)", [], |_| Ok(())).is_ok() && self.begin_pin().is_ok()
    }

    /// Whether the log is kept for what was not read.
    pub(super) fn is_pinned(&self) -> bool {
        self.course.as_ref().is_some_and(|course| course.is_pinned)
    }

    /// Ends the line.
    pub(super) fn end(&mut self, trouble: Trouble) {
        self.leave();
        self.trouble = Some(trouble);
    }

    fn leave(&mut self) {
        self.course = None;
        self.stuck = None;
        for connection in [&self.pin, &self.spare] {
            roll_back(connection);
        }
    }

    /// Begins the next pin, then ends the one before.
    fn begin_pin(&mut self) -> rusqlite::Result<()> {
        let begun = self.spare.execute_batch("begin; select count(*) from sqlite_master");
        if begun.is_err() {
            roll_back(&self.spare);
            return begun;
        }
        roll_back(&self.pin);
        std::mem::swap(&mut self.pin, &mut self.spare);
        Ok(())
    }

    /// Reads the log to its end.
    fn read(&mut self) -> Result<Read, Trouble> {
        let io = |error: std::io::Error| Trouble::Io(format!("the log cannot be read: {error}"));
        let before = self.clock.now();
        let Ok(committed) = frames_in(&self.counting) else { return Ok(Read::Part) };
        let Some(course) = &mut self.course else { return Ok(Read::Part) };
        let file = LogFile::open(&self.log).map_err(io)?;
        let header = file.as_ref().map_or(Ok(None), LogFile::header).map_err(io)?;
        let (Some(file), Some(header)) = (file, header) else {
            if committed > 0 {
                return Ok(Read::Part);
            }
            if course.place.take().is_some() && !course.is_pinned && course.spools {
                return Err(Trouble::Gap);
            }
            course.complete_until = before;
            return self.idle();
        };
        let from = match course.place {
            None => header.start(),
            Some(place) if file.has(&header, &place).map_err(io)? => place,
            Some(place) if course.is_pinned && header.salts[0] == place.salts[0].wrapping_add(1) => {
                header.start()
            }
            Some(_) if course.spools => return Err(Trouble::Gap),
            Some(_) => {
                course.place = None;
                return Ok(Read::Part);
            }
        };
        let found = file.read(&header, &from, committed).map_err(io)?;
        let Some(end) = found.end else {
            if from.frame != committed {
                return Ok(Read::Part);
            }
            course.complete_until = before;
            return self.idle();
        };
        let is_all = end.frame == committed;
        self.take(&file, &header, &found, end, if is_all { Some(before) } else { None })?;
        Ok(if is_all { Read::All { grew: true } } else { Read::Part })
    }

    /// Puts transactions into the spool, and goes on behind them.
    fn take(
        &mut self,
        file: &LogFile,
        header: &Header,
        found: &Transactions,
        end: Place,
        complete_until: Option<Timestamp>,
    ) -> Result<(), Trouble> {
        let io = |error: std::io::Error| Trouble::Io(format!("the log cannot be read: {error}"));
        let committed_by = self.clock.now();
        let Some(course) = &mut self.course else { return Ok(()) };
        let mut next = Course { place: Some(end), page_bytes: header.page, ..course.clone() };
        next.database_pages = found.database_pages;
        next.complete_until = complete_until.unwrap_or(course.complete_until).max(course.complete_until);
        next.committed_by = committed_by.max(course.committed_by);
        if course.spools {
            let kept: Vec<_> = found.pages.range(..=found.database_pages).collect();
            let parts = kept.len().div_ceil(PAGES).max(1);
            for part in 0..parts {
                let mut pages = Vec::with_capacity(PAGES.min(kept.len()));
                for (number, frame) in kept.iter().skip(part * PAGES).take(PAGES) {
                    let page = file.page(header, **number, **frame).map_err(io)?;
                    pages.push((**number, page.ok_or(Trouble::Gap)?));
                }
                let is_last = part + 1 == parts;
                // the frames were those of the log until now
                if is_last && !file.has(header, &end).map_err(io)? {
                    return Err(Trouble::Gap);
                }
                next.put(&self.spool, &pages, is_last)?;
            }
        }
        self.course = Some(next);
        Ok(())
    }

    /// There is nothing new. Says so now and then.
    fn idle(&mut self) -> Result<Read, Trouble> {
        if let Some(course) = &mut self.course
            && course.spools
            && course.is_pinned
            && course.page_bytes > 0
            && course.last_object.elapsed() >= SIGN_OF_LIFE
        {
            course.committed_by = self.clock.now().max(course.committed_by);
            course.put(&self.spool, &[], true)?;
        }
        Ok(Read::All { grew: false })
    }
}

impl Course {
    fn put(&mut self, spool: &Spool, pages: &[(u32, Vec<u8>)], is_last: bool) -> Result<(), Trouble> {
        let head = Head {
            generation: self.generation.clone(),
            sequence: self.next,
            is_last,
            page_bytes: self.page_bytes,
            database_pages: self.database_pages,
            complete_until: self.complete_until,
            committed_by: self.committed_by,
            place: self.place,
        };
        let bytes = segment::encode(&head, pages);
        spool.push(head, &bytes).map_err(|refused| match refused {
            Refused::Full => Trouble::Full,
            Refused::Io(error) => Trouble::Io(format!("the spool cannot be written: {error}")),
        })?;
        self.next += 1;
        self.last_object = Instant::now();
        Ok(())
    }
}

/// How many frames of the log are committed.
fn frames_in(connection: &Connection) -> rusqlite::Result<u32> {
    let frames: i64 = connection.query_row("pragma wal_checkpoint(noop)", [], |row| row.get(1))?;
    Ok(u32::try_from(frames).unwrap_or(0))
}

fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        let _ = connection.execute_batch("rollback");
    }
}
