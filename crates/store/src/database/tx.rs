//! Transactions, and the statements that run in them.
//!
//! On PostgreSQL, statements that do not need each other's results can be awaited together (`join`). They reach the
//! server in one round trip, in the order given, and `begin` goes with the first of them. If one fails, the server
//! refuses those behind it without saying why. So a transaction reports its first error, whichever answer its body
//! looked at ([`Failure`]).

use std::future::ready;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use futures_util::future::{BoxFuture, join};
use tokio_postgres::types::ToSql;

use crate::database::db::Undone;
use crate::database::dialect::{Sql, Texts};
use crate::database::error::{Error, Result};
use crate::database::value::{Arg, Column};

/// Lets PostgreSQL scan and hash in this transaction (see `Postgres::open`).
const SCANS: &str = "set local enable_seqscan = on; set local enable_hashjoin = on; \
                     set local enable_mergejoin = on; set local work_mem = '16MB'";
/// Undoes [`SCANS`].
const SCANS_NO_MORE: &str = "set local enable_seqscan to default; set local enable_hashjoin to default; \
                             set local enable_mergejoin to default; set local work_mem to default";

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

/// Where statements go. The one place that tells the engines apart at run time.
pub(crate) enum Session<'c> {
    Sqlite(SqliteSession<'c>),
    Postgres {
        client: &'c deadpool_postgres::ClientWrapper,
        /// What its transaction failed by, if it is a [`Tx`]'s.
        transaction: Option<&'c Failure>,
    },
}

/// The first error that PostgreSQL answered a statement of a transaction with. Whatever follows in the transaction, or
/// was sent together with it, is refused with [`Error::Aborted`], which does not tell why.
#[derive(Debug, Default)]
pub(crate) struct Failure(OnceLock<Error>);

impl Failure {
    /// What a transaction comes to whose body ended like this.
    pub(crate) fn settle<T>(self, outcome: Result<T, Undone>) -> Result<T, Undone> {
        match (outcome, self.0.into_inner()) {
            // a body that goes on after a failure has nothing to commit
            (Ok(_) | Err(Undone::Failed(Error::Aborted)), Some(first)) => Err(first.into()),
            // nobody looked at the first answer
            (Err(Undone::Failed(error @ Error::Aborted)), None) => {
                Err(Error::Contention(error.to_string()).into())
            }
            (outcome, _) => outcome,
        }
    }
}

/// A connection to SQLite, in a transaction if it is a [`Tx`]'s.
pub(crate) struct SqliteSession<'c> {
    /// The lock is never waited for: statements run one after the other on the thread that has the connection.
    connection: Mutex<&'c mut rusqlite::Connection>,
    in_transaction: bool,
}

impl<'c> SqliteSession<'c> {
    /// The connection for a statement. SQLite gives a transaction up by itself when the disk is full; what its body
    /// still does must not be kept, each statement by itself.
    fn open(&self) -> Result<MutexGuard<'_, &'c mut rusqlite::Connection>> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if self.in_transaction && connection.is_autocommit() {
            return Err(given_up());
        }
        Ok(connection)
    }
}

/// The error of everything in a transaction that SQLite gave up.
pub(crate) fn given_up() -> Error {
    Error::Full("the transaction was given up".into())
}

impl<'c> Session<'c> {
    pub(crate) fn sqlite(connection: &'c mut rusqlite::Connection, in_transaction: bool) -> Self {
        Self::Sqlite(SqliteSession { connection: Mutex::new(connection), in_transaction })
    }

    /// What PostgreSQL answered.
    fn answer<T>(&self, answer: std::result::Result<T, tokio_postgres::Error>) -> Result<T> {
        answer.map_err(|error| {
            let is_of_server = error.as_db_error().is_some();
            let error = Error::from(error);
            if let Self::Postgres { transaction: Some(failure), .. } = self
                && is_of_server
                && !matches!(error, Error::Aborted)
            {
                failure.0.get_or_init(|| error.clone());
            }
            error
        })
    }
}

/// A view of the database that only reads.
///
/// Statements that do not need each other's results can run together: their futures, polled by one `join`, reach
/// PostgreSQL in one round trip and in the order given. SQLite runs them in that order as well.
pub struct Rx<'c> {
    session: Session<'c>,
    texts: &'c Texts,
}

