//! Gives back the mail that cannot leave soon: what is held in memory is bounded, and mail for sites that do not answer
//! must not keep the mail for others out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::sending::email::Claimed;

use super::explained::{LOOKED_UP, explained};
use super::path::Path;
use super::site::room::{HANGING_HELD, LONG, Room};
use super::site::{Slow, Standing};
use super::sites::Sites;
use super::{Direct, Line};
use crate::delivery::Delivery;
use crate::delivery::dispatcher::Taken;
use crate::delivery::flows::{Destination, Flow};
use crate::delivery::interventions::{Instead, instead};
use crate::delivery::parking::Waiting;

/// The longest time until mail is looked at again that waits for a site.
const HORIZON: Duration = Duration::from_mins(15);
/// When mail is looked at again for which its project's other mail leaves no room.
const CROWDED_FOR: Duration = Duration::from_secs(15);
/// When mail is looked at again for name servers that take long to answer: after as long as they have been waited for,
/// at least and at most.
const LOOKED_UP_FOR: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(20));

/// What mail waits for that is given back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Awaited {
    /// Name servers, after a wait of so many seconds.
    NameServers(u64),
    /// A site as a whole.
    Site(Arc<str>),
    /// Servers of a site that hang.
    Answer(Arc<str>),
    /// Room at a site beside other mail of its project.
    Room(Arc<str>),
    /// Servers of a site that cannot be reached.
    Servers(Arc<str>, Destination),
}

/// Gives back what sites do not take soon, each mail to be looked at again when it may leave, and what waits for name
/// servers. What is paused, given up or to leave by another transport does so at once, and so does what may leave by
/// another where a site blocks us. `queued` are the sites for which mail is in memory.
pub(super) async fn give_back(
    delivery: &Arc<Delivery>,
    direct: &Direct,
    queued: impl Iterator<Item = &Arc<str>>,
) {
    let now = delivery.now();
    for Taken { lane, mails, .. } in extract(delivery, direct) {
        delivery.place(lane, mails).await;
    }
    let (waiting, elsewhere) = withdraw(delivery, direct, queued, now);
    delivery.park(waiting, now).await;
    for (lane, mails) in elsewhere {
        delivery.place(lane, mails).await;
    }
}

/// Takes the mails that are not to leave by here, as is wanted with those for their site.
fn extract(delivery: &Delivery, direct: &Direct) -> Vec<Taken> {
    let sites = direct.sites();
    let known = Arc::clone(&sites.interventions);
    if known.is_empty() {
        return Vec::new();
    }
    let site = |flow: Flow| sites.path(flow.destination).map(|path| &path.site);
    let has_names = |flow: Flow| site(flow).is_some_and(|site| known.names_site(site));
    delivery.app.0.delivery.dispatcher.extract(has_names, |flow, mail| {
        match instead(&known, mail, site(flow).map(|site| &**site)) {
            Some(Instead::Pause(..) | Instead::Expire(_)) => true,
            // one that may have left stays with its transport
            Some(Instead::By(name)) => {
                let other = delivery.outlets.named(&name).map(|outlet| outlet.hop.transport());
                mail.in_doubt == 0 && other.is_some_and(|other| other != flow.destination.transport)
            }
            None => false,
        }
    })
}

/// What may be held in memory.
struct Held {
    /// What each site takes for now, and how many mails are left of what is held for it, however many projects, lanes
    /// and domains they are of; `None` for any number.
    sites: HashMap<Arc<str>, (Room, Option<usize>)>,
    /// Whose mail is held for which sites.
    projects: HashSet<(ProjectNumber, Arc<str>)>,
    /// How many are left of what is held for all sites together that do not answer.
    for_silent: usize,
    /// The projects that have some of those.
    silent_of: HashSet<ProjectNumber>,
}

