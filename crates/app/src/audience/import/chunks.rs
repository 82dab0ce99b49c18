//! Cutting a file into chunks, whatever its columns mean.

use std::sync::Arc;

use mailwright_core::csv::{Fault, Position, Read, Reader};
use mailwright_core::import::{Layout, RowFailure};

use crate::error::Result;

/// Most rows of one transaction.
pub(super) const CHUNK_ROWS: usize = 500;
/// Bytes of the file from which on a chunk is closed, however few rows it has: bounds the memory.
const CHUNK_BYTES: u64 = 512 * 1024;

/// The fault of a file that has only a header, or is empty.
pub const NO_ROWS: &str = "The file has no rows.";

/// Some rows of a file.
#[derive(Debug)]
pub struct Chunk<Columns: Layout> {
    /// Rows that can be imported.
    pub rows: Vec<Columns::Row>,
    /// Rows that cannot be imported.
    pub failures: Vec<RowFailure>,
    /// Position after the chunk.
    pub end: Position,
}

impl<Columns: Layout> Default for Chunk<Columns> {
    fn default() -> Self {
        Self { rows: Vec::new(), failures: Vec::new(), end: Position::default() }
    }
}

impl<Columns: Layout> Chunk<Columns> {
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
#[derive(Debug)]
pub struct Chunks<Columns: Layout> {
    reader: Reader,
    columns: Option<Arc<Columns>>,
    chunk: Chunk<Columns>,
    started: u64,
}

impl<Columns: Layout> Default for Chunks<Columns> {
    fn default() -> Self {
        Self { reader: Reader::default(), columns: None, chunk: Chunk::default(), started: 0 }
    }
}

impl<Columns: Layout> Chunks<Columns> {
    /// Goes on at a position behind the header.
    pub(super) fn starting_at(columns: &Arc<Columns>, position: Position) -> Self {
        Self {
            reader: Reader::starting_at(position),
            columns: Some(Arc::clone(columns)),
            chunk: Chunk::default(),
            started: position.bytes,
        }
    }

    /// Reads from the front of `input` until a chunk is full. Returns how many bytes are done with, and the chunk, if
    /// there was input enough for one. The error says what is wrong with the file.
    pub fn read(&mut self, input: &[u8]) -> Result<(usize, Option<Chunk<Columns>>), String> {
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
    pub fn finish(&mut self) -> Result<Chunk<Columns>, String> {
        while self.reader.finish() == Read::Record {
            self.record()?;
        }
        if self.columns.is_none() {
            return Err(NO_ROWS.to_owned());
        }
        Ok(self.take())
    }

    fn take(&mut self) -> Chunk<Columns> {
        let end = self.reader.position();
        self.started = end.bytes;
        Chunk { end, ..std::mem::take(&mut self.chunk) }
    }

    fn record(&mut self) -> Result<(), String> {
        let line = self.reader.line();
        let cells = match self.reader.cells() {
            Ok(cells) => cells,
            Err(fault) if self.columns.is_none() => return Err(unreadable(&fault)),
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

/// What `read` makes of the header of a file, and where the rows begin.
pub(super) fn header<C>(
    file: &[u8],
    read: impl FnOnce(&[&str]) -> Result<C, String>,
) -> Result<(C, Position), String> {
    let mut reader = Reader::default();
    let (_, found) = reader.read(file);
    if found != Read::Record && reader.finish() != Read::Record {
        return Err(NO_ROWS.to_owned());
    }
    let cells = reader.cells().map_err(|fault| unreadable(&fault))?;
    let cells: Result<Vec<_>, _> = cells.map(std::str::from_utf8).collect();
    let columns = read(&cells.map_err(|_| not_utf8(reader.line()))?)?;
    Ok((columns, reader.position()))
}

fn unreadable(fault: &Fault) -> String {
    format!("The header cannot be read. {fault}")
}

pub(super) fn not_utf8(line: u64) -> String {
    format!("The file is not valid UTF-8: see line {line}. Save it as UTF-8 and import it again.")
}
