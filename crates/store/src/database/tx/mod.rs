//! Transactions, and the statements that run in them.
//!
//! On PostgreSQL, statements that do not need each other's results can be awaited together (`join`). They reach the
//! server in one round trip, in the order given, and `begin` goes with the first of them. If one fails, the server
//! refuses those behind it without saying why. So a transaction reports its first error, whichever answer its body
//! looked at (`Failure`).

mod by_project;
mod by_server;
mod read;
mod row;
mod session;
mod sqlite;
#[cfg(test)]
mod tests;
mod write;

pub use self::read::Rx;
pub use self::row::Row;
pub(crate) use self::session::{At, Failure, Session, given_up};
pub use self::write::Tx;
