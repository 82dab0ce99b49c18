//! The transports as this process uses them, and which of them a mail leaves by.
//!
//! A route names transports in an order. A mail leaves by the first that is not **shut**: a next hop that cannot be reached,
//! refuses the login, or refuses all mail of the project; the recipients' own servers where they block our address. What
//! a server says about one mail or its recipient shuts nothing. A mail whose hand-over by a transport is in doubt goes by
//! no other: it could arrive twice.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::{EmailId, InterventionId, ProjectId, ProjectNumber};
use mailwright_core::intervention::Interventions;
use mailwright_core::routing::{Facts, Route, Routes, TransportNumber};
use mailwright_mail::smtp::RelayConfig;
use mailwright_store::sending::email::Claimed;
use mailwright_store::{body, project};

use super::direct::Direct;
use super::flows::Destination;
use super::interventions::{Instead, instead};
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
/// The shortest time that a mail waits whose transports are all shut; up to twice as long, by chance.
const HELD: Duration = Duration::from_secs(5);
/// The shortest time that a mail waits that another transport may take.
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
    /// Nowhere for now.
    Nowhere(Shut),
    /// Nowhere, since it is paused.
    Pause(InterventionId, String),
    /// Nowhere, since it is to be given up.
    Expire(String),
}

/// Why a mail leaves by none of its transports.
struct Shut {
    /// How long that lasts, as far as is known.
    wait: Duration,
    why: String,
    /// Whether it counts towards the time that a mail may wait: an outage of a next hop does not.
    counts: bool,
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

