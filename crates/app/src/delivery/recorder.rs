//! How a worker records what became of its mails: the outcome of the last one together with the mark of the next, in one
//! transaction, if both are of one project.
//!
//! Otherwise the outcome is written beside the mark, and the worker waits for it for half a second at most
//! ([`HELD_UP`]), because another transaction may hold a row of that project. If it goes on without the outcome and the
//! process dies then, more than one mail of the worker is in doubt.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use tokio::sync::oneshot;

use super::Delivery;
use super::ledger::{Marked, Record};

/// How long a mail waits for the outcomes before it to be recorded.
const HELD_UP: Duration = Duration::from_millis(500);

/// What a worker has to record.
pub(super) struct Recorder<'d> {
    delivery: &'d Arc<Delivery>,
    /// The transport that it hands mails to.
    transport: &'d Arc<str>,
    /// The outcome of the last mail, which is recorded together with the mark of the next.
    last: Option<Arc<Record>>,
    /// The outcomes before it that are being recorded by themselves.
    unrecorded: Vec<oneshot::Receiver<()>>,
}

impl<'d> Recorder<'d> {
    pub(super) fn new(delivery: &'d Arc<Delivery>, transport: &'d Arc<str>) -> Self {
        Self { delivery, transport, last: None, unrecorded: Vec::new() }
    }

    /// Whether an outcome waits for the mark of the next mail.
    pub(super) fn has_last(&self) -> bool {
        self.last.is_some()
    }

    /// Notes an outcome, to be recorded with the mark of the next mail.
    pub(super) fn note(&mut self, record: Record) {
        // still there when the envelope was refused, so that nothing was marked
        self.flush();
        self.last = Some(Arc::new(record));
    }

    /// Has the last outcome recorded by itself.
    pub(super) fn flush(&mut self) {
        if let Some(last) = self.last.take() {
            let delivery = Arc::clone(self.delivery);
            let (done, recorded) = oneshot::channel();
            self.unrecorded.push(recorded);
            self.delivery.tasks.spawn("an outcome", async move {
                delivery.step(Some(last), None).await;
                let _ = done.send(());
            });
        }
    }

    /// The same unless it is of the project of the next mail.
    pub(super) fn flush_unless_of(&mut self, project: ProjectNumber) {
        if self.last.as_ref().is_some_and(|last| last.outcome.claim.project != project) {
            self.flush();
        }
    }

    /// Marks the next mail on disk, before the first byte of its content is on the wire, and records the last outcome.
    /// Returns whether the next mail may be sent.
    pub(super) async fn mark(&mut self, next: Marked<'_>) -> bool {
        let marked = self.delivery.step(self.last.take(), Some((next, self.transport))).await;
        if marked {
            self.recorded().await;
        }
        marked
    }

    /// Waits until the outcomes of earlier mails are recorded, so that one mail of a worker is in doubt if the process
    /// dies now, but not for long: what holds up one project's rows must not hold up the mail of others. Only few mails,
    /// which are claimed, can stay unrecorded then.
    async fn recorded(&mut self) {
        let recorded = futures_util::future::join_all(self.unrecorded.drain(..));
        if tokio::time::timeout(HELD_UP, recorded).await.is_err() {
            tracing::debug!("the outcome of a mail is held up, going on with the next");
        }
    }
}
