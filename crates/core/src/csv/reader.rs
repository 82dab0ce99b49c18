//! The reader of records.

use std::mem;

use super::record::{Fault, MAX_CELLS, MAX_LINES, MAX_RECORD, Position, Read, newlines};

/// The byte order mark of UTF-8.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// State of the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// So many bytes of the mark of Unicode were read.
    Mark(usize),
    /// A cell begins.
    Start,
    /// In a cell without quotation marks, or behind those of one.
    Plain,
    /// Between quotation marks.
    Quoted,
    /// Behind a quotation mark that ends a cell, or is the first of a pair that stands for one.
    Closed,
    /// In a record that is too long, up to the end of the line.
    Skipped,
}

/// Reads records (RFC 4180). Lines end with LF, CRLF or CR; empty lines are passed over; records may have any number of
/// cells. A cell that is not in quotation marks may hold some, and one that is may have text behind them, as long as it
/// stands on one line.
///
/// A quotation mark that is never closed would swallow all rows up to the next one. So a record that looks like it is a
/// [`Fault`], and reading goes on at the line after the mark.
#[derive(Debug)]
pub struct Reader {
    state: State,
    /// The bytes of the record so far.
    raw: Vec<u8>,
    /// Bytes of a faulty record that are read again, before any other input.
    again: Vec<u8>,
    /// Where in `raw` the last quoted cell began.
    quote: usize,
    /// Line feeds and carriage returns inside its cells.
    line_ends: [usize; 2],
    pub(super) text: Vec<u8>,
    ends: Vec<usize>,
    fault: Option<Fault>,
    /// Whether no byte of a record was read yet.
    leading: bool,
    first_line: u64,
    /// What was read before `raw`.
    position: Position,
}

impl Default for Reader {
    fn default() -> Self {
        Self::starting_at(Position::default())
    }
}

impl Reader {
    /// A reader for input that begins at `position`.
    pub fn starting_at(position: Position) -> Self {
        Self {
            state: State::Start,
            raw: Vec::new(),
            again: Vec::new(),
            quote: 0,
            line_ends: [0; 2],
            text: Vec::new(),
            ends: Vec::new(),
            fault: None,
            leading: true,
            first_line: 1,
            position,
        }
    }

    /// Reads one record from the front of `input`, or a part of one. Returns how many bytes of the input are done
    /// with, and what was found.
    pub fn read(&mut self, input: &[u8]) -> (usize, Read) {
        if !self.again.is_empty() && self.read_again() == Read::Record {
            return (0, Read::Record);
        }
        self.step(input)
    }

    /// Reads a record of what is left, whose last line may have no end, once [`Reader::read`] was given all input. To
    /// be called until there is none.
    pub fn finish(&mut self) -> Read {
        if !self.again.is_empty() && self.read_again() == Read::Record {
            return Read::Record;
        }
        if self.is_mark_alone() {
            self.pass_over();
        }
        match self.state {
            _ if self.leading => return Read::End,
            State::Quoted => self.fail_unclosed(),
            State::Mark(known) => {
                self.text.extend_from_slice(&MARK[..known]);
                self.complete();
            }
            State::Start | State::Plain | State::Closed | State::Skipped => self.complete(),
        }
        Read::Record
    }

    fn read_again(&mut self) -> Read {
        let again = mem::take(&mut self.again);
        let (taken, read) = self.step(&again);
        self.again.extend_from_slice(&again[taken..]);
        read
    }

    fn step(&mut self, input: &[u8]) -> (usize, Read) {
        let mut at = 0;
        if self.leading {
            at = input.iter().take_while(|byte| is_line_end(**byte)).count();
            self.position.pass(&input[..at]);
            if at == input.len() {
                return (at, Read::NeedsMore);
            }
            self.begin();
        }
        while at < input.len() {
            if self.raw.len() > MAX_RECORD && self.is_given_up() {
                return (at, Read::Record);
            }
            let run = self.run(&input[at..]);
            self.keep(&input[at..at + run]);
            at += run;
            if self.line_ends.into_iter().max() > Some(MAX_LINES) {
                self.fail_unclosed();
                return (at, Read::Record);
            }
            let Some(byte) = input.get(at).copied() else { break };
            if run == 0 {
                // the byte ends the run
                if self.state == State::Closed && self.is_misplaced(byte) {
                    self.fail_unclosed();
                    return (at, Read::Record);
                }
                let ends = self.turn(byte);
                self.keep_raw(byte);
                at += 1;
                if ends && self.is_mark_alone() {
                    self.pass_over();
                    let (more, read) = self.step(&input[at..]);
                    return (at + more, read);
                }
                if ends {
                    self.complete();
                    return (at, Read::Record);
                }
            }
        }
        if self.raw.len() > MAX_RECORD && self.is_given_up() {
            return (at, Read::Record);
        }
        (at, Read::NeedsMore)
    }

    /// Whether the line holds nothing but the mark of Unicode.
    fn is_mark_alone(&self) -> bool {
        !self.leading
            && self.state == State::Start
            && self.position.bytes == 0
            && self.text.is_empty()
            && self.ends.is_empty()
    }

