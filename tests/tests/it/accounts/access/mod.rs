//! Every endpoint, with every kind of caller.
//!
//! The table is complete by construction: an endpoint of the API document that is not in it fails a test, and so does an
//! entry without an endpoint.

mod answers;
mod callers;
mod cookies;
mod document;
mod requests;
mod table;
mod world;

pub(super) use self::requests::filled;
pub(super) use self::table::{Access, TABLE};
pub(super) use self::world::World;
