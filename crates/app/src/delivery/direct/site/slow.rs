//! Why mail for a site waits.

use mailwright_core::pacing::PaceReason;

/// Why a site takes nothing for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::delivery) enum Slow {
    /// No connection to any of its servers was to be had.
    Unreachable(String),
    /// Servers of it refused us, which does not hold for the others.
    Refused(String),
    /// What its pace says, with the reply that it follows from.
    Pace(PaceReason, String),
    /// It takes mail more slowly than it comes.
    Busy,
    /// It has not answered yet.
    Unheard,
    /// It lets us wait for its answers.
    Hangs,
    /// Other mail of the project waits for answers, and leaves no room.
    Crowded,
}
