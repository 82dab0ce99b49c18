//! The transports as this process uses them, and the routes.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use mailwright_core::ids::{EmailId, ProjectId, ProjectNumber};
use mailwright_core::routing::{Route, Routes, TransportNumber};
use mailwright_mail::smtp::RelayConfig;
use mailwright_store::{body, project};

use super::Delivery;
use super::direct::Direct;
use super::next_hop::NextHop;
use super::remembered::Remembered;
use super::ses::Ses;
use super::transport::{NamedTransport, Transport, Transports};
use crate::App;

/// How often it is looked which projects the routes name.
const RESOLVED_EVERY: Duration = Duration::from_mins(1);
/// How soon it is looked again after that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long a mail goes by another transport than the one that refused it for a reason of its own.
const REFUSED_FOR: Duration = Duration::from_mins(10);

/// A transport as this process uses it.
pub(super) struct Outlet {
    pub(super) way: Way,
    /// Its number and name, who may have a mail handed over next and, where one server takes all mail, what is known of it.
    pub(super) hop: Arc<NextHop>,
}

/// How mail leaves by a transport.
pub(super) enum Way {
    /// It is kept.
    Capture,
    /// To a mail server.
    Smtp(Box<RelayConfig>),
    /// To the recipients' own mail servers.
    Direct(Arc<Direct>),
    /// To Amazon SES.
    Ses(Box<Ses>),
}

impl Outlet {
    /// The address that mail leaves from, where it warms up.
    pub(super) fn new_address(&self) -> Option<IpAddr> {
        if let Way::Direct(direct) = &self.way { direct.new_address() } else { None }
    }

    fn new(app: &App, number: TransportNumber, NamedTransport { name, transport }: &NamedTransport) -> Self {
        let settings = app.settings();
        let way = match transport {
            Transport::Capture => Way::Capture,
            Transport::Smtp(relay) => Way::Smtp(relay.clone()),
            Transport::Direct(config) => Way::Direct(Arc::new(Direct::new(
                number,
                config,
                (&app.0.db, &app.0.dns),
                app.0.delivery.tls_results.clone(),
                settings.delivery.connections,
                settings.allow_private_networks,
            ))),
            Transport::Ses(config) => Way::Ses(Box::new(Ses::new(config, &app.0.dns))),
        };
        let name: Arc<str> = name.as_str().into();
        let hop = NextHop::new(number, &name, &settings.delivery, app.clock(), app.metrics().clone());
        Self { way, hop: Arc::new(hop) }
    }
}

/// All transports, and the routes.
pub(super) struct Outlets {
    pub(super) all: Vec<Arc<Outlet>>,
    /// `None` until it is known which projects they name.
    routes: RwLock<Option<Arc<Routes>>>,
    /// The transports that refused a mail for a reason of their own.
    pub(super) refused: Remembered<(EmailId, TransportNumber), ()>,
}

impl Outlets {
    pub(super) fn new(app: &App, transports: &Transports) -> Self {
        let numbers = (0..).map(TransportNumber);
        let all =
            numbers.zip(&transports.all).map(|(number, named)| Arc::new(Outlet::new(app, number, named)));
        let routes = (!transports.name_projects()).then(|| Arc::new(resolved(transports, &HashMap::new())));
        Self { all: all.collect(), routes: RwLock::new(routes), refused: Remembered::lasting(REFUSED_FOR) }
    }

    pub(super) fn routes(&self) -> Option<Arc<Routes>> {
        self.routes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn outlet(&self, number: TransportNumber) -> Option<&Arc<Outlet>> {
        self.all.get(usize::from(number.0))
    }

    pub(super) fn named(&self, name: &str) -> Option<&Arc<Outlet>> {
        self.all.iter().find(|outlet| **outlet.hop.name() == *name)
    }

    /// For how long feeders claim nothing: as long as nothing can be handed over by any transport.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.all.iter().map(|outlet| outlet.hop.rests()).collect::<Option<Vec<_>>>()?.into_iter().min()
    }

    /// How many mails of a lane are claimed ahead.
    pub(super) fn ahead(&self) -> usize {
        self.all.iter().filter(|outlet| outlet.hop.rests().is_none()).map(|outlet| outlet.hop.ahead()).sum()
    }

    /// Of how many projects mail is claimed, whatever is claimed of others.
    pub(super) fn seats(&self) -> usize {
        self.all.iter().map(|outlet| outlet.hop.seats()).sum()
    }

    /// How many mails of a project are to be in memory, at most; `None` for any number. Of a transport that `is_spent`
    /// names, there are to be none.
    pub(super) fn keeps(&self, project: ProjectNumber, is_spent: impl Fn(&Outlet) -> bool) -> Option<usize> {
        let kept = |outlet: &Arc<Outlet>| match outlet.hop.rests() {
            Some(_) if self.all.len() > 1 => Some(0),
            _ if is_spent(outlet) => Some(0),
            _ => outlet.hop.keeps(project),
        };
        let named = self.routes()?.named_for(project);
        let kept = named.into_iter().filter_map(|number| self.outlet(number)).map(kept);
        kept.collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}

/// The routes with the numbers of their projects, as far as these are known.
fn resolved(transports: &Transports, numbers: &HashMap<ProjectId, ProjectNumber>) -> Routes {
    let routes = transports.routes.iter().map(|route| Route {
        projects: (!route.projects.is_empty())
            .then(|| route.projects.iter().filter_map(|project| numbers.get(project).copied()).collect()),
        lanes: route.lanes.clone(),
        sender_domains: route.sender_domains.clone(),
        recipient_domains: route.recipient_domains.clone(),
        share: route.share,
        via: route.via.clone(),
    });
    Routes { routes: routes.collect(), ..Routes::ONE }
}

/// Looks again and again which projects the routes name, until the service stops.
pub(super) async fn keep_resolved(delivery: Arc<Delivery>) {
    let transports = &delivery.app.0.delivery.transports;
    let named: Vec<_> = transports.routes.iter().flat_map(|route| route.projects.iter().copied()).collect();
    while !delivery.tasks.is_stopping() {
        let asked = named.clone();
        let found = delivery.app.read(body!(async |rx| {
            let mut numbers = HashMap::new();
            for id in &asked {
                if let Some(found) = project::by_id(rx, *id).await? {
                    numbers.insert(*id, found.number);
                }
            }
            Ok(numbers)
        }));
        let pause = match found.await {
            Ok(numbers) => {
                let routes = Some(Arc::new(resolved(transports, &numbers)));
                *delivery.outlets.routes.write().unwrap_or_else(PoisonError::into_inner) = routes;
                RESOLVED_EVERY
            }
            Err(error) => {
                tracing::warn!(%error, "the projects that the routes name could not be looked up");
                AFTER_FAILURE
            }
        };
        delivery.tasks.pause(pause).await;
    }
}
