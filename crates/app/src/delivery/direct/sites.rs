//! Where mail goes, and the sites it is brought to: which of them may have a mail now, and on which connection. Without
//! clock and network, so that tests can try every order of events.
//!
//! A **destination** is a set of mail servers; domains with the same servers have the same one. Each is at a **site**, whose
//! pace holds for all its destinations. A connection is used again for a destination that its server is one of.

mod hanging;
mod reaching;
mod under_way;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::intervention::Interventions;
use mailwright_core::pacing::limits::{Limits, limits_of};
use mailwright_core::routing::TransportNumber;
use mailwright_core::time::Timestamp;
use mailwright_mail::route::site;

use self::under_way::UnderWay;
use super::path::{Found, NoWay, Path};
use super::site::{Idle, LastProjects, Reach, Site, Slow, Standing};
use super::unanswered::Unanswered;
use crate::delivery::flows::Destination;

/// How long it is remembered where mail for a domain goes. What name servers say is kept for longer, where they allow it.
const KNOWN_FOR: Duration = Duration::from_secs(30);
/// How long after mail came last a way serves on while it is looked up again.
const STALE_FOR: Duration = Duration::from_mins(10);
/// Most domains of which that is remembered.
const MOST_DOMAINS: usize = 20_000;
/// So many sites that nothing waits for are remembered for as long as they count as ones that answer.
const MOST_ANSWERING: usize = 5_000;

/// So many destinations that nothing waits for are remembered since they could not be reached.
const MOST_FAILED: usize = 10_000;

/// What is known of a destination.
#[derive(Debug, Clone)]
enum Target {
    /// It is being looked up; since when that has taken long, if it has.
    Asked(Option<Timestamp>),
    To(Arc<Path>),
    No(NoWay),
}

/// How a mail that was taken goes on.
pub(super) enum Start<L> {
    /// To these servers, by an open connection, or by one that is to be opened. Connections that made room for it.
    Bring { path: Arc<Path>, line: Option<L>, evicted: Option<L>, standing: Standing },
    /// There is no way.
    No(NoWay),
    /// What was known of the destination is forgotten: the mail is looked at anew.
    Again,
}

/// The sites and destinations that this process has to do with.
pub(super) struct Sites<L> {
    /// The transport that brings mail to them.
    transport: TransportNumber,
    /// Most connections.
    most: usize,
    /// Connections that are open or being opened.
    open: usize,
    /// Those that no mail uses.
    idle: usize,
    /// Mails under way to sites that are not proven to answer.
    under_way: UnderWay,
    next: u32,
    domains: HashMap<Arc<str>, (Destination, Timestamp)>,
    /// The domains of which the name servers gave no answer.
    unanswered: Unanswered,
    targets: HashMap<Destination, Target>,
    numbers: HashMap<Found, Destination>,
    known: HashMap<Arc<str>, Site<L>>,
    /// Whether the servers of destinations can be reached, of those that were tried.
    reach: HashMap<Destination, Reach>,
    /// Whose mail was brought lately.
    projects: LastProjects,
    /// What is wanted with mail that waits.
    pub(super) interventions: Arc<Interventions>,
    /// The mails that are under way for each destination, of those with any.
    begun: HashMap<Destination, usize>,
}

impl<L> Sites<L> {
    pub(super) fn new(transport: TransportNumber, most: usize) -> Self {
        Self {
            transport,
            most: most.max(1),
            open: 0,
            idle: 0,
            under_way: UnderWay::default(),
            next: 0,
            domains: HashMap::new(),
            unanswered: Unanswered::default(),
            targets: HashMap::new(),
            numbers: HashMap::new(),
            known: HashMap::new(),
            reach: HashMap::new(),
            projects: LastProjects::default(),
            interventions: Arc::default(),
            begun: HashMap::new(),
        }
    }

    /// Where mail for a domain goes, and whether that is to be looked up.
    pub(super) fn destination_of(&mut self, domain: &str, now: Timestamp) -> (Destination, bool) {
        if let Some((known, until)) = self.domains.get_mut(domain) {
            match self.targets.get(known) {
                target if now < *until || matches!(target, Some(Target::Asked(_))) => return (*known, false),
                // mail goes on by the known way while it is looked up again
                Some(Target::To(_)) if now.since(*until) < STALE_FOR => {
                    *until = now.plus(KNOWN_FOR);
                    return (*known, true);
                }
                _ => {}
            }
        }
        let rests = self.unanswered.rests(domain, now);
        let target = rests.map_or(Target::Asked(None), |_| Target::No(NoWay::Unknown));
        let destination = self.number(target);
        let until = now.plus(KNOWN_FOR);
        self.domains.insert(domain.into(), (destination, rests.map_or(until, |rests| rests.min(until))));
        (destination, rests.is_none())
    }

    /// When the name servers are asked again about a domain of which they gave no answer.
    pub(super) fn asks_again(&self, domain: &str, now: Timestamp) -> Option<Timestamp> {
        self.unanswered.rests(domain, now)
    }

