//! The errors of the store, distinguished by what the caller can do about them.

use std::borrow::Cow;
use std::time::Duration;

use mailwright_core::excess::Excess;
use tokio_postgres::error::{DbError, SqlState};

/// The most conditions of one query, those of segments it refers to included: databases bound the length of a query.
pub const MAX_COMPILED: usize = 2_000;

/// What the coordinator of a cluster says, as an internal error (`XX000`), when a connection to another of its servers
/// ends in the middle: words of its own, and those of the library that it connects with.
const LOST: [&str; 8] = [
    "connection to the remote node",
    "failure on connection marked as essential",
    "server closed the connection unexpectedly",
    "connection not open",
    "no connection to the server",
    "could not receive data from server",
    "could not send data to server",
    "SSL connection has been closed unexpectedly",
];
/// What it says when another server was lost while it committed, or refused to.
const COMMITTING: &str = "could not commit transaction for shard";

/// Result of a store operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed store operation. Nothing of its transaction remains, except perhaps after [`Error::Unknown`].
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The database cannot be reached or is going down; the same call may succeed later.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// The database was lost while it committed. Not temporary: doing the same again could do it twice.
    #[error("the database was lost while committing; the change may or may not be there: {0}")]
    Unknown(String),
    /// More work is queued than the database takes; the same call may succeed later.
    #[error("the database is busy: too many writes are waiting")]
    Busy,
    /// A statement took longer than any may, and was stopped.
    #[error("a statement was stopped: {0}")]
    Interrupted(String),
    /// A slow read took longer than it may, and was stopped.
    #[error("the read took longer than {} seconds and was stopped", .0.as_secs_f64())]
    TooSlow(Duration),
    /// A slow read did not have its turn in time: others were reading.
    #[error("the read waited for {} seconds for its turn", .0.as_secs_f64())]
    NoTurn(Duration),
    /// The greatest number of slow reads of the project waits already.
    #[error("{0} slow reads of the project wait already")]
    Crowded(usize),
    /// The disk is full or cannot be written.
    #[error("the database cannot be written: {0}")]
    Full(String),
    /// The database takes no writes now: it is a standby, or was set to read-only.
    #[error("the database takes no writes: {0}")]
    ReadOnly(String),
    /// Another transaction got in the way; the same call can be made again at once.
    #[error("another transaction got in the way: {0}")]
    Contention(String),
    /// A statement cannot run on the server that has the rows of its projects; it can on the coordinator.
    #[error("the transaction has to run on the coordinator")]
    Elsewhere,
    /// A part of divided tables is not where it was, or its server cannot be reached; the coordinator may know more.
    #[error("a part of the tables is not where it was")]
    NoPart,
    /// An earlier statement of the transaction failed. The transaction ends with the error of that statement.
    #[error("an earlier statement of the transaction failed")]
    Aborted,
    /// A unique key is taken. Holds the engine's own words; see [`Error::is_conflict_on`].
    #[error("a unique key is taken: {0}")]
    Conflict(String),
    /// A limit would be exceeded.
    #[error("a limit would be exceeded: {}", .0.issue().message)]
    Excess(Excess),
    /// A filter has too many conditions with those of the segments that it names.
    #[error("a filter has more than {} conditions with those of the segments it names", MAX_COMPILED)]
    TooManyConditions,
    /// A row that must exist does not.
    #[error("no such row")]
    NotFound,
    /// A cursor cannot be of the list that it was given for.
    #[error("the cursor is of another list")]
    ForeignCursor,
    /// A single-row change touched another number of rows.
    #[error("a change of one row changed {0}")]
    RowCount(u64),
    /// A stored value is not of the expected form.
    #[error("column {column} holds something else than {expected}: {detail}")]
    Corrupt {
        /// Position of the column in the query.
        column: usize,
        /// The expected form.
        expected: &'static str,
        /// The fault of the value.
        detail: String,
    },
    /// A transaction body awaited something other than its transaction (see [`crate::Db::write`]).
    #[error("a transaction body awaited something other than the transaction")]
    AwaitedOutside,
    /// A transaction body panicked.
    #[error("a transaction body panicked: {0}")]
    Panicked(String),
    /// Anything else the engine refused: a bug in a statement.
    #[error("the database refused a statement: {0}")]
    Statement(Cow<'static, str>),
    /// The program cannot work with this database, now or later.
    #[error("{0}")]
    Unusable(String),
    /// A migration cannot be applied.
    #[error("migration failed: {0}")]
    Migration(String),
}

