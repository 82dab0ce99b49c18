//! Records: how long they may be, where they are, and why one cannot be read.

/// The longest record, in bytes.
pub const MAX_RECORD: usize = 1024 * 1024;
/// The most cells of a record.
pub const MAX_CELLS: usize = 10_000;
/// The most line ends inside the cells of a record. What has more began with a quotation mark that is not meant.
pub const MAX_LINES: usize = 50;

/// A position between two records. A reader that starts there continues as if it had read everything before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Bytes read.
    pub bytes: u64,
    /// Line ends read.
    pub line_ends: u64,
    /// Records read, the header included.
    pub records: u64,
}

impl Position {
    pub(super) fn pass(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.line_ends += newlines(bytes);
    }
}

/// What [`Reader::read`](super::Reader::read) found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// A record: [`Reader::cells`](super::Reader::cells) has it.
    Record,
    /// The input does not hold the end of the record: more of it is needed.
    NeedsMore,
    /// There is no further record.
    End,
}

/// Why a record cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The record is longer than [`MAX_RECORD`] or has more than [`MAX_CELLS`].
    TooLong,
    /// A cell begins with a quotation mark on this line, and does not end where it should: not within [`MAX_LINES`],
    /// not before the end of the file, or with text behind its end. The lines after that line are read as records.
    Unclosed(u64),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong => write!(
                f,
                "The row is longer than {} MB or has more than {MAX_CELLS} cells.",
                MAX_RECORD / 1024 / 1024
            ),
            Self::Unclosed(line) => write!(
                f,
                "The quotation mark at the beginning of a cell on line {line} is not closed correctly. Close \
                 it after the text of the cell, and write \"\" for a quotation mark inside the text. A row \
                 has at most {MAX_LINES} line ends inside its cells."
            ),
        }
    }
}

pub(super) fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
