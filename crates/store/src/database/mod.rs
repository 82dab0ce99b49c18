//! The two engines behind one layer: transactions, coalesced writes, slow reads, migrations.
//!
//! `db` is the handle, `tx` a transaction, `dialect` the SQL text for both engines, `value` what goes into statements
//! and comes out of rows. `sqlite` and `postgres` are the engines. `coalesce` runs the operations of many callers in
//! one transaction, `slow` shares out the places for slow reads, `retry` repeats what another transaction got in the
//! way of, `away` knows the servers of a cluster that do not answer, `part` names what one of them holds. `detours` are
//! writes that have to run on its coordinator. An acknowledged write is on disk, on both engines.

pub(crate) mod away;
pub(crate) mod body;
pub mod clock;
pub mod cluster;
pub(crate) mod coalesce;
pub(crate) mod db;
pub(crate) mod detours;
pub mod dialect;
pub(crate) mod error;
pub(crate) mod held_up;
pub(crate) mod location;
pub(crate) mod metrics;
pub mod migrate;
pub(crate) mod part;
pub mod placed_log;
pub(crate) mod pooled;
pub(crate) mod postgres;
pub(crate) mod retry;
pub mod sealed;
pub(crate) mod slow;
pub mod sqlite;
pub mod tenant;
pub(crate) mod tx;
pub(crate) mod undone;
pub(crate) mod value;
