//! What a CSV file says about contacts: columns, rows, and the values of cells. A cell becomes a number only if the
//! number is shown as the same text, so an import never changes what a mail says: `1.50` and `007` stay text.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::address::EmailAddress;
use crate::csv::Position;
use crate::custom_data::{Data, DataPatch, MAX_KEY, MAX_KEYS, MAX_PAYLOAD, RESERVED_KEYS};

/// The largest file of an upload, in bytes (contract, Limits).
pub const MAX_UPLOAD: usize = 5 * 1024 * 1024;
/// How many failures of an import are kept; all are counted.
pub const MAX_FAILURES: u64 = 1000;
/// How much of a cell is shown in a failure, in characters.
const SHOWN: usize = 320;
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
}

impl ImportProgress {
    /// Where the reader stands.
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
    /// Why.
    pub error: String,
}

/// What a column is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    Email,
    Subscribed,
    Data(String),
    Ignored,
}

/// The columns of a file, as its header names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns(Vec<Column>);

impl Columns {
    /// Reads a header. Names are trimmed and lower-cased; a column without a name, or with one that is reserved, is
    /// ignored. The error says what is wrong with the file.
    pub fn new<'c>(header: impl Iterator<Item = &'c str>) -> Result<Self, String> {
        let names: Vec<&str> = header.collect();
        let columns = names.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
        if columns.len() > MAX_KEYS {
            return Err(format!("The file has more than {MAX_KEYS} columns."));
        }
        let count = |wanted: &Column| columns.iter().filter(|column| *column == wanted).count();
        match count(&Column::Email) {
            0 => return Err(no_email(&names)),
            1 => {}
            _ => return Err("The file has more than one column named email.".to_owned()),
        }
        if count(&Column::Subscribed) > 1 {
            return Err("The file has more than one column named subscribed.".to_owned());
        }
        Ok(Self(columns))
    }

    /// Reads a row: `None` when all its cells are blank. Cells that a short row lacks are blank, those that a long row
    /// has beyond the header are ignored.
    pub fn row<'c>(
        &self,
        line: u64,
        cells: impl Iterator<Item = &'c str>,
    ) -> Option<Result<Row, RowFailure>> {
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

/// What a header without the column `email` looks like, and what is probably the matter.
fn no_email(names: &[&str]) -> String {
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
    /// Whom it is about.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn columns(header: &str) -> Result<Columns, String> {
        Columns::new(header.split(','))
    }

    fn row(header: &str, cells: &str) -> Option<Result<Row, RowFailure>> {
        columns(header).unwrap().row(2, cells.split(','))
    }

    #[test]
    fn a_header_is_read_in_any_case_and_order() {
        let expected = Columns(vec![
            Column::Data("first name".into()),
            Column::Email,
            Column::Ignored,
            Column::Subscribed,
            Column::Ignored,
            Column::Ignored,
        ]);
        assert_eq!(columns(" First Name , EMAIL ,, Subscribed,unsubscribeURL,ID"), Ok(expected));
        for bad in ["", "name", "email,Email", "email,subscribed,SUBSCRIBED", "email,a\0"] {
            assert!(columns(bad).is_err(), "{bad:?}");
        }
        assert!(columns(&format!("email{}", ",x".repeat(MAX_KEYS))).is_err());
    }

    #[test]
    fn a_header_without_an_address_is_shown() {
        for (header, told) in [
            (
                "Vorname;Nachname;E-Mail",
                r#"columns are "Vorname;Nachname;E-Mail". They seem to be separated by semicolons"#,
            ),
            ("name\temail", r#"columns are "name\temail". They seem to be separated by tabs"#),
            (
                "Name,E-Mail Adresse",
                r#"columns are "Name", "E-Mail Adresse". Rename "E-Mail Adresse" to email"#,
            ),
            ("name,plan", r#"columns are "name", "plan"."#),
        ] {
            let error = columns(header).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
        let long = vec!["x".repeat(900); 400].join(",");
        assert!(columns(&long).unwrap_err().len() < 2000);
    }

    #[test]
    fn a_row_is_read() {
        let full = row("email,subscribed,name,age", " Ann@Example.com , YES , Ann ,42").unwrap().unwrap();
        assert_eq!(full.email.as_str(), "ann@example.com");
        assert_eq!(full.subscribed, Some(true));
        assert_eq!(Value::Object(full.patch.stored), json!({"name": "Ann", "age": 42}));

        let short = row("name,email,age", "Ann,a@b.co").unwrap().unwrap();
        assert_eq!(Value::Object(short.patch.stored), json!({"name": "Ann"}));
        let long = row("email", "a@b.co,1,2").unwrap().unwrap();
        assert_eq!((long.subscribed, long.patch), (None, DataPatch::default()));
        let blank = row("email,subscribed,name", "a@b.co, ,").unwrap().unwrap();
        assert_eq!((blank.subscribed, blank.patch), (None, DataPatch::default()));
        assert_eq!(row("email,name", " , "), None);
        let locale = row("email,locale", "a@b.co,1").unwrap().unwrap();
        assert_eq!(Value::Object(locale.patch.stored), json!({"locale": "1"}));
    }

    #[test]
    fn a_row_that_cannot_be_read_says_why() {
        let failure = |cells: &str| row("email,name", cells).unwrap().unwrap_err();
        assert_eq!(failure(",Ann").email, "");
        assert_eq!((failure("nope,Ann").row, failure("nope,Ann").email), (2, "nope".to_owned()));
        assert!(failure("a@b.co,x\0y").error.contains("NUL"));
        assert!(failure(&format!("a@b.co,{}", "x".repeat(MAX_PAYLOAD))).error.contains("256 KB"));
        assert_eq!(failure(&"x".repeat(5000)).email.len(), SHOWN);
    }

    #[test]
    fn what_subscribed_means() {
        for (truth_of, words) in [(true, WORDS[0]), (false, WORDS[1])] {
            for word in words {
                assert_eq!(truth(word), Some(truth_of), "{word}");
                assert_eq!(truth(&word.to_uppercase()), Some(truth_of), "{word}");
                assert!(NO_TRUTH.contains(word), "{word} is named");
            }
        }
        for other in ["2", "anything", "-", "ja", "t", "null", "tru e"] {
            assert_eq!(truth(other), None, "{other}");
            let failed = row("email,subscribed", &format!("a@b.co,{other}")).unwrap().unwrap_err();
            assert_eq!((failed.row, failed.email.as_str(), failed.error.as_str()), (2, "a@b.co", NO_TRUTH));
        }
    }

    #[test]
    fn cells_get_the_type_they_look_like() {
        for (cell, expected) in [
            ("true", json!(true)),
            ("FALSE", json!(false)),
            ("0", json!(0)),
            ("-7", json!(-7)),
            ("42", json!(42)),
            ("3.25", json!(3.25)),
            ("-0.5", json!(-0.5)),
            ("9007199254740991", json!(9_007_199_254_740_991_i64)),
        ] {
            assert_eq!(value(cell), expected, "{cell}");
        }
        for text in [
            "yes",
            "007",
            "+1",
            "1e5",
            "1.0",
            "1.50",
            "-0",
            "-0.0",
            ".5",
            "5.",
            "1,5",
            "1 000",
            "0x10",
            "NaN",
            "inf",
            "9007199254740992",
            "123456789012345678901234567890",
            "0.1234567890123456789",
            "2026-01-31",
            "1.2.3",
            "-",
            "١",
        ] {
            assert_eq!(value(text), json!(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_number_is_shown_as_the_cell_it_came_from(cell in "-?[0-9]{0,20}(\\.[0-9]{0,20})?") {
            match value(&cell) {
                Value::Number(number) => {
                    let shown = number.as_i64().map_or_else(|| number.as_f64().unwrap().to_string(), |n| n.to_string());
                    prop_assert_eq!(shown, cell);
                }
                other => prop_assert_eq!(other, Value::String(cell)),
            }
        }

        #[test]
        fn any_row_is_read(cells in prop::collection::vec(".{0,20}", 0..6)) {
            let columns = columns("name,email,subscribed").unwrap();
            let read = columns.row(2, cells.iter().map(String::as_str));
            prop_assert_eq!(read.is_none(), cells.iter().take(3).all(|cell| cell.trim().is_empty()));
        }
    }
}
