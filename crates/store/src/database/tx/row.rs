//! Rows of results.

use crate::database::error::{Error, Result};
use crate::database::value::Column;

/// A row of a result.
#[derive(Debug)]
pub enum Row<'r> {
    /// From SQLite.
    Sqlite(&'r rusqlite::Row<'r>),
    /// From PostgreSQL.
    Postgres(&'r tokio_postgres::Row),
}

impl Row<'_> {
    /// Column `index`, counted from zero.
    pub fn get<T: Column>(&self, index: usize) -> Result<T> {
        match self {
            Row::Sqlite(row) => T::lite(row.get_ref(index)?, index),
            Row::Postgres(row) => T::pg(row, index),
        }
    }
}

impl Row<'_> {
    /// A name in column `index`, which `parse` reads; `what` says in errors which column of which table it is.
    pub fn named<T>(&self, index: usize, what: &'static str, parse: fn(&str) -> Option<T>) -> Result<T> {
        let text: String = self.get(index)?;
        parse(&text).ok_or_else(|| Error::Corrupt {
            column: index,
            expected: what,
            detail: format!("it is {text:?}"),
        })
    }

    /// The same where the column may be null.
    pub fn named_or_null<T>(
        &self,
        index: usize,
        what: &'static str,
        parse: fn(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        if self.get::<Option<String>>(index)?.is_none() {
            return Ok(None);
        }
        self.named(index, what, parse).map(Some)
    }
}
