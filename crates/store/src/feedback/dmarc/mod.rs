//! Aggregate reports about the mail of sender domains (RFC 7489): which came in, and the sums of what they say by day
//! (UTC), sender of the report, source and outcome.
//!
//! What a report says is summed when it comes, so that a domain that many receivers report of needs no more room than
//! its sources. Rows of a domain that was removed stay until they are too old: nothing finds them.
//!
//! Anybody can invent reports. So each organisation that is proved to have sent some has a share of the room of a day,
//! and all that prove nothing have one together. Whoever has domains can prove to be many: all have a bound together,
//! but for the large receivers, whose domains nobody else can write from.

mod figures;
mod taking;

pub use self::figures::{
    Reporter, SenderSums, SourceSums, Sums, coverage, domains, of_senders, reporters, sources, totals,
};
pub use self::taking::{Added, Outcome, Report, add, day, forget, owner};