/// A transaction. It is committed when its body returns `Ok`, and leaves nothing behind otherwise.
pub struct Tx<'c>(Rx<'c>);

impl<'c> Deref for Tx<'c> {
    type Target = Rx<'c>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Tx<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

type Visit<'f> = &'f mut (dyn FnMut(&Row<'_>) -> Result<()> + Send);

impl<'c> Rx<'c> {
    pub(crate) fn new(session: Session<'c>, texts: &'c Texts) -> Self {
        Self { session, texts }
    }

    /// Whether this is PostgreSQL: for the few list queries whose text is built per engine.
    pub(crate) fn is_postgres(&self) -> bool {
        !matches!(self.session, Session::Sqlite(_))
    }

    /// Every row of a query.
    pub async fn all<T: Send>(
        &self,
        sql: impl Into<Sql>,
        args: &[Arg<'_>],
        read: fn(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut out = Vec::new();
        self.visit(sql.into(), args, &mut |row| {
            out.push(read(row)?);
            Ok(())
        })
        .await?;
        Ok(out)
    }

    /// Every row of a query whose text is put together for the occasion: neither it nor its plan is kept.
    pub(crate) async fn query_uncached<T: Send>(
        &self,
        sql: String,
        args: &[Arg<'_>],
        read: fn(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.once(sql, args, false, read).await
    }

    /// The same for a query that looks at most rows of a table. PostgreSQL may read it from one end to the other.
    pub(crate) async fn query_with_seqscan<T: Send>(
        &self,
        sql: String,
        args: &[Arg<'_>],
        read: fn(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.once(sql, args, true, read).await
    }

    async fn once<T: Send>(
        &self,
        sql: String,
        args: &[Arg<'_>],
        scans: bool,
        read: fn(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let text = self.texts.text(&Sql::Built(sql));
        let params: Vec<&(dyn ToSql + Sync)> = args.iter().map(|a| a as &(dyn ToSql + Sync)).collect();
        let session = &self.session;
        let rows = match session {
            Session::Sqlite(session) => {
                let mut out = Vec::new();
                let mut visit = |row: &Row<'_>| {
                    out.push(read(row)?);
                    Ok(())
                };
                sqlite_visit(&mut session.open()?.prepare(&text)?, args, None, &mut visit)?;
                return Ok(out);
            }
            Session::Postgres { client, .. } if !scans => {
                session.answer(client.query(&*text, &params).await)?
            }
            Session::Postgres { client, transaction: Some(_) } => {
                session.answer(client.batch_execute(SCANS).await)?;
                let rows = session.answer(client.query(&*text, &params).await)?;
                session.answer(client.batch_execute(SCANS_NO_MORE).await)?;
                rows
            }
            Session::Postgres { client, transaction: None } => {
                client.batch_execute("begin read only").await?;
                let (set, rows) = join(client.batch_execute(SCANS), client.query(&*text, &params)).await;
                client.batch_execute("rollback").await?;
                set?;
                rows?
            }
        };
        rows.iter().map(|row| read(&Row::Postgres(row))).collect()
    }

    /// The first row of a query, if there is one.
    pub async fn optional<T: Send>(
        &self,
        sql: impl Into<Sql>,
        args: &[Arg<'_>],
        read: fn(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.all(sql, args, read).await?.into_iter().next())
    }

    /// Whether a query finds a row.
    pub async fn exists(&self, sql: impl Into<Sql>, args: &[Arg<'_>]) -> Result<bool> {
        Ok(self.optional(sql, args, |_| Ok(())).await?.is_some())
    }

    /// The one row of a query.
    pub async fn one<T: Send>(
        &self,
        sql: impl Into<Sql>,
        args: &[Arg<'_>],
        read: fn(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.optional(sql, args, read).await?.ok_or(Error::NotFound)
    }

    /// Rows of a query over a `{rows}` set; see [`Tx::each`].
    pub async fn each_returning<T: Send>(
        &self,
        sql: impl Into<Sql>,
        args: &[Arg<'_>],
        read: fn(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut out = Vec::new();
        self.visit_each(sql.into(), args, &mut |row| {
            out.push(read(row)?);
            Ok(())
        })
        .await?;
        Ok(out)
    }

    fn visit<'f>(&'f self, sql: Sql, args: &'f [Arg<'f>], visit: Visit<'f>) -> BoxFuture<'f, Result<()>> {
        let text = self.texts.text(&sql);
        match &self.session {
            Session::Sqlite(session) => {
                Box::pin(ready(session.open().and_then(|c| sqlite_rows(&c, &text, args, None, visit))))
            }
            Session::Postgres { .. } => Box::pin(async move {
                for row in self.query(&text, args).await? {
                    visit(&Row::Postgres(&row))?;
                }
                Ok(())
            }),
        }
    }

    fn visit_each<'f>(
        &'f self,
        sql: Sql,
        args: &'f [Arg<'f>],
        visit: Visit<'f>,
    ) -> BoxFuture<'f, Result<()>> {
        if row_count(args) == 0 {
            return Box::pin(ready(Ok(())));
        }
        match &self.session {
            Session::Sqlite(session) => {
                let text = self.texts.text(&sql);
                Box::pin(ready(session.open().and_then(|c| sqlite_each_row(&c, &text, args, visit))))
            }
            Session::Postgres { .. } => self.visit(sql, args, visit),
        }
    }

    async fn query(&self, text: &str, args: &[Arg<'_>]) -> Result<Vec<tokio_postgres::Row>> {
        let params: Vec<&(dyn ToSql + Sync)> = args.iter().map(|a| a as &(dyn ToSql + Sync)).collect();
        Ok(match &self.session {
            Session::Postgres { client, .. } => {
                let statement = self.session.answer(client.prepare_cached(text).await)?;
                self.session.answer(client.query(&statement, &params).await)?
            }
            Session::Sqlite(_) => {
                return Err(Error::Statement("a query was sent to the wrong engine".into()));
            }
        })
    }
}

impl<'c> Tx<'c> {
    pub(crate) fn new(session: Session<'c>, texts: &'c Texts) -> Self {
        Self(Rx::new(session, texts))
    }

    /// Runs a statement; the number of rows it touched.
    pub async fn execute(&self, sql: impl Into<Sql>, args: &[Arg<'_>]) -> Result<u64> {
        self.run(sql.into(), args).await
    }

    /// Runs a change that must touch exactly one row.
    pub async fn execute_one(&self, sql: impl Into<Sql>, args: &[Arg<'_>]) -> Result<()> {
        match self.run(sql.into(), args).await? {
            1 => Ok(()),
            0 => Err(Error::NotFound),
            n => Err(Error::RowCount(n)),
        }
    }

    /// Runs a statement for many rows: the plural arguments are the columns of its `{rows}` set, the others are the
    /// same for each. PostgreSQL runs it once over the set; SQLite runs it once per row, so a statement must not
    /// depend on the other rows of its set. The number of rows touched.
    pub async fn each(&self, sql: impl Into<Sql>, args: &[Arg<'_>]) -> Result<u64> {
        self.run_each(sql.into(), args).await
    }

    /// Like [`Tx::each`], for a plain `insert ... select ... from {rows ...}`. SQLite runs it once for many rows
    /// together, because a full-text index that follows the table writes what it gathered at the end of each statement.
    pub async fn insert_each(&self, sql: &'static str, args: &[Arg<'_>]) -> Result<u64> {
        match &self.0.session {
            Session::Sqlite(session) => sqlite_insert(*session.open()?, self.0.texts, sql, args),
            Session::Postgres { .. } => self.run_each(Sql::Fixed(sql), args).await,
        }
    }

    fn run<'f>(&'f self, sql: Sql, args: &'f [Arg<'f>]) -> BoxFuture<'f, Result<u64>> {
        let text = self.0.texts.text(&sql);
        match &self.0.session {
            Session::Sqlite(session) => {
                Box::pin(ready(session.open().and_then(|c| sqlite_execute(&c, &text, args))))
            }
            Session::Postgres { client, .. } => Box::pin(async move {
                let params: Vec<&(dyn ToSql + Sync)> =
                    args.iter().map(|a| a as &(dyn ToSql + Sync)).collect();
                let statement = self.session.answer(client.prepare_cached(&text).await)?;
                self.session.answer(client.execute(&statement, &params).await)
            }),
        }
    }

    fn run_each<'f>(&'f self, sql: Sql, args: &'f [Arg<'f>]) -> BoxFuture<'f, Result<u64>> {
        if row_count(args) == 0 {
            return Box::pin(ready(Ok(0)));
        }
        match &self.0.session {
            Session::Sqlite(session) => {
                let text = self.0.texts.text(&sql);
                let rows = 0..row_count(args);
                Box::pin(ready(session.open().and_then(|c| sqlite_run(&c, &text, args, rows))))
            }
            Session::Postgres { .. } => self.run(sql, args),
        }
    }

    /// Waits until no other transaction holds `key`, and holds it until this one ends. Without effect on SQLite, which
    /// has one writer.
    pub(crate) async fn hold(&self, key: i64) -> Result<()> {
        if !self.is_postgres() {
            return Ok(());
        }
        self.all("select pg_advisory_xact_lock($1)", &[key.into()], |_| Ok(())).await.map(drop)
    }

    /// Keeps PostgreSQL in this transaction from reading a whole queue and sorting it to find its first rows: it takes
    /// a queue for as short as it was when it last looked.
    pub(crate) async fn read_in_order(&self) -> Result<()> {
        match &self.0.session {
            Session::Sqlite(_) => Ok(()),
            Session::Postgres { client, .. } => {
                self.session.answer(client.batch_execute("set local enable_bitmapscan = off").await)
            }
        }
    }

    /// Runs statements without arguments, separated by semicolons: for migrations.
    pub(crate) async fn script(&self, sql: &'static str) -> Result<()> {
        let text = self.0.texts.text(&Sql::Fixed(sql));
        match &self.0.session {
            Session::Sqlite(session) => Ok(session.open()?.execute_batch(&text)?),
            Session::Postgres { client, .. } => self.session.answer(client.batch_execute(&text).await),
        }
    }
}

/// Rows of one statement of [`Tx::insert_each`], the most first: each has a text of its own.
const BLOCKS: [usize; 3] = [100, 20, 4];

/// Inserts blocks of rows, as large ones as there are, and what is left row by row: each text is prepared once.
fn sqlite_insert(
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
    Ok(inserted + sqlite_run(connection, &texts.text(&Sql::Fixed(sql)), args, next..rows)?)
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
fn row_count(args: &[Arg<'_>]) -> usize {
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

fn sqlite_rows(
    connection: &rusqlite::Connection,
    text: &str,
    args: &[Arg<'_>],
    row: Option<usize>,
    visit: &mut (dyn FnMut(&Row<'_>) -> Result<()> + Send),
) -> Result<()> {
    sqlite_visit(&mut *connection.prepare_cached(text)?, args, row, visit)
}

fn sqlite_visit(
    statement: &mut rusqlite::Statement<'_>,
    args: &[Arg<'_>],
    row: Option<usize>,
    visit: &mut (dyn FnMut(&Row<'_>) -> Result<()> + Send),
) -> Result<()> {
    bind(statement, args, row)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        visit(&Row::Sqlite(row))?;
    }
    Ok(())
}

/// Visits the rows of a query over each row of its columns.
fn sqlite_each_row(
    connection: &rusqlite::Connection,
    text: &str,
    args: &[Arg<'_>],
    visit: &mut (dyn FnMut(&Row<'_>) -> Result<()> + Send),
) -> Result<()> {
    let mut statement = connection.prepare_cached(text)?;
    (0..row_count(args)).try_for_each(|row| sqlite_visit(&mut statement, args, Some(row), visit))
}

fn sqlite_execute(connection: &rusqlite::Connection, text: &str, args: &[Arg<'_>]) -> Result<u64> {
    let mut statement = connection.prepare_cached(text)?;
    bind(&mut statement, args, None)?;
    Ok(statement.raw_execute()? as u64)
}

/// Runs a statement for these rows of its columns, one after the other.
fn sqlite_run(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::db::Db;
    use crate::database::migrate::tests::Database;

    const INSERT: &str = "insert into taken (n) values (1)";
    const LOOK: &str = "select cast(1 as {int})";

    async fn look(tx: &Tx<'_>) -> Result<i64> {
        tx.one(LOOK, &[], |r| r.get(0)).await
    }

    /// A database with a row whose key is taken.
    async fn with_row(database: &Database) -> Db {
        let db = database.open();
        let made = db.write(|tx| {
            Box::pin(async move {
                tx.script("create table taken (n {int} primary key)").await?;
                tx.execute_one(INSERT, &[]).await
            })
        });
        made.await.unwrap();
        db
    }

    #[tokio::test]
    async fn a_transaction_fails_by_its_first_error() {
        let database = Database::create("failure").await;
        let db = with_row(&database).await;
        // whichever answer the body looks at
        let together = db.write(|tx| {
            Box::pin(async move {
                let (inserted, found) = join(tx.execute(INSERT, &[]), look(tx)).await;
                found.and(inserted)
            })
        });
        let error = together.await.unwrap_err();
        assert!(matches!(error, Error::Conflict(_)), "{error}");
        let ignored = db.write(|tx| {
            Box::pin(async move {
                let _ = tx.execute(INSERT, &[]).await;
                Ok(())
            })
        });
        let error = ignored.await.unwrap_err();
        assert!(matches!(error, Error::Conflict(_)), "{error}");
        // what the body makes of the first error stays
        let named = db.write(|tx| {
            Box::pin(async move {
                let (inserted, found) = join(tx.execute(INSERT, &[]), look(tx)).await;
                inserted.map_err(|_| Error::NotFound).and(found)
            })
        });
        let error = named.await.unwrap_err();
        assert!(matches!(error, Error::NotFound), "{error}");
        assert_eq!(db.write(|tx| Box::pin(async move { look(tx).await })).await.unwrap(), 1);
        database.drop().await;
    }

    #[tokio::test]
    async fn a_transaction_that_does_nothing_is_undone() {
        let database = Database::create("idle").await;
        let db = with_row(&database).await;
        let setting = db.read(|rx| {
            let sql = "select current_setting('idle_in_transaction_session_timeout')";
            Box::pin(async move { rx.one(sql, &[], |r| r.get::<String>(0)).await })
        });
        assert_eq!(setting.await.unwrap(), "30s");
        let frozen = database.open_with("?options=-c%20idle_in_transaction_session_timeout%3D50");
        let (begun, is_held) = tokio::sync::oneshot::channel();
        let (thaw, until) = tokio::sync::oneshot::channel::<()>();
        let holding = tokio::spawn(async move {
            let work = frozen.write_in_background(|tx| {
                Box::pin(async move {
                    tx.execute_one("update taken set n = 2", &[]).await?;
                    let _ = begun.send(());
                    let _ = until.await;
                    look(tx).await
                })
            });
            work.await
        });
        is_held.await.unwrap();
        let next = db.write(|tx| {
            let sql = "update taken set n = 3 where n = 1";
            Box::pin(async move { tx.execute_one(sql, &[]).await })
        });
        next.await.unwrap();
        thaw.send(()).unwrap();
        let error = holding.await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
        database.drop().await;
    }

    #[tokio::test]
    async fn who_meets_a_lock_is_told_of_the_lock() {
        let database = Database::create("lock").await;
        let db = with_row(&database).await;
        let (begun, is_held) = tokio::sync::oneshot::channel();
        let (let_go, until) = tokio::sync::oneshot::channel::<()>();
        let holder = db.clone();
        let holding = tokio::spawn(async move {
            let work = holder.write_in_background(|tx| {
                Box::pin(async move {
                    tx.execute_one("update taken set n = 1", &[]).await?;
                    let _ = begun.send(());
                    let _ = until.await;
                    Ok::<_, Error>(())
                })
            });
            work.await
        });
        is_held.await.unwrap();
        let meets = db.try_write(|tx| {
            Box::pin(async move {
                let (changed, found) = join(tx.execute("update taken set n = 1", &[]), look(tx)).await;
                found.and(changed)
            })
        });
        let error = meets.await.unwrap_err();
        assert!(matches!(error, Error::Contention(_)), "{error}");
        let_go.send(()).unwrap();
        holding.await.unwrap().unwrap();
        database.drop().await;
    }
}
