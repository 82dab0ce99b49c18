//! The bound on the work of one render.

use std::cell::Cell;

use super::MAX_WORK;

/// The work that is left to do.
#[derive(Debug)]
pub(super) struct Budget(Cell<u64>);

impl Budget {
    /// What a render starts with.
    pub(super) fn full() -> Self {
        Self(Cell::new(MAX_WORK))
    }

    /// Takes `units`. False when there are not so many left; then nothing is left.
    pub(super) fn spend(&self, units: u64) -> bool {
        let left = self.0.get().checked_sub(units);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}
