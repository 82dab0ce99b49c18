//! Whether the servers of destinations can be reached, and what those take up that do not answer.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use super::{Reach, Site, Sites, Start};
use crate::delivery::flows::{Destination, Flow};

/// Of so many connections, a mail is held for silent sites.
const HELD_FOR_SILENT: usize = 8;
/// Of the connections for sites that have not answered, one of so many is kept for projects that use none.
pub(super) const KEPT_FOR_OTHERS: usize = 8;

impl<L> Sites<L> {
    /// Whether a mail of a flow may be taken now; otherwise when that may have changed, where that is known. A project that
    /// has tries under way leaves the last ones to those that have none.
    pub(in crate::delivery::direct) fn admits_of(
        &self,
        flow: Flow,
        now: Timestamp,
    ) -> Result<(), Option<Timestamp>> {
        self.admits(flow.destination, now)?;
        let most = self.most_tries();
        let is_last = self.tries.all >= most - most / KEPT_FOR_OTHERS;
        if is_last && self.tries.of(flow.project) > 0 && self.is_try(flow.destination, now) {
            return Err(None);
        }
        if self.leaves_room(flow, now) { Ok(()) } else { Err(None) }
    }

    /// How many mails are held in memory at most for all sites together that are silent.
    pub(in crate::delivery::direct) fn held_for_silent(&self) -> usize {
        self.most.div_ceil(HELD_FOR_SILENT)
    }

    /// Whether mail for the site of a destination has waited for a while without an answer, or the site hangs.
    pub(in crate::delivery::direct) fn is_silent(&self, destination: Destination, now: Timestamp) -> bool {
        self.site_of(destination).is_some_and(|site| site.is_silent(now) || site.hangs(now))
    }

    /// Whether a mail for a destination finds out whether its site answers. One that is known to hang is counted
    /// elsewhere.
    pub(super) fn is_try(&self, destination: Destination, now: Timestamp) -> bool {
        !self.answers(destination, now) && !self.hangs(destination, now)
    }

    /// Whether the site of a destination has answered lately, and its servers did not fail.
    fn answers(&self, destination: Destination, now: Timestamp) -> bool {
        let has_failed = self.reach.get(&destination).is_some_and(Reach::has_failed);
        !has_failed && self.site_of(destination).is_none_or(|site| site.answers(now))
    }

    /// The site of a destination, where it is known.
    pub(super) fn site_of(&self, destination: Destination) -> Option<&Site<L>> {
        self.known.get(&self.path(destination)?.site)
    }

    /// Most mails under way to sites of which it is not known whether they answer.
    pub(super) fn most_tries(&self) -> usize {
        self.most.div_ceil(2)
    }

    /// A mail of a project for a destination was taken.
    pub(in crate::delivery::direct) fn begin_of(
        &mut self,
        project: ProjectNumber,
        destination: Destination,
        now: Timestamp,
    ) -> Start<L> {
        let start = self.begin(destination, now);
        if let Start::Bring { is_try, hangs, .. } = &start {
            if *is_try {
                self.tries.add(project);
            }
            if *hangs {
                self.waits(project);
            }
        }
        start
    }

    /// A mail of a project to a site of which it was not known whether it answers is no longer under way, or the site has
    /// answered it, or hangs.
    pub(in crate::delivery::direct) fn tried_of(&mut self, project: ProjectNumber) {
        self.tries.remove(project);
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

    /// No server of a destination gave a connection, or it was lost. Returns whether that is news.
    pub(in crate::delivery::direct) fn unreachable(
        &mut self,
        destination: Destination,
        site: &str,
        error: &str,
        now: Timestamp,
    ) -> bool {
        let Some(site) = self.known.get_mut(site) else { return false };
        let reach = self.reach.entry(destination).or_default();
        site.unreachable((destination.number, reach), error, now)
    }

    /// Until when the servers of a destination are left alone, which could not be reached, and why.
    pub(in crate::delivery::direct) fn rests(
        &self,
        destination: Destination,
        now: Timestamp,
    ) -> Option<(Timestamp, &str)> {
        self.reach.get(&destination)?.rests(now)
    }
}
