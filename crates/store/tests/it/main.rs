//! Tests of the store through its public doors, on both engines.

mod database;
mod filter;
mod outcomes;
mod suppressions;
mod tenancy;
