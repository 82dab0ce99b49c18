//! The metrics of the service, for Prometheus.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::names;
use mailwright_core::retention::Kind;
use mailwright_store::StoreMetrics;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};

use crate::copies::metrics::CopyMetrics;
use crate::delivery::site_metrics::SiteMetrics;
use crate::delivery::tls_reports::metrics::TlsReportMetrics;

/// Labels of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// HTTP method.
    pub method: String,
    /// The route's pattern, never the path itself.
    pub route: String,
    /// HTTP status.
    pub status: u16,
}

/// The route of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RouteLabels {
    /// The route's pattern.
    pub route: String,
}

/// The lane of a mail.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct LaneLabels {
    /// `transactional`, `workflow` or `campaign`.
    pub lane: &'static str,
}

/// Labels for the outcome of a hand-over, or of a request of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabels {
    /// `sent`, `deferred`, `held`, `bounced`, `failed` or `in_doubt`; `answered`, `repeated`, `failed` or `given_up`.
    pub outcome: &'static str,
}

/// Labels for what judged contacts by a filter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct JudgedLabels {
    /// `memory` or `database`.
    pub by: &'static str,
}

/// Which connections to the next hop are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ConnectionLabels {
    /// The transport.
    pub transport: String,
    /// `open`, `allowed` (what the next hop takes) or `configured`.
    pub kind: &'static str,
}

/// A transport.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TransportLabels {
    /// Its name.
    pub transport: String,
}

/// How the next hop is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StateLabels {
    /// The transport.
    pub transport: String,
    /// `working`, `unreachable`, `login` (it refuses the login), `quota` (that of a day is used up) or `refused` (it refuses
    /// what we send).
    pub state: &'static str,
}

/// Why a request is not in the log of requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct NotLoggedLabels {
    /// `bound` (too many of one project in a minute), `full` (the buffer) or `database` (it was away).
    pub reason: &'static str,
}

/// What was removed because of its age.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct KindLabels {
    /// `events`, `capturedMail`, `auditLog`, `executions` or `mails`.
    pub kind: &'static str,
}

/// A piece of background work.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WorkLabels {
    /// Its name.
    pub work: &'static str,
}

/// How a round of background work ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RoundLabels {
    /// Its name.
    pub work: &'static str,
    /// `ok`, `failed` or `panicked`.
    pub outcome: &'static str,
}

names! {
    /// How a round of background work ended.
    pub(crate) enum RoundOutcome {
        Ok = "ok",
        Failed = "failed",
        Panicked = "panicked",
    }
}

/// Every metric of the service.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    /// What names sites.
    naming: Arc<Registry>,
    /// For the database handle.
    pub store: StoreMetrics,
    /// For continuous copies.
    pub(crate) copies: CopyMetrics,
    /// For the sites that mail is brought to.
    pub(crate) sites: SiteMetrics,
    /// For reports about TLS.
    pub(crate) tls_reports: TlsReportMetrics,
    requests: Family<RequestLabels, Counter>,
    latency: Family<RouteLabels, Histogram, fn() -> Histogram>,
    queue_depth: Family<LaneLabels, Gauge>,
    queue_age: Family<LaneLabels, Gauge<f64, AtomicU64>>,
    deliveries: Family<OutcomeLabels, Counter>,
    not_logged: Family<NotLoggedLabels, Counter>,
    removed: Family<KindLabels, Counter>,
    workflow_steps: Counter,
    hits_lost: Counter,
    inbound: Family<OutcomeLabels, Counter>,
    workflow_requests: Family<OutcomeLabels, Counter>,
    hop_connections: Family<ConnectionLabels, Gauge>,
    hop_state: Family<StateLabels, Gauge>,
    hop_rate: Family<TransportLabels, Gauge<f64, AtomicU64>>,
    clock_offset: Gauge<f64, AtomicU64>,
    writable: Gauge,
    columns: Gauge,
    searched_addresses: Gauge,
    judged: Family<JudgedLabels, Counter>,
    rounds: Family<RoundLabels, Counter>,
    round_seconds: Family<WorkLabels, Counter<f64, AtomicU64>>,
    rounds_failed: Family<WorkLabels, Gauge>,
}

