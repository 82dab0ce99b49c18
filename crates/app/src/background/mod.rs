//! Work that no request waits for: the runner of all background work (`runner`, `tasks`, `project_work`), jobs, the
//! check of the clock, and maintenance. Delivery, campaigns and segments have their background work in their own areas.

pub(crate) mod clock;
#[cfg(debug_assertions)]
mod due;
#[cfg(not(debug_assertions))]
#[path = "due_never.rs"]
mod due;
pub mod job;
pub(crate) mod job_kinds;
pub(crate) mod job_worker;
pub(crate) mod maintenance;
pub(crate) mod project_work;
mod retention;
pub(crate) mod runner;
pub mod tasks;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::App;
use crate::background::clock::Watch;
use crate::background::runner::Waker;

/// What this process keeps for this area.
#[derive(Default)]
pub(crate) struct State {
    jobs: Waker,
    watch: Watch,
    is_leaving: AtomicBool,
}

impl App {
    /// Notes that the process is going to stop, so that it no longer says to be ready, and ends what would go on until
    /// then.
    pub fn leave(&self) {
        self.0.insight.end();
        self.0.background.is_leaving.store(true, Ordering::SeqCst);
    }

    /// Whether the process is going to stop.
    pub fn is_leaving(&self) -> bool {
        self.0.background.is_leaving.load(Ordering::SeqCst)
    }
}
