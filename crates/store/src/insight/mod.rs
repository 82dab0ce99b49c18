//! Sums, and what a transaction changes besides its rows.

pub mod activity;
pub mod activity_log;
pub mod campaigns;
pub mod cohorts;
pub mod counter;
pub mod deltas;
pub mod domains;
pub mod figures;
pub mod rollup;
pub mod upcoming;
