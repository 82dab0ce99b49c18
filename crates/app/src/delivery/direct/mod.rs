//! Delivery to the recipients' own mail servers (RFC 5321 section 5).
//!
//! 1. A claimed mail gets the **destination** of its recipient's domain. Where that is not known, it waits in the queue
//!    while the domain is looked up.
//! 2. The **pacer** asks the pace of each site, a row that all processes share, what may be brought there ([`pacer`]).
//! 3. A worker takes the next mail whose site has room, in the order of lanes and projects that holds everywhere
//!    (`take`). It uses an open connection to one of the destination's servers, or opens one ([`open`]).
//! 4. What the site says about us slows down or stops the site, not the mail ([`sender`]).
//! 5. Mail for a site that takes none for a while does not wait in memory, nor does mail of whose domain the name
//!    servers take long to answer: it is given back, each to be looked at again when it may leave ([`giving_back`]).
//!
//! What TLS with the servers comes to is counted for reports to their domains ([`tls_results`]). The mail that brings such a
//! report leaves whatever its domain demands of TLS (RFC 8460 section 3), and is not counted.
//!
//! [`sites`] and [`site`] hold the state, without clock and network. `docs/adr/0077-direct-delivery.md` has the reasons.

mod applied;
mod by_project;
mod dane;
mod explained;
mod giving_back;
mod greylisting;
mod hand_out;
mod job;
mod look_ups;
mod open;
mod pacer;
mod path;
mod policies;
mod sender;
mod site;
mod sites;
mod tls_results;
mod tls_sessions;
mod told;
mod unanswered;
mod visit;

use std::borrow::Cow;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::routing::TransportNumber;
use mailwright_core::time::Timestamp;
use mailwright_mail::dns::Dns;
use mailwright_mail::route::{self, Directions, Route};
use mailwright_mail::smtp::{Connection, RelayConfig};
use mailwright_store::Db;
use tokio::sync::Notify;

use super::Delivery;
use super::flows::Destination;
use super::next_hop::NextHop;
use crate::background::tasks::Tasks;
use explained::explained;
use hand_out::HandOut;
use look_ups::LookUps;
use path::{Found, Need, NoWay};
use policies::Policies;
use sites::Sites;
use unanswered::PROMPT;

pub(super) use explained::waits_for_block;
pub(super) use hand_out::work;
pub(super) use tls_results::TlsResults;

/// What stands before the name of a domain where mail for it leaves whatever the domain demands. No name has it.
const WHATEVER: char = '!';
/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// How mail is brought to the recipients' own servers.
#[derive(Debug, Clone)]
pub struct DirectConfig {
    /// Port, name, TLS and limits of the connections; its host is replaced by each server's.
    pub connection: RelayConfig,
    /// The address that connections come from; `None` leaves the choice to the system.
    pub source: Option<IpAddr>,
    /// Whether every connection has to be encrypted, with a certificate that is valid for the server.
    pub requires_tls: bool,
    /// Whether the address is new, so that little leaves at first.
    pub warms_up: bool,
}

impl DirectConfig {
    /// The name of the source address, under which paces are kept; empty where the system chooses it.
    pub(super) fn source_name(&self) -> String {
        self.source.map(|address| address.to_string()).unwrap_or_default()
    }

    fn need(&self) -> Need {
        if self.requires_tls { Need::Verified } else { Need::Opportunistic }
    }
}

/// An open connection to a mail server.
struct Line {
    connection: Connection,
    host: String,
    /// Whether it is encrypted, with a certificate that is valid for the host.
    is_verified: bool,
    /// Whether it is what TLSA records of the host demand.
    minded_tlsa: bool,
    /// Whether its certificate is valid for the domain of the mail that it was opened for, and not for the host.
    is_of_domain: bool,
    /// Mails that were brought on it.
    carried: u32,
    /// When something was last heard on it.
    heard_at: Timestamp,
}

impl Line {
    /// Closes it in good order.
    async fn close(self) {
        let _ = tokio::time::timeout(FAREWELL, self.connection.quit()).await;
    }
}

/// What the workers share that bring mail to the recipients' servers.
pub(super) struct Direct {
    config: DirectConfig,
    dns: Dns,
    policies: Policies,
    tls_results: TlsResults,
    /// Whether servers in private networks are connected to.
    allows_private: bool,
    sites: Mutex<Sites<Line>>,
    look_ups: LookUps,
    /// Mail may leave now that could not leave before.
    changed: Notify,
    /// The pace of a site is to be asked, or told something.
    asked: Notify,
    hand_out: HandOut,
    /// Tells this process from the others.
    process: u64,
}

impl Direct {
    pub(super) fn new(
        transport: TransportNumber,
        config: &DirectConfig,
        (db, dns): (&Db, &Dns),
        tls_results: TlsResults,
        connections: usize,
        allows_private: bool,
    ) -> Self {
        let policies = Policies::new(db, dns, allows_private);
        Self {
            config: config.clone(),
            dns: dns.keeping_answers(),
            policies,
            tls_results,
            allows_private,
            sites: Mutex::new(Sites::new(transport, connections)),
            look_ups: LookUps::default(),
            changed: Notify::new(),
            asked: Notify::new(),
            hand_out: HandOut::default(),
            process: rand::random(),
        }
    }

    /// Our source address, where it warms up.
    pub(super) fn new_address(&self) -> Option<IpAddr> {
        self.config.source.filter(|_| self.config.warms_up)
    }

    /// The name of our source address.
    fn source(&self) -> String {
        self.config.source_name()
    }

