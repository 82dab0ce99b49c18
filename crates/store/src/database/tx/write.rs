//! Statements that change something.

use std::future::ready;
use std::ops::{Deref, DerefMut};

use futures_util::future::BoxFuture;
use mailwright_core::ids::ProjectNumber;
use tokio_postgres::types::ToSql;

use super::by_project::by_project;
use super::read::Rx;
use super::session::Session;
use super::sqlite;
use crate::database::dialect::{Sql, Texts, is_counted};
use crate::database::error::{Error, Result};
use crate::database::value::Arg;

/// Waits for a lock that is on no row.
const HOLD: &str = "select pg_advisory_xact_lock($1)";
/// The same where the rows of a project are.
const HOLD_OF: &str =
    "select pg_advisory_xact_lock($2) from (select count(*) from topics where project_id = $1) as there";

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

impl<'c> Tx<'c> {
    pub(crate) fn new(session: Session<'c>, texts: &'c Texts) -> Self {
        Self(Rx::new(session, texts))
    }

    /// Has the following statements be about the part with this place among those that the transaction is about.
    pub(crate) fn turn_to(&mut self, nth: usize) {
        self.0.session.turn_to(nth);
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
            Session::Sqlite(session) => sqlite::insert(*session.open()?, self.0.texts, sql, args),
            Session::Postgres { .. } => self.run_each(Sql::Fixed(sql), args).await,
        }
    }

    fn run<'f>(&'f self, sql: Sql, args: &'f [Arg<'f>]) -> BoxFuture<'f, Result<u64>> {
        match &self.0.session {
            Session::Sqlite(session) => {
                let text = self.0.texts.text(&sql);
                Box::pin(ready(session.open().and_then(|c| sqlite::execute(&c, &text, args))))
            }
            Session::Postgres { .. } => {
                Box::pin(async move { self.run_on_server(&self.0.text_here(&sql)?, args).await })
            }
        }
    }

    async fn run_on_server(&self, text: &str, args: &[Arg<'_>]) -> Result<u64> {
        let Session::Postgres { client, .. } = &self.0.session else {
            return Err(Error::Statement("a statement was sent to the wrong engine".into()));
        };
        let params: Vec<&(dyn ToSql + Sync)> = args.iter().map(|arg| arg as &(dyn ToSql + Sync)).collect();
        let statement = self.session.answer(client.prepare_cached(text).await)?;
        self.session.answer(client.execute(&statement, &params).await)
    }

    fn run_each<'f>(&'f self, sql: Sql, args: &'f [Arg<'f>]) -> BoxFuture<'f, Result<u64>> {
        if sqlite::row_count(args) == 0 {
            return Box::pin(ready(Ok(0)));
        }
        match &self.0.session {
            Session::Sqlite(session) => {
                let text = self.0.texts.text(&sql);
                let rows = 0..sqlite::row_count(args);
                Box::pin(ready(session.open().and_then(|c| sqlite::run_each(&c, &text, args, rows))))
            }
            Session::Postgres { .. } if self.session.is_by_project(self.0.texts.is_divided()) => {
                Box::pin(self.run_by_project(sql, args))
            }
            Session::Postgres { .. } => self.run(sql, args),
        }
    }

    async fn run_by_project(&self, sql: Sql, args: &[Arg<'_>]) -> Result<u64> {
        let Some(text) = self.0.texts.of_project(&sql) else {
            return self.count(&self.0.texts.counted(&sql), args).await;
        };
        let mut touched = 0;
        for part in by_project(args) {
            touched += self.count(&text, &part).await?;
        }
        Ok(touched)
    }

    /// The number of rows that a statement touched, also where the server's answer has another one.
    async fn count(&self, text: &str, args: &[Arg<'_>]) -> Result<u64> {
        if is_counted(text) {
            return Ok(self.0.query(text, args).await?.len() as u64);
        }
        self.run_on_server(text, args).await
    }

    /// Waits until no other transaction holds `key`, and holds it until this one ends. Where tables are divided, it is held
    /// on the coordinator. Without effect on SQLite, which has one writer.
    pub(crate) async fn hold(&self, key: i64) -> Result<()> {
        match &self.0.session {
            Session::Sqlite(_) => Ok(()),
            Session::Postgres { at: Some(_), .. } => Err(self.session.elsewhere()),
            Session::Postgres { at: None, .. } => self.all(HOLD, &[key.into()], |_| Ok(())).await.map(drop),
        }
    }

    /// The same for a key of a project, which is held on the server that has the project.
    pub(crate) async fn hold_of(&self, project: ProjectNumber, key: i64) -> Result<()> {
        match &self.0.session {
            Session::Postgres { at: Some(_), .. } => {
                self.all(HOLD, &[key.into()], |_| Ok(())).await.map(drop)
            }
            Session::Postgres { at: None, .. } if self.0.texts.is_divided() => {
                self.all(HOLD_OF, &[project.into(), key.into()], |_| Ok(())).await.map(drop)
            }
            _ => self.hold(key).await,
        }
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
