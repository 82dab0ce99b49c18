//! Comma-separated values (RFC 4180), read from memory piece by piece and written cell by cell.
//!
//! The reader can start at a stored [`Position`]. It also knows where a quoted cell began: if the cell cannot have been
//! meant, the record ends as a fault, and reading continues behind the quotation mark. A property test compares it with
//! `csv-core`, which does neither.

use std::borrow::Cow;
use std::mem;

/// The longest record, in bytes.
pub const MAX_RECORD: usize = 1024 * 1024;
/// The most cells of a record.
pub const MAX_CELLS: usize = 10_000;
/// The most line ends inside the cells of a record. What has more began with a quotation mark that is not meant.
pub const MAX_LINES: usize = 50;

/// What a file of Unicode text may begin with.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Where a reader stands. A reader that starts from it goes on as if it had read what lies before.
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
    fn pass(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.line_ends += newlines(bytes);
    }
}

/// What [`Reader::read`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// A record: [`Reader::cells`] has it.
    Record,
    /// The input does not hold the end of the record: more of it is needed.
    NeedsMore,
    /// There is no further record.
    End,
}

/// Why a record cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is longer than [`MAX_RECORD`] or has more than [`MAX_CELLS`].
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
                "The quotation mark that a cell begins with on line {line} is not closed as it should. Close it behind the cell's text, or write \"\" for one that is part of the text. A row has at most {MAX_LINES} line ends inside its cells."
            ),
        }
    }
}

/// Where the machine stands.
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
    text: Vec<u8>,
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

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// A cell as it is written: in quotes where it needs them.
pub fn quoted(cell: &str) -> Cow<'_, str> {
    let needs_quotes = cell.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n'))
        || cell.starts_with(char::is_whitespace)
        || cell.ends_with(char::is_whitespace);
    if needs_quotes { Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\""))) } else { Cow::Borrowed(cell) }
}