    /// Takes an empty line for what it is.
    fn pass_over(&mut self) {
        self.position.pass(&mem::take(&mut self.raw));
        self.leading = true;
    }

    fn begin(&mut self) {
        self.leading = false;
        self.raw.clear();
        self.text.clear();
        self.ends.clear();
        (self.fault, self.line_ends) = (None, [0; 2]);
        self.state = if self.position.bytes == 0 { State::Mark(0) } else { State::Start };
        self.first_line = self.position.line_ends + 1;
    }

    /// How many bytes at the front leave the state as it is, so that they can be taken together.
    fn run(&self, bytes: &[u8]) -> usize {
        let room = (MAX_RECORD + 1).saturating_sub(self.raw.len());
        match self.state {
            State::Plain => memchr::memchr3(b',', b'\r', b'\n', bytes).unwrap_or(bytes.len()).min(room),
            State::Quoted => memchr::memchr(b'"', bytes).unwrap_or(bytes.len()).min(room),
            State::Skipped => memchr::memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len()),
            State::Mark(_) | State::Start | State::Closed => 0,
        }
    }

    /// Takes bytes of a cell.
    fn keep(&mut self, bytes: &[u8]) {
        if self.state == State::Skipped {
            self.position.pass(bytes);
        } else {
            if self.state == State::Quoted {
                self.line_ends[0] += newlines(bytes) as usize;
                self.line_ends[1] += memchr::memchr_iter(b'\r', bytes).count();
            }
            self.raw.extend_from_slice(bytes);
            self.text.extend_from_slice(bytes);
        }
    }

    fn keep_raw(&mut self, byte: u8) {
        if self.state == State::Skipped {
            self.position.pass(&[byte]);
        } else {
            self.raw.push(byte);
        }
    }

    /// Goes on by one byte. Returns whether it ends the record.
    fn turn(&mut self, byte: u8) -> bool {
        match (self.state, byte) {
            (State::Mark(known), _) if byte == MARK[known] => {
                self.state = if known + 1 == MARK.len() { State::Start } else { State::Mark(known + 1) };
            }
            (State::Mark(known), _) => {
                self.text.extend_from_slice(&MARK[..known]);
                self.state = if known == 0 { State::Start } else { State::Plain };
                return self.turn(byte);
            }
            (_, b'\r' | b'\n') => return true,
            (State::Skipped, _) => {}
            (State::Start | State::Plain | State::Closed, b',') => {
                self.end_cell();
                self.state = State::Start;
            }
            (State::Start, b'"') => {
                self.quote = self.raw.len();
                self.state = State::Quoted;
            }
            (State::Quoted, _) => self.state = State::Closed,
            (State::Closed, b'"') => {
                self.text.push(b'"');
                self.state = State::Quoted;
            }
            (State::Start | State::Plain | State::Closed, _) => {
                self.text.push(byte);
                self.state = State::Plain;
            }
        }
        false
    }

    fn end_cell(&mut self) {
        if self.ends.len() < MAX_CELLS {
            self.ends.push(self.text.len());
        } else {
            self.fault = Some(Fault::TooLong);
        }
    }

    /// Whether a byte behind the end of a quoted cell says that the cell was not meant to begin where it did.
    fn is_misplaced(&self, byte: u8) -> bool {
        !matches!(byte, b',' | b'"' | b'\r' | b'\n')
            && self.raw[self.quote..].iter().copied().any(is_line_end)
    }

    /// The record is too long. Where it is long for the lines that a quotation mark swallowed, these are read again;
    /// otherwise the rest of its line is passed over. Returns whether the record ends here.
    fn is_given_up(&mut self) -> bool {
        let in_quotes = matches!(self.state, State::Quoted | State::Closed);
        if in_quotes && self.raw[self.quote..].iter().copied().any(is_line_end) {
            self.fail_unclosed();
            return true;
        }
        self.position.pass(&mem::take(&mut self.raw));
        self.text.clear();
        self.ends.clear();
        self.fault = Some(Fault::TooLong);
        self.state = State::Skipped;
        false
    }

    /// Ends the record before the line after the one with its last opening quotation mark.
    fn fail_unclosed(&mut self) {
        let line = self.position.line_ends + newlines(&self.raw[..self.quote]) + 1;
        let quoted = &self.raw[self.quote..];
        let end =
            quoted.iter().position(|byte| is_line_end(*byte)).map_or(self.raw.len(), |end| self.quote + end);
        self.again = self.raw.split_off(end);
        self.complete();
        self.fault = Some(Fault::Unclosed(line));
    }

    fn complete(&mut self) {
        self.end_cell();
        self.position.pass(&mem::take(&mut self.raw));
        self.position.records += 1;
        self.leading = true;
    }

    /// The cells of the record that was just read, or why it cannot be read.
    pub fn cells(&self) -> Result<impl Iterator<Item = &[u8]>, Fault> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let cells = starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end]);
        self.fault.map_or(Ok(cells), Err)
    }

    /// The line on which the record that was just read begins, counted from 1. In input whose lines end with CR alone
    /// this is the number of the record.
    pub fn line(&self) -> u64 {
        self.first_line.max(self.position.records)
    }

    /// Where the next record begins, or line ends before it.
    pub fn position(&self) -> Position {
        self.position
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}
