//! Tests of the store through its public doors, on both engines.

mod database;
mod filter;
mod mail;
mod outcomes;
mod suppressions;
mod tenancy;