    fn number(&mut self, target: Target) -> Destination {
        // after four thousand million, those of the beginning are long forgotten
        self.next = self.next.wrapping_add(1).max(1);
        let destination = Destination { transport: self.transport, number: self.next };
        self.targets.insert(destination, target);
        destination
    }

    /// Takes note of what was found about a domain. Returns where its mail goes that waited for it.
    pub(super) fn found(
        &mut self,
        domain: &str,
        asked: Destination,
        way: Result<Found, NoWay>,
        now: Timestamp,
    ) -> Option<Destination> {
        let has_waited = matches!(self.targets.get(&asked), Some(Target::Asked(_)));
        match way {
            Err(NoWay::Unknown) if has_waited => self.unanswered.failed(domain, now),
            Err(NoWay::Unknown) => {}
            Ok(_) | Err(_) => self.unanswered.answered(domain),
        }
        let known = match way {
            Ok(found) => self.numbers.get(&found).copied().unwrap_or_else(|| self.meet(found)),
            Err(why) if has_waited => {
                self.targets.insert(asked, Target::No(why));
                return None;
            }
            // the way that was known before serves until there is an answer
            Err(NoWay::Unknown) => return None,
            Err(why) => self.number(Target::No(why)),
        };
        self.domains.insert(domain.into(), (known, now.plus(KNOWN_FOR)));
        if has_waited {
            self.targets.remove(&asked);
        }
        has_waited.then_some(known)
    }

    fn meet(&mut self, found: Found) -> Destination {
        let name: Arc<str> = site(&found.servers).into();
        let limits = found.servers.first().map_or(Limits::UNKNOWN, |best| limits_of(&best.host));
        self.known.entry(Arc::clone(&name)).or_insert_with(|| Site::new(limits));
        let path = Arc::new(Path::new(name, found.clone()));
        let destination = self.number(Target::To(path));
        self.numbers.insert(found, destination);
        destination
    }

    /// Whether a mail for a destination may be taken now; otherwise when that may have changed, where that is known.
    pub(super) fn admits(&self, destination: Destination, now: Timestamp) -> Result<(), Option<Timestamp>> {
        let path = match self.targets.get(&destination) {
            None | Some(Target::No(_)) => return Ok(()),
            Some(Target::Asked(_)) => return Err(None),
            Some(Target::To(path)) => path,
        };
        if self.interventions.pauses_site(&path.site) {
            return Err(None);
        }
        let site = self.known.get(&path.site).ok_or(None)?;
        site.admits(now)?;
        self.reach.get(&destination).map_or(Ok(()), |reach| reach.admits(now))?;
        if self.open < self.most || self.idle > 0 { Ok(()) } else { Err(None) }
    }

    /// A mail for a destination was taken.
    fn begin(&mut self, destination: Destination, now: Timestamp) -> Start<L> {
        let path = match self.targets.get(&destination) {
            Some(Target::To(path)) => Arc::clone(path),
            Some(Target::No(why)) => return Start::No(*why),
            Some(Target::Asked(_)) | None => return Start::Again,
        };
        let standing = self.standing(destination, now);
        let Some(site) = self.known.get_mut(&path.site) else { return Start::Again };
        *self.begun.entry(destination).or_default() += 1;
        site.begin();
        // the last one that was used, so that those that are not needed become old
        if let Some(at) = site.idle.iter().rposition(|idle| path.takes(idle)) {
            let line = site.idle.remove(at).map(|idle| idle.line);
            self.idle -= 1;
            return Start::Bring { path, line, evicted: None, standing };
        }
        let mut evicted = None;
        if !site.has_room() {
            evicted = site.idle.pop_front().map(|idle| idle.line);
            if evicted.is_some() {
                site.closed();
                self.open = self.open.saturating_sub(1);
                self.idle -= 1;
            }
        }
        site.opens();
        self.reach.entry(destination).or_default().opens();
        if evicted.is_none() && self.open >= self.most {
            evicted = self.evict();
        }
        self.open += 1;
        Start::Bring { path, line: None, evicted, standing }
    }

    /// Takes the connection that has been idle for the longest time.
    fn evict(&mut self) -> Option<L> {
        let oldest = |site: &&mut Site<L>| site.idle.front().map(|idle| idle.since);
        let site = self.known.values_mut().filter(|site| !site.idle.is_empty()).min_by_key(oldest)?;
        let line = site.idle.pop_front()?.line;
        site.closed();
        self.open = self.open.saturating_sub(1);
        self.idle -= 1;
        Some(line)
    }

    /// A mail for a destination is no longer under way.
    pub(super) fn end(&mut self, destination: Destination) {
        if let Some(count) = self.begun.get_mut(&destination) {
            *count -= 1;
            if *count == 0 {
                self.begun.remove(&destination);
            }
        }
    }

    /// Keeps a connection for the next mail. One that may not be kept is returned.
    pub(super) fn keep(&mut self, path: &Path, idle: Idle<L>, now: Timestamp) -> Option<L> {
        let Some(site) = self.known.get_mut(&path.site) else { return Some(idle.line) };
        if site.is_over(now) {
            site.closed();
            self.open = self.open.saturating_sub(1);
            return Some(idle.line);
        }
        site.idle.push_back(idle);
        self.idle += 1;
        None
    }

