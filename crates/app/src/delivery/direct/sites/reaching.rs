//! Whether the servers of destinations can be reached, and what those take up that do not answer.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::pacing::reply::Signal;
use mailwright_core::time::Timestamp;

use super::{Path, Reach, Site, Sites, Slow, Standing, Start};
use crate::delivery::flows::{Destination, Flow};

/// Of so many connections, a mail is held for silent sites.
const HELD_FOR_SILENT: usize = 8;
/// Of so many connections, one is kept for sites that are proven to answer.
const KEPT_FOR_PROVEN: usize = 4;
/// Of the connections for sites that are not, one of so many is kept for projects that use none.
pub(super) const KEPT_FOR_OTHERS: usize = 8;

impl<L> Sites<L> {
    /// Whether a mail of a flow may be taken now; otherwise when that may have changed, where that is known.
    pub(in crate::delivery::direct) fn admits_of(
        &self,
        flow: Flow,
        now: Timestamp,
    ) -> Result<(), Option<Timestamp>> {
        self.admits(flow.destination, now)?;
        let standing = self.standing(flow.destination, now);
        if self.has_room_for(flow.project, standing) && self.leaves_room(flow, standing) {
            Ok(())
        } else {
            Err(None)
        }
    }

    /// Whether sites that are not proven leave room for a mail of a project to one that stands so: neither servers that
    /// never answer nor those that do so once must take all the workers. Of the last part a project has one of each kind,
    /// and of the very last one only where it has no other.
    fn has_room_for(&self, project: ProjectNumber, standing: Standing) -> bool {
        let Some(alike) = self.under_way.alike(standing) else { return true };
        let is_within = |all: usize, most: usize, part: usize| {
            let last = part / KEPT_FOR_OTHERS;
            all < most - last
                || all < most - last / 2 && alike.of(project) == 0
                || all < most && self.under_way.has_none_of(project)
        };
        let (tries, all) = (self.most_tries(), self.under_way.all());
        is_within(all, self.most_unproven(), self.most)
            && (standing != Standing::Unknown || is_within(alike.all, tries, tries))
    }

    /// How many mails are held in memory at most for all sites together that are silent.
    pub(in crate::delivery::direct) fn held_for_silent(&self) -> usize {
        self.most.div_ceil(HELD_FOR_SILENT)
    }

    /// Whether mail for the site of a destination has waited for a while without an answer.
    pub(in crate::delivery::direct) fn is_silent(&self, destination: Destination, now: Timestamp) -> bool {
        self.site_of(destination).is_some_and(|site| site.is_silent(now))
    }

    /// How the site of a destination is known to answer, where its servers did not fail.
    pub(in crate::delivery::direct) fn standing(&self, destination: Destination, now: Timestamp) -> Standing {
        let known = self.path(destination).and_then(|path| Some((path.set, self.known.get(&path.site)?)));
        let conversations = self.conversations(destination);
        let standing = known.map_or(Standing::Proven, |(set, site)| site.standing(set, conversations, now));
        let has_failed = self.has_failed(destination);
        if has_failed && standing != Standing::Hangs { Standing::Unknown } else { standing }
    }

    /// Whether the last try to reach the servers of a destination was in vain.
    pub(in crate::delivery::direct) fn has_failed(&self, destination: Destination) -> bool {
        self.reach.get(&destination).is_some_and(Reach::has_failed)
    }

    /// The site of a destination, where it is known.
    pub(super) fn site_of(&self, destination: Destination) -> Option<&Site<L>> {
        self.known.get(&self.path(destination)?.site)
    }

    /// Mails under way for a destination.
    pub(super) fn conversations(&self, destination: Destination) -> usize {
        self.begun.get(&destination).copied().unwrap_or_default()
    }

    /// Most mails under way to sites of which it is not known whether they answer.
    pub(super) fn most_tries(&self) -> usize {
        self.most.div_ceil(2)
    }

    /// Whether mail of a project to a site that stands so is kept waiting by mail whose answers are slow: the project has
    /// much of that, or it takes up half of what is for sites that are not proven to answer, and there is no room for more.
    /// It must not be held in memory then, for what leaves soon would wait behind it.
    pub(in crate::delivery::direct) fn is_crowded_out(
        &self,
        project: ProjectNumber,
        standing: Standing,
    ) -> bool {
        let slow = &self.under_way.slow;
        let is_much = slow.of(project) >= self.most_waits() || slow.all >= self.most_unproven().div_ceil(2);
        is_much && !self.has_room_for(project, standing)
    }

