//! Events from before they were counted.

use mailwright_core::ids::EventId;
use mailwright_core::time::Timestamp;

/// The events of a project that are not counted yet: those behind `from` and before `until`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uncounted {
    pub(super) from: EventId,
    pub(super) until: Timestamp,
}

impl Uncounted {
    /// The events behind the last one that is counted, or all, and before a time.
    pub(super) fn new(counted_to: Option<EventId>, until: Timestamp) -> Self {
        Self { from: counted_to.unwrap_or(EventId::first_of(Timestamp(0))), until }
    }

    /// Whether an event is one of them.
    pub(super) fn holds(&self, id: EventId) -> bool {
        id > self.from && id < EventId::first_of(self.until)
    }
}
