//! Continuous copies of the embedded database: a snapshot, and the pages that transactions changed after it.
//!
//! [`follower`] reads the write-ahead log ([`frames`]) and keeps it from being started anew before it was read.
//! [`segment`] is what it makes of it, [`spool`] where that waits, [`following`] what the threads share, [`handle`] what
//! others ask. [`rebuild`] puts a database together again. `docs/adr/0069-continuous-copies.md` has the reasons.

mod follower;
pub(crate) mod following;
mod frames;
mod handle;
mod rebuild;
mod segment;
mod snapshot;
mod spool;
#[cfg(test)]
mod tests;

pub use self::follower::Trouble;
pub use self::following::{Follow, Mark, Standing};
pub use self::frames::Place;
pub use self::handle::{Copies, Snapshot};
pub use self::rebuild::Rebuild;
pub use self::segment::{Head, Name, decode};
pub use self::spool::Spooled;
