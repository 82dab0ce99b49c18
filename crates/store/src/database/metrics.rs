//! The metrics of the store.

use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// What the store measures.
#[derive(Debug, Clone)]
pub struct StoreMetrics {
    groups: Histogram,
}

impl StoreMetrics {
    /// Declares the metrics in `registry`.
    pub fn new(registry: &mut Registry) -> Self {
        let groups = Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]);
        registry.register("write_batch_size", "Operations that one commit carried", groups.clone());
        Self { groups }
    }

    pub(crate) fn group(&self, size: usize) {
        self.groups.observe(size as f64);
    }
}

impl Default for StoreMetrics {
    fn default() -> Self {
        Self::new(&mut Registry::default())
    }
}
