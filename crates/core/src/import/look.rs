//! A look at a file before it is imported: what its columns seem to be, and what its rows would become.

use std::collections::BTreeSet;

use super::mapping::normal;
use super::{Column, Columns, Layout, Mapping, Row, RowFailure, by_name, value};
use crate::address::EmailAddress;
use crate::custom_data::FieldType;

/// How many rows are shown.
const SHOWN_ROWS: usize = 20;
/// How many failures are shown.
const SHOWN_FAILURES: usize = 20;
/// How many rows are looked at to find the column of addresses, where no name says which it is.
pub const GUESSED_FROM: usize = 100;
/// How many cells of a column are shown, and how much of each, in characters.
const SAMPLES: usize = 3;
const SAMPLE: usize = 100;

/// A column of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenColumn {
    /// Name as it stands in the header, trimmed.
    pub name: String,
    /// `email`, `subscribed` or the name of a custom field; `None` for a column that is left out.
    pub field: Option<String>,
    /// What the cells are, text if they differ; `None` if all are blank.
    pub kind: Option<FieldType>,
    /// The first different cells that are not blank.
    pub samples: Vec<String>,
}

/// What was seen of a file.
#[derive(Debug)]
pub struct Look {
    /// The columns, in the order of the file.
    pub columns: Vec<SeenColumn>,
    /// Why the file cannot be imported as it is.
    pub problem: Option<String>,
    /// The first rows that would be imported.
    pub rows: Vec<Row>,
    /// The first rows that would fail.
    pub failures: Vec<RowFailure>,
    /// Rows of the file, blank ones left out.
    pub total: u64,
    /// How many of them would fail.
    pub failed: u64,
    /// The custom fields that the rows have.
    pub fields: BTreeSet<String>,
    meaning: Option<Columns>,
}

impl Look {
    /// Begins with a header. Without a mapping, the columns are guessed by their names and by the first rows. The error
    /// says what is wrong with the header.
    pub fn new(header: &[&str], first: &[Vec<&str>], mapping: Option<&Mapping>) -> Result<Self, String> {
        let columns = match mapping {
            Some(mapping) => mapping.columns(header)?,
            None => guessed(header, first)?,
        };
        let seen = header.iter().zip(&columns).map(|(name, column)| SeenColumn {
            name: name.trim().to_owned(),
            field: column.field().map(str::to_owned),
            kind: None,
            samples: Vec::new(),
        });
        let seen = seen.collect();
        let (meaning, problem) = match Columns::checked(header, columns) {
            Ok(columns) => (Some(columns), None),
            Err(problem) => (None, Some(problem)),
        };
        Ok(Self {
            columns: seen,
            problem,
            rows: Vec::new(),
            failures: Vec::new(),
            total: 0,
            failed: 0,
            fields: BTreeSet::new(),
            meaning,
        })
    }

    /// Looks at a row.
    pub fn row(&mut self, line: u64, cells: &[&str]) {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.see(cell.trim());
        }
        let Some(meaning) = &self.meaning else {
            self.total += u64::from(cells.iter().any(|cell| !cell.trim().is_empty()));
            return;
        };
        match meaning.row(line, cells.iter().copied()) {
            None => {}
            Some(Err(failure)) => self.fail(failure),
            Some(Ok(row)) => {
                self.total += 1;
                for name in row.patch.names() {
                    if !self.fields.contains(name) {
                        self.fields.insert(name.to_owned());
                    }
                }
                if self.rows.len() < SHOWN_ROWS {
                    self.rows.push(row);
                }
            }
        }
    }

    /// Looks at a row that cannot be read, or that fails.
    pub fn fail(&mut self, failure: RowFailure) {
        self.total += 1;
        self.failed += 1;
        if self.failures.len() < SHOWN_FAILURES {
            self.failures.push(failure);
        }
    }
}

impl SeenColumn {
    fn see(&mut self, cell: &str) {
        if cell.is_empty() {
            return;
        }
        let is_text = self.kind == Some(FieldType::String) || self.field.as_deref() == Some("locale");
        let kind = if is_text { FieldType::String } else { FieldType::infer(&value(cell)) };
        self.kind = match self.kind {
            Some(before) if before != kind => Some(FieldType::String),
            _ => Some(kind),
        };
        if self.samples.len() < SAMPLES {
            let shown: String = cell.chars().filter(|c| *c != '\0').take(SAMPLE).collect();
            if !self.samples.contains(&shown) {
                self.samples.push(shown);
            }
        }
    }
}

/// What the columns are for by their names. If none is named email, it is one whose name has `mail` in it and whose
/// cells are addresses, or else any whose cells are.
fn guessed(header: &[&str], first: &[Vec<&str>]) -> Result<Vec<Column>, String> {
    let mut columns = by_name(header)?;
    if columns.contains(&Column::Email) {
        return Ok(columns);
    }
    // a mapping names columns, so it could not say which of several with one name is meant
    let is_unique =
        |index: usize| header.iter().filter(|name| normal(name) == normal(header[index])).count() == 1;
    let holds_addresses = |index: usize, least: usize| {
        let cells = first.iter().filter_map(|row| row.get(index)).map(|cell| cell.trim());
        let (mut addresses, mut others) = (0, 0);
        for cell in cells.filter(|cell| !cell.is_empty()) {
            if EmailAddress::parse(cell).is_some() { addresses += 1 } else { others += 1 }
        }
        addresses >= least && addresses >= others && is_unique(index)
    };
    let is_named = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "").contains("mail");
    let named = (0..header.len()).find(|index| is_named(header[*index]) && holds_addresses(*index, 0));
    let found = named.or_else(|| (0..header.len()).find(|index| holds_addresses(*index, 1)));
    if let Some(column) = found.and_then(|index| columns.get_mut(index)) {
        *column = Column::Email;
    }
    Ok(columns)
}
