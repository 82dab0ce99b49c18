//! How many reports about TLS there were.

use mailwright_core::names;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndLabels {
    outcome: &'static str,
}

names! {
    /// What became of a report.
    pub(in crate::delivery) enum End {
        /// It was handed to the outbox, or a server took it.
        Sent = "sent",
        /// It was given up.
        Failed = "failed",
        /// The domain wants none.
        Dropped = "dropped",
    }
}

/// What is measured of reports about TLS.
#[derive(Debug, Clone, Default)]
pub(crate) struct TlsReportMetrics {
    reports: Family<EndLabels, Counter>,
}

impl TlsReportMetrics {
    /// Declares the metrics in a registry.
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("tls_reports", "Reports about TLS by outcome", metrics.reports.clone());
        metrics
    }

    /// Counts reports.
    pub(in crate::delivery) fn count(&self, end: End, count: u64) {
        self.reports.get_or_create(&EndLabels { outcome: end.as_str() }).inc_by(count);
    }
}
