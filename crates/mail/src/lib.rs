//! Messages: MIME, HTML from MJML, plain text from HTML, DKIM, SMTP in both directions, DNS and domain checks, verification of
//! addresses, and what comes back of mails: reports, automatic answers, notifications of Amazon SNS, mail that comes in.
//!
//! Invariants: no SQL and no HTTP here; the time is a parameter; every read from the network is bounded in size and in
//! time; no value from a caller can start a header line or an SMTP command.

pub mod authentication;
pub mod dane;
pub mod dkim;
pub mod dmarc_report;
pub mod dns;
pub mod domain;
mod lines;
pub mod message;
pub mod mjml;
pub mod mta_sts;
pub mod received;
pub mod report;
pub mod route;
pub mod ses;
pub mod signature;
pub mod smtp;
pub mod smtp_server;
pub mod sns;
pub mod spamd;
pub mod text;
pub mod tls_report;
pub mod verification;
