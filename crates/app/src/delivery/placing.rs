//! Which transport a mail leaves by.
//!
//! A route names transports in an order. A mail leaves by the first that is not **shut**: a next hop that cannot be reached,
//! refuses the login, or refuses all mail of the project; the recipients' own servers where they block our address. What
//! a server says about one mail or its recipient shuts nothing. A mail whose hand-over by a transport is in doubt goes by
//! no other: it could arrive twice.

use std::sync::Arc;
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::{InterventionId, ProjectNumber};
use mailwright_core::intervention::Interventions;
use mailwright_core::routing::{Facts, TransportNumber};
use mailwright_store::sending::email::Claimed;

use super::flows::Destination;
use super::interventions::{Instead, instead};
use super::outlets::{Outlet, Way};
use super::parking::Waiting;
use super::warm_up::Ask;
use super::warm_up::subject::Subject;
use super::{Delivery, claim_ref};

/// The shortest time that a mail waits whose transports are all shut; up to twice as long, by chance.
const HELD: Duration = Duration::from_secs(5);
/// How long mails come one after the other whose turn comes at a full hour.
const SPREAD: Duration = Duration::from_mins(1);
/// Times of waiting that differ by less end in the same hour.
const SAME_HOUR: Duration = Duration::from_mins(1);
/// The shortest time that a mail waits that another transport may take.
const SHORTEST: Duration = Duration::from_millis(250);

/// Where a mail goes.
enum Place {
    /// With what warms up by it.
    To(Destination, Vec<Subject>),
    /// Nowhere for now.
    Nowhere(Shut),
    /// Nowhere, since it is paused.
    Pause(InterventionId, String),
    /// Nowhere, since it is to be given up.
    Expire(String),
}

impl Place {
    /// Where a mail goes that a transport takes, or does not take.
    fn by(destination: Destination, taken: Result<Vec<Subject>, Shut>) -> Self {
        taken.map_or_else(Self::Nowhere, |subjects| Self::To(destination, subjects))
    }
}

/// Why a mail leaves by none of its transports.
struct Shut {
    /// How long that lasts, as far as is known.
    wait: Duration,
    why: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A next hop is away: that is not held against the mail.
    Outage,
    /// The recipients' server, or the lack of knowledge about the mail: this counts towards the time that it may wait.
    Blocked,
    /// What may leave in this hour is used up. The mail is looked at again when it may be its turn.
    WarmUp,
}

impl Shut {
    /// Whether mails for which there is the other reason wait together with those that wait for this one.
    fn is_like(&self, other: &Self) -> bool {
        let is_same_hour = self.kind != Kind::WarmUp || self.wait.abs_diff(other.wait) < SAME_HOUR;
        self.why == other.why && is_same_hour
    }
}

impl Delivery {
    /// How many mails of a project and lane are to be in memory, at most; `None` for any number.
    pub(super) fn keeps(&self, project: ProjectNumber, lane: Lane) -> Option<usize> {
        let now = self.now();
        let is_spent = |outlet: &Outlet| {
            outlet.new_address().is_some_and(|address| self.warm_up.is_spent(address, project, lane, now))
        };
        self.outlets.keeps(project, is_spent)
    }

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
        let mut left = mails;
        while !left.is_empty() {
            let mut asks = Vec::new();
            for mail in left {
                match self.place_of(lane, &mail, &interventions) {
                    Place::To(destination, subjects) if subjects.is_empty() => {
                        placed.push((destination, mail));
                    }
                    Place::To(destination, subjects) => asks.push(Ask { destination, mail, subjects }),
                    Place::Pause(id, why) => paused.push((id, why, mail)),
                    Place::Expire(why) => expired.push((why, mail)),
                    Place::Nowhere(shut) => {
                        match nowhere.iter_mut().find(|(known, _)| known.is_like(&shut)) {
                            Some((_, mails)) => mails.push(mail),
                            None => nowhere.push((shut, vec![mail])),
                        }
                    }
                }
            }
            // what a transport does not take that warms up goes elsewhere, now that this is known
            let (admitted, denied) = self.warm_up.admit(self, lane, asks).await;
            placed.extend(admitted);
            left = denied;
        }
        self.app.0.delivery.dispatcher.push(lane, placed);
        self.pause_mails(paused).await;
        self.expire_mails(expired).await;
        for (Shut { wait, why, kind }, mails) in nowhere {
            // not all at once, nor so soon that the same ones are claimed again and again
            let wait = match kind {
                Kind::WarmUp => wait + SPREAD.mul_f64(rand::random()),
                Kind::Outage | Kind::Blocked => wait.max(HELD).mul_f64(1.0 + rand::random::<f64>()),
            };
            let due_at = self.now().plus(wait);
            let counts = kind == Kind::Blocked;
            if counts {
                let mails = mails.into_iter().map(|mail| (mail, due_at)).collect();
                self.park(vec![Waiting { why, mails }], self.now()).await;
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
            return match self.place_by(only, mail, lane, interventions) {
                Ok(destination) => Place::by(destination, self.subjects_of(only, mail, lane)),
                Err(other) => other,
            };
        }
        let Some(routes) = self.outlets.routes() else {
            let why = "The mail waits until the routes are known.".into();
            return Place::Nowhere(Shut { wait: HELD, why, kind: Kind::Outage });
        };
        let doubted = match self.doubted(mail) {
            Ok(doubted) => doubted,
            Err(why) => return Place::Nowhere(Shut { wait: self.backoff.base, why, kind: Kind::Blocked }),
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
            let destination = match self.place_by(outlet, mail, lane, interventions) {
                Ok(destination) => destination,
                Err(other) => return other,
            };
            match self.admits(outlet, destination, mail, lane) {
                Ok(subjects) => return Place::To(destination, subjects),
                Err(shut) if nowhere.as_ref().is_none_or(|known| shut.wait < known.wait) => {
                    nowhere = Some(shut);
                }
                Err(_) => {}
            }
        }
        // a route always names transports that are there
        nowhere.map_or_else(|| Place::To(Destination::by(TransportNumber(0)), Vec::new()), Place::Nowhere)
    }

