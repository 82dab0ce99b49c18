//! The connection that the statements of a transaction go to, and what it failed by.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use tokio::sync::OnceCell;

use crate::database::error::{Error, Result};
use crate::database::part::Part;
use crate::database::pooled::connection;
use crate::database::undone::Undone;

/// How long a transaction waits that holds rows of several parts of the tables.
const BRIEFLY: Duration = Duration::from_millis(20);

/// The connection that statements go to: the one place that distinguishes the engines at run time.
pub(crate) enum Session<'c> {
    Sqlite(SqliteSession<'c>),
    Postgres {
        client: &'c deadpool_postgres::ClientWrapper,
        /// What its transaction failed by, if it is a [`Tx`](super::Tx)'s.
        transaction: Option<&'c Failure>,
        /// The parts that its transaction is about, if it is one on their server.
        at: Option<At<'c>>,
    },
}

/// Where a transaction runs that is about parts of the tables on one server.
#[derive(Clone, Copy)]
pub(crate) struct At<'c> {
    /// The parts, in the order of their numbers.
    pub(crate) parts: &'c [Arc<Part>],
    /// Which of them statements are about now.
    pub(crate) turn: usize,
    /// Where the tables of the instance are read.
    pub(crate) coordinator: &'c Pool,
    /// The connection that they are read on, once one was needed.
    pub(crate) reading: &'c OnceCell<Object>,
}

impl<'c> At<'c> {
    /// The part that statements are about now.
    pub(super) fn part(self) -> &'c Part {
        &self.parts[self.turn]
    }

    /// A connection to the coordinator, which only reads. A transaction that has come to another part holds rows of those
    /// before it, so it waits for one only briefly.
    pub(super) async fn reading(self) -> Result<&'c Object> {
        let connecting = self.reading.get_or_try_init(|| connection(self.coordinator));
        if self.turn == 0 {
            return connecting.await;
        }
        let text = "no connection to the coordinator was free in time";
        tokio::time::timeout(BRIEFLY, connecting)
            .await
            .unwrap_or_else(|_| Err(Error::Contention(text.into())))
    }
}

impl<'c> Session<'c> {
    pub(crate) fn sqlite(connection: &'c mut rusqlite::Connection, in_transaction: bool) -> Self {
        Self::Sqlite(SqliteSession { connection: Mutex::new(connection), in_transaction })
    }

    /// Has the following statements be about another part, if the transaction is about parts.
    pub(super) fn turn_to(&mut self, nth: usize) {
        if let Self::Postgres { at: Some(at), .. } = self {
            at.turn = nth;
        }
    }

    /// Whether statements have to be split by project, given whether the tables are divided.
    pub(super) fn is_by_project(&self, is_divided: bool) -> bool {
        is_divided && matches!(self, Self::Postgres { at: None, .. })
    }

    /// The error of a statement that cannot run in a transaction on the server of a part, which fails by it.
    pub(super) fn elsewhere(&self) -> Error {
        if let Self::Postgres { transaction: Some(failure), .. } = self {
            failure.0.get_or_init(|| Error::Elsewhere);
        }
        Error::Elsewhere
    }

    /// What PostgreSQL answered.
    pub(super) fn answer<T>(&self, answer: std::result::Result<T, tokio_postgres::Error>) -> Result<T> {
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

/// The first error that PostgreSQL answered a statement of a transaction with. Whatever follows in the transaction, or
/// was sent together with it, is refused with [`Error::Aborted`], which does not tell why.
#[derive(Debug, Default)]
pub(crate) struct Failure(OnceLock<Error>);

impl Failure {
    /// The result of a transaction, given that of its body.
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

/// A connection to SQLite, in a transaction if it is a [`Tx`](super::Tx)'s.
pub(crate) struct SqliteSession<'c> {
    /// The lock is never waited for: statements run one after the other on the thread that has the connection.
    connection: Mutex<&'c mut rusqlite::Connection>,
    in_transaction: bool,
}

impl<'c> SqliteSession<'c> {
    /// The connection for a statement. SQLite rolls a transaction back by itself when the disk is full; later
    /// statements of its body must not run, since each would be committed alone.
    pub(super) fn open(&self) -> Result<MutexGuard<'_, &'c mut rusqlite::Connection>> {
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
