use std::borrow::Cow;

use proptest::prelude::*;

use super::reader::Reader;
use super::record::{Fault, MAX_CELLS, MAX_LINES, MAX_RECORD, Read, newlines};
use super::write::write;

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
        let cell = |(start, end): (usize, &usize)| String::from_utf8_lossy(&text[start..*end]).into_owned();
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
