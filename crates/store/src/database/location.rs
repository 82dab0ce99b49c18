//! Where the data is.

use std::path::PathBuf;
use std::time::Duration;

/// The engine, and where it is.
#[derive(Debug, Clone)]
pub enum Location {
    /// A file of the embedded database.
    Sqlite(PathBuf),
    /// The URL of a PostgreSQL database.
    Postgres {
        /// `postgres://user:password@host:port/name`.
        url: String,
        /// Most connections of this process.
        connections: usize,
        /// How long a write waits at first for what another transaction holds, before it gives its connection back.
        lock_wait: Duration,
    },
}