    /// Where a mail goes by a transport. The error is where it goes instead, since that is wanted of the site that takes
    /// it.
    fn place_by(
        self: &Arc<Self>,
        outlet: &Outlet,
        mail: &Claimed,
        lane: Lane,
        interventions: &Interventions,
    ) -> Result<Destination, Place> {
        let destination = self.destination_by(outlet, mail, lane);
        let Way::Direct(direct) = &outlet.way else { return Ok(destination) };
        let site = if interventions.is_empty() { None } else { direct.site_of(destination) };
        let Some(site) = site.filter(|site| interventions.names_site(site)) else {
            return Ok(destination);
        };
        match instead(interventions, mail, Some(&site)) {
            Some(Instead::Pause(id, why)) => Err(Place::Pause(id, why)),
            Some(Instead::Expire(why)) => Err(Place::Expire(why)),
            // one that may have left stays with its transport
            Some(Instead::By(name)) if mail.in_doubt == 0 => {
                let Some(other) = self.outlets.named(&name) else { return Ok(destination) };
                let destination = self.destination_by(other, mail, lane);
                Err(Place::by(destination, self.admits(other, destination, mail, lane)))
            }
            Some(Instead::By(_)) | None => Ok(destination),
        }
    }

    /// Where a mail goes by a transport.
    fn destination_by(self: &Arc<Self>, outlet: &Outlet, mail: &Claimed, lane: Lane) -> Destination {
        match &outlet.way {
            Way::Capture | Way::Smtp(_) | Way::Ses(_) => Destination::by(outlet.hop.transport()),
            Way::Direct(direct) => {
                let is_report = self.app.are_tls_reports(mail.project, lane);
                self.destination_of(direct, (mail.project, mail.recipient.domain()), is_report)
            }
        }
    }

    /// What warms up with a mail by a transport; an error where the mail exceeds what may leave in this hour, since its
    /// address or domain is new.
    fn subjects_of(&self, outlet: &Outlet, mail: &Claimed, lane: Lane) -> Result<Vec<Subject>, Shut> {
        let Way::Direct(direct) = &outlet.way else { return Ok(Vec::new()) };
        let subjects = self.warm_up.subjects(direct.new_address(), mail);
        match self.warm_up.spent(mail.project, &subjects, lane, self.now()) {
            Some((wait, why)) => Err(Shut { wait, why, kind: Kind::WarmUp }),
            None => Ok(subjects),
        }
    }

    /// Whether a transport takes a mail for a destination, and what warms up by it; else why it takes none.
    fn admits(
        &self,
        outlet: &Outlet,
        destination: Destination,
        mail: &Claimed,
        lane: Lane,
    ) -> Result<Vec<Subject>, Shut> {
        let why =
            || format!("The mail waits, because the transport {} takes none for now.", outlet.hop.name());
        if let Some(wait) = outlet.hop.rests().or_else(|| outlet.hop.refuses(mail.project)) {
            return Err(Shut { wait, why: why(), kind: Kind::Outage });
        }
        if let Way::Direct(direct) = &outlet.way
            && let Some((wait, why)) = direct.is_blocked(destination, self.now())
        {
            return Err(Shut { wait, why, kind: Kind::Blocked });
        }
        self.subjects_of(outlet, mail, lane)
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
