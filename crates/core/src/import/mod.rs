//! What a CSV file says about contacts: columns, rows, and the values of cells. A cell becomes a number only if the
//! number is shown as the same text, so an import never changes what a mail says: `1.50` and `007` stay text.

#[cfg(test)]
mod guided_tests;
mod look;
mod mapping;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::address::EmailAddress;
use crate::csv::Position;
use crate::custom_data::{Data, DataPatch, MAX_KEY, MAX_KEYS, MAX_PAYLOAD, RESERVED_KEYS};

pub use look::{GUESSED_FROM, Look, SeenColumn};
pub use mapping::Mapping;

/// The largest file of an upload, in bytes (contract, Limits).
pub const MAX_UPLOAD: usize = 5 * 1024 * 1024;
/// How many failures of an import are kept; all are counted.
pub const MAX_FAILURES: u64 = 1000;
/// How much of a cell is shown in a failure, in characters.
pub(crate) const SHOWN: usize = 320;
/// How many columns of a header are shown, and how much of each name, in characters.
const SHOWN_NAMES: usize = 10;
const SHOWN_NAME: usize = 100;

/// How far an import came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportProgress {
    /// Bytes of the file that are done with.
    pub bytes: u64,
    /// Line ends in them.
    pub line_ends: u64,
    /// Records in them, the header included.
    pub records: u64,
    /// Rows read, those that failed included.
    pub rows: u64,
    /// Rows that created a contact.
    pub created: u64,
    /// Rows that found their contact, changed or not.
    pub updated: u64,
    /// Rows that failed.
    pub failed: u64,
    /// Whether the addresses are verified before they are imported.
    #[serde(default)]
    pub verifies: bool,
    /// Bytes before the file in which the input says what its columns are for.
    #[serde(default)]
    pub mapping: u64,
}

impl ImportProgress {
    /// Position of the reader.
    pub fn position(&self) -> Position {
        Position { bytes: self.bytes, line_ends: self.line_ends, records: self.records }
    }

    /// The same with the reader at `position`.
    #[must_use]
    pub fn at(self, position: Position) -> Self {
        Self { bytes: position.bytes, line_ends: position.line_ends, records: position.records, ..self }
    }
}

/// A row that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RowFailure {
    /// The line on which the row begins. The header is line 1.
    pub row: u64,
    /// The address as it stands in the file; empty when there is none.
    pub email: String,
    /// The reason.
    pub error: String,
}

/// What the columns of a file mean, as its header names them.
pub trait Layout: Sized {
    /// What a row says.
    type Row: std::fmt::Debug;

    /// Reads a header. The error says what is wrong with the file.
    fn new<'c>(header: impl Iterator<Item = &'c str>) -> Result<Self, String>;

    /// Reads a row: `None` when all its cells are blank.
    fn row<'c>(
        &self,
        line: u64,
        cells: impl Iterator<Item = &'c str>,
    ) -> Option<Result<Self::Row, RowFailure>>;
}

/// What a column is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    Email,
    Subscribed,
    Data(String),
    Ignored,
}

impl Column {
    /// What a mapping says of it: `None` if it is left out.
    fn field(&self) -> Option<&str> {
        match self {
            Self::Email => Some("email"),
            Self::Subscribed => Some("subscribed"),
            Self::Data(name) => Some(name),
            Self::Ignored => None,
        }
    }
}

/// The columns of a file of contacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns(Vec<Column>);

impl Layout for Columns {
    type Row = Row;

    /// Names are trimmed and lower-cased; a column without a name, or with one that is reserved, is ignored.
    fn new<'c>(header: impl Iterator<Item = &'c str>) -> Result<Self, String> {
        let names: Vec<&str> = header.collect();
        Self::checked(&names, by_name(&names)?)
    }

    /// Cells that a short row lacks are blank, those that a long row has beyond the header are ignored.
    fn row<'c>(&self, line: u64, cells: impl Iterator<Item = &'c str>) -> Option<Result<Row, RowFailure>> {
        let mut email = "";
        let mut subscribed = None;
        let mut data = Data::new();
        let mut size = 0;
        let mut has_nul = false;
        let mut blank = true;
        for (column, cell) in self.0.iter().zip(cells) {
            let cell = cell.trim();
            if cell.is_empty() {
                continue;
            }
            blank = false;
            has_nul |= cell.contains('\0');
            match column {
                Column::Email => email = cell,
                Column::Subscribed => subscribed = Some(cell),
                Column::Data(name) => {
                    size += name.len() + cell.len() + 6;
                    data.insert(name.clone(), if name == "locale" { cell.into() } else { value(cell) });
                }
                Column::Ignored => {}
            }
        }
        if blank {
            return None;
        }
        let failure = |error: &str| {
            let email = email.chars().filter(|c| *c != '\0').take(SHOWN).collect();
            Some(Err(RowFailure { row: line, email, error: error.to_owned() }))
        };
        if email.is_empty() {
            return failure("The row has no email address.");
        }
        if has_nul {
            return failure("The row contains the NUL character.");
        }
        if size > MAX_PAYLOAD {
            return failure("The row has more than 256 KB of data.");
        }
        let Some(email) = EmailAddress::parse(email) else { return failure("This is not an email address.") };
        let subscribed = match subscribed.map(truth) {
            Some(None) => return failure(NO_TRUTH),
            Some(meant) => meant,
            None => None,
        };
        Some(Ok(Row { line, email, subscribed, patch: DataPatch { stored: data, request: Data::new() } }))
    }
}

