//! What a database holds, row by row, for tests that compare what it holds before and after something.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use rusqlite::OpenFlags;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};
use tokio_postgres::{Client, Statement};

/// The rows of every table: each as the text of a JSON object that has the columns as members, in the order of these
/// texts. The tables are those of the engine's own catalogue.
pub type Rows = BTreeMap<String, Vec<String>>;

/// The rows of an SQLite database, read without writing to it.
pub(crate) fn of_sqlite(path: &Path) -> Rows {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut database = rusqlite::Connection::open_with_flags(path, flags).unwrap();
    database.busy_timeout(std::time::Duration::from_mins(1)).unwrap();
    let moment = database.transaction().unwrap();
    let mut tables = moment.prepare("select name from sqlite_master where type = 'table'").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut all = Rows::new();
    for table in tables {
        let mut select = moment.prepare(&format!("select * from \"{table}\"")).unwrap();
        let columns: Vec<String> = select.column_names().map(str::to_owned).collect();
        let mut found = Vec::new();
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let value = |at: usize| json_of(row.get_ref(at).unwrap());
            let row: Map<_, _> =
                columns.iter().enumerate().map(|(at, name)| (name.clone(), value(at))).collect();
            found.push(Value::Object(row).to_string());
        }
        found.sort_unstable();
        all.insert(table, found);
    }
    all
}

fn json_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => format!("{bytes:02x?}").into(),
    }
}

/// A connection to a PostgreSQL database that reads its rows again and again.
pub(crate) struct Reader {
    client: Client,
    /// The tables that it last read, and the statement for that.
    prepared: Option<(Vec<String>, Statement)>,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, prepared: None }
    }

    /// The rows of the database, read by one statement: as of one moment, and with Citus of one on each server.
    pub(crate) async fn rows(&mut self) -> Rows {
        let tables = "select table_name::text from information_schema.tables \
                      where table_schema = 'public' and table_type = 'BASE TABLE'";
        let tables = self.client.query(tables, &[]).await.unwrap();
        let tables: Vec<String> = tables.iter().map(|row| row.get(0)).collect();
        if self.prepared.as_ref().is_none_or(|(known, _)| *known != tables) {
            let each = |table: &String| format!("select '{table}', to_jsonb(t)::text from \"{table}\" t");
            let select: Vec<String> = tables.iter().map(each).collect();
            let statement = self.client.prepare(&select.join(" union all ")).await.unwrap();
            self.prepared = Some((tables, statement));
        }
        let (tables, statement) = self.prepared.as_ref().unwrap();
        let mut all: Rows = tables.iter().map(|table| (table.clone(), Vec::new())).collect();
        for row in self.client.query(statement, &[]).await.unwrap() {
            let (table, row): (&str, String) = (row.get(0), row.get(1));
            all.get_mut(table).unwrap().push(row);
        }
        for rows in all.values_mut() {
            rows.sort_unstable();
        }
        all
    }
}
