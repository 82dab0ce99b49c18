//! The metrics of the sites that mail is brought to: sums, and for the operator those with most mail by name, so that
//! their number is bounded.

use std::sync::Arc;
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

/// A transport.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SitesLabels {
    transport: String,
}

/// How sites of a transport are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SitesStateLabels {
    transport: String,
    state: &'static str,
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

/// What a process knows of all sites of a transport together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SiteSums {
    held: usize,
    connections: u32,
    /// How many sites are in each state, in the order of [`SiteState::ALL`].
    states: [i64; SiteState::ALL.len()],
}

impl SiteSums {
    /// Takes a site into account.
    pub(super) fn add(&mut self, held: usize, connections: u32, state: SiteState) {
        self.held += held;
        self.connections += connections;
        for (count, each) in self.states.iter_mut().zip(SiteState::ALL) {
            *count += i64::from(each == state);
        }
    }
}

/// A site by which it is chosen: the mails that are held for it, its connections, its name.
pub(super) type Ranked = (usize, u32, Arc<str>);

/// Of all sites those with most mail, first the one with most.
pub(super) fn with_most_mail(mut all: Vec<Ranked>) -> Vec<Ranked> {
    let most_first = |a: &Ranked, b: &Ranked| (b.0, b.1, &a.2).cmp(&(a.0, a.1, &b.2));
    if all.len() > MOST_SITES {
        all.select_nth_unstable_by(MOST_SITES, most_first);
        all.truncate(MOST_SITES);
    }
    all.sort_unstable_by(most_first);
    all
}

/// What is measured of sites.
#[derive(Debug, Clone, Default)]
pub(crate) struct SiteMetrics {
    sites: Family<SitesStateLabels, Gauge>,
    all_held: Family<SitesLabels, Gauge>,
    all_connections: Family<SitesLabels, Gauge>,
    held: Family<SiteLabels, Gauge>,
    connections: Family<SiteLabels, Gauge>,
    rate: Family<SiteLabels, Gauge<f64, AtomicU64>>,
    state: Family<SiteStateLabels, Gauge>,
}

impl SiteMetrics {
    /// Declares the metrics: sums in a registry, and what names sites in `naming`.
    pub(crate) fn new(registry: &mut Registry, naming: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("sites", "Sites that are in a state", metrics.sites.clone());
        registry.register(
            "sites_held",
            "Mails that this process holds for all sites together",
            metrics.all_held.clone(),
        );
        registry.register(
            "sites_connections",
            "Connections of this process to all sites together",
            metrics.all_connections.clone(),
        );
        naming.register("site_held", "Mails that this process holds for a site", metrics.held.clone());
        naming.register(
            "site_connections",
            "Connections of this process to a site",
            metrics.connections.clone(),
        );
        naming.register(
            "site_rate",
            "Mails a minute that a site takes from one address; 0 for no limit",
            metrics.rate.clone(),
        );
        naming.register("site_state", "1 for the state that a site is in", metrics.state.clone());
        metrics
    }

    /// Takes note of all sites of a transport together.
    pub(super) fn note_sums(&self, transport: &str, sums: &SiteSums) {
        let labels = SitesLabels { transport: transport.to_owned() };
        self.all_held.get_or_create(&labels).set(i64::try_from(sums.held).unwrap_or(i64::MAX));
        self.all_connections.get_or_create(&labels).set(i64::from(sums.connections));
        for (count, state) in sums.states.iter().zip(SiteState::ALL) {
            let labels = SitesStateLabels { transport: transport.to_owned(), state: state.as_str() };
            self.sites.get_or_create(&labels).set(*count);
        }
    }

    /// Takes note of the sites of a transport [with most mail](with_most_mail), and forgets those that were noted
    /// before and are not among them any more. Returns their names.
    pub(super) fn note(&self, transport: &str, before: &[String], figures: Vec<SiteFigures>) -> Vec<String> {
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
        let (mut registry, mut naming) = (Registry::default(), Registry::default());
        let metrics = SiteMetrics::new(&mut registry, &mut naming);
        let text = |registry: &Registry| {
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, registry).unwrap();
            text
        };
        let shown = || text(&naming);
        let many: Vec<Ranked> = (0..30).map(|n| (n, 1, format!("s{n}").into())).collect();
        let mut sums = SiteSums::default();
        for (held, connections, _) in &many {
            sums.add(*held, *connections, SiteState::Resting);
        }
        metrics.note_sums("mx", &sums);
        let unnamed = text(&registry);
        for line in [
            "sites{transport=\"mx\",state=\"resting\"} 30",
            "sites{transport=\"mx\",state=\"working\"} 0",
            "sites_held{transport=\"mx\"} 435",
            "sites_connections{transport=\"mx\"} 30",
        ] {
            assert!(unnamed.contains(line), "{unnamed}");
        }
        assert!(!unnamed.contains("s29"), "{unnamed}");
        let most = with_most_mail(many).into_iter().map(|(held, _, name)| figures(&name, held));
        let noted = metrics.note("mx", &[], most.collect());
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
