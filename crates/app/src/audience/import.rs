//! Imports of contacts from CSV: uploaded files as background jobs, files of any size from the command line
//! (`mailwright import`). Both cut the file into chunks and write each chunk in one transaction. `core::csv` reads the
//! records, `core::import` says what header, rows and cells mean.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use mailwright_core::contact::Subscription;
use mailwright_core::csv::{Position, Read, Reader};
use mailwright_core::event::subscription_event;
use mailwright_core::excess::MAX_LOADED;
use mailwright_core::ids::{JobId, ProjectNumber};
use mailwright_core::import::{Columns, ImportProgress, MAX_FAILURES, Row, RowFailure};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::names::{Names, Wanted};
use mailwright_store::background::job::{self as store, ClaimRef, Progress};
use mailwright_store::insight::counter::Deltas;
use mailwright_store::{Error as StoreError, Patience, Tx, retrying};
use serde_json::Value;

use crate::App;
use crate::background::job::{Batch, JobHandler, Status, StepResult, from_value, to_value};
use crate::error::Result;

/// Most rows of one transaction.
const CHUNK_ROWS: usize = 500;
/// Bytes of the file from which on a chunk is closed, however few rows it has: bounds the memory.
const CHUNK_BYTES: u64 = 512 * 1024;
/// How often a chunk is tried again because somebody changed one of its contacts meanwhile.
const PATIENCE: Patience = Patience::of(100);

/// What came of an import.
#[derive(Debug)]
pub struct Imported {
    /// The counts.
    pub counts: ImportProgress,
    /// The first rows that failed, in their order.
    pub failures: Vec<RowFailure>,
}

/// What writing a chunk did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Rows that created a contact.
    pub created: u64,
    /// Rows that found their contact.
    pub updated: u64,
    /// Rows whose contact, or the project, has no room for what they bring.
    pub failures: Vec<RowFailure>,
}

impl App {
    /// Queues the import of an uploaded file.
    pub async fn queue_import(&self, project: &Project, file: Vec<u8>) -> Result<JobId> {
        self.queue_job(project, JobKind::ImportContacts, file, to_value(&ImportProgress::default()), None)
            .await
    }

    /// How an import is getting on; `None` when the project has no such import.
    pub async fn import_status(&self, project: &Project, id: JobId) -> Result<Option<Status<Imported>>> {
        let found = self.job(project, id, &[JobKind::ImportContacts], MAX_FAILURES).await?;
        let Some((job, failures)) = found else { return Ok(None) };
        let counts = from_value(&job.progress).unwrap_or_default();
        Ok(Some(Status {
            id: job.id,
            state: job.state,
            percent: job.percent,
            result: (job.state == JobState::Completed).then_some(Imported { counts, failures }),
            failed_reason: job.failed_reason,
        }))
    }

    /// Writes a chunk of a file that is read from elsewhere. Contacts that the import creates are subscribed as
    /// `default_for_new` says, where the file says nothing.
    pub async fn import_chunk(
        &self,
        project: &Project,
        chunk: &Arc<Chunk>,
        default_for_new: bool,
    ) -> Result<Applied> {
        let number = project.number;
        let once = || {
            let (chunk, now) = (Arc::clone(chunk), self.0.clock.now());
            self.0.db.write_bulk(move |tx| {
                Box::pin(async move { apply(tx, number, &chunk.rows, default_for_new, now).await })
            })
        };
        Ok(retrying(PATIENCE, once).await?)
    }
}

/// Some rows of a file.
#[derive(Debug, Default)]
pub struct Chunk {
    rows: Vec<Row>,
    /// Rows that cannot be imported.
    pub failures: Vec<RowFailure>,
    /// Where the file goes on.
    pub end: Position,
}

impl Chunk {
    /// How many rows of the file it is about.
    pub fn len(&self) -> usize {
        self.rows.len() + self.failures.len()
    }

    /// Whether it is about no row at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Cuts a file into chunks. It is given the file piece by piece and holds one chunk at most.
#[derive(Debug, Default)]
pub struct Chunks {
    reader: Reader,
    columns: Option<Arc<Columns>>,
    chunk: Chunk,
    started: u64,
}

impl Chunks {
    /// Goes on at a position behind the header.
    fn starting_at(columns: &Arc<Columns>, position: Position) -> Self {
        Self {
            reader: Reader::starting_at(position),
            columns: Some(Arc::clone(columns)),
            chunk: Chunk::default(),
            started: position.bytes,
        }
    }

    /// Reads from the front of `input` until a chunk is full. Returns how many bytes are done with, and the chunk, if
    /// there was input enough for one. The error says what is wrong with the file.
    pub fn read(&mut self, input: &[u8]) -> Result<(usize, Option<Chunk>), String> {
        let mut taken = 0;
        loop {
            let (bytes, read) = self.reader.read(&input[taken..]);
            taken += bytes;
            if read != Read::Record {
                return Ok((taken, None));
            }
            self.record()?;
            let is_long = self.reader.position().bytes - self.started >= CHUNK_BYTES;
            if self.chunk.len() >= CHUNK_ROWS || is_long {
                return Ok((taken, Some(self.take())));
            }
        }
    }