    /// The answer to a mail of a project is slow.
    pub(in crate::delivery::direct) fn waits_slowly(&mut self, project: ProjectNumber) {
        self.under_way.slow.add(project);
    }

    /// It has come, or will not.
    pub(in crate::delivery::direct) fn waited_slowly(&mut self, project: ProjectNumber) {
        self.under_way.slow.remove(project);
    }

    /// Most mails under way to sites that are not proven to answer.
    fn most_unproven(&self) -> usize {
        self.most - self.most / KEPT_FOR_PROVEN
    }

    /// A mail of a project for a destination was taken.
    pub(in crate::delivery::direct) fn begin_of(
        &mut self,
        project: ProjectNumber,
        destination: Destination,
        now: Timestamp,
    ) -> Start<L> {
        let start = self.begin(destination, now);
        self.projects.note(project, now);
        if let Start::Bring { path, standing, .. } = &start {
            self.count((project, &path.site), *standing);
        }
        start
    }

    /// A mail of a project that is under way to a site counts otherwise from now on. One to a site that is proven does
    /// not count.
    pub(in crate::delivery::direct) fn count_as(
        &mut self,
        (project, site): (ProjectNumber, &str),
        known: &mut Standing,
        now: Standing,
    ) {
        let before = std::mem::replace(known, now);
        self.under_way.remove(project, before);
        if before == Standing::Hangs
            && let Some(site) = self.known.get_mut(site)
        {
            site.ends_apart();
        }
        self.count((project, site), now);
    }

    fn count(&mut self, (project, site): (ProjectNumber, &str), standing: Standing) {
        self.under_way.add(project, standing);
        if standing == Standing::Hangs
            && let Some(site) = self.known.get_mut(site)
        {
            site.begins_apart();
        }
    }

    /// The connection that was being opened for a destination is there, or there is none to be had.
    pub(in crate::delivery::direct) fn opened(&mut self, destination: Destination, site: &str) {
        if let Some(site) = self.known.get_mut(site) {
            site.opened();
        }
        if let Some(reach) = self.reach.get_mut(&destination) {
            reach.opened();
        }
    }

    /// What became of a mail for a destination was said.
    pub(in crate::delivery::direct) fn settled(&mut self, destination: Destination, site: &str) {
        if let Some(site) = self.known.get_mut(site) {
            site.settled();
        }
        if let Some(reach) = self.reach.get_mut(&destination) {
            reach.settled();
        }
    }

    /// No server of a path gave a connection to a mail, or it was lost. Returns whether that is news.
    pub(in crate::delivery::direct) fn unreachable(
        &mut self,
        flow: Flow,
        path: &Path,
        error: &str,
        now: Timestamp,
    ) -> bool {
        let are_several = self.projects.are_several(now);
        let Some(site) = self.known.get_mut(&path.site) else { return false };
        let reach = self.reach.entry(flow.destination).or_default();
        site.unreachable((path.set, reach), (flow.project, are_several), error, now)
    }

    /// Servers of a path said something about us, to a mail. It holds for their whole site, unless others' mail would suffer
    /// by the word of servers that may be anybody's.
    pub(in crate::delivery::direct) fn said(
        &mut self,
        destination: Destination,
        path: &Path,
        (signal, reply): (Signal, String),
        now: Timestamp,
    ) {
        let are_several = self.projects.are_several(now);
        let Some(site) = self.known.get_mut(&path.site) else { return };
        if path.is_of_large_receiver() || !are_several || site.speaks(path.set, signal, now) {
            site.said(signal, reply);
        } else {
            self.reach.entry(destination).or_default().refused(&reply, now);
        }
    }

    /// Until when the servers of a destination are left alone, which could not be reached, and why.
    pub(in crate::delivery::direct) fn rests(
        &self,
        destination: Destination,
        now: Timestamp,
    ) -> Option<(Timestamp, Slow)> {
        self.reach.get(&destination)?.rests(now)
    }
}

#[cfg(test)]
#[path = "reaching_tests.rs"]
mod tests;
