//! Comma-separated values (RFC 4180), read from memory piece by piece and written cell by cell.

use std::borrow::Cow;

use csv_core::ReadRecordResult;

/// The longest record, in bytes. What a forgotten closing quote swallows must not fill the memory.
pub const MAX_RECORD: usize = 1024 * 1024;
/// The most cells of a record that are kept; further ones are read and dropped.
pub const MAX_CELLS: usize = 10_000;

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

/// Reads records. Lines end with LF, CRLF or CR; empty lines are passed over; records may have any number of cells.
#[derive(Debug)]
pub struct Reader {
    machine: csv_core::Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    used: usize,
    cells: usize,
    too_long: bool,
    /// Whether the next byte can still be one of the line ends before a record.
    leading: bool,
    first_line: u64,
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
            machine: csv_core::Reader::new(),
            text: vec![0; 4096],
            ends: vec![0; 64],
            used: 0,
            cells: 0,
            too_long: false,
            leading: true,
            first_line: 1,
            position,
        }
    }

    /// Reads one record from the front of `input`, or a part of one. Returns how many bytes of the input are done
    /// with, and what was found.
    pub fn read(&mut self, input: &[u8]) -> (usize, Read) {
        // to the machine, empty input means that there is no more
        if input.is_empty() { (0, Read::NeedsMore) } else { self.step(input) }
    }

    /// Reads the last record, whose line may have no end, once [`Reader::read`] was given all input.
    pub fn finish(&mut self) -> Read {
        self.step(&[]).1
    }

    fn step(&mut self, input: &[u8]) -> (usize, Read) {
        if self.leading {
            (self.used, self.cells, self.too_long) = (0, 0, false);
        }
        let mut taken = 0;
        loop {
            let (result, bytes, written, ends) = self.machine.read_record(
                &input[taken..],
                &mut self.text[self.used..],
                &mut self.ends[self.cells..],
            );
            self.count(&input[taken..taken + bytes]);
            taken += bytes;
            self.used += written;
            self.cells += ends;
            match result {
                ReadRecordResult::InputEmpty => return (taken, Read::NeedsMore),
                ReadRecordResult::OutputFull if self.text.len() >= MAX_RECORD => {
                    (self.used, self.cells, self.too_long) = (0, 0, true);
                }
                ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull if self.ends.len() >= MAX_CELLS => {
                    // cells beyond are counted over the last one
                    self.cells = MAX_CELLS - 1;
                    self.too_long = true;
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize((self.ends.len() * 2).min(MAX_CELLS), 0),
                ReadRecordResult::Record => {
                    self.leading = true;
                    self.position.records += 1;
                    return (taken, Read::Record);
                }
                ReadRecordResult::End => return (taken, Read::End),
            }
        }
    }

    /// Keeps the position: how many line ends there are, and on which line the record begins.
    fn count(&mut self, read: &[u8]) {
        self.position.bytes += read.len() as u64;
        let mut rest = read;
        if self.leading {
            let blank = read.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            self.position.line_ends += newlines(&read[..blank]);
            rest = &read[blank..];
            self.leading = rest.is_empty();
            self.first_line = self.position.line_ends + 1;
        }
        self.position.line_ends += newlines(rest);
    }

    /// The cells of the record that was just read. `None` when it is longer than [`MAX_RECORD`] or has more than
    /// [`MAX_CELLS`].
    pub fn cells(&self) -> Option<impl Iterator<Item = &[u8]>> {
        let ends = &self.ends[..self.cells];
        let starts = std::iter::once(0).chain(ends.iter().copied());
        (!self.too_long).then(|| starts.zip(ends).map(|(start, end)| &self.text[start..*end]))
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
        if reader.finish() == Read::Record {
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
                kept.push(reader.cells().map(Iterator::count));
            }
        }
        assert_eq!(kept, [Some(1), None, Some(1)]);
        assert!(reader.text.len() <= MAX_RECORD);

        let many = format!("{}\nb\n", ",".repeat(3 * MAX_CELLS));
        let mut reader = Reader::default();
        let (taken, read) = reader.read(many.as_bytes());
        assert_eq!((read, reader.cells().is_none()), (Read::Record, true));
        let (_, read) = reader.read(&many.as_bytes()[taken..]);
        assert_eq!((read, reader.cells().map(Iterator::count)), (Read::Record, Some(1)));
    }

    proptest! {
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
        fn any_bytes_are_read_to_their_end_alike_in_any_pieces(bytes in prop::collection::vec(any::<u8>(), 0..200), size in 1_usize..50) {
            let whole = |size: usize| {
                let mut reader = Reader::default();
                let mut found = Vec::new();
                let note = |reader: &Reader, found: &mut Vec<_>| {
                    let cells: Option<Vec<_>> = reader.cells().map(|cells| cells.map(<[u8]>::to_vec).collect());
                    found.push((reader.line(), cells));
                };
                for piece in bytes.chunks(size) {
                    let mut piece = piece;
                    while let (taken, Read::Record) = reader.read(piece) {
                        piece = &piece[taken..];
                        note(&reader, &mut found);
                    }
                }
                if reader.finish() == Read::Record {
                    note(&reader, &mut found);
                }
                (found, reader.position())
            };
            prop_assert_eq!(whole(size), whole(1000));
        }
    }
}
