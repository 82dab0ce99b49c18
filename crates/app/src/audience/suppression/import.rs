//! Imports of addresses from CSV, as background jobs. What the columns mean is said in `core::suppression::file`.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::csv::{Position, Read, Reader};
use mailwright_core::ids::{JobId, ProjectNumber};
use mailwright_core::import::{MAX_FAILURES, RowFailure};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::project::Project;
use mailwright_core::suppression::MAX_ADDRESSES;
use mailwright_core::suppression::file::{Columns, Row};
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::audience::suppression::address::{self, New, Same};
use mailwright_store::background::job::{self as store, ClaimRef, Progress};
use mailwright_store::project::audit::Entry;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::App;
use crate::background::job::{Batch, JobHandler, Part, Status, StepResult, from_value, to_value};
use crate::error::Result;

/// Most rows of one transaction.
const CHUNK_ROWS: usize = 500;
/// The fault of a file that has only a header, or is empty.
const NO_ROWS: &str = "The file has no rows.";

/// How far an import came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportCounts {
    bytes: u64,
    line_ends: u64,
    records: u64,
    /// How many addresses the list had room for when the import was asked for.
    room: u64,
    /// Rows read, those that failed included.
    pub rows: u64,
    /// Addresses that are new on the list, or whose entry was replaced.
    pub added: u64,
    /// Rows that failed.
    pub failed: u64,
}

impl ImportCounts {
    fn position(self) -> Position {
        Position { bytes: self.bytes, line_ends: self.line_ends, records: self.records }
    }
}

/// The result of an import.
#[derive(Debug)]
pub struct Imported {
    /// The counts.
    pub counts: ImportCounts,
    /// The first rows that failed, in their order.
    pub failures: Vec<RowFailure>,
}

impl App {
    /// Queues the import of an uploaded file of addresses.
    pub async fn import_suppressions(
        &self,
        project: &Project,
        actor: &Actor,
        file: Vec<u8>,
    ) -> Result<JobId> {
        let room = u64::try_from(self.room(project.number).await?).unwrap_or(0);
        let entry = Entry::of_project(Action::SuppressionsImported).with(json!({ "bytes": file.len() }));
        let progress = ImportCounts { room, ..ImportCounts::default() };
        let entry = Some((actor.clone(), entry));
        self.queue_job(project, JobKind::ImportSuppressions, file, to_value(&progress), entry).await
    }