/// A metric that has just been registered.
fn registered<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("mailwright");
        let store = StoreMetrics::new(&mut registry);
        let copies = CopyMetrics::new(&mut registry);
        let mut naming = Registry::with_prefix("mailwright");
        let sites = SiteMetrics::new(&mut registry, &mut naming);
        let tls_reports = TlsReportMetrics::new(&mut registry);
        let requests = registered(&mut registry, "http_requests", "Requests answered");
        let latency: Family<RouteLabels, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.0005, 2.0, 16)));
        registry.register("http_request_duration_seconds", "Time from request to answer", latency.clone());
        let queue_depth = registered(&mut registry, "queue_depth", "Mails that are due and not handed over");
        let queue_age =
            registered(&mut registry, "queue_age_seconds", "How long the first of the due mails has waited");
        let deliveries = registered(&mut registry, "deliveries", "Hand-overs by outcome");
        let hits_lost = registered(&mut registry, "hits_lost", "Opens and clicks that could not be stored");
        let not_logged = registered(&mut registry, "requests_not_logged", "Requests missing in their log");
        let removed = registered(&mut registry, "removed_rows", "Rows removed because of their age");
        let inbound =
            registered(&mut registry, "inbound_messages", "Messages that came in by SMTP by what they are");
        let workflow_steps =
            registered(&mut registry, "workflow_steps", "Steps of workflows that were taken");
        let workflow_requests =
            registered(&mut registry, "workflow_requests", "Attempts of requests of workflows by outcome");
        let hop_connections = registered(
            &mut registry,
            "next_hop_connections",
            "Connections to the next hop: open, allowed by it and configured",
        );
        let hop_state =
            registered(&mut registry, "next_hop_state", "1 for the state that the next hop is in");
        let hop_rate = registered(
            &mut registry,
            "next_hop_rate",
            "Mails a second that are handed over at most, because the next hop takes no more; 0 for no limit",
        );
        let clock_offset = registered(
            &mut registry,
            "clock_offset_seconds",
            "How far the database's clock is ahead of this machine's",
        );
        let judged = registered(
            &mut registry,
            "audience_filters",
            "Filters that were asked whom they find, by what judged",
        );
        let columns = registered(
            &mut registry,
            "audience_columns_bytes",
            "Memory that the contacts of large projects take to be judged by filters",
        );
        let searched_addresses = registered(
            &mut registry,
            "searched_addresses_bytes",
            "Memory that the addresses of large projects take to count what a search finds",
        );
        let writable = registered(
            &mut registry,
            "database_writable",
            "1 when the database takes writes, 0 when it refused one for want of room or of the right to write",
        );
        let rounds = registered(&mut registry, "background_rounds", "Rounds of background work by outcome");
        let round_seconds =
            registered(&mut registry, "background_round_seconds", "Time that rounds of background work took");
        let rounds_failed = registered(
            &mut registry,
            "background_rounds_failed_in_a_row",
            "How many rounds of background work failed since the last one that did not",
        );
        Self {
            registry: Arc::new(registry),
            naming: Arc::new(naming),
            store,
            copies,
            sites,
            tls_reports,
            requests,
            latency,
            queue_depth,
            queue_age,
            deliveries,
            not_logged,
            removed,
            workflow_steps,
            hits_lost,
            inbound,
            workflow_requests,
            hop_connections,
            hop_state,
            hop_rate,
            clock_offset,
            writable,
            columns,
            searched_addresses,
            judged,
            rounds,
            round_seconds,
            rounds_failed,
        }
    }
}

impl Metrics {
    /// Counts a request.
    pub fn request(&self, method: &str, route: &str, status: u16, seconds: f64) {
        let labels = RequestLabels { method: method.to_owned(), route: route.to_owned(), status };
        self.requests.get_or_create(&labels).inc();
        self.latency.get_or_create(&RouteLabels { route: route.to_owned() }).observe(seconds);
    }

    /// Counts an open or a click that could not be stored.
    pub(crate) fn hit_lost(&self) {
        self.hits_lost.inc();
    }

    /// Counts rows that were removed because of their age.
    pub(crate) fn removed(&self, kind: Kind, rows: u64) {
        if rows > 0 {
            self.removed.get_or_create(&KindLabels { kind: kind.as_str() }).inc_by(rows);
        }
    }

