//! Coalesced calls: many callers, one transaction.
//!
//! The hottest operations do not run a transaction each. They hand their operation to a [`Coalescer`]. Its task takes
//! all operations that wait, runs one body over them, and answers each caller once the transaction is on disk. While
//! one group commits, the next one gathers, so load makes groups larger instead of queues longer. Bodies work on sets:
//! a statement with `{rows}` runs once over arrays on PostgreSQL, and row by row on SQLite (see
//! [`dialect`](crate::database::dialect)).
//!
//! If the group's transaction conflicts with another one, the group is retried as a whole. If it fails for any other
//! reason, its operations run one at a time, so that one bad operation fails alone.
//!
//! A group is bounded by bytes as well as by number. A large operation runs alone, beside the small ones. Projects take
//! turns with their large operations, and a process runs few of them at a time, so that the database has time for the
//! others. If a group needs more data than fits into memory, it is cut into halves. On SQLite, with its one writer,
//! small operations wait for one large operation at most.
//!
//! On PostgreSQL another transaction may hold a lock that a group needs, such as the lock of a project's names. A group
//! waits for it for a moment only. Then the operations of each project run by themselves. Operations that still meet
//! the lock are set aside like large ones and tried again by turns; later operations of the same project queue behind
//! them. So a long transaction of one project holds up that project, and delays the small operations of others once and
//! for a moment. A large operation may have to wait for such a try, which takes none of the turns of large operations.
//!
//! Where the tables are divided by project over several servers, the operations for a few parts of the tables on one
//! server are a transaction, a few at once.
//!
//! Each group has a fixed cost. If callers have other work to do meanwhile, a busy coalescer waits a little for more of
//! them ([`Gathering`]).
//!
//! A coalescer's task lives as long as its database handle.

mod answer;
mod aside;
mod by_part;
mod call;
mod group;
mod task;
#[cfg(test)]
mod tests;

pub use self::call::Load;
pub use self::group::{ReadGroup, WriteGroup};
pub use self::task::{Coalescer, Gathering};