    fn named(&self, name: &str) -> Option<&Arc<Outlet>> {
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

    /// How many mails of a project are to be in memory, at most; `None` for any number.
    pub(super) fn keeps(&self, project: ProjectNumber) -> Option<usize> {
        let kept = |outlet: &Arc<Outlet>| match outlet.hop.rests() {
            Some(_) if self.all.len() > 1 => Some(0),
            _ => outlet.hop.keeps(project),
        };
        let named = self.routes()?.named_for(project);
        let kept = named.into_iter().filter_map(|number| self.outlet(number)).map(kept);
        kept.collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}

impl Delivery {
    /// Whether a mail may leave by more than one transport.
    pub(super) fn has_choice(&self, mail: &Claimed, lane: Lane) -> bool {
        let routes = self.outlets.routes();
        matches!(self.doubted(mail), Ok(None))
            && routes.is_some_and(|routes| routes.of(facts(mail, lane)).len() > 1)
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
        let mut nowhere: Vec<(Shut, Vec<Claimed>)> = Vec::new();
        let (mut paused, mut expired) = (Vec::new(), Vec::new());
        let interventions = self.interventions.current();
        for mail in mails {
            match self.place_of(lane, &mail, &interventions) {
                Place::To(destination) => placed.push((destination, mail)),
                Place::Pause(id, why) => paused.push((id, why, mail)),
                Place::Expire(why) => expired.push((why, mail)),
                Place::Nowhere(shut) => match nowhere.iter_mut().find(|(known, _)| known.why == shut.why) {
                    Some((_, mails)) => mails.push(mail),
                    None => nowhere.push((shut, vec![mail])),
                },
            }
        }
        self.app.0.delivery.dispatcher.push(lane, placed);
        self.pause_mails(paused).await;
        self.expire_mails(expired).await;
        for (Shut { wait, why, counts }, mails) in nowhere {
            // not all at once, nor so soon that the same ones are claimed again and again
            let wait = wait.max(HELD).mul_f64(1.0 + rand::random::<f64>());
            let due_at = self.now().plus(wait);
            if counts {
                let mails = mails.into_iter().map(|mail| (mail, due_at)).collect();
                self.park(mails, &why, self.now()).await;
            } else {
                let claims: Vec<_> = mails.iter().map(claim_ref).collect();
                self.hold_back(&claims, due_at, why).await;
            }
        }
    }

    fn place_of(self: &Arc<Self>, lane: Lane, mail: &Claimed, interventions: &Interventions) -> Place {
        let mut wanted = None;
        match instead(interventions, mail, None) {
            Some(Instead::Pause(id, why)) => return Place::Pause(id, why),
            Some(Instead::Expire(why)) => return Place::Expire(why),
            Some(Instead::By(name)) => {
                wanted = self.outlets.named(&name).map(|outlet| outlet.hop.transport());
            }
            None => {}
        }
        // where there is no choice, it waits where it goes
        if let [only] = &self.outlets.all[..] {
            return self.place_by(only, mail, interventions);
        }
        let Some(routes) = self.outlets.routes() else {
            let why = "The mail waits until the routes are known.".into();
            return Place::Nowhere(Shut { wait: HELD, why, counts: false });
        };
        let doubted = match self.doubted(mail) {
            Ok(doubted) => doubted,
            Err(why) => return Place::Nowhere(Shut { wait: self.backoff.base, why, counts: true }),
        };
        let only = doubted.as_ref().or(wanted.as_ref());
        let via = only.map_or_else(|| routes.of(facts(mail, lane)), std::slice::from_ref);
        let now = self.now();
        let has_refused = |number: &TransportNumber| {
            via.len() > 1 && self.outlets.refused.get(&(mail.id, *number), now).is_some()
        };
        // those that refused this mail come last
        let (after, first): (Vec<TransportNumber>, Vec<_>) = via.iter().copied().partition(has_refused);
        let mut nowhere: Option<Shut> = None;
        for outlet in first.into_iter().chain(after).filter_map(|number| self.outlets.outlet(number)) {
            let destination = match self.place_by(outlet, mail, interventions) {
                Place::To(destination) => destination,
                other => return other,
            };
            match self.is_shut(outlet, destination, mail.project) {
                None => return Place::To(destination),
                Some(shut) if nowhere.as_ref().is_none_or(|known| shut.wait < known.wait) => {
                    nowhere = Some(shut);
                }
                Some(_) => {}
            }
        }
        // a route always names transports that are there
        nowhere.map_or(Place::To(Destination::by(TransportNumber(0))), Place::Nowhere)
    }

    /// Where a mail goes by a transport, unless something else is wanted of the site that takes it.
    fn place_by(self: &Arc<Self>, outlet: &Outlet, mail: &Claimed, interventions: &Interventions) -> Place {
        let destination = self.destination_by(outlet, mail);
        let Way::Direct(direct) = &outlet.way else { return Place::To(destination) };
        let site = if interventions.is_empty() { None } else { direct.site_of(destination) };
        let Some(site) = site.filter(|site| interventions.names_site(site)) else {
            return Place::To(destination);
        };
        match instead(interventions, mail, Some(&site)) {
            Some(Instead::Pause(id, why)) => Place::Pause(id, why),
            Some(Instead::Expire(why)) => Place::Expire(why),
            // one that may have left stays with its transport
            Some(Instead::By(name)) if mail.in_doubt == 0 => {
                let Some(other) = self.outlets.named(&name) else { return Place::To(destination) };
                let destination = self.destination_by(other, mail);
                let shut = self.is_shut(other, destination, mail.project);
                shut.map_or(Place::To(destination), Place::Nowhere)
            }
            Some(Instead::By(_)) | None => Place::To(destination),
        }
    }

    /// Where a mail goes by a transport.
    fn destination_by(self: &Arc<Self>, outlet: &Outlet, mail: &Claimed) -> Destination {
        match &outlet.way {
            Way::Capture | Way::Smtp(_) | Way::Ses(_) => Destination::by(outlet.hop.transport()),
            Way::Direct(direct) => self.destination_of(direct, mail.recipient.domain()),
        }
    }

    /// Why a transport takes no mail of a project for a destination.
    fn is_shut(&self, outlet: &Outlet, destination: Destination, project: ProjectNumber) -> Option<Shut> {
        let why =
            || format!("The mail waits, because the transport {} takes none for now.", outlet.hop.name());
        if let Some(wait) = outlet.hop.rests().or_else(|| outlet.hop.refuses(project)) {
            return Some(Shut { wait, why: why(), counts: false });
        }
        match &outlet.way {
            Way::Direct(direct) => {
                let wait = direct.is_blocked(destination, self.now())?;
                Some(Shut { wait, why: why(), counts: true })
            }
            Way::Capture | Way::Smtp(_) | Way::Ses(_) => None,
        }
    }

    /// The transport that may have sent a mail already; an error where it is not known, or not configured any more.
    fn doubted(&self, mail: &Claimed) -> Result<Option<TransportNumber>, String> {
        if mail.in_doubt == 0 || self.outlets.all.len() == 1 {
            return Ok(None);
        }
        // that of the last hand-over: since there is doubt, none was by another
        let Some(name) = mail.transport.as_deref() else {
            return Err("The mail waits, because it is not known which transport may have sent it.".into());
        };
        let known = self.outlets.all.iter().find(|outlet| **outlet.hop.name() == *name);
        known.map(|outlet| Some(outlet.hop.transport())).ok_or_else(|| {
            format!("The mail waits, because the transport {name} may have sent it and is not configured any more.")
        })
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
