//! Pauses before something is tried again.

use std::time::Duration;

/// Doublings after which a pause is not counted any further.
const MOST_DOUBLINGS: u32 = 20;

/// Pauses that double with every failure.
#[derive(Debug, Clone, Copy)]
pub struct Pauses {
    /// The one after the first failure.
    pub first: Duration,
    /// The longest.
    pub longest: Duration,
}

impl Pauses {
    /// The pause after a failure that `failures` others came before.
    pub fn after(self, failures: u32) -> Duration {
        self.first.saturating_mul(1 << failures.min(MOST_DOUBLINGS)).min(self.longest)
    }
}
