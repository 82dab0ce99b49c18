//! The only crate that knows SQL: the two engines behind one layer, the migrations, the queries.
//!
//! [`Db::write`] and [`Db::read`] run a body in a transaction. One SQL text serves both engines (see
//! [`database::dialect`]). A [`Coalescer`] runs the operations of many callers in one transaction. Each group of tables
//! has one module, in the area of its feature. The module `database` has everything that is not about one table.

pub mod account;
pub mod audience;
pub mod automation;
pub mod background;
pub mod database;
pub mod delivery;
pub mod feedback;
pub mod insight;
pub mod project;
pub mod sending;

pub use database::coalesce::{Coalescer, Gathering, Load, ReadGroup, WriteGroup};
pub use database::db::{Db, Door};
pub use database::error::{Error, Result};
pub use database::location::Location;
pub use database::metrics::StoreMetrics;
pub use database::retry::{Patience, pause, retrying};
pub use database::slow::SlowReads;
pub use database::tx::{Row, Rx, Tx};
pub use database::undone::Refusal;
pub use database::value::{Arg, Column, json_text};
