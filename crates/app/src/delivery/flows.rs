//! The claimed mails of a lane, by project and by where they go to.

use std::collections::HashMap;

use mailwright_core::ids::ProjectNumber;
use mailwright_core::routing::TransportNumber;
use mailwright_store::sending::email::Claimed;

use super::turns::{Shares, Turns};

/// Where a mail goes next: by a transport, to the one next hop that takes all mail, or to the mail servers of a
/// recipient's domain, as this process numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Destination {
    pub(super) transport: TransportNumber,
    /// 0 where the transport has one next hop.
    pub(super) number: u32,
}

impl Destination {
    /// The next hop that takes all mail of a transport.
    pub(super) fn by(transport: TransportNumber) -> Self {
        Self { transport, number: 0 }
    }
}

/// The mails of a project for a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Flow {
    pub(super) project: ProjectNumber,
    pub(super) destination: Destination,
}

/// The claimed mails of a lane. Projects take turns, and in the turns of a project its destinations, so that a project
/// with mail for many destinations has no more turns than another.
#[derive(Debug, Default)]
pub(super) struct LaneQueue {
    turns: Turns<ProjectNumber>,
    projects: HashMap<ProjectNumber, Shares<Destination, Claimed>>,
    len: usize,
}

impl LaneQueue {
    pub(super) fn push(&mut self, destination: Destination, mail: Claimed) {
        let project = mail.project;
        self.projects.entry(project).or_default().push(destination, mail);
        self.turns.join(project);
        self.len += 1;
    }

    /// The next mail of a flow that `admits` lets pass, and where it goes: of the projects that have a rank, that
    /// of the lowest whose turn it is.
    pub(super) fn pop_by(
        &mut self,
        mut rank: impl FnMut(ProjectNumber) -> Option<usize>,
        mut admits: impl FnMut(Flow) -> bool,
    ) -> Option<(Destination, Claimed)> {
        let projects = &self.projects;
        let project = self.turns.next_by(|project| {
            let rank = rank(project)?;
            projects.get(&project)?.has(|destination| admits(Flow { project, destination })).then_some(rank)
        })?;
        let shares = self.projects.get_mut(&project)?;
        let popped = shares.pop_by(|destination| admits(Flow { project, destination }).then_some(0));
        if shares.len() == 0 {
            self.projects.remove(&project);
        } else {
            self.turns.join(project);
        }
        self.len -= usize::from(popped.is_some());
        popped
    }

    /// Takes back what a flow has beyond so many mails, the last ones.
    pub(super) fn withdraw(&mut self, flow: Flow, keep: usize) -> Vec<Claimed> {
        self.take_back(flow, |shares| shares.withdraw(flow.destination, keep))
    }

    /// Takes back the mails of a flow that `is_meant` accepts.
    pub(super) fn extract(&mut self, flow: Flow, is_meant: impl FnMut(&Claimed) -> bool) -> Vec<Claimed> {
        self.take_back(flow, |shares| shares.extract(flow.destination, is_meant))
    }

    fn take_back(
        &mut self,
        Flow { project, .. }: Flow,
        take: impl FnOnce(&mut Shares<Destination, Claimed>) -> Vec<Claimed>,
    ) -> Vec<Claimed> {
        let Some(shares) = self.projects.get_mut(&project) else { return Vec::new() };
        let taken = take(shares);
        if shares.len() == 0 {
            self.projects.remove(&project);
            self.turns.leave(project);
        }
        self.len -= taken.len();
        taken
    }

    /// Each flow with how many mails it has.
    pub(super) fn queued(&self) -> impl Iterator<Item = (Flow, usize)> {
        self.projects.iter().flat_map(|(project, shares)| {
            let flow = |destination| Flow { project: *project, destination };
            shares.queued().map(move |(destination, count)| (flow(destination), count))
        })
    }

    /// How many mails a project has.
    pub(super) fn queued_for(&self, project: ProjectNumber) -> usize {
        self.projects.get(&project).map_or(0, Shares::len)
    }

    /// How many projects have mails.
    pub(super) fn projects(&self) -> usize {
        self.projects.len()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Everything, in the order in which it would have been served.
    pub(super) fn drain(&mut self) -> Vec<Claimed> {
        std::iter::from_fn(|| self.pop_by(|_| Some(0), |_| true)).map(|(_, mail)| mail).collect()
    }
}
