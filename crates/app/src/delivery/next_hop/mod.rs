//! What this process knows about the next hop: how many connections it takes ([`pool`]), how fast it takes mail
//! ([`pace`]), and which projects it refuses ([`refusals`]). Workers ask here before they open a connection or take a
//! mail, and report the result here. The three are state machines without clock and network, so tests can try every
//! order of events.
//!
//! A worker holds permits and mails as values that give themselves back when they are dropped, so the counts are right
//! even after a panic. The effects of one project's refusals are limited to that project.
//! `docs/adr/0002-learnt-next-hop.md` has the reasons.

mod claims;
mod hop;
mod judging;
mod pace;
mod pool;
mod project_news;
mod refusals;
mod report;
mod state;

pub(super) use hop::{Busy, Leave, NextHop, Permit, Seat, Take};
pub(super) use pace::Meter;
pub(super) use pool::Trouble;
pub(super) use report::keep_informed;
pub(super) use state::{Judgement, Withdrawn};
