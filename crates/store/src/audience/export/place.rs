//! What a section is, and where its pages go on.

use mailwright_core::time::Timestamp;
use serde_json::{Value as Json, json};
use uuid::Uuid;

use crate::database::error::Result;
use crate::database::tx::Row;

/// The last row of a page: the columns that its section is ordered by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub(super) ids: [Uuid; 2],
    pub(super) text: String,
    pub(super) number: i64,
}

impl Default for Place {
    fn default() -> Self {
        Self { ids: [Uuid::nil(); 2], text: String::new(), number: -1 }
    }
}

impl Place {
    pub(super) fn id(id: Uuid) -> Self {
        Self { ids: [id, Uuid::nil()], ..Self::default() }
    }

    pub(super) fn ids(one: Uuid, other: Uuid) -> Self {
        Self { ids: [one, other], ..Self::default() }
    }
}

/// What a section is ordered by. The values of its place are the arguments from `$4` on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    Id,
    Ids,
    TextAndId,
    IdAndNumber,
    /// There is one page.
    Only,
}

/// A list of the document.
#[derive(Debug)]
pub struct Section {
    /// Its name.
    pub name: &'static str,
    /// `$1` is the project, `$2` the contact or the address, `$3` the most rows.
    pub(super) sql: &'static str,
    pub(super) by_address: bool,
    pub(super) key: Key,
    /// Rows of a page: few where one may be large.
    pub(super) page: i64,
    pub(super) read: fn(&Row<'_>) -> Result<(Place, Json)>,
}

/// A time as the document has it.
pub(super) fn time(row: &Row<'_>, column: usize) -> Result<Json> {
    Ok(json!(row.get::<Option<Timestamp>>(column)?))
}

/// A column of JSON that may be null.
pub(super) fn value(row: &Row<'_>, column: usize) -> Result<Json> {
    Ok(row.get::<Option<Json>>(column)?.unwrap_or_default())
}

/// An id that may be null.
pub(super) fn id(row: &Row<'_>, column: usize) -> Result<Json> {
    Ok(json!(row.get::<Option<Uuid>>(column)?.map(|id| id.to_string())))
}

/// A text that may be null.
pub(super) fn text(row: &Row<'_>, column: usize) -> Result<Json> {
    Ok(json!(row.get::<Option<String>>(column)?))
}

/// A number that may be null.
pub(super) fn number(row: &Row<'_>, column: usize) -> Result<Json> {
    Ok(json!(row.get::<Option<i64>>(column)?))
}
