//! Latencies and what is said of them.

use std::time::Duration;

/// Latencies in microseconds, up to an hour.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies(Vec<u32>);

/// What a set of latencies comes to, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Summary {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Latencies {
    pub(crate) fn record(&mut self, latency: Duration) {
        self.0.push(u32::try_from(latency.as_micros()).unwrap_or(u32::MAX));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Median and 99th percentile by nearest rank; `None` without latencies.
    pub(crate) fn summary(mut self) -> Option<Summary> {
        self.0.sort_unstable();
        let rank = |percent: usize| {
            let at = (self.0.len() * percent).div_ceil(100).max(1) - 1;
            self.0.get(at).map(|micros| f64::from(*micros) / 1000.0)
        };
        Some(Summary { p50: rank(50)?, p99: rank(99)? })
    }
}

/// The middle one of some stats.
pub(crate) fn median(mut stats: Vec<f64>) -> f64 {
    stats.sort_unstable_by(f64::total_cmp);
    stats.get(stats.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut latencies = Latencies::default();
        for ms in (1..=100).rev() {
            latencies.record(Duration::from_millis(ms));
        }
        assert_eq!(latencies.summary(), Some(Summary { p50: 50.0, p99: 99.0 }));
        assert_eq!(Latencies::default().summary(), None);
    }
}
