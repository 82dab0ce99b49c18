//! The metrics of continuous copies.

use std::sync::atomic::AtomicU64;

use mailwright_core::time::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What is measured of continuous copies.
#[derive(Debug, Clone)]
pub(crate) struct CopyMetrics {
    age: Gauge<f64, AtomicU64>,
    until: Gauge<f64, AtomicU64>,
    snapshot: Gauge<f64, AtomicU64>,
    waiting: Gauge,
    bytes: Counter,
    failures: Counter,
    generations: Counter,
}

impl CopyMetrics {
    /// Declares the metrics in a registry.
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let (age, until, snapshot) = (Gauge::default(), Gauge::default(), Gauge::default());
        let (waiting, bytes, failures, generations) =
            (Gauge::default(), Counter::default(), Counter::default(), Counter::default());
        registry.register(
            "copies_age_seconds",
            "How long ago the moment was that can be restored from the copies",
            age.clone(),
        );
        registry.register(
            "copies_until_timestamp_seconds",
            "Everything that was committed before this moment can be restored from the copies; 0 for nothing yet",
            until.clone(),
        );
        registry.register(
            "copies_snapshot_timestamp_seconds",
            "The moment of the last snapshot that this process made",
            snapshot.clone(),
        );
        registry.register("copies_waiting_bytes", "Bytes that wait for the destination", waiting.clone());
        registry.register("copies_bytes", "Bytes written to the destination", bytes.clone());
        registry.register("copies_failures", "Attempts to use the destination that failed", failures.clone());
        registry.register(
            "copies_generations",
            "Lines of copies that were begun: at the start, and after each that could not be gone on with",
            generations.clone(),
        );
        Self { age, until, snapshot, waiting, bytes, failures, generations }
    }

    pub(super) fn until(&self, until: Timestamp) {
        self.until.set(until.0 as f64 / 1000.0);
    }

    pub(super) fn age(&self, now: Timestamp) {
        let until = self.until.get();
        if until > 0.0 {
            self.age.set((now.0 as f64 / 1000.0 - until).max(0.0));
        }
    }

    pub(super) fn snapshot(&self, at: Timestamp) {
        self.snapshot.set(at.0 as f64 / 1000.0);
    }

    pub(super) fn waiting(&self, bytes: u64) {
        self.waiting.set(bytes as i64);
    }

    pub(super) fn written(&self, bytes: u64) {
        self.bytes.inc_by(bytes);
    }

    pub(super) fn failed(&self) {
        self.failures.inc();
    }

    pub(super) fn generation(&self) {
        self.generations.inc();
    }
}