    /// The last chunk, which may be empty, once all input was read.
    pub fn finish(&mut self) -> Result<Chunk, String> {
        while self.reader.finish() == Read::Record {
            self.record()?;
        }
        if self.columns.is_none() {
            return Err(NO_ROWS.to_owned());
        }
        Ok(self.take())
    }

    fn take(&mut self) -> Chunk {
        let end = self.reader.position();
        self.started = end.bytes;
        Chunk { end, ..std::mem::take(&mut self.chunk) }
    }

    fn record(&mut self) -> Result<(), String> {
        let line = self.reader.line();
        let cells = match self.reader.cells() {
            Ok(cells) => cells,
            Err(fault) if self.columns.is_none() => {
                return Err(format!("The header cannot be read. {fault}"));
            }
            Err(fault) => {
                let error = fault.to_string();
                self.chunk.failures.push(RowFailure { row: line, email: String::new(), error });
                return Ok(());
            }
        };
        let cells =
            cells.map(std::str::from_utf8).collect::<Result<Vec<_>, _>>().map_err(|_| not_utf8(line))?;
        let Some(columns) = &self.columns else {
            self.columns = Some(Arc::new(Columns::new(cells.into_iter())?));
            return Ok(());
        };
        match columns.row(line, cells.into_iter()) {
            Some(Ok(row)) => self.chunk.rows.push(row),
            Some(Err(failure)) => self.chunk.failures.push(failure),
            None => {}
        }
        Ok(())
    }
}

/// What is wrong with a file that has nothing but a header, or nothing at all.
pub const NO_ROWS: &str = "The file has no rows.";

fn not_utf8(line: u64) -> String {
    format!("The file is not valid UTF-8: see line {line}. Save it as UTF-8 and import it again.")
}

/// An uploaded file that is being imported.
#[derive(Debug)]
pub(crate) struct Import {
    project: ProjectNumber,
    file: Vec<u8>,
    columns: Arc<Columns>,
    header_end: Position,
}

impl Import {
    /// Checks the file as a whole: what is wrong with all of it must be found before a row is imported.
    pub(crate) fn open(project: ProjectNumber, file: Vec<u8>) -> Result<Self, String> {
        if let Err(error) = std::str::from_utf8(&file) {
            let lines = file[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
            return Err(not_utf8(lines as u64));
        }
        let (columns, header_end) = header(&file)?;
        let import = Self { project, file, columns, header_end };
        if import.chunk(header_end)?.0.is_empty() {
            return Err(NO_ROWS.to_owned());
        }
        Ok(import)
    }

    /// The rows behind `position`, and whether they are the last.
    fn chunk(&self, position: Position) -> Result<(Chunk, bool), String> {
        let mut chunks = Chunks::starting_at(&self.columns, position);
        let rest = self.file.get(position.bytes as usize..).unwrap_or_default();
        match chunks.read(rest)? {
            (_, Some(chunk)) => Ok((chunk, false)),
            (_, None) => Ok((chunks.finish()?, true)),
        }
    }
}

fn header(file: &[u8]) -> Result<(Arc<Columns>, Position), String> {
    let mut chunks = Chunks::default();
    let (_, read) = chunks.reader.read(file);
    if read != Read::Record && chunks.reader.finish() != Read::Record {
        return Err(NO_ROWS.to_owned());
    }
    chunks.record()?;
    let position = chunks.reader.position();
    chunks.columns.map(|columns| (columns, position)).ok_or_else(|| NO_ROWS.to_owned())
}

impl JobHandler for Import {
    fn next(&self, progress: &Value) -> Result<Arc<dyn Batch>, String> {
        let before: ImportProgress = from_value(progress)?;
        let start = if before.bytes == 0 { self.header_end } else { before.position() };
        let (chunk, is_last) = self.chunk(start)?;
        Ok(Arc::new(Rows { project: self.project, before, chunk, size: self.file.len() as u64, is_last }))
    }
}

/// Rows of an uploaded file.
#[derive(Debug)]
struct Rows {
    project: ProjectNumber,
    before: ImportProgress,
    chunk: Chunk,
    size: u64,
    is_last: bool,
}

impl Batch for Rows {
    fn run<'t>(
        &'t self,
        tx: &'t mut Tx<'_>,
        claim: ClaimRef,
        now: Timestamp,
    ) -> BoxFuture<'t, mailwright_store::Result<StepResult>> {
        Box::pin(async move {
            let applied = apply(tx, self.project, &self.chunk.rows, true, now).await?;
            let mut failures: Vec<_> = self.chunk.failures.iter().chain(&applied.failures).collect();
            failures.sort_by_key(|failure| failure.row);
            let room = MAX_FAILURES.saturating_sub(self.before.failed) as usize;
            let kept = failures.iter().take(room).map(|failure| to_value(failure).to_string());
            store::add_failures(tx, claim, self.before.failed, &kept.collect::<Vec<_>>()).await?;
            let counts = ImportProgress {
                rows: self.before.rows + self.chunk.len() as u64,
                created: self.before.created + applied.created,
                updated: self.before.updated + applied.updated,
                failed: self.before.failed + failures.len() as u64,
                ..self.before.at(self.chunk.end)
            };
            let percent = (counts.bytes * 100 / self.size.max(1)) as i64;
            let progress = Progress { progress: to_value(&counts), percent };
            Ok(StepResult { progress, is_last: self.is_last })
        })
    }
}

