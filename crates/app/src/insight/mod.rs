//! What happened in a project, as people look at it.

pub mod activity;
pub mod analytics;
pub mod cohorts;
pub mod recipients;
pub mod stream;
pub mod upcoming;

/// What this process keeps for this area.
#[derive(Default)]
pub(crate) struct State {
    stream: stream::State,
}

impl State {
    /// Ends what goes on until the process stops.
    pub(crate) fn end(&self) {
        self.stream.end();
    }
}
