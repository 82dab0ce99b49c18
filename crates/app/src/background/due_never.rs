//! What stands for `due.rs` in builds without debug assertions, where nothing moves the clock.

use std::time::Instant;

#[derive(Debug, Clone, Default)]
pub(super) struct Due;

impl Due {
    pub(super) fn moves(&self) -> Moves {
        Moves
    }

    pub(super) fn enter(&self, _name: &'static str) -> Entered {
        Entered
    }
}

/// There are none.
pub(super) struct Moves;

impl Moves {
    pub(super) async fn next(&mut self) {
        std::future::pending().await
    }
}

pub(super) struct Entered;

impl Entered {
    pub(super) fn waits_until(&self, _at: Instant) {}

    pub(super) fn begins(&self) {}

    pub(super) fn ended(&self, _next: Instant) {}
}
