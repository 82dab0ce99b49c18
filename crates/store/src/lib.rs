//! The only crate that knows SQL: the two engines behind one layer, the migrations, the queries.
//!
//! [`Db::write`] and [`Db::read`] run bodies whose one SQL text serves both engines (see [`dialect`]); a
//! [`Coalescer`] runs many callers' operations in one transaction. There is one module for each group of tables.

mod coalesce;
mod db;
pub mod dialect;
mod error;
mod postgres;
mod retry;
mod slow;
mod sqlite;
mod tx;
mod value;

pub mod address_book;
pub mod api_key;
pub mod audit;
pub mod campaign;
pub mod clock;
pub mod contact;
pub mod contact_field;
pub mod content;
pub mod counter;
pub mod domain;
pub mod email;
pub mod event;
pub mod event_day;
pub mod filter;
pub mod hop;
pub mod idempotency;
pub mod identity;
pub mod job;
pub mod login;
pub mod mailbox;
pub mod member;
pub mod migrate;
pub mod names;
pub mod project;
pub mod proof;
pub mod rate;
pub mod reception;
pub mod retired;
pub mod sealed;
pub mod search;
pub mod segment;
pub mod session;
pub mod suppression;
pub mod suspension;
pub mod template;
pub mod tenant;
pub mod totp;
pub mod user;

pub use coalesce::{Coalescer, Gathering, Load, ReadGroup, WriteGroup};
pub use db::{Db, Door, Location, Refusal, StoreMetrics};
pub use error::{Error, Result};
pub use retry::{Patience, pause, retrying};
pub use slow::SlowReads;
pub use tx::{Row, Rx, Tx};
pub use value::{Arg, Column, json_text};
