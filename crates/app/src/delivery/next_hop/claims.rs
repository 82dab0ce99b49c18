//! What feeders ask: how much is claimed, of whom, and what is given back.

use std::time::Duration;

use mailwright_core::ids::ProjectNumber;

use super::hop::NextHop;
use super::state::Withdrawn;
use crate::delivery::dispatcher::Dispatcher;

/// How often a feeder looks whether the next hop is back.
const LOOK: Duration = Duration::from_millis(250);
/// Mails claimed ahead for each connection that the next hop takes, at most; and for how many connections at least.
const AHEAD: (usize, usize) = (4, 8);
/// The fewest mails claimed ahead.
const FEWEST_AHEAD: usize = 4;

impl NextHop {
    /// For how long feeders claim nothing and give back what waits in memory: as long as nothing can be handed over.
    pub(in crate::delivery) fn rests(&self) -> Option<Duration> {
        let now = self.now();
        self.state().pool.rests(now).map(|rest| rest.max(LOOK))
    }

    /// How many mails of a project are to be in memory, at most; `None` for any number.
    pub(in crate::delivery) fn keeps(&self, project: ProjectNumber) -> Option<usize> {
        let now = self.now();
        let state = self.state();
        let (most, _) = state.keeps(project, now)?;
        // nothing is claimed long before it may be tried
        let is_soon = state.may_try(project, now).map_or_else(|at| at.since(now) <= LOOK, |()| true);
        Some(if is_soon { most } else { 0 })
    }

    /// For how long nothing of a project is taken; `None` while something is, or may be tried.
    pub(in crate::delivery) fn refuses(&self, project: ProjectNumber) -> Option<Duration> {
        let now = self.now();
        self.state().refusals.waits(project, now)
    }

    /// How many mails of a lane are claimed ahead: what leaves in a second, but no fewer than there are connections,
    /// and no more than a few for each.
    pub(in crate::delivery) fn ahead(&self) -> usize {
        let now = self.now();
        let state = self.state();
        let allowed = state.pool.allowed();
        let most = AHEAD.0 * allowed.max(AHEAD.1);
        (state.ended.per_second(now).ceil() as usize).clamp(allowed.max(FEWEST_AHEAD), most)
    }

    /// Of how many projects mail is claimed, whatever is claimed of others: there could be a connection for each.
    pub(in crate::delivery) fn seats(&self) -> usize {
        self.configured.max(AHEAD.1)
    }

    /// Takes out of the queues what is not to be tried for a while, to be given back.
    pub(in crate::delivery) fn withdraw(&self, dispatcher: &Dispatcher) -> Vec<Withdrawn> {
        let now = self.now();
        self.state().withdraw(dispatcher, self.transport(), now)
    }
}
