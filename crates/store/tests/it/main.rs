//! Tests of the store through its public doors, on both engines.

mod columns;
mod database;
mod email_search_cache;
mod filter;
mod mail;
mod outcomes;
mod search;
mod suppressions;
mod tenancy;
mod tls_reports;