impl Held {
    /// What may be held for sites.
    fn at<'q, L>(sites: &mut Sites<L>, names: impl Iterator<Item = &'q Arc<str>>, now: Timestamp) -> Self {
        let mut rooms = HashMap::new();
        for name in names {
            if let Some(site) = sites.site(name) {
                let room = site.room(now);
                let left = room.keeps;
                rooms.insert(Arc::clone(name), (room, left));
            }
        }
        let for_silent = sites.held_for_silent();
        Self { sites: rooms, projects: HashSet::new(), for_silent, silent_of: HashSet::new() }
    }

    /// How many mails of a flow are held, of so many. Each project has one for each site that takes any, so that it has
    /// its turn beside one that has many.
    fn keep<L>(&mut self, sites: &Sites<L>, flow: Flow, count: usize, now: Timestamp) -> Option<usize> {
        if sites.looked_up_since(flow.destination).is_some() {
            return Some(0);
        }
        let path = sites.path(flow.destination)?;
        if sites.rests(flow.destination, now).is_some_and(|(until, _)| until.since(now) > LONG) {
            return Some(0);
        }
        let standing = sites.standing(flow.destination, now);
        let hangs = standing == Standing::Hangs;
        let is_silent =
            hangs || sites.is_silent(flow.destination, now) || sites.is_crowded_out(flow.project, standing);
        let (room, left) = self.sites.get_mut(&path.site)?;
        let is_first = room.keeps != Some(0) && self.projects.insert((flow.project, Arc::clone(&path.site)));
        let mut kept = left.map_or(count, |left| count.min(left.max(usize::from(is_first))));
        if hangs {
            kept = kept.min(HANGING_HELD);
        }
        if is_silent {
            kept = kept.min(self.for_silent.max(usize::from(!self.silent_of.contains(&flow.project))));
            self.for_silent = self.for_silent.saturating_sub(kept);
            if kept > 0 {
                self.silent_of.insert(flow.project);
            }
        }
        // what hangs leaves what is held for the site to its other servers
        if let Some(left) = left.as_mut().filter(|_| !hangs) {
            *left = left.saturating_sub(kept);
        }
        Some(kept)
    }
}

fn withdraw<'q>(
    delivery: &Delivery,
    direct: &Direct,
    queued: impl Iterator<Item = &'q Arc<str>>,
    now: Timestamp,
) -> (Vec<Waiting>, Vec<(Lane, Vec<Claimed>)>) {
    let mut sites = direct.sites();
    let mut held = Held::at(&mut sites, queued, now);
    let dispatcher = &delivery.app.0.delivery.dispatcher;
    let withdrawn = dispatcher.withdraw(|flow, count| held.keep(&sites, flow, count, now));
    let mut by_reason: BTreeMap<Awaited, Vec<Claimed>> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    for Taken { lane, flow, mails } in withdrawn {
        let Some(awaited) = awaited(&sites, flow, now) else { continue };
        let is_blocked = sites.blocked_until(flow.destination, now).is_some();
        let (choice, rest): (Vec<_>, Vec<_>) =
            mails.into_iter().partition(|mail| is_blocked && delivery.has_choice(mail, lane));
        by_reason.entry(awaited).or_default().extend(rest);
        elsewhere.push((lane, choice));
    }
    elsewhere.retain(|(_, mails)| !mails.is_empty());
    let waiting = by_reason.into_iter().filter(|(_, mails)| !mails.is_empty());
    let waiting = waiting.filter_map(|(awaited, mails)| waiting_for(&mut sites, &held, &awaited, mails, now));
    (waiting.collect(), elsewhere)
}

