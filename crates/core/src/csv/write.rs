//! Records as they are written.

use std::borrow::Cow;

/// A cell as it is written: in quotes where it needs them.
pub fn quoted(cell: &str) -> Cow<'_, str> {
    let needs_quotes = cell.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n'))
        || cell.starts_with(char::is_whitespace)
        || cell.ends_with(char::is_whitespace);
    if needs_quotes { Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\""))) } else { Cow::Borrowed(cell) }
}

/// A cell that no spreadsheet takes for a formula: with an apostrophe before a text that could be one.
pub fn no_formula(cell: &str) -> Cow<'_, str> {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
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
