//! What is seen of a contact's rehearsal as it goes on: nothing but what is told of it is kept.

use mailwright_core::custom_data;
use mailwright_core::ids::EventId;
use mailwright_core::workflow::execution::{Execution, StepRecord};
use mailwright_core::workflow::kind::Refused;
use mailwright_core::workflow::rehearsal::Audience;
use mailwright_core::workflow::summary::Summary;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::plan::{Prepared, Told};

/// How much is told of a contact, in bytes of JSON. Executions behind that are counted, and not told.
const MAX_TRACE: usize = 4 * 1024 * 1024;

/// What is seen of a contact's rehearsal.
pub(super) struct Seen<'a> {
    prepared: &'a Prepared,
    summary: &'a mut Summary,
    /// A digest of what makes a difference between versions, where they are compared.
    essence: Option<Sha256>,
    told: Option<Told>,
    trace: Vec<Value>,
    bytes: usize,
}

impl<'a> Seen<'a> {
    pub(super) fn new(
        prepared: &'a Prepared,
        summary: &'a mut Summary,
        compares: bool,
        told: Option<Told>,
    ) -> Self {
        let essence = compares.then(Sha256::new);
        Self { prepared, summary, essence, told, trace: Vec::new(), bytes: 0 }
    }

    /// The digest of what makes a difference, and what is told.
    pub(super) fn end(self) -> (Option<[u8; 32]>, Option<Vec<Value>>) {
        let essence = self.essence.map(|essence| essence.finalize().into());
        (essence, self.told.map(|_| self.trace))
    }

    /// What an execution did that makes a difference: its end, and its steps with their times.
    fn digest(&self, execution: &Execution) -> String {
        let step = |record: &StepRecord| {
            let step = self.prepared.steps().get(record.step)?;
            Some((step.id, record.status, record.started_at, record.completed_at))
        };
        let steps: Vec<_> = execution.log.iter().filter_map(step).collect();
        format!("{:?}", (execution.status, &execution.exit_reason, execution.is_converted, steps))
    }
}

impl Audience for Seen<'_> {
    fn see(&mut self, execution: Execution) {
        self.summary.add_execution(&self.prepared.version, &execution);
        let digest = self.essence.is_some().then(|| self.digest(&execution));
        if let (Some(essence), Some(digest)) = (&mut self.essence, digest) {
            essence.update(digest);
        }
        if let Some(told) = &self.told
            && self.bytes <= MAX_TRACE
        {
            let execution = self.prepared.told(&execution, told);
            self.bytes += custom_data::value_size(&execution);
            if self.bytes <= MAX_TRACE || self.trace.is_empty() {
                self.trace.push(execution);
            }
        }
    }

    fn miss(&mut self, _: Option<EventId>, why: Refused) {
        self.summary.add_refused(why);
    }
}
