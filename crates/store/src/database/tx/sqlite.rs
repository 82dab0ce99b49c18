//! Running statements on SQLite.

use std::ops::Range;

use super::row::Row;
use crate::database::dialect::{Sql, Texts};
use crate::database::error::Result;
use crate::database::value::Arg;

/// Rows of one statement of [`Tx::insert_each`](super::Tx::insert_each), the most first: each has a text of its own.
const BLOCKS: [usize; 3] = [100, 20, 4];

/// Inserts blocks of rows, as large ones as there are, and what is left row by row: each text is prepared once.
pub(super) fn insert(
    connection: &rusqlite::Connection,
    texts: &Texts,
    sql: &'static str,
    args: &[Arg<'_>],
) -> Result<u64> {
    let rows = row_count(args);
    let (mut next, mut inserted) = (0, 0);
    for size in BLOCKS {
        if rows - next < size {
            continue;
        }
        let mut statement = connection.prepare_cached(&texts.block(sql, size, args.len()))?;
        while rows - next >= size {
            bind_block(&mut statement, args, next..next + size)?;
            inserted += statement.raw_execute()? as u64;
            next += size;
        }
    }
    Ok(inserted + run_each(connection, &texts.text(&Sql::Fixed(sql)), args, next..rows)?)
}

/// Binds a block of rows, numbered as [`Texts::block`] says.
fn bind_block(
    statement: &mut rusqlite::Statement<'_>,
    args: &[Arg<'_>],
    rows: Range<usize>,
) -> rusqlite::Result<()> {
    bind(statement, args, Some(rows.start))?;
    let columns: Vec<_> = args.iter().take_while(|arg| arg.rows().is_some()).collect();
    for (behind, row) in rows.skip(1).enumerate() {
        for (column, arg) in columns.iter().enumerate() {
            let index = args.len() + behind * columns.len() + column + 1;
            arg.bind_row(statement, index, row)?;
        }
    }
    Ok(())
}

/// How many rows the columns among the arguments hold.
pub(super) fn row_count(args: &[Arg<'_>]) -> usize {
    args.iter().find_map(Arg::rows).unwrap_or(0)
}

fn bind(
    statement: &mut rusqlite::Statement<'_>,
    args: &[Arg<'_>],
    row: Option<usize>,
) -> rusqlite::Result<()> {
    for (index, arg) in args.iter().enumerate() {
        match row {
            Some(row) => arg.bind_row(statement, index + 1, row)?,
            None => arg.bind(statement, index + 1)?,
        }
    }
    Ok(())
}

pub(super) fn visit_query(
    connection: &rusqlite::Connection,
    text: &str,
    args: &[Arg<'_>],
    row: Option<usize>,
    see: &mut (dyn FnMut(&Row<'_>) -> Result<()> + Send),
) -> Result<()> {
    visit(&mut *connection.prepare_cached(text)?, args, row, see)
}

pub(super) fn visit(
    statement: &mut rusqlite::Statement<'_>,
    args: &[Arg<'_>],
    row: Option<usize>,
    see: &mut (dyn FnMut(&Row<'_>) -> Result<()> + Send),
) -> Result<()> {
    bind(statement, args, row)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        see(&Row::Sqlite(row))?;
    }
    Ok(())
}

/// Visits the rows of a query over each row of its columns.
pub(super) fn visit_each(
    connection: &rusqlite::Connection,
    text: &str,
    args: &[Arg<'_>],
    see: &mut (dyn FnMut(&Row<'_>) -> Result<()> + Send),
) -> Result<()> {
    let mut statement = connection.prepare_cached(text)?;
    (0..row_count(args)).try_for_each(|row| visit(&mut statement, args, Some(row), see))
}

pub(super) fn execute(connection: &rusqlite::Connection, text: &str, args: &[Arg<'_>]) -> Result<u64> {
    let mut statement = connection.prepare_cached(text)?;
    bind(&mut statement, args, None)?;
    Ok(statement.raw_execute()? as u64)
}

/// Runs a statement for these rows of its columns, one after the other.
pub(super) fn run_each(
    connection: &rusqlite::Connection,
    text: &str,
    args: &[Arg<'_>],
    rows: Range<usize>,
) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    let mut statement = connection.prepare_cached(text)?;
    let mut touched = 0;
    for row in rows {
        bind(&mut statement, args, Some(row))?;
        touched += statement.raw_execute()? as u64;
    }
    Ok(touched)
}
