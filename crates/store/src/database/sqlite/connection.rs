//! Connections to SQLite.

use std::path::Path;
use std::time::Duration;

use mailwright_core::filter::date::Moment;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::database::error::{Error, Result};

pub(super) fn connect(path: &Path) -> Result<Connection> {
    let connection =
        Connection::open(path).map_err(|e| Error::Unavailable(format!("{}: {e}", path.display())))?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.execute_batch("pragma foreign_keys = on; pragma temp_store = memory;")?;
    connection.set_prepared_statement_cache_capacity(256);
    rusqlite::vtab::array::load_module(&connection)?;
    add_functions(&connection)?;
    Ok(connection)
}

/// Refuses a file that another program wrote, before anything in it is changed.
pub(super) fn refuse_foreign(path: &Path, connection: &Connection) -> Result<()> {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let foreign = || -> rusqlite::Result<bool> {
        let tables = count("select count(*) from sqlite_master")?;
        let ours = count(
            "select count(*) from pragma_table_info('schema_migrations') where name in ('number', 'applied_at')",
        )?;
        Ok(tables > 0 && ours != 2)
    };
    let path = path.display();
    match foreign() {
        Ok(false) => Ok(()),
        Ok(true) => Err(Error::Unusable(format!(
            "{path} is a database of another program, not one of Mailwright; set MAILWRIGHT_DATA_DIR to another folder"
        ))),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            Err(Error::Unusable(format!(
                "{path} is not a database; restore it from a backup, or set MAILWRIGHT_DATA_DIR to another folder"
            )))
        }
        Err(error) => Err(match Error::from(error) {
            Error::Unavailable(text) => Error::Unavailable(format!("{path}: {text}")),
            other => other,
        }),
    }
}

/// `canonical_date(text)`: the canonical form of a date for filters, null for anything else.
fn add_functions(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("canonical_date", 1, flags, |context| {
        let text = context.get_raw(0).as_str().ok();
        Ok(text.and_then(Moment::of_stored).map(|date| date.as_str().to_owned()))
    })?;
    Ok(())
}
