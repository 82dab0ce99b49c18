//! What the tasks of continuous copies share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mailwright_core::time::{Clock, Timestamp};
use mailwright_mail::dns::Dns;
use mailwright_store::database::sqlite::copies::Copies;

use super::destination::{Destination, Fault};
use super::metrics::CopyMetrics;
use crate::settings::StoreSettings;

/// How copies are made.
#[derive(Debug, Clone)]
pub struct CopySettings {
    /// Where they go.
    pub to: StoreSettings,
    /// How often what was committed is shipped.
    pub every: Duration,
    /// How often a snapshot is made.
    pub snapshot_every: Duration,
    /// How long copies are kept.
    pub keep: Duration,
    /// Most bytes that wait on this machine.
    pub spool_bytes: u64,
}

/// The files of an instance that are copied beside its database.
#[derive(Debug, Clone)]
pub struct InstanceFiles {
    /// The data directory.
    pub data_dir: PathBuf,
    /// Files in it, each of which may not be there.
    pub own: Vec<&'static str>,
    /// The folder of pictures in it.
    pub uploads: PathBuf,
    /// Where the instance's secret is: `file` or `environment`.
    pub secret: &'static str,
}

/// The line that is being written, as far as it is at the destination.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) generation: String,
    /// When its last complete snapshot was made.
    pub(super) snapshot: Option<Timestamp>,
}

/// What the tasks share.
pub(super) struct Shared {
    pub(super) copies: Copies,
    pub(super) settings: CopySettings,
    pub(super) files: InstanceFiles,
    pub(super) clock: Clock,
    pub(super) dns: Dns,
    pub(super) metrics: CopyMetrics,
    pub(super) line: Mutex<Option<Line>>,
    opened: Mutex<Option<Destination>>,
}

impl Shared {
    pub(super) fn new(
        copies: Copies,
        settings: CopySettings,
        files: InstanceFiles,
        clock: Clock,
        dns: Dns,
        metrics: CopyMetrics,
    ) -> Arc<Self> {
        let (line, opened) = (Mutex::default(), Mutex::default());
        Arc::new(Self { copies, settings, files, clock, dns, metrics, line, opened })
    }

    pub(super) fn line(&self) -> MutexGuard<'_, Option<Line>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The destination, which is opened when it is first needed: the folder may be there by then.
    pub(super) fn destination(&self) -> Result<Destination, Fault> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(destination) = &*opened {
            return Ok(destination.clone());
        }
        let destination = Destination::open(&self.settings.to, &self.dns, true)?;
        *opened = Some(destination.clone());
        Ok(destination)
    }

    /// Writes an object, and counts its bytes.
    pub(super) async fn put(&self, at: &Destination, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        self.metrics.written(at.put(name, bytes).await?);
        Ok(())
    }
}

/// Pauses after failures, longer after each.
#[derive(Debug)]
pub(super) struct Pauses {
    first: Duration,
    longest: Duration,
    failed: u32,
}

impl Pauses {
    pub(super) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failed: 0 }
    }

    /// The pause after one more failure.
    pub(super) fn after_failure(&mut self) -> Duration {
        self.failed = self.failed.saturating_add(1);
        self.first.saturating_mul(2_u32.saturating_pow(self.failed - 1)).min(self.longest)
    }

    /// Whether the last attempt failed; from now on none did.
    pub(super) fn end(&mut self) -> bool {
        std::mem::take(&mut self.failed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest() {
        let mut pauses = Pauses::new(Duration::from_secs(1), Duration::from_secs(5));
        let seconds: Vec<u64> = (0..40).map(|_| pauses.after_failure().as_secs()).collect();
        assert_eq!(seconds[..4], [1, 2, 4, 5]);
        assert_eq!(seconds[39], 5);
        assert!(pauses.end() && !pauses.end());
        assert_eq!(pauses.after_failure().as_secs(), 1);
    }
}
