//! The background work for segments: it judges contacts that changed ([`changes`]), follows the passing of time
//! ([`windows`]), counts ([`counts`]), and removes what removed segments left behind ([`removals`]).

mod changes;
mod counts;
mod pace;
mod recounts;
mod removals;
mod windows;

use std::time::Duration;

use super::history;
use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Runner, every};
use crate::background::tasks::Tasks;
use changes::Judging;
use counts::Counting;
use pace::{LEAST, LOOK, SWEEP};

/// Starts the background work.
pub(crate) fn start(app: &App, tasks: &Tasks) {
    let judging = Judging::new(app, tasks);
    let runner =
        Runner::new(app, "segment members", LOOK).woken_by(app.0.audience.segments.waker()).resting(LEAST);
    runner.start(tasks, judging);
    every(app, tasks, "segment windows", SWEEP, |app| async move { app.sweep_segments().await });
    history::start(app, tasks);
    let look = app.settings().segments.refresh_interval.min(Duration::from_secs(5));
    every(app, tasks, "removed segments", look, |app| async move { app.clear_up().await });
    let counting = Counting { app: app.clone(), looking: ProjectWork::new(tasks) };
    Runner::new(app, "segment counts", look).start(tasks, counting);
}
