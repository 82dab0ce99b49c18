//! How fast mail goes to a site, and how much of it a new source address sends.
//!
//! A **site** is a set of mail servers that take the mail of one or many domains. A **source** is an address of ours from
//! which connections are made. Receivers judge a source, each by its own rules, so there is one [`Pace`] for each pair:
//! how many connections, how many mails a minute, and whether to rest. It learns from what the site replies
//! ([`reply::signal`]), and begins with what is published ([`limits`]).
//!
//! A pace is a value that is kept as a row. Every process that has mail for the site takes part: it reports what became of
//! its last part and is granted the next one in a single step ([`Pace::step`]), so all processes together keep the limits.
//! Whatever is granted is small, some seconds of the rate, since nobody can take back what another process was granted.
//!
//! A source that nobody knows sends little at first, and more each day ([`warm_up`]).
//!
//! Nothing here reads a clock or makes a random number: the same inputs give the same steps.

pub mod greylisting;
pub mod limits;
mod pace;
pub mod reply;
#[cfg(test)]
mod simulation;
pub mod warm_up;

pub use pace::{Grant, LONGEST_BLOCK, Pace, PaceReason, Report, Wait, Wish};
