//! Gives back the mail that cannot leave soon: what is held in memory is bounded, and mail for sites that do not answer must not
//! keep the mail for others out.

use std::collections::{BTreeMap, HashMap};
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

/// The longest time until mail is looked at again that waits for a site.
const HORIZON: Duration = Duration::from_mins(15);
/// When mail is looked at again for which its project's other mail leaves no room.
const CROWDED_FOR: Duration = Duration::from_secs(15);
/// When mail is looked at again for name servers that take long to answer: after as long as they have been waited for, at
/// least and at most.
const LOOKED_UP_FOR: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(20));

/// What mail waits for that is given back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Awaited {
    /// Name servers that have been waited for for so many seconds.
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

/// Mails that are given back, with the times at which they are looked at again.
struct Waiting {
    why: String,
    mails: Vec<(Claimed, Timestamp)>,
}

/// Gives back what sites do not take soon, each mail to be looked at again when it may leave, and what waits for name
/// servers. Where a site blocks us, mail that may leave by another transport does so. `queued` are the sites for which mail
/// is in memory.
pub(super) async fn give_back(
    delivery: &Arc<Delivery>,
    direct: &Direct,
    queued: impl Iterator<Item = &Arc<str>>,
) {
    let now = delivery.now();
    let (waiting, elsewhere) = withdraw(delivery, direct, queued, now);
    for Waiting { why, mails } in waiting {
        delivery.park(mails, &why, now).await;
    }
    for (lane, mails) in elsewhere {
        delivery.place(lane, mails).await;
    }
}

/// What may be held in memory.
struct Held {
    /// What each site takes for now, and how many mails are left of what is held for it, however many projects, lanes and
    /// domains they are of; `None` for any number.
    sites: HashMap<Arc<str>, (Room, Option<usize>)>,
    /// How many are left of what is held for all sites together that do not answer.
    for_silent: usize,
    /// How many of those each project has.
    silent_of: HashMap<ProjectNumber, usize>,
}

impl Held {
    /// How many mails of a flow are held, of so many.
    fn keep(&mut self, sites: &Sites<Line>, flow: Flow, count: usize, now: Timestamp) -> Option<usize> {
        if sites.looked_up_since(flow.destination, now).is_some() {
            return Some(0);
        }
        let path = sites.path(flow.destination)?;
        let rests = sites.rests(flow.destination, now).is_some_and(|(until, _)| until.since(now) > LONG);
        if rests || sites.interventions.moves(flow.project, &path.site) {
            return Some(0);
        }
        let standing = sites.standing(flow.destination, now);
        let hangs = standing == Standing::Hangs;
        let is_silent =
            hangs || sites.is_silent(flow.destination, now) || sites.is_crowded_out(flow.project, standing);
        let (_, left) = self.sites.get(&path.site)?;
        let mut kept = left.map_or(count, |left| count.min(left));
        if hangs {
            kept = kept.min(HANGING_HELD);
        }
        if is_silent {
            kept = self.keep_silent(flow.project, kept);
        }
        // what hangs leaves what is held for the site to its other servers
        if let Some((_, Some(left))) = self.sites.get_mut(&path.site).filter(|_| !hangs) {
            *left -= kept;
        }
        Some(kept)
    }

    /// How many of so many mails of a project are held that wait for sites which do not answer. Each project has one: those
    /// of another cannot take its place.
    fn keep_silent(&mut self, project: ProjectNumber, count: usize) -> usize {
        let own = self.silent_of.entry(project).or_default();
        let kept = count.min(self.for_silent.max(usize::from(*own == 0)));
        *own += kept;
        self.for_silent = self.for_silent.saturating_sub(kept);
        kept
    }
}

fn withdraw<'q>(
    delivery: &Delivery,
    direct: &Direct,
    queued: impl Iterator<Item = &'q Arc<str>>,
    now: Timestamp,
) -> (Vec<Waiting>, Vec<(Lane, Vec<Claimed>)>) {
    let mut sites = direct.sites();
    let mut rooms = HashMap::new();
    for name in queued {
        if let Some(site) = sites.site(name) {
            let room = site.room(now);
            let left = room.keeps;
            rooms.insert(Arc::clone(name), (room, left));
        }
    }
    let mut held = Held { sites: rooms, for_silent: sites.held_for_silent(), silent_of: HashMap::new() };
    let dispatcher = &delivery.app.0.delivery.dispatcher;
    let withdrawn = dispatcher.withdraw(|flow, count| held.keep(&sites, flow, count, now));
    let mut by_reason: BTreeMap<Awaited, Vec<Claimed>> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    for Taken { lane, flow, mails } in withdrawn {
        let Some(awaited) = awaited(&sites, flow, now) else { continue };
        let is_blocked = sites.blocked_until(flow.destination, now).is_some();
        let path = sites.path(flow.destination);
        let is_meant = path.is_some_and(|path| sites.interventions.moves(flow.project, &path.site));
        let (choice, rest): (Vec<_>, Vec<_>) =
            mails.into_iter().partition(|mail| is_meant || is_blocked && delivery.has_choice(mail, lane));
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
    if let Some(since) = sites.looked_up_since(flow.destination, now) {
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
            let (until, error) = sites.rests(*destination, now)?;
            (name, Room::after(until), Slow::Unreachable(error.to_owned()))
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
