//! The database of the server, as whoever is not the program sees and changes it.

use std::ops::RangeInclusive;
use std::path::Path;

use rusqlite::types::ValueRef;

use crate::Engine;
use crate::database::Held;
use crate::database_proxy::DatabaseProxy;
use crate::rows::{self, Rows};

use super::{App, PATIENCE};

impl App {
    /// Everything that the database holds, as bytes to be searched for what must not be there. PostgreSQL shows blobs
    /// as hexadecimal digits.
    pub async fn stored(&self) -> Vec<u8> {
        if let Some(database) = &self.database {
            return database.contents().await.into_bytes();
        }
        let files = std::fs::read_dir(self.data_dir()).unwrap().map(|entry| entry.unwrap().path());
        let database = files.filter(|path| path.to_string_lossy().contains("mailwright.sqlite"));
        let mut stored: Vec<u8> = database.flat_map(|path| std::fs::read(path).unwrap()).collect();
        // and in one piece what lies in several pages of the file
        stored.extend(sqlite_values(&self.data_dir().join("mailwright.sqlite")));
        stored
    }

    /// Every row of every table, as of one moment.
    pub async fn rows(&self) -> Rows {
        match &self.database {
            Some(database) => database.rows().await,
            None => rows::of_sqlite(&self.data_dir().join("mailwright.sqlite")),
        }
    }

    /// The folder of the server's files.
    pub fn data_dir(&self) -> &Path {
        let of_server = self.server.env.iter().rev().find(|(key, _)| key == "MAILWRIGHT_DATA_DIR");
        Path::new(&of_server.unwrap().1)
    }

    /// Changes the database behind the program's back, to a state that none of its doors leads to.
    pub async fn tamper(&self, statements: &str) {
        if let Some(database) = &self.database {
            return database.run(statements).await;
        }
        let database = rusqlite::Connection::open(self.data_dir().join("mailwright.sqlite")).unwrap();
        database.busy_timeout(PATIENCE).unwrap();
        database.execute_batch(statements).unwrap_or_else(|error| panic!("{statements}: {error}"));
    }

    /// As [`App::tamper`], with statements that change tables themselves. They come together or not at all.
    ///
    /// Each is sent by itself: Citus passes on the whole message for such a statement, and workers refuse several.
    pub async fn reshape(&self, statements: &[&str]) {
        match &self.database {
            Some(database) => database.reshape(statements).await,
            None => self.tamper(&format!("begin immediate; {}; commit", statements.join("; "))).await,
        }
    }

    /// What stands behind `from` for the rows of these numbers, `n` with the column `i`.
    ///
    /// A `with recursive` would do on both engines; Citus takes none in a statement about tables that are divided.
    pub fn numbers(&self, numbers: RangeInclusive<usize>) -> String {
        let (first, last) = (numbers.start(), numbers.end());
        match self.engine() {
            Engine::Sqlite => format!(
                "(with recursive n (i) as (select {first} union all select i + 1 from n where i < {last}) \
                 select i from n) as n"
            ),
            Engine::Postgres => format!("generate_series({first}, {last}) as n (i)"),
        }
    }

    /// The rows that a query finds in PostgreSQL, as text. A null is an empty text.
    pub async fn ask(&self, query: &str) -> Vec<Vec<String>> {
        self.try_ask(query).await.unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// As [`App::ask`]; what PostgreSQL says when it refuses.
    pub async fn try_ask(&self, query: &str) -> Result<Vec<Vec<String>>, String> {
        let database = self.database.as_ref().expect("PostgreSQL");
        database.ask(query).await.map_err(|error| format!("{error:?}"))
    }

    /// Has a transaction on PostgreSQL hold what these statements lock.
    pub async fn hold(&self, statements: &str) -> Held {
        self.database.as_ref().expect("PostgreSQL").hold(statements).await
    }

    /// Has transactions on PostgreSQL keep a table from being written.
    pub async fn hold_table(&self, table: &str) -> Held {
        self.database.as_ref().expect("PostgreSQL").hold_table(table).await
    }

    /// The proxy asked for with [`AppBuilder::database_proxy`](super::AppBuilder::database_proxy).
    pub fn database_proxy(&self) -> &DatabaseProxy {
        self.proxy.as_ref().expect("the server was not started with `database_proxy()`")
    }

    /// The URL of the database the server uses (PostgreSQL only).
    pub fn database_url(&self) -> &str {
        let of_server = self.server.env.iter().rev().find(|(key, _)| key == "MAILWRIGHT_DATABASE_URL");
        &of_server.expect("the server uses PostgreSQL").1
    }
}

/// Every text and blob of every table, a line each.
fn sqlite_values(path: &Path) -> Vec<u8> {
    let database = rusqlite::Connection::open(path).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    let mut tables = database.prepare("select name from sqlite_master where type = 'table'").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut values = Vec::new();
    for table in tables {
        let mut select = database.prepare(&format!("select * from \"{table}\"")).unwrap();
        let width = select.column_count();
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..width {
                if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(column).unwrap() {
                    values.extend_from_slice(bytes);
                    values.push(b'\n');
                }
            }
        }
    }
    values
}
