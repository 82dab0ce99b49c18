//! Aggregate reports about the mail of sender domains (DMARC, RFC 7489): the addresses that take them, what becomes of
//! them, and what they show.
//!
//! Anybody can send a report to an address that is published, and invent what it says. So what reports say changes
//! nothing by itself: it is summed within bounds, and shown. Who sent a report is proved by DKIM or SPF of its mail.
//! What nothing proves takes no room from the rest, is marked, and does not count for a stricter policy.

mod address;
mod figures;
mod sums;
mod taking;

pub(super) use self::address::ReportAddress;
pub use self::figures::{DmarcFigures, DmarcSource};
pub(super) use self::taking::Readers;