/// Appends a record to a text. A record of one empty cell is written in quotes: an empty line is none.
pub fn write<'c>(out: &mut String, cells: impl IntoIterator<Item = Cow<'c, str>>) {
    let start = out.len();
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&quoted(&cell));
    }
    if out.len() == start {
        out.push_str("\"\"");
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Records = Vec<(u64, Vec<String>)>;

    /// All records with their lines, the input given in pieces of `size` bytes.
    fn records(input: &[u8], size: usize) -> Records {
        let mut reader = Reader::default();
        let mut found = Vec::new();
        for piece in input.chunks(size) {
            let mut piece = piece;
            while let (taken, Read::Record) = reader.read(piece) {
                piece = &piece[taken..];
                found.push((reader.line(), texts(&reader)));
            }
        }
        while reader.finish() == Read::Record {
            found.push((reader.line(), texts(&reader)));
        }
        assert_eq!(reader.finish(), Read::End);
        found
    }

    fn texts(reader: &Reader) -> Vec<String> {
        reader.cells().unwrap().map(|cell| String::from_utf8(cell.to_vec()).unwrap()).collect()
    }

    fn plain(records: &Records) -> Vec<(u64, Vec<&str>)> {
        records.iter().map(|(line, cells)| (*line, cells.iter().map(String::as_str).collect())).collect()
    }

    #[test]
    fn records_know_their_lines() {
        let unix = "a,b\n\n1,\"x\ny\"\n\n\n2,z\n3";
        for text in [unix.to_owned(), unix.replace('\n', "\r\n")] {
            for size in 1..=text.len() {
                let found = records(text.as_bytes(), size);
                let lines: Vec<_> = found.iter().map(|(line, cells)| (*line, cells[0].as_str())).collect();
                assert_eq!(lines, [(1, "a"), (3, "1"), (7, "2"), (8, "3")], "{text:?} by {size}");
            }
        }
        assert_eq!(plain(&records(b"a\rb\r\rc", 2)), [(1, vec!["a"]), (2, vec!["b"]), (3, vec!["c"])]);
    }

    #[test]
    fn quotes_ragged_rows_and_a_byte_order_mark() {
        let text = "\u{feff}email,name\n\"a@b.co\",\"O\"\"Neil, Ann\"\nb@b.co\nc@b.co,x,y,,\n,\n";
        let found = records(text.as_bytes(), 5);
        assert_eq!(
            plain(&found),
            [
                (1, vec!["email", "name"]),
                (2, vec!["a@b.co", "O\"Neil, Ann"]),
                (3, vec!["b@b.co"]),
                (4, vec!["c@b.co", "x", "y", "", ""]),
                (5, vec!["", ""]),
            ]
        );
        let marked = records("\u{feff}\n\na,\"b\"\n".as_bytes(), 1);
        assert_eq!(plain(&marked), [(3, vec!["a", "b"])]);
        assert!(records("\u{feff}".as_bytes(), 2).is_empty());
        assert!(records(b"", 1).is_empty());
        assert!(records(b"\n\r\n\n", 1).is_empty());
    }

    #[test]
    fn a_reader_goes_on_where_another_stopped() {
        let text = "h\n\"1\n1\"\n\n2\r\n3\n\n4";
        let all = records(text.as_bytes(), 100);
        for (stop, next) in all.iter().enumerate().skip(1) {
            let mut first = Reader::default();
            let mut at = 0;
            for _ in 0..stop {
                let (taken, read) = first.read(&text.as_bytes()[at..]);
                assert_eq!(read, Read::Record);
                at += taken;
            }
            assert_eq!(first.position().bytes, at as u64);
            let mut second = Reader::starting_at(first.position());
            // the last record has no line end
            if second.read(&text.as_bytes()[at..]).1 == Read::NeedsMore {
                assert_eq!(second.finish(), Read::Record);
            }
            assert_eq!((second.line(), texts(&second)), *next, "after {stop}");
        }
    }

    #[test]
    fn an_endless_record_does_not_fill_the_memory() {
        let mut text = String::from("a\n\"");
        text.push_str(&"x".repeat(3 * MAX_RECORD));
        text.push_str("\",1\nb\n");
        let mut reader = Reader::default();
        let mut at = 0;
        let mut kept = Vec::new();
        while at < text.len() {
            let (taken, read) = reader.read(&text.as_bytes()[at..]);
            at += taken;
            if read == Read::Record {
                kept.push(reader.cells().map(Iterator::count).ok());
            }
        }
        assert_eq!(kept, [Some(1), None, Some(1)]);
        assert!(reader.text.len() <= MAX_RECORD);

        let many = format!("{}\nb\n", ",".repeat(3 * MAX_CELLS));
        let mut reader = Reader::default();
        let (taken, read) = reader.read(many.as_bytes());
        assert_eq!((read, reader.cells().err()), (Read::Record, Some(Fault::TooLong)));
        let (_, read) = reader.read(&many.as_bytes()[taken..]);
        assert_eq!((read, reader.cells().map(Iterator::count)), (Read::Record, Ok(1)));
    }

    /// Records with their lines; those that cannot be read with the line of the quotation mark.
    fn outcomes(input: &str) -> Vec<(u64, Result<Vec<String>, Fault>)> {
        let mut reader = Reader::default();
        let mut found = Vec::new();
        let mut at = 0;
        let read = |reader: &Reader| {
            let cells = reader.cells();
            cells.map(|cells| cells.map(|cell| String::from_utf8_lossy(cell).into_owned()).collect())
        };
        loop {
            let (taken, outcome) = reader.read(&input.as_bytes()[at..]);
            at += taken;
            if outcome != Read::Record {
                break;
            }
            found.push((reader.line(), read(&reader)));
        }
        while reader.finish() == Read::Record {
            found.push((reader.line(), read(&reader)));
        }
        assert_eq!(reader.position().bytes, input.len() as u64);
        assert_eq!(reader.position().line_ends, newlines(input.as_bytes()));
        found
    }

    fn shown(input: &str) -> Vec<(u64, String)> {
        let text = |read: Result<Vec<String>, Fault>| match read {
            Ok(cells) => cells.join("|"),
            Err(Fault::TooLong) => "too long".to_owned(),
            Err(Fault::Unclosed(line)) => format!("unclosed on {line}"),
        };
        outcomes(input).into_iter().map(|(line, read)| (line, text(read))).collect()
    }

    #[test]
    fn a_stray_quotation_mark_swallows_nothing() {
        let expect = |input: &str, expected: &[(u64, &str)]| {
            let found = shown(input);
            let found: Vec<_> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
            assert_eq!(found, expected, "{input:?}");
        };
        // up to the end of the file
        expect("h\na,\"oops\nb,1\nc,2\n", &[(1, "h"), (2, "unclosed on 2"), (3, "b|1"), (4, "c|2")]);
        expect("h\r\na,\"oops\r\n\r\nb,1", &[(1, "h"), (2, "unclosed on 2"), (4, "b|1")]);
        expect("h\na,\"oops", &[(1, "h"), (2, "unclosed on 2")]);
        // up to another mark
        expect("a,\"oops\nb,\"x\"\nc,\"y\"\n", &[(1, "unclosed on 1"), (2, "b|x"), (3, "c|y")]);
        // behind a cell of several lines, whose lines are not rows
        expect("a,\"1\n2\",\"oops\nb,x\n", &[(1, "unclosed on 2"), (3, "b|x")]);
        // two of them
        expect(
            "a,\"oops\nb,1\nc,\"oops\nd,2\n",
            &[(1, "unclosed on 1"), (2, "b|1"), (3, "unclosed on 3"), (4, "d|2")],
        );
        // where no line is swallowed, it may stand
        expect("a,\"x\"y\nb,5\"\n", &[(1, "a|xy"), (2, "b|5\"")]);
        expect("a,\"1\n\"\"2\"\"\n3\"\nb\n", &[(1, "a|1\n\"2\"\n3"), (4, "b")]);
    }

    #[test]
    fn a_record_has_so_many_lines() {
        let cell = |lines: usize| format!("a,\"{}\"\nb,1\n", vec!["x"; lines + 1].join("\n"));
        assert_eq!(shown(&cell(MAX_LINES)).len(), 2);
        let beyond = shown(&cell(MAX_LINES + 1));
        assert_eq!(beyond[0], (1, "unclosed on 1".to_owned()));
        assert_eq!(beyond.last().map(|(_, text)| text.as_str()), Some("b|1"));
        let far = format!("h\na,\"oops\n{}", "b,1\n".repeat(100_000));
        assert_eq!(shown(&far).len(), 100_002);
        let long = format!("h\na,\"oops\nb,{}\nc,1\n", "y".repeat(2 * MAX_RECORD));
        let expected = [(1, "h"), (2, "unclosed on 2"), (3, "too long"), (4, "c|1")];
        assert_eq!(shown(&long), expected.map(|(line, text)| (line, text.to_owned())));
    }

    /// What another reader makes of the same bytes.
    fn of_another(input: &[u8]) -> Vec<Vec<String>> {
        let mut machine = csv_core::Reader::new();
        let (mut text, mut ends) = (vec![0; 4096], vec![0; 512]);
        let (mut found, mut at) = (Vec::new(), 0);
        loop {
            let (mut used, mut cells) = (0, 0);
            loop {
                let (result, taken, written, ended) =
                    machine.read_record(&input[at..], &mut text[used..], &mut ends[cells..]);
                at += taken;
                used += written;
                cells += ended;
                match result {
                    csv_core::ReadRecordResult::Record => break,
                    csv_core::ReadRecordResult::End => return found,
                    csv_core::ReadRecordResult::InputEmpty => {}
                    other => panic!("{other:?}"),
                }
            }
            let starts = std::iter::once(0).chain(ends[..cells].iter().copied());
            let cell =
                |(start, end): (usize, &usize)| String::from_utf8_lossy(&text[start..*end]).into_owned();
            found.push(starts.zip(&ends[..cells]).map(cell).collect());
        }
    }

    proptest! {
        #[test]
        fn what_has_no_fault_is_read_as_another_reader_does(text in "(\u{feff})?[ab,\"\r\n]{0,60}") {
            let found = outcomes(&text);
            let readable: Result<Vec<_>, _> = found.into_iter().map(|(_, read)| read).collect();
            if let Ok(records) = readable {
                prop_assert_eq!(records, of_another(text.as_bytes()));
            }
        }

        #[test]
        fn every_row_is_read_beside_one_that_is_broken(
            before in 0_usize..80, after in 0_usize..120, quoted in any::<bool>(), place in 0_usize..3,
        ) {
            let row = |number: usize| {
                if quoted { format!("\"r{number}\",\"x, y\"\n") } else { format!("r{number},x\n") }
            };
            let broken = ["\"broken,x\n", "broken,\"x\n", "\"broken\",\"x\n"][place];
            let rows = |from: usize, count: usize| (from..from + count).map(row).collect::<String>();
            let text = format!("{}{broken}{}", rows(0, before), rows(before, after));
            let found = outcomes(&text);
            let lines: Vec<_> = found.iter().filter(|(_, read)| read.is_err()).map(|(line, _)| *line).collect();
            prop_assert_eq!(lines, vec![before as u64 + 1]);
            let names: Vec<_> = found.iter().filter_map(|(_, read)| Some(read.as_ref().ok()?[0].clone())).collect();
            let expected: Vec<_> = (0..before + after).map(|number| format!("r{number}")).collect();
            prop_assert_eq!(names, expected);
        }

        #[test]
        fn what_is_written_is_read(
            rows in prop::collection::vec(prop::collection::vec("[a-z ,\"\r\né=]{0,6}", 1..5), 0..8),
            size in 1_usize..40,
        ) {
            let mut text = String::new();
            for row in &rows {
                write(&mut text, row.iter().map(|cell| Cow::Borrowed(cell.as_str())));
            }
            let found: Vec<_> = records(text.as_bytes(), size).into_iter().map(|(_, cells)| cells).collect();
            prop_assert_eq!(found, rows);
        }

        #[test]
        fn any_bytes_are_read_to_their_end_alike_in_any_pieces(bytes in prop::collection::vec(prop_oneof![Just(b'"'), Just(b'\n'), Just(b'\r'), Just(b','), any::<u8>()], 0..300), size in 1_usize..50) {
            let whole = |size: usize| {
                let mut reader = Reader::default();
                let mut found = Vec::new();
                let note = |reader: &Reader, found: &mut Vec<_>| {
                    let cells: Result<Vec<_>, _> = reader.cells().map(|cells| cells.map(<[u8]>::to_vec).collect());
                    found.push((reader.line(), cells));
                };
                for piece in bytes.chunks(size) {
                    let mut piece = piece;
                    while let (taken, Read::Record) = reader.read(piece) {
                        piece = &piece[taken..];
                        note(&reader, &mut found);
                    }
                }
                while reader.finish() == Read::Record {
                    note(&reader, &mut found);
                }
                (found, reader.position())
            };
            prop_assert_eq!(whole(size), whole(1000));
        }
    }
}