    /// A connection to a site is closed.
    pub(super) fn closed(&mut self, path: &Path) {
        if let Some(site) = self.known.get_mut(&path.site) {
            site.closed();
        }
        self.open = self.open.saturating_sub(1);
    }

    pub(super) fn site(&mut self, name: &str) -> Option<&mut Site<L>> {
        self.known.get_mut(name)
    }

    /// Until when the site of a destination blocks us, as far as is known.
    pub(super) fn blocked_until(&self, destination: Destination, now: Timestamp) -> Option<Timestamp> {
        self.site_of(destination)?.blocked_until(now)
    }

    /// The path of a destination, where it has one.
    pub(super) fn path(&self, destination: Destination) -> Option<&Arc<Path>> {
        match self.targets.get(&destination)? {
            Target::To(path) => Some(path),
            Target::Asked(_) | Target::No(_) => None,
        }
    }

    /// It takes long to look up where mail for a destination goes.
    pub(super) fn takes_long(&mut self, asked: Destination, now: Timestamp) {
        if let Some(Target::Asked(since)) = self.targets.get_mut(&asked) {
            since.get_or_insert(now);
        }
    }

    /// Since when it has taken long to look up where mail for a destination goes, if it does: nothing needs to be held
    /// in memory for the answer.
    pub(super) fn looked_up_since(&self, destination: Destination) -> Option<Timestamp> {
        match self.targets.get(&destination)? {
            Target::Asked(since) => *since,
            Target::To(_) | Target::No(_) => None,
        }
    }

    /// All sites.
    pub(super) fn each(&mut self) -> impl Iterator<Item = (&Arc<str>, &mut Site<L>)> {
        self.known.iter_mut()
    }

    /// How many mails wait for each site, in the order of their names, given how many wait for each destination.
    pub(super) fn by_site(&self, queued: &HashMap<Destination, usize>) -> BTreeMap<Arc<str>, usize> {
        let mut sums = BTreeMap::new();
        for (destination, count) in queued {
            if let Some(path) = self.path(*destination) {
                *sums.entry(Arc::clone(&path.site)).or_default() += count;
            }
        }
        sums
    }

    /// Takes the connections that have been idle for too long, and those beyond what is granted.
    pub(super) fn reap(&mut self, now: Timestamp) -> Vec<L> {
        let mut reaped = Vec::new();
        for site in self.known.values_mut() {
            while site
                .idle
                .front()
                .is_some_and(|idle| now.since(idle.since) >= site.keeps_idle() || site.is_over(now))
            {
                reaped.extend(site.idle.pop_front().map(|idle| idle.line));
                site.closed();
            }
        }
        self.open = self.open.saturating_sub(reaped.len());
        self.idle -= reaped.len();
        reaped
    }

    /// Takes all idle connections, for the end of the process.
    pub(super) fn close(&mut self) -> Vec<L> {
        self.idle = 0;
        let idle = self.known.values_mut().flat_map(|site| std::mem::take(&mut site.idle));
        idle.map(|idle| idle.line).collect()
    }

    /// Forgets what nothing waits for any more.
    pub(super) fn forget(&mut self, queued: &HashMap<Destination, usize>, now: Timestamp) {
        self.unanswered.forget(now);
        self.domains.retain(|_, (destination, until)| {
            until.since(now) <= KNOWN_FOR && now.since(*until) < KNOWN_FOR
                || matches!(self.targets.get(destination), Some(Target::Asked(_)))
        });
        if self.domains.len() > MOST_DOMAINS {
            self.domains.retain(|_, (destination, _)| {
                matches!(self.targets.get(destination), Some(Target::Asked(_)))
            });
        }
        let named: HashSet<_> = self.domains.values().map(|(destination, _)| *destination).collect();
        let mut failed = 0;
        self.targets.retain(|destination, _| {
            let is_needed = named.contains(destination)
                || queued.contains_key(destination)
                || self.begun.contains_key(destination);
            let has_failed = self.reach.get(destination).is_some_and(|reach| reach.is_remembered(now));
            failed += usize::from(!is_needed && has_failed);
            is_needed || has_failed && failed <= MOST_FAILED
        });
        self.numbers.retain(|_, destination| self.targets.contains_key(destination));
        self.reach.retain(|destination, _| self.targets.contains_key(destination));
        let used: HashSet<Arc<str>> = self
            .targets
            .values()
            .filter_map(|target| match target {
                Target::To(path) => Some(Arc::clone(&path.site)),
                Target::Asked(_) | Target::No(_) => None,
            })
            .collect();
        let mut answering = 0;
        self.known.retain(|name, site| {
            let is_needed = used.contains(name) || !site.is_over_with(now);
            answering += usize::from(!is_needed && site.answers(now));
            is_needed || answering <= MOST_ANSWERING && site.answers(now)
        });
    }
}

#[cfg(test)]
#[path = "sites_tests.rs"]
mod tests;
