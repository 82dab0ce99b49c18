//! The two engines behind one layer: transactions, coalesced writes, slow reads, migrations.

pub mod clock;
pub(crate) mod coalesce;
pub(crate) mod db;
pub mod dialect;
pub(crate) mod error;
pub mod migrate;
pub(crate) mod postgres;
pub(crate) mod retry;
pub mod sealed;
pub(crate) mod slow;
pub(crate) mod sqlite;
pub mod tenant;
pub(crate) mod tx;
pub(crate) mod value;