impl Columns {
    /// The columns of a header as somebody said, and by their names where nothing is said.
    pub fn mapped(header: &[&str], mapping: &Mapping) -> Result<Self, String> {
        Self::checked(header, mapping.columns(header)?)
    }

    fn checked(names: &[&str], columns: Vec<Column>) -> Result<Self, String> {
        let count = |wanted: &Column| columns.iter().filter(|column| *column == wanted).count();
        match count(&Column::Email) {
            0 => return Err(no_email(names)),
            1 => {}
            _ => return Err("The file has more than one column named email.".to_owned()),
        }
        if count(&Column::Subscribed) > 1 {
            return Err("The file has more than one column named subscribed.".to_owned());
        }
        Ok(Self(columns))
    }
}

/// What the columns of a header are for by their names.
fn by_name(names: &[&str]) -> Result<Vec<Column>, String> {
    if names.len() > MAX_KEYS {
        return Err(format!("The file has more than {MAX_KEYS} columns."));
    }
    names.iter().map(|name| column(name)).collect()
}

/// What a header without the column `email` looks like, and what is probably the matter.
pub(crate) fn no_email(names: &[&str]) -> String {
    let clip = |text: &str| text.trim().chars().take(SHOWN_NAME).collect::<String>();
    let mut shown: Vec<_> = names.iter().take(SHOWN_NAMES).map(|name| format!("{:?}", clip(name))).collect();
    if names.len() > SHOWN_NAMES {
        shown.push("...".to_owned());
    }
    let separator = |mark: char| names.iter().any(|name| name.contains(mark));
    let marks = match (separator(';'), separator('\t')) {
        (true, _) => Some("semicolons"),
        (false, true) => Some("tabs"),
        (false, false) => None,
    };
    let meant = names.iter().find(|name| name.to_lowercase().replace(['-', '_', ' '], "").contains("mail"));
    let hint = match (marks, meant) {
        (Some(marks), _) => format!(
            " They seem to be separated by {marks}, and only commas separate columns: save the file with commas. \
             LibreOffice asks for the separator when it saves as CSV; Excel takes the list separator of the system."
        ),
        (None, Some(name)) => format!(" Rename {:?} to email if that is what it holds.", clip(name)),
        (None, None) => String::new(),
    };
    format!("The file has no column named email. Its columns are {}.{hint}", shown.join(", "))
}

fn column(name: &str) -> Result<Column, String> {
    let name = name.trim().to_lowercase();
    if name.len() > MAX_KEY || name.contains('\0') {
        return Err(format!("A column's name must have at most {MAX_KEY} bytes and no NUL character."));
    }
    Ok(match name.as_str() {
        "email" => Column::Email,
        "subscribed" => Column::Subscribed,
        "" => Column::Ignored,
        // in any case: lower-casing a reserved name must not let it through
        other if RESERVED_KEYS.iter().any(|key| key.eq_ignore_ascii_case(other)) => Column::Ignored,
        _ => Column::Data(name),
    })
}

/// A row of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The line on which it begins.
    pub line: u64,
    /// Address of the contact.
    pub email: EmailAddress,
    /// The subscription, if the row says something about it.
    pub subscribed: Option<bool>,
    /// Changes to the custom data.
    pub patch: DataPatch,
}

impl Row {
    /// The row as one that was not imported.
    pub fn failed(&self, error: String) -> RowFailure {
        RowFailure { row: self.line, email: self.email.to_string(), error }
    }
}

/// Words of the column `subscribed`, in any case: those for true, then those for false.
const WORDS: [[&str; 6]; 2] =
    [["true", "yes", "y", "1", "on", "subscribed"], ["false", "no", "n", "0", "off", "unsubscribed"]];
const NO_TRUTH: &str = "The column subscribed takes true, yes, y, 1, on or subscribed, and false, no, n, 0, off or unsubscribed, or nothing.";

/// What a cell of the column `subscribed` means, if it is not blank.
fn truth(cell: &str) -> Option<bool> {
    let [yes, no] = WORDS.map(|words| words.iter().any(|word| cell.eq_ignore_ascii_case(word)));
    (yes || no).then_some(yes)
}

/// The value of a cell: a boolean for `true` and `false` in any case; a number where the cell is the very text that the
/// number is shown as, so that no import changes what a mail says; the text itself otherwise. `007`, `+1`, `1e5`,
/// `1.50` and numbers with more digits than a double keeps stay text.
pub fn value(cell: &str) -> Value {
    if cell.eq_ignore_ascii_case("true") {
        return Value::Bool(true);
    }
    if cell.eq_ignore_ascii_case("false") {
        return Value::Bool(false);
    }
    number(cell).unwrap_or_else(|| Value::String(cell.to_owned()))
}

/// Up to this, each integer is a double of its own (2^53 - 1).
const MAX_INTEGER: u64 = (1 << 53) - 1;
/// No number that is shown exactly has more characters.
const MAX_NUMBER: usize = 24;

fn number(cell: &str) -> Option<Value> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    if cell.len() > MAX_NUMBER || !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: i64 = cell.parse().ok()?;
        return (number.unsigned_abs() <= MAX_INTEGER && number.to_string() == cell).then(|| number.into());
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let number: f64 = cell.parse().ok()?;
    // a whole number is shown without its fraction, so `1.0` and `-0.0` stay text as well
    (number.to_string() == cell && number.fract() != 0.0).then(|| number.into())
}
