//! Messages: MIME, plain text from HTML, DKIM, SMTP, DNS and domain checks, and reports that come back.
//!
//! Invariants: no SQL and no HTTP here; the time is a parameter; every read from the network is bounded in size and in
//! time; no value from a caller can start a header line or an SMTP command.

pub mod dkim;
pub mod dns;
pub mod domain;
mod lines;
pub mod message;
pub mod report;
pub mod smtp;
pub mod text;
