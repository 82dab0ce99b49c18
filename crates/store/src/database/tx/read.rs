//! Statements that only read.

use std::future::ready;
use std::sync::Arc;

use futures_util::future::{BoxFuture, join};
use tokio_postgres::types::ToSql;

use super::by_project::by_project;
use super::row::Row;
use super::session::Session;
use super::sqlite;
use crate::database::dialect::{Sql, Texts};
use crate::database::error::{Error, Result};
use crate::database::part::Located;
use crate::database::value::Arg;

/// Lets PostgreSQL scan and hash in this transaction (see `Postgres::open`).
const SCANS: &str = "set local enable_seqscan = on; set local enable_hashjoin = on; \
                     set local enable_mergejoin = on; set local work_mem = '16MB'";
/// Undoes [`SCANS`].
const SCANS_NO_MORE: &str = "set local enable_seqscan to default; set local enable_hashjoin to default; \
                             set local enable_mergejoin to default; set local work_mem to default";

/// A view of the database that only reads.
///
/// Statements that do not need each other's results can run together: their futures, polled by one `join`, reach
/// PostgreSQL in one round trip and in the order given. SQLite runs them in that order as well.
pub struct Rx<'c> {
    pub(super) session: Session<'c>,
    pub(super) texts: &'c Texts,
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

    /// Has the statements from here on see the database as it is now, until [`Rx::end_snapshot`].
    pub(crate) async fn begin_snapshot(&self) -> Result<()> {
        match &self.session {
            Session::Sqlite(session) => Ok(session.open()?.execute_batch("begin")?),
            Session::Postgres { client, .. } => {
                let begin = "begin isolation level repeatable read, read only";
                self.session.answer(client.batch_execute(begin).await)
            }
        }
    }

    /// Ends what [`Rx::begin_snapshot`] began; also after an error.
    pub(crate) async fn end_snapshot(&self) -> Result<()> {
        match &self.session {
            Session::Sqlite(session) => Ok(session.open()?.execute_batch("rollback")?),
            Session::Postgres { client, .. } => self.session.answer(client.batch_execute("rollback").await),
        }
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
        let text = self.text_here(&Sql::Built(sql))?;
        let params: Vec<&(dyn ToSql + Sync)> = args.iter().map(|a| a as &(dyn ToSql + Sync)).collect();
        let session = &self.session;
        let rows = match session {
            Session::Sqlite(session) => {
                let mut out = Vec::new();
                let mut visit = |row: &Row<'_>| {
                    out.push(read(row)?);
                    Ok(())
                };
                sqlite::visit(&mut session.open()?.prepare(&text)?, args, None, &mut visit)?;
                return Ok(out);
            }
            Session::Postgres { client, .. } if !scans => {
                session.answer(client.query(&*text, &params).await)?
            }
            Session::Postgres { client, transaction: Some(_), .. } => {
                session.answer(client.batch_execute(SCANS).await)?;
                let rows = session.answer(client.query(&*text, &params).await)?;
                session.answer(client.batch_execute(SCANS_NO_MORE).await)?;
                rows
            }
            Session::Postgres { client, transaction: None, .. } => {
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

    /// Rows of a query over a `{rows}` set; see [`Tx::each`](super::Tx::each).
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
        match &self.session {
            Session::Sqlite(session) => {
                let text = self.texts.text(&sql);
                let visited = session.open().and_then(|c| sqlite::visit_query(&c, &text, args, None, visit));
                Box::pin(ready(visited))
            }
            Session::Postgres { .. } => Box::pin(async move {
                for row in self.query_where_it_is(&sql, args).await? {
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
        if sqlite::row_count(args) == 0 {
            return Box::pin(ready(Ok(())));
        }
        match &self.session {
            Session::Sqlite(session) => {
                let text = self.texts.text(&sql);
                Box::pin(ready(session.open().and_then(|c| sqlite::visit_each(&c, &text, args, visit))))
            }
            Session::Postgres { .. } if self.session.is_by_project(self.texts.is_divided()) => {
                Box::pin(self.visit_by_project(sql, args, visit))
            }
            Session::Postgres { .. } => self.visit(sql, args, visit),
        }
    }

    async fn visit_by_project<'f>(&'f self, sql: Sql, args: &'f [Arg<'f>], visit: Visit<'f>) -> Result<()> {
        let Some(text) = self.texts.of_project(&sql) else { return self.visit(sql, args, visit).await };
        for part in by_project(args) {
            for row in self.query(&text, &part).await? {
                visit(&Row::Postgres(&row))?;
            }
        }
        Ok(())
    }

    /// The text of a statement, and where it runs.
    fn locate(&self, sql: &Sql) -> Located {
        let Session::Postgres { at: Some(at), .. } = &self.session else {
            return Located::Here(self.texts.text(sql));
        };
        let located = at.part().locate(self.texts, sql);
        if located == Located::Elsewhere {
            tracing::debug!(?sql, "a statement cannot run on the server of a part");
        }
        located
    }

    /// The text of a statement that has to run on this session.
    pub(super) fn text_here(&self, sql: &Sql) -> Result<Arc<str>> {
        match self.locate(sql) {
            Located::Here(text) => Ok(text),
            Located::Coordinator(_) | Located::Elsewhere => Err(self.session.elsewhere()),
        }
    }

    async fn query_where_it_is(&self, sql: &Sql, args: &[Arg<'_>]) -> Result<Vec<tokio_postgres::Row>> {
        match (self.locate(sql), &self.session) {
            (Located::Here(text), _) => self.query(&text, args).await,
            (Located::Coordinator(text), Session::Postgres { at: Some(at), .. }) => {
                // the rows are of a moment within the transaction, as those of each of its statements are
                let session = Session::Postgres { client: at.reading().await?, transaction: None, at: None };
                Rx::new(session, self.texts).query(&text, args).await
            }
            _ => Err(self.session.elsewhere()),
        }
    }

    pub(super) async fn query(&self, text: &str, args: &[Arg<'_>]) -> Result<Vec<tokio_postgres::Row>> {
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
