//! The transports as this process uses them, and which of them a mail leaves by.
//!
//! A route names transports in an order. A mail leaves by the first that is not **shut**: a next hop that cannot be reached,
//! refuses the login, or refuses all mail of the project; the recipients' own servers where they block our address. What
//! a server says about one mail or its recipient shuts nothing. A mail whose hand-over by a transport is in doubt goes by
//! no other: it could arrive twice.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use mailwright_core::attempt::AttemptOutcome;
use mailwright_core::email::Lane;
use mailwright_core::ids::{EmailId, ProjectId, ProjectNumber};
use mailwright_core::routing::{Facts, Route, Routes, TransportNumber};
use mailwright_mail::smtp::RelayConfig;
use mailwright_store::sending::email::Claimed;
use mailwright_store::{body, project};

use super::direct::Direct;
use super::flows::Destination;
use super::next_hop::NextHop;
use super::remembered::Remembered;
use super::ses::Ses;
use super::transport::{NamedTransport, Transport, Transports};
use super::{Delivery, claim_ref};
use crate::App;

/// How often it is looked which projects the routes name.
const RESOLVED_EVERY: Duration = Duration::from_mins(1);
/// How soon it is looked again after that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long a mail goes by another transport than the one that refused it for a reason of its own.
const REFUSED_FOR: Duration = Duration::from_mins(10);
/// The shortest time that a mail waits whose transports are all shut.
const SHORTEST: Duration = Duration::from_millis(250);

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
    fn new(app: &App, number: TransportNumber, NamedTransport { name, transport }: &NamedTransport) -> Self {
        let settings = app.settings();
        let way = match transport {
            Transport::Capture => Way::Capture,
            Transport::Smtp(relay) => Way::Smtp(relay.clone()),
            Transport::Direct(config) => Way::Direct(Arc::new(Direct::new(
                number,
                config,
                (&app.0.db, &app.0.dns),
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
    refused: Remembered<(EmailId, TransportNumber), ()>,
}

/// Where a mail goes.
enum Place {
    To(Destination),
    /// All its transports are shut for so long.
    Shut(Duration, String),
}

impl Outlets {
    pub(super) fn new(app: &App, transports: &Transports) -> Self {
        let numbers = (0..).map(TransportNumber);
        let all =
            numbers.zip(&transports.all).map(|(number, named)| Arc::new(Outlet::new(app, number, named)));
        let routes = (!transports.name_projects()).then(|| Arc::new(resolved(transports, &HashMap::new())));
        Self { all: all.collect(), routes: RwLock::new(routes), refused: Remembered::lasting(REFUSED_FOR) }
    }

    fn routes(&self) -> Option<Arc<Routes>> {
        self.routes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn outlet(&self, number: TransportNumber) -> Option<&Arc<Outlet>> {
        self.all.get(usize::from(number.0))
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

    /// How many mails of a project are to be in memory, at most; `None` for any number.
    pub(super) fn keeps(&self, project: ProjectNumber) -> Option<usize> {
        let kept = self.all.iter().map(|outlet| outlet.hop.keeps(project));
        kept.collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}

impl Delivery {
    /// Whether a mail may leave by more than one transport.
    pub(super) fn has_choice(&self, mail: &Claimed, lane: Lane) -> bool {
        let routes = self.outlets.routes();
        self.doubted(mail).is_none() && routes.is_some_and(|routes| routes.of(facts(mail, lane)).len() > 1)
    }

    /// How long a mail waits that a transport refused for a reason of its own: not long where another has not refused it.
    pub(super) fn wait_after(
        &self,
        mail: &Claimed,
        lane: Lane,
        by: TransportNumber,
        wait: Duration,
    ) -> Duration {
        if !self.has_choice(mail, lane) {
            return wait;
        }
        let now = self.now();
        self.outlets.refused.put((mail.id, by), (), now);
        let routes = self.outlets.routes();
        let is_new = routes.is_some_and(|routes| {
            let via = routes.of(facts(mail, lane));
            via.iter().any(|number| self.outlets.refused.get(&(mail.id, *number), now).is_none())
        });
        if is_new { wait.min(SHORTEST) } else { wait }
    }

    /// Queues claimed mails where they go. Those that no transport takes for now are given back.
    pub(super) async fn place(self: &Arc<Self>, lane: Lane, mails: Vec<Claimed>) {
        let mut placed = Vec::with_capacity(mails.len());
        let mut shut: Vec<(Duration, String, Vec<_>)> = Vec::new();
        for mail in mails {
            match self.place_of(lane, &mail) {
                Place::To(destination) => placed.push((destination, mail)),
                Place::Shut(wait, why) => match shut.iter_mut().find(|(_, known, _)| *known == why) {
                    Some((_, _, claims)) => claims.push(claim_ref(&mail)),
                    None => shut.push((wait, why, vec![claim_ref(&mail)])),
                },
            }
        }
        self.app.0.delivery.dispatcher.push(lane, placed);
        for (wait, why, claims) in shut {
            self.hold_back(&claims, self.now().plus(wait), why).await;
        }
    }

    fn place_of(self: &Arc<Self>, lane: Lane, mail: &Claimed) -> Place {
        let Some(routes) = self.outlets.routes() else {
            return Place::Shut(SHORTEST, "The mail waits until the routes are known.".into());
        };
        let doubted = self.doubted(mail);
        let via = match &doubted {
            Some(Ok(number)) => std::slice::from_ref(number),
            Some(Err(name)) => {
                let why = format!(
                    "The mail waits, because the transport {name} may have sent it and is not configured any more."
                );
                return Place::Shut(self.backoff.max, why);
            }
            None => routes.of(facts(mail, lane)),
        };
        let now = self.now();
        let has_refused = |number: &TransportNumber| {
            via.len() > 1 && self.outlets.refused.get(&(mail.id, *number), now).is_some()
        };
        // those that refused this mail come last
        let (after, first): (Vec<TransportNumber>, Vec<_>) = via.iter().copied().partition(has_refused);
        let mut shut: Option<(Duration, &Outlet)> = None;
        for outlet in first.into_iter().chain(after).filter_map(|number| self.outlets.outlet(number)) {
            let destination = self.destination_by(outlet, mail);
            let wait = self.is_shut(outlet, destination, mail.project);
            match wait {
                None => return Place::To(destination),
                // where there is no choice, it waits where it goes
                Some(_) if self.outlets.all.len() == 1 => return Place::To(destination),
                Some(wait) if shut.is_none_or(|(shortest, _)| wait < shortest) => shut = Some((wait, outlet)),
                Some(_) => {}
            }
        }
        match shut {
            Some((wait, outlet)) => {
                let why = format!(
                    "The mail waits, because the transport {} takes none for now.",
                    outlet.hop.name()
                );
                Place::Shut(wait.max(SHORTEST), why)
            }
            // a route always names transports that are there
            None => Place::To(Destination::by(TransportNumber(0))),
        }
    }

    /// Where a mail goes by a transport.
    fn destination_by(self: &Arc<Self>, outlet: &Outlet, mail: &Claimed) -> Destination {
        match &outlet.way {
            Way::Capture | Way::Smtp(_) | Way::Ses(_) => Destination::by(outlet.hop.transport()),
            Way::Direct(direct) => self.destination_of(direct, mail.recipient.domain()),
        }
    }

    /// For how long a transport takes no mail of a project for a destination.
    fn is_shut(&self, outlet: &Outlet, destination: Destination, project: ProjectNumber) -> Option<Duration> {
        let refuses = outlet.hop.rests().or_else(|| outlet.hop.refuses(project));
        refuses.or_else(|| match &outlet.way {
            Way::Direct(direct) => direct.is_blocked(destination, self.now()),
            Way::Capture | Way::Smtp(_) | Way::Ses(_) => None,
        })
    }

    /// The transport that may have sent a mail already; its name where it is not configured any more.
    fn doubted(&self, mail: &Claimed) -> Option<Result<TransportNumber, String>> {
        if mail.in_doubt == 0 {
            return None;
        }
        let is_doubt = |outcome| outcome == Some(AttemptOutcome::InDoubt);
        let name = mail.log.iter().rev().find(|attempt| is_doubt(attempt.outcome))?.transport.as_deref()?;
        let known = self.outlets.all.iter().find(|outlet| **outlet.hop.name() == *name);
        Some(known.map(|outlet| outlet.hop.transport()).ok_or_else(|| name.to_owned()))
    }
}

fn facts(mail: &Claimed, lane: Lane) -> Facts<'_> {
    Facts {
        project: mail.project,
        lane,
        sender_domain: mail.from.domain(),
        recipient_domain: mail.recipient.domain(),
        id: mail.id,
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
