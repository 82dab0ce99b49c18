//! The bound on the work of one render.

use std::cell::Cell;

use super::MAX_WORK;

/// The work that is left to do. Renders can share one.
#[derive(Debug)]
pub struct Budget(Cell<u64>);

impl Budget {
    /// What a render starts with.
    pub fn full() -> Self {
        Self(Cell::new(MAX_WORK))
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.0.get() == 0
    }

    /// Takes `units`. False when there are not so many left; then nothing is left.
    pub(super) fn spend(&self, units: u64) -> bool {
        let left = self.0.get().checked_sub(units);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}