impl Error {
    /// Whether the same call may succeed later without any change to it, and can be made again without harm.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_)
                | Self::Busy
                | Self::Interrupted(_)
                | Self::TooSlow(_)
                | Self::NoTurn(_)
                | Self::Crowded(_)
                | Self::Full(_)
                | Self::ReadOnly(_)
                | Self::Contention(_)
        )
    }

    /// Whether nothing can be written for want of room, or of the right to.
    pub(crate) fn refuses_writes(&self) -> bool {
        matches!(self, Self::Full(_) | Self::ReadOnly(_))
    }

    /// The meaning of a failed commit: if the server answered that it rolled back, the error stays; otherwise the
    /// outcome is unknown.
    pub(crate) fn of_commit(error: tokio_postgres::Error) -> Self {
        match Self::from(error) {
            told @ (Self::Contention(_) | Self::Conflict(_) | Self::Full(_) | Self::ReadOnly(_)) => told,
            Self::Unavailable(text) | Self::Unknown(text) => Self::Unknown(text),
            other => Self::Unknown(other.to_string()),
        }
    }

    /// The meaning of an error that PostgreSQL answered: by its code, and in few cases its words. `constraint` is the
    /// one that was violated.
    fn of_answer(code: &SqlState, text: &str, constraint: Option<&str>) -> Self {
        use SqlState as S;
        let told = text.to_owned();
        if *code == S::UNIQUE_VIOLATION {
            return Self::Conflict(constraint.unwrap_or(text).to_owned());
        }
        if [S::T_R_DEADLOCK_DETECTED, S::T_R_SERIALIZATION_FAILURE, S::LOCK_NOT_AVAILABLE].contains(code) {
            return Self::Contention(told);
        }
        if *code == S::IN_FAILED_SQL_TRANSACTION {
            return Self::Aborted;
        }
        if *code == S::IDLE_IN_TRANSACTION_SESSION_TIMEOUT {
            return Self::Unavailable(told);
        }
        if *code == S::QUERY_CANCELED {
            return Self::Interrupted(told);
        }
        if *code == S::READ_ONLY_SQL_TRANSACTION {
            return Self::ReadOnly(told);
        }
        if *code == S::INTERNAL_ERROR && text.starts_with(COMMITTING) {
            return Self::Unknown(told);
        }
        // of a connection that is gone there may be nothing to say
        if *code == S::INTERNAL_ERROR && (text.is_empty() || LOST.iter().any(|words| text.contains(words))) {
            return Self::Unavailable(told);
        }
        match code.code().get(..2) {
            Some("53") if *code == S::DISK_FULL => Self::Full(told),
            // connection, resources, state of the server, operator intervention
            Some("08" | "53" | "55" | "57") => Self::Unavailable(told),
            Some("58") => Self::Full(told),
            _ => Self::Statement(format!("{told} ({})", code.code()).into()),
        }
    }

    /// A panic that was caught, with its message.
    pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        Self::Panicked(text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default())
    }

    /// Whether a statement named a table that is not there (`42P01`).
    pub(crate) fn is_of_missing_table(&self) -> bool {
        matches!(self, Self::Statement(text) if text.ends_with("(42P01)"))
    }

    /// Whether this is a conflict on the unique key of `table` that ends with `column`.
    pub fn is_conflict_on(&self, table: &str, column: &str) -> bool {
        // differs between the engines because SQLite names the columns and PostgreSQL the constraint
        matches!(self, Self::Conflict(text)
            if text.contains(&format!("{table}.{column}")) || text.contains(&format!("{table}_project_id_{column}_key")))
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as C;
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(C::DiskFull | C::SystemIoFailure | C::ReadOnly) => Self::Full(text),
            Some(C::OperationInterrupted) => Self::Interrupted(text),
            Some(C::DatabaseBusy | C::DatabaseLocked) => Self::Contention(text),
            Some(C::CannotOpen | C::NotADatabase | C::DatabaseCorrupt | C::PermissionDenied) => {
                Self::Unavailable(text)
            }
            Some(C::ConstraintViolation) if text.contains("UNIQUE") || text.contains("PRIMARY KEY") => {
                Self::Conflict(text)
            }
            _ => Self::Statement(text.into()),
        }
    }
}

