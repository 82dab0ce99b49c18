//! Background tasks: each has a name, is told to stop, and is waited for.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The tasks of a running service.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Starts a task. It should end soon after [`Tasks::stopping`] resolves.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(async move {
            task.await;
            tracing::debug!(task = name, "task ended");
        });
    }

    /// Resolves when the service is asked to stop.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// Whether the service was asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits for `period`; false when the service was asked to stop meanwhile.
    pub async fn pause(&self, period: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(period) => true,
            () = self.stopping() => false,
        }
    }

    /// Asks every task to stop and waits for them, at most `patience`. Returns whether all ended.
    pub async fn stop(&self, patience: Duration) -> bool {
        self.stop.cancel();
        self.tracker.close();
        tokio::time::timeout(patience, self.tracker.wait()).await.is_ok()
    }
}