    /// Counts requests that are not in the log of requests.
    pub(crate) fn request_not_logged(&self, reason: &'static str, count: u64) {
        self.not_logged.get_or_create(&NotLoggedLabels { reason }).inc_by(count);
    }

    /// Counts steps of workflows.
    pub(crate) fn workflow_steps(&self, count: u64) {
        self.workflow_steps.inc_by(count);
    }

    /// Counts an attempt of a request of a workflow.
    pub(crate) fn workflow_request(&self, outcome: &'static str) {
        self.workflow_requests.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    /// Counts a connection that there was no place for, or none any more.
    pub fn inbound_refused(&self) {
        self.inbound.get_or_create(&OutcomeLabels { outcome: "no_place" }).inc();
    }

    /// Counts a message that came in.
    pub(crate) fn inbound(&self, outcome: &'static str) {
        self.inbound.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    /// Counts a hand-over.
    pub fn delivery(&self, outcome: &'static str) {
        self.deliveries.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    /// Notes the backlog of a lane.
    pub fn queue(&self, lane: Lane, depth: i64, age_seconds: f64) {
        let labels = LaneLabels { lane: lane.as_str() };
        self.queue_depth.get_or_create(&labels).set(depth);
        self.queue_age.get_or_create(&labels).set(age_seconds);
    }

    /// Notes how many connections there are to the next hop of a transport, how many it takes, and how many are configured.
    pub fn next_hop_connections(&self, transport: &str, open: usize, allowed: usize, configured: usize) {
        for (kind, count) in [("open", open), ("allowed", allowed), ("configured", configured)] {
            let labels = ConnectionLabels { transport: transport.to_owned(), kind };
            self.hop_connections.get_or_create(&labels).set(count as i64);
        }
    }

    /// Sets the state of the next hop: its trouble, or none.
    pub fn next_hop_state(&self, transport: &str, trouble: Option<&'static str>) {
        let current = trouble.unwrap_or("working");
        for state in ["working", "unreachable", "login", "quota", "refused"] {
            let labels = StateLabels { transport: transport.to_owned(), state };
            self.hop_state.get_or_create(&labels).set(i64::from(state == current));
        }
    }

    /// Notes how many mails a second are handed over at most; 0 for no limit.
    pub fn next_hop_rate(&self, transport: &str, rate: f64) {
        self.hop_rate.get_or_create(&TransportLabels { transport: transport.to_owned() }).set(rate);
    }

    /// Notes how far the database's clock is ahead of this machine's.
    pub fn clock(&self, seconds: f64) {
        self.clock_offset.set(seconds);
    }

    /// Counts a filter that was asked whom it finds.
    pub(crate) fn judged(&self, by: &'static str) {
        self.judged.get_or_create(&JudgedLabels { by }).inc();
    }

    /// Notes how much memory columns take.
    pub fn columns(&self, bytes: usize) {
        self.columns.set(bytes as i64);
    }

    /// Notes how much memory the addresses take that searches are counted by.
    pub fn searched_addresses(&self, bytes: usize) {
        self.searched_addresses.set(bytes as i64);
    }

    /// Notes whether the database takes writes.
    pub fn writable(&self, is_writable: bool) {
        self.writable.set(i64::from(is_writable));
    }

    /// Counts a round of background work, and notes how many failed in a row by now.
    pub(crate) fn round(&self, work: &'static str, outcome: RoundOutcome, took: Duration, failed: u32) {
        self.rounds.get_or_create(&RoundLabels { work, outcome: outcome.as_str() }).inc();
        self.round_seconds.get_or_create(&WorkLabels { work }).inc_by(took.as_secs_f64());
        self.rounds_failed.get_or_create(&WorkLabels { work }).set(i64::from(failed));
    }

    /// The text that Prometheus reads. Sites are domains that projects write to: they are named to the operator alone.
    pub fn render(&self, names_sites: bool) -> String {
        let (mut text, naming) = (String::new(), names_sites.then_some(&self.naming));
        let mut registries = std::iter::once(&self.registry).chain(naming);
        let written = registries.try_for_each(|registry| encode_registry(&mut text, registry));
        match written.and_then(|()| encode_eof(&mut text)) {
            Ok(()) => text,
            Err(error) => format!("# {error}\n"),
        }
    }
}