impl From<&DbError> for Error {
    fn from(answer: &DbError) -> Self {
        Self::of_answer(answer.code(), answer.message(), answer.constraint())
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(answer) = error.as_db_error() {
            return Self::from(answer);
        }
        let is_of_network = std::error::Error::source(&error)
            .is_some_and(<dyn std::error::Error + 'static>::is::<std::io::Error>);
        if error.is_closed() || is_of_network {
            Self::Unavailable(with_causes(&error))
        } else {
            Self::Statement(with_causes(&error).into())
        }
    }
}

/// An error with all that caused it.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // some say what caused them in their own words
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

impl From<deadpool_postgres::PoolError> for Error {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        match error {
            deadpool_postgres::PoolError::Backend(inner) => match Self::from(inner) {
                Self::Statement(text) => Self::Unavailable(text.into_owned()),
                other => other,
            },
            other => Self::Unavailable(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(error: &Error) -> &'static str {
        match error {
            Error::Unavailable(_) => "unavailable",
            Error::Unknown(_) => "unknown",
            Error::Interrupted(_) => "interrupted",
            Error::Contention(_) => "contention",
            Error::Conflict(_) => "conflict",
            Error::Full(_) => "full",
            Error::Statement(_) => "statement",
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_server_of_the_cluster_that_is_lost_is_not_available() {
        let answers = [
            ("08006", "connection to the remote node u@host:5432 failed", "unavailable"),
            (
                "XX000",
                "connection to the remote node u@host:5432 failed with the following error: x",
                "unavailable",
            ),
            ("XX000", "server closed the connection unexpectedly\n\tThis probably means", "unavailable"),
            ("XX000", "connection not open", "unavailable"),
            ("XX000", "failure on connection marked as essential: host:5432", "unavailable"),
            ("XX000", "", "unavailable"),
            ("XX000", "could not commit transaction for shard 102008 on at least one active node", "unknown"),
            // a bug, whatever it is about
            ("XX000", "cache lookup failed for relation 1", "statement"),
            ("42P01", "connection not open", "statement"),
            ("42601", "could not commit transaction for shard 1", "statement"),
        ];
        for (code, text, expected) in answers {
            let error = Error::of_answer(&SqlState::from_code(code), text, None);
            assert_eq!(kind(&error), expected, "{code} {text}");
        }
    }

    #[test]
    fn codes_say_what_the_caller_can_do() {
        let answers = [
            ("40P01", "contention"),
            ("55P03", "contention"),
            ("57014", "interrupted"),
            ("57P01", "unavailable"),
            ("53300", "unavailable"),
            ("53100", "full"),
            ("58030", "full"),
            ("23505", "conflict"),
        ];
        for (code, expected) in answers {
            assert_eq!(kind(&Error::of_answer(&SqlState::from_code(code), "text", None)), expected, "{code}");
        }
        let taken =
            Error::of_answer(&SqlState::UNIQUE_VIOLATION, "text", Some("contacts_project_id_email_key"));
        assert!(taken.is_conflict_on("contacts", "email"), "{taken}");
    }
}