/// What a mail waits for that is given back; `None` where it would not be.
fn awaited(sites: &Sites<Line>, flow: Flow, now: Timestamp) -> Option<Awaited> {
    if let Some(since) = sites.looked_up_since(flow.destination) {
        let (least, most) = LOOKED_UP_FOR;
        return Some(Awaited::NameServers(now.since(since).clamp(least, most).as_secs()));
    }
    let site = |path: &Arc<Path>| Arc::clone(&path.site);
    let site = sites.path(flow.destination).map(site)?;
    Some(match (sites.rests(flow.destination, now), sites.standing(flow.destination, now)) {
        (Some(_), _) => Awaited::Servers(site, flow.destination),
        (None, Standing::Hangs) => Awaited::Answer(site),
        (None, standing) if sites.is_crowded_out(flow.project, standing) => Awaited::Room(site),
        (None, _) => Awaited::Site(site),
    })
}

/// When mails are looked at again that wait for something, and what they say.
fn waiting_for(
    sites: &mut Sites<Line>,
    held: &Held,
    awaited: &Awaited,
    mails: Vec<Claimed>,
    now: Timestamp,
) -> Option<Waiting> {
    let (name, room, slow) = match awaited {
        Awaited::NameServers(seconds) => {
            let at = now.plus(Duration::from_secs(*seconds));
            let mails = mails.into_iter().map(|mail| (mail, at)).collect();
            return Some(Waiting { why: LOOKED_UP.to_owned(), mails });
        }
        Awaited::Servers(name, destination) => {
            let (until, why) = sites.rests(*destination, now)?;
            (name, Room::after(until), why)
        }
        Awaited::Answer(name) => (name, sites.site(name)?.room_of_hanging(now), Slow::Hangs),
        Awaited::Room(name) => (name, Room::after(now.plus(CROWDED_FOR)), Slow::Crowded),
        Awaited::Site(name) => {
            let (room, _) = held.sites.get(name)?;
            (name, room.clone(), sites.site(name)?.why(now))
        }
    };
    let slots = sites.site(name)?.slots(mails.len(), &room, HORIZON);
    Some(Waiting { why: explained(name, &slow), mails: mails.into_iter().zip(slots).collect() })
}

#[cfg(test)]
mod tests {
    use mailwright_core::pacing::{Grant, PaceReason, Wait};
    use mailwright_core::routing::TransportNumber;
    use mailwright_mail::route::MailServer;

    use super::*;
    use crate::delivery::direct::path::{Found, Need};

    const NOW: Timestamp = Timestamp(1_000_000);

    /// A destination at a site that a pace grants something.
    fn destination(sites: &mut Sites<u32>, site: &str, rate: Option<f64>, wait: Option<Wait>) -> Destination {
        let servers = vec![MailServer { preference: 10, host: format!("mx.{site}") }];
        let found = Found { servers, need: Need::Opportunistic, minds_tlsa: false };
        let (asked, _) = sites.destination_of(site, NOW);
        let known = sites.found(site, asked, Ok(found), NOW).unwrap();
        let until = NOW.plus(Duration::from_secs(5));
        let grant = Grant { mails: 1, connections: 1, until, wait, is_wanted: false };
        sites.site(site).unwrap().granted(grant, rate, None);
        known
    }

    #[test]
    fn each_project_has_a_mail_for_each_site_that_takes_any() {
        let mut sites = Sites::new(TransportNumber(0), 32);
        let slow = destination(&mut sites, "slow.test", Some(12.0), None);
        let blocks = Wait { reason: PaceReason::Blocked, until: NOW.plus(Duration::from_hours(1)) };
        let blocked = destination(&mut sites, "blocked.test", None, Some(blocks));
        let names: Vec<Arc<str>> = vec!["slow.test".into(), "blocked.test".into()];
        let mut held = Held::at(&mut sites, names.iter(), NOW);
        let mut keep = |project, destination, count| {
            held.keep(&sites, Flow { project: ProjectNumber(project), destination }, count, NOW)
        };
        assert_eq!((keep(1, slow, 100), keep(1, slow, 100)), (Some(2), Some(0)));
        assert_eq!((keep(2, slow, 3), keep(2, slow, 3)), (Some(1), Some(0)));
        assert_eq!((keep(1, blocked, 3), keep(2, blocked, 3)), (Some(0), Some(0)));
    }
}