/// Creates and updates the contacts of some rows; of several with one address, the last counts.
async fn apply(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    rows: &[Row],
    default_for_new: bool,
    now: Timestamp,
) -> mailwright_store::Result<Applied> {
    let mut wanted = Wanted::default();
    for row in rows {
        wanted.fields(project, row.patch.names());
    }
    let mut names = Names::load(tx, &wanted).await?;
    let mut applied = Applied::default();
    let mut deltas = Deltas::default();
    let mut parts = vec![rows];
    while let Some(part) = parts.pop() {
        let addresses = part.iter().map(|row| (project, &row.email));
        let contacts = match Contacts::load_within(tx, addresses, MAX_LOADED).await {
            Ok(contacts) => contacts,
            // contacts with much data are taken a few at a time
            Err(StoreError::Excess(_)) if part.len() > 1 => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
                continue;
            }
            Err(error) => return Err(error),
        };
        let changes = Changes { project, default_for_new, now };
        let (contacts, events) = changes.make(part, contacts, &mut names, &mut applied);
        contacts.save(tx, &mut deltas).await?;
        event::append(tx, &events, &mut deltas).await?;
    }
    deltas.save(tx).await?;
    Ok(applied)
}

/// How rows change contacts.
struct Changes {
    project: ProjectNumber,
    default_for_new: bool,
    now: Timestamp,
}

impl Changes {
    fn make(
        &self,
        rows: &[Row],
        mut contacts: Contacts,
        names: &mut Names,
        applied: &mut Applied,
    ) -> (Contacts, Vec<NewEvent>) {
        let (project, now) = (self.project, self.now);
        let mut events = Vec::new();
        for row in rows {
            let fits = contacts
                .check(project, &row.email, &row.patch)
                .and_then(|()| names.take(project, row.patch.names(), None, now));
            if let Err(excess) = fits {
                applied.failures.push(row.failed(excess.issue().message));
                continue;
            }
            let subscription = Subscription {
                given: row.subscribed,
                default_for_new: self.default_for_new,
                preserve_existing: false,
            };
            let upserted =
                contacts.upsert(Upsert { project, email: &row.email, subscription, patch: &row.patch }, now);
            if upserted.is_new {
                applied.created += 1;
            } else {
                applied.updated += 1;
            }
            if let Some(subscribed) = upserted.flip {
                events.push(NewEvent::bare(
                    project,
                    subscription_event(subscribed),
                    upserted.contact.id,
                    now,
                ));
            }
        }
        (contacts, events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> String {
        let rows = (0..1750).map(|number| match number % 7 {
            0 => format!("broken{number},x\n"),
            1 => format!("\"c{number}@example.com\",\"two\nlines\"\r\n\n"),
            // long rows close a chunk early
            2 => format!("c{number}@example.com,{}\n", "y".repeat(3000)),
            _ => format!("c{number}@example.com,{number}\n"),
        });
        format!("email,note\n{}", rows.collect::<Vec<_>>().concat())
    }

    fn gather(all: &mut (Vec<Row>, Vec<RowFailure>), chunk: Chunk) {
        all.0.extend(chunk.rows);
        all.1.extend(chunk.failures);
    }

    #[test]
    fn a_file_is_the_same_read_in_pieces_and_from_stored_positions() {
        let file = file();
        let mut pieces = (Vec::new(), Vec::new());
        let mut chunks = Chunks::default();
        for mut piece in file.as_bytes().chunks(1000) {
            while let (taken, Some(chunk)) = chunks.read(piece).unwrap() {
                assert!(chunk.len() <= CHUNK_ROWS);
                piece = &piece[taken..];
                gather(&mut pieces, chunk);
            }
        }
        gather(&mut pieces, chunks.finish().unwrap());
        assert_eq!((pieces.0.len(), pieces.1.len()), (1500, 250));

        let import = Import::open(ProjectNumber(1), file.clone().into_bytes()).unwrap();
        let mut stored = (Vec::new(), Vec::new());
        let mut progress = ImportProgress::default().at(import.header_end);
        let mut count = 0;
        loop {
            let (chunk, is_last) = import.chunk(progress.position()).unwrap();
            progress = from_value::<ImportProgress>(&to_value(&progress)).unwrap().at(chunk.end);
            gather(&mut stored, chunk);
            count += 1;
            if is_last {
                break;
            }
        }
        assert_eq!(stored, pieces);
        assert_eq!(progress.bytes, file.len() as u64);
        assert!(count >= 4, "{count}");
    }
}
