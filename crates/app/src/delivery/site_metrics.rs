//! The metrics of the sites that mail is brought to: of those with most mail, so that their number is bounded.

use std::sync::atomic::AtomicU64;

use mailwright_core::names;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Most sites of a transport that there are metrics of.
pub(super) const MOST_SITES: usize = 20;

/// A site.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SiteLabels {
    transport: String,
    site: String,
}

/// How a site is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SiteStateLabels {
    transport: String,
    site: String,
    state: &'static str,
}

names! {
    /// How a site is.
    pub(super) enum SiteState {
        Working = "working",
        Unreachable = "unreachable",
        Resting = "resting",
        Blocked = "blocked",
    }
}

/// What a process knows of a site.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SiteFigures {
    pub(super) site: String,
    /// Mails that the process holds for it.
    pub(super) held: usize,
    /// Open connections.
    pub(super) connections: u32,
    /// Mails a minute that it takes, as far as it has a limit.
    pub(super) per_minute: Option<f64>,
    pub(super) state: SiteState,
}

/// What is measured of sites.
#[derive(Debug, Clone, Default)]
pub(crate) struct SiteMetrics {
    held: Family<SiteLabels, Gauge>,
    connections: Family<SiteLabels, Gauge>,
    rate: Family<SiteLabels, Gauge<f64, AtomicU64>>,
    state: Family<SiteStateLabels, Gauge>,
}

impl SiteMetrics {
    /// Declares the metrics in a registry.
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("site_held", "Mails that this process holds for a site", metrics.held.clone());
        registry.register(
            "site_connections",
            "Connections of this process to a site",
            metrics.connections.clone(),
        );
        registry.register(
            "site_rate",
            "Mails a minute that a site takes from one address; 0 for no limit",
            metrics.rate.clone(),
        );
        registry.register("site_state", "1 for the state that a site is in", metrics.state.clone());
        metrics
    }

    /// Takes note of the sites of a transport, and forgets those that were noted before and are not among them any more.
    /// Returns their names.
    pub(super) fn note(
        &self,
        transport: &str,
        before: &[String],
        mut figures: Vec<SiteFigures>,
    ) -> Vec<String> {
        figures.sort_by(|a, b| (b.held, b.connections, &a.site).cmp(&(a.held, a.connections, &b.site)));
        figures.truncate(MOST_SITES);
        for site in before.iter().filter(|name| figures.iter().all(|figures| figures.site != **name)) {
            self.forget(SiteLabels { transport: transport.to_owned(), site: site.clone() });
        }
        let noted = figures.iter().map(|figures| figures.site.clone()).collect();
        for SiteFigures { site, held, connections, per_minute, state } in figures {
            let labels = SiteLabels { transport: transport.to_owned(), site };
            self.held.get_or_create(&labels).set(i64::try_from(held).unwrap_or(i64::MAX));
            self.connections.get_or_create(&labels).set(i64::from(connections));
            self.rate.get_or_create(&labels).set(per_minute.unwrap_or_default());
            for each in SiteState::ALL {
                self.state.get_or_create(&of_state(&labels, each)).set(i64::from(each == state));
            }
        }
        noted
    }

    fn forget(&self, labels: SiteLabels) {
        self.held.remove(&labels);
        self.connections.remove(&labels);
        self.rate.remove(&labels);
        for state in SiteState::ALL {
            self.state.remove(&of_state(&labels, state));
        }
    }
}

fn of_state(SiteLabels { transport, site }: &SiteLabels, state: SiteState) -> SiteStateLabels {
    SiteStateLabels { transport: transport.clone(), site: site.clone(), state: state.as_str() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(site: &str, held: usize) -> SiteFigures {
        let site = site.to_owned();
        SiteFigures { site, held, connections: 1, per_minute: None, state: SiteState::Working }
    }

    #[test]
    fn the_sites_with_most_mail_are_shown_and_others_no_more() {
        let mut registry = Registry::default();
        let metrics = SiteMetrics::new(&mut registry);
        let shown = || {
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
            text
        };
        let many = (0..30).map(|n| figures(&format!("s{n}"), n));
        let noted = metrics.note("mx", &[], many.collect());
        assert_eq!((noted.len(), &*noted[0]), (MOST_SITES, "s29"));
        assert!(shown().contains("site_held{transport=\"mx\",site=\"s29\"} 29"), "{}", shown());
        assert!(!shown().contains("\"s9\""));
        metrics.note("mx", &noted, vec![figures("s1", 4)]);
        assert!(!shown().contains("s29"), "{}", shown());
        assert!(
            shown().contains("site_state{transport=\"mx\",site=\"s1\",state=\"working\"} 1"),
            "{}",
            shown()
        );
    }
}