    /// For how long the site of a destination blocks us, as far as is known, and in a sentence why mail waits.
    pub(super) fn is_blocked(&self, destination: Destination, now: Timestamp) -> Option<(Duration, String)> {
        let mut sites = self.sites();
        let until = sites.blocked_until(destination, now)?;
        let name = Arc::clone(&sites.path(destination)?.site);
        let why = explained(&name, &sites.site(&name)?.why(now));
        Some((until.since(now), why))
    }

    /// The site of a destination, where it is known.
    pub(super) fn site_of(&self, destination: Destination) -> Option<Arc<str>> {
        self.sites().path(destination).map(|path| Arc::clone(&path.site))
    }

    /// When it is looked up again where mail for a domain goes, of which there was no answer.
    fn asks_again(&self, domain: &str, is_whatever: bool, now: Timestamp) -> Option<Timestamp> {
        self.sites().asks_again(&name_of(domain, is_whatever), now)
    }

    fn sites(&self) -> MutexGuard<'_, Sites<Line>> {
        self.sites.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks up the mail servers of a domain, and what it demands of connections to them. Where [`WHATEVER`] stands before its
    /// name, that does not matter.
    async fn way_to(&self, name: &str, now: Timestamp) -> Result<Found, NoWay> {
        let (domain, is_whatever) = domain_of(name);
        // equally good servers are mixed for each connection
        let Directions { route, is_proven: minds_tlsa } = self.dns.directions(domain, 0).await;
        let servers = match route {
            Route::Servers(servers) => servers,
            Route::Refused => return Err(NoWay::Refused),
            Route::Missing => return Err(NoWay::Missing),
            Route::Nowhere => return Err(NoWay::Nowhere),
            Route::Doubtful => return Err(NoWay::Doubtful),
            Route::Circle => return Err(NoWay::Circle),
            Route::Unknown => return Err(NoWay::Unknown),
        };
        if is_whatever {
            return Ok(Found { servers, need: self.config.need(), minds_tlsa: false });
        }
        let found = self.policies.of(domain, now).await.map_err(|error| {
            tracing::warn!(%error, domain, "the kept policy of a domain could not be read");
            NoWay::Unknown
        })?;
        self.tls_results.found(domain, &found);
        let Some(policy) = found.enforced() else {
            return Ok(Found { servers, need: self.config.need(), minds_tlsa });
        };
        let servers = self.allowed(servers, policy, minds_tlsa).await;
        if servers.is_empty() {
            return Err(NoWay::Policy);
        }
        Ok(Found { servers, need: Need::Verified, minds_tlsa })
    }

    /// Closes connections, without waiting for it.
    fn close(tasks: &Tasks, lines: impl IntoIterator<Item = Line>) {
        for line in lines {
            tasks.spawn("a farewell", line.close());
        }
    }
}

/// Starts what is needed beside the workers.
pub(super) fn start(delivery: &Arc<Delivery>, hop: &Arc<NextHop>, direct: &Arc<Direct>) {
    let pacer = pacer::run(Arc::clone(delivery), hop.transport(), Arc::clone(direct));
    delivery.tasks.keep("pace of sites", pacer);
    let handing_out = hand_out::run(Arc::clone(delivery), Arc::clone(hop), Arc::clone(direct));
    delivery.tasks.keep("mail for workers", handing_out);
}

/// The name in [`Sites`] of a domain, for mail that leaves whatever the domain demands or for other mail.
fn name_of(domain: &str, is_whatever: bool) -> Cow<'_, str> {
    if is_whatever { Cow::Owned(format!("{WHATEVER}{domain}")) } else { Cow::Borrowed(domain) }
}

/// The domain that a name of [`Sites`] stands for, and whether mail for it leaves whatever the domain demands.
fn domain_of(name: &str) -> (&str, bool) {
    let domain = name.strip_prefix(WHATEVER);
    (domain.unwrap_or(name), domain.is_some())
}

impl Delivery {
    /// Where a project's mail for a domain goes. One that is not known is looked up meanwhile. `is_whatever` says that the
    /// mail leaves whatever the domain demands of TLS.
    pub(super) fn destination_of(
        self: &Arc<Self>,
        direct: &Arc<Direct>,
        (project, domain): (ProjectNumber, &str),
        is_whatever: bool,
    ) -> Destination {
        let name = name_of(domain, is_whatever);
        let (destination, is_new) = direct.sites().destination_of(&name, self.now());
        if is_new {
            let (delivery, direct) = (Arc::clone(self), Arc::clone(direct));
            let name = name.into_owned();
            self.tasks.spawn("where mail for a domain goes", async move {
                delivery.locate(&direct, (project, &name), destination).await;
            });
        }
        destination
    }

    async fn locate(&self, direct: &Direct, (project, name): (ProjectNumber, &str), asked: Destination) {
        // where it panics, its mail must not wait for it for ever
        let look = AssertUnwindSafe(direct.way_to(name, self.now())).catch_unwind();
        let mut look = pin!(direct.look_ups.run(project, look));
        let found = tokio::select! {
            biased;
            () = self.tasks.stopping() => return,
            found = tokio::time::timeout(PROMPT, look.as_mut()) => found,
        };
        let found = if let Ok(found) = found {
            found
        } else {
            direct.sites().takes_long(asked, self.now());
            tokio::select! {
                biased;
                () = self.tasks.stopping() => return,
                found = look => found,
            }
        };
        let way = found.and_then(Result::ok).unwrap_or(Err(NoWay::Unknown));
        if let Ok(found) = &way {
            let site: Arc<str> = route::site(&found.servers).into();
            let domain = domain_of(name).0.to_owned();
            self.app.0.delivery.known_sites.put(domain, site, self.now());
        }
        let known = direct.sites().found(name, asked, way, self.now());
        match known {
            Some(known) => {
                self.app.0.delivery.dispatcher.redirect(asked, known);
                direct.asked.notify_one();
            }
            None => direct.changed.notify_one(),
        }
    }
}
