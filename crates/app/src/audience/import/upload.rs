//! Uploaded files, which are imported by background jobs.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use mailwright_core::csv::Position;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::import::{Columns, ImportProgress, Layout, MAX_FAILURES, Mapping, RowFailure};
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::background::job::{self as store, ClaimRef, Progress};
use serde_json::Value;

use super::chunks::{Chunk, Chunks, NO_ROWS, header, not_utf8};
use super::rows::apply;
use super::verified::verified;
use crate::App;
use crate::background::job::{Ask, Batch, JobHandler, Part, StepResult, UNEXPECTED, from_value, to_value};
use crate::error::Result;

/// An uploaded file, cut into chunks.
#[derive(Debug)]
pub(crate) struct UploadedFile<Columns> {
    content: Vec<u8>,
    columns: Arc<Columns>,
    header_end: Position,
}

impl<Columns: Layout> UploadedFile<Columns> {
    /// Checks the whole file: its faults must be found before a row is imported.
    pub(crate) fn open(content: Vec<u8>) -> Result<Self, String> {
        Self::open_as(content, |names| Columns::new(names.iter().copied()))
    }

    /// The same for a file whose columns are what `read` makes of its header.
    fn open_as(
        content: Vec<u8>,
        read: impl FnOnce(&[&str]) -> Result<Columns, String>,
    ) -> Result<Self, String> {
        check_utf8(&content)?;
        let (columns, header_end) = header(&content, read)?;
        let file = Self { content, columns: Arc::new(columns), header_end };
        if file.chunk(Position::default())?.0.is_empty() {
            return Err(NO_ROWS.to_owned());
        }
        Ok(file)
    }

    /// The rows behind a position, those behind the header at the beginning of the file, and whether they are the last.
    pub(crate) fn chunk(&self, position: Position) -> Result<(Chunk<Columns>, bool), String> {
        let start = if position.bytes == 0 { self.header_end } else { position };
        let mut chunks = Chunks::starting_at(&self.columns, start);
        let rest = self.content.get(start.bytes as usize..).unwrap_or_default();
        match chunks.read(rest)? {
            (_, Some(chunk)) => Ok((chunk, false)),
            (_, None) => Ok((chunks.finish()?, true)),
        }
    }

    /// How much of it, in percent, stands before a position.
    pub(crate) fn percent(&self, position: Position) -> i64 {
        (position.bytes * 100 / (self.content.len() as u64).max(1)) as i64
    }
}

/// Says where a file is not UTF-8.
pub(super) fn check_utf8(content: &[u8]) -> Result<(), String> {
    std::str::from_utf8(content).map(drop).map_err(|error| {
        let lines = content[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
        not_utf8(lines as u64)
    })
}

/// Keeps rows that failed, in their order, beside the `before` that did: the first of them all.
pub(crate) async fn keep_failures(
    tx: &mut Tx<'_>,
    claim: ClaimRef,
    before: u64,
    failures: &[RowFailure],
) -> mailwright_store::Result<()> {
    let room = MAX_FAILURES.saturating_sub(before) as usize;
    let kept: Vec<String> = failures.iter().take(room).map(|failure| to_value(failure).to_string()).collect();
    store::add_failures(tx, claim, before, &kept).await
}

/// An uploaded file of contacts that is being imported.
#[derive(Debug)]
pub(crate) struct Import {
    project: ProjectNumber,
    file: UploadedFile<Columns>,
}

impl Import {
    /// The input is the file, with the mapping before it if there is one.
    pub(crate) fn open(project: ProjectNumber, progress: &Value, mut input: Vec<u8>) -> Result<Self, String> {
        let begun: ImportProgress = from_value(progress)?;
        let file = input.split_off((begun.mapping as usize).min(input.len()));
        let mapping = if input.is_empty() {
            Mapping::default()
        } else {
            Mapping::parse(&String::from_utf8_lossy(&input)).map_err(|_| UNEXPECTED.to_owned())?
        };
        let file = UploadedFile::open_as(file, |names| Columns::mapped(names, &mapping))?;
        Ok(Self { project, file })
    }
}

impl JobHandler for Import {
    fn next(&self, progress: &Value) -> Result<Part, String> {
        let before: ImportProgress = from_value(progress)?;
        let (chunk, is_last) = self.file.chunk(before.position())?;
        let percent = self.file.percent(chunk.end);
        let rows = Rows { project: self.project, before, chunk, percent, is_last };
        Ok(if before.verifies { Part::Ask(Arc::new(rows)) } else { Part::Batch(Arc::new(rows)) })
    }
}

/// Rows of an uploaded file.
#[derive(Debug)]
struct Rows {
    project: ProjectNumber,
    before: ImportProgress,
    chunk: Chunk<Columns>,
    percent: i64,
    is_last: bool,
}

impl Ask for Rows {
    fn run<'t>(&'t self, app: &'t App) -> BoxFuture<'t, mailwright_store::Result<Arc<dyn Batch>>> {
        Box::pin(async move {
            let chunk = verified(app, self.project, &self.chunk).await?;
            let Self { project, before, percent, is_last, .. } = *self;
            Ok(Arc::new(Self { project, before, chunk, percent, is_last }) as Arc<dyn Batch>)
        })
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
            let applied = apply(tx, self.project, &self.chunk.rows, true, now).await?;
            let mut failures = [&self.chunk.failures[..], &applied.failures].concat();
            failures.sort_by_key(|failure| failure.row);
            keep_failures(tx, claim, self.before.failed, &failures).await?;
            let counts = ImportProgress {
                rows: self.before.rows + self.chunk.len() as u64,
                created: self.before.created + applied.created,
                updated: self.before.updated + applied.updated,
                failed: self.before.failed + failures.len() as u64,
                ..self.before.at(self.chunk.end)
            };
            let progress = Progress { progress: to_value(&counts), percent: self.percent };
            Ok(StepResult { progress, is_last: self.is_last })
        })
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::import::Row;

    use super::super::chunks::CHUNK_ROWS;
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

    fn gather(all: &mut (Vec<Row>, Vec<RowFailure>), chunk: Chunk<Columns>) {
        all.0.extend(chunk.rows);
        all.1.extend(chunk.failures);
    }

    #[test]
    fn a_file_is_the_same_read_in_pieces_and_from_stored_positions() {
        let file = file();
        let mut pieces = (Vec::new(), Vec::new());
        let mut chunks = Chunks::<Columns>::default();
        for mut piece in file.as_bytes().chunks(1000) {
            while let (taken, Some(chunk)) = chunks.read(piece).unwrap() {
                assert!(chunk.len() <= CHUNK_ROWS);
                piece = &piece[taken..];
                gather(&mut pieces, chunk);
            }
        }
        gather(&mut pieces, chunks.finish().unwrap());
        assert_eq!((pieces.0.len(), pieces.1.len()), (1500, 250));

        let uploaded = UploadedFile::<Columns>::open(file.clone().into_bytes()).unwrap();
        let mut stored = (Vec::new(), Vec::new());
        let mut progress = ImportProgress::default();
        let mut count = 0;
        loop {
            let (chunk, is_last) = uploaded.chunk(progress.position()).unwrap();
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