    /// How such an import is getting on; `None` when the project has no such import.
    pub async fn suppression_import(&self, project: &Project, id: JobId) -> Result<Option<Status<Imported>>> {
        let found = self.job(project, id, &[JobKind::ImportSuppressions], MAX_FAILURES).await?;
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
}

/// An uploaded file of addresses.
#[derive(Debug)]
pub(crate) struct Import {
    project: ProjectNumber,
    file: Vec<u8>,
    columns: Columns,
    header_end: Position,
}

impl Import {
    /// Checks the whole file: faults of the file must be found before a row is imported.
    pub(crate) fn open(project: ProjectNumber, file: Vec<u8>) -> Result<Self, String> {
        if let Err(error) = std::str::from_utf8(&file) {
            let lines = file[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
            return Err(format!(
                "The file is not valid UTF-8: see line {lines}. Save it as UTF-8 and import it again."
            ));
        }
        let mut reader = Reader::default();
        let (_, read) = reader.read(&file);
        if read != Read::Record && reader.finish() != Read::Record {
            return Err(NO_ROWS.to_owned());
        }
        let cells = reader.cells().map_err(|fault| format!("The header cannot be read. {fault}"))?;
        let columns = Columns::new(cells.map(|cell| std::str::from_utf8(cell).unwrap_or_default()))?;
        let header_end = reader.position();
        let import = Self { project, file, columns, header_end };
        if import.chunk(header_end).count() == 0 {
            return Err(NO_ROWS.to_owned());
        }
        Ok(import)
    }

    /// The rows behind a position.
    fn chunk(&self, position: Position) -> Chunk {
        let mut reader = Reader::starting_at(position);
        let mut chunk = Chunk::default();
        let mut rest = self.file.get(position.bytes as usize..).unwrap_or_default();
        while chunk.count() < CHUNK_ROWS {
            let (taken, read) = reader.read(rest);
            rest = rest.get(taken..).unwrap_or_default();
            if read != Read::Record && reader.finish() != Read::Record {
                chunk.is_last = true;
                break;
            }
            self.record(&reader, &mut chunk);
        }
        chunk.end = reader.position();
        chunk
    }

    fn record(&self, reader: &Reader, chunk: &mut Chunk) {
        let line = reader.line();
        let cells = match reader.cells() {
            Ok(cells) => cells,
            Err(fault) => {
                let failure = RowFailure { row: line, email: String::new(), error: fault.to_string() };
                return chunk.failures.push(failure);
            }
        };
        match self.columns.row(line, cells.map(|cell| std::str::from_utf8(cell).unwrap_or_default())) {
            Some(Ok(row)) => chunk.rows.push(row),
            Some(Err(failure)) => chunk.failures.push(failure),
            None => {}
        }
    }
}

/// Some rows of a file.
#[derive(Debug, Default)]
struct Chunk {
    rows: Vec<Row>,
    failures: Vec<RowFailure>,
    end: Position,
    is_last: bool,
}

impl Chunk {
    fn count(&self) -> usize {
        self.rows.len() + self.failures.len()
    }
}

impl JobHandler for Import {
    fn next(&self, progress: &Value) -> Result<Part, String> {
        let before: ImportCounts = from_value(progress)?;
        let start = if before.bytes == 0 { self.header_end } else { before.position() };
        let (chunk, size) = (self.chunk(start), self.file.len() as u64);
        Ok(Part::Batch(Arc::new(Rows { project: self.project, before, chunk, size })))
    }
}

/// Rows of an uploaded file.
#[derive(Debug)]
struct Rows {
    project: ProjectNumber,
    before: ImportCounts,
    chunk: Chunk,
    size: u64,
}

impl Rows {
    /// The addresses as far as the list has room, each once, and the rows that failed.
    fn split(&self, now: Timestamp) -> (Vec<New>, Vec<RowFailure>) {
        let mut failures = self.chunk.failures.clone();
        let mut new: BTreeMap<_, New> = BTreeMap::new();
        let room = self.before.room.saturating_sub(self.before.added) as usize;
        for row in &self.chunk.rows {
            if row.expires_at.is_some_and(|at| at <= now) {
                failures.push(row.failed("expiresAt has passed.".to_owned()));
            } else if new.len() >= room && !new.contains_key(&row.email) {
                failures
                    .push(row.failed(format!("A project can have {MAX_ADDRESSES} suppressed addresses.")));
            } else {
                let email = row.email.clone();
                let (reason, expires_at) = (row.reason, row.expires_at);
                new.insert(row.email.clone(), New { email, reason, mail: None, expires_at });
            }
        }
        failures.sort_by_key(|failure| failure.row);
        (new.into_values().collect(), failures)
    }
}

impl Batch for Rows {
    fn run<'t>(
        &'t self,
        tx: &'t mut Tx<'_>,
        claim: ClaimRef,
        now: Timestamp,
    ) -> BoxFuture<'t, mailwright_store::Result<StepResult>> {
        Box::pin(async move {
            let (new, failures) = self.split(now);
            let added = address::add(tx, self.project, &new, Same::Replaced, now).await?;
            let room = MAX_FAILURES.saturating_sub(self.before.failed) as usize;
            let kept = failures.iter().take(room).map(|failure| to_value(failure).to_string());
            store::add_failures(tx, claim, self.before.failed, &kept.collect::<Vec<_>>()).await?;
            let end = self.chunk.end;
            let counts = ImportCounts {
                bytes: end.bytes,
                line_ends: end.line_ends,
                records: end.records,
                room: self.before.room,
                rows: self.before.rows + self.chunk.count() as u64,
                added: self.before.added + added,
                failed: self.before.failed + failures.len() as u64,
            };
            let percent = (counts.bytes * 100 / self.size.max(1)) as i64;
            let progress = Progress { progress: to_value(&counts), percent };
            Ok(StepResult { progress, is_last: self.chunk.is_last })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_chunk_by_chunk_without_a_gap() {
        let rows = (0..1_200).map(|number| match number % 6 {
            0 => format!("broken{number},manual\n"),
            _ => format!("c{number}@example.com,\"hard-bounce\"\r\n"),
        });
        let file = format!("email,reason\n{}", rows.collect::<String>());
        let import = Import::open(ProjectNumber(1), file.clone().into_bytes()).unwrap();
        let (mut position, mut read, mut failed, mut chunks) = (import.header_end, 0, 0, 0);
        loop {
            let chunk = import.chunk(position);
            (position, read, failed) = (chunk.end, read + chunk.rows.len(), failed + chunk.failures.len());
            chunks += 1;
            if chunk.is_last {
                break;
            }
        }
        assert_eq!((read, failed, chunks, position.bytes), (1_000, 200, 3, file.len() as u64));
    }

    #[test]
    fn a_file_without_addresses_is_refused() {
        for bad in [&b""[..], b"email\n", b"name\nada\n", b"email\n\xff\n"] {
            assert!(Import::open(ProjectNumber(1), bad.to_vec()).is_err(), "{bad:?}");
        }
    }
}
