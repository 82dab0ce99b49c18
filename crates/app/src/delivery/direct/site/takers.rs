//! Whose mail a site took lately, and so whose word holds for the site.
//!
//! A site has the name that its servers have in common: the registered part of theirs. Whoever has a machine under a
//! hoster's name is of the hoster's site by that, and could say what he likes in the name of all. So what a set of servers
//! says about us holds for the whole site only where the set takes mail of several projects, or nobody else's mail would
//! suffer.

use std::collections::HashMap;
use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use super::trust::ServerSet;

/// How long it is remembered that there was mail of a project.
const LATELY: Duration = Duration::from_hours(1);
/// Sets of servers of a site of which it is remembered.
const MOST_SETS: usize = 256;

/// The last two projects that there was mail of.
#[derive(Debug, Default)]
pub(in crate::delivery::direct) struct LastProjects {
    last: Option<(ProjectNumber, Timestamp)>,
    other: Option<(ProjectNumber, Timestamp)>,
}

impl LastProjects {
    /// There was mail of a project.
    pub(in crate::delivery::direct) fn note(&mut self, project: ProjectNumber, now: Timestamp) {
        if self.last.is_some_and(|(last, _)| last != project) {
            self.other = self.last;
        }
        self.last = Some((project, now));
    }

    /// Whether there was mail of several projects lately.
    pub(in crate::delivery::direct) fn are_several(&self, now: Timestamp) -> bool {
        is_lately(self.last, now) && is_lately(self.other, now)
    }
}

fn is_lately(at: Option<(ProjectNumber, Timestamp)>, now: Timestamp) -> bool {
    at.is_some_and(|(_, at)| now.since(at) < LATELY)
}

/// Whose mail the sets of servers of a site took lately.
#[derive(Debug, Default)]
pub(super) struct Takers(HashMap<ServerSet, LastProjects>);

impl Takers {
    /// A set of servers said what became of a project's mail.
    pub(super) fn note(&mut self, set: ServerSet, project: ProjectNumber, now: Timestamp) {
        if !self.0.contains_key(&set) && self.0.len() >= MOST_SETS {
            self.0.retain(|_, projects| is_lately(projects.last, now));
            if self.0.len() >= MOST_SETS {
                return;
            }
        }
        self.0.entry(set).or_default().note(project, now);
    }

    /// Whether a set of servers took mail of several projects.
    pub(super) fn is_shared(&self, set: ServerSet, now: Timestamp) -> bool {
        self.0.get(&set).is_some_and(|projects| projects.are_several(now))
    }

    /// Whether no other set of servers took mail lately.
    pub(super) fn is_alone(&self, set: ServerSet, now: Timestamp) -> bool {
        self.0.iter().all(|(other, projects)| *other == set || !is_lately(projects.last, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ServerSet = ServerSet(1);
    const TWO: ServerSet = ServerSet(2);
    const A: ProjectNumber = ProjectNumber(1);
    const B: ProjectNumber = ProjectNumber(2);

    #[test]
    fn a_set_is_shared_while_it_takes_mail_of_several() {
        let (now, mut takers) = (Timestamp(1_000), Takers::default());
        let later = now.plus(LATELY);
        takers.note(ONE, A, now);
        takers.note(TWO, A, now);
        takers.note(TWO, B, now);
        takers.note(TWO, B, now);
        assert_eq!((takers.is_shared(ONE, now), takers.is_shared(TWO, now)), (false, true));
        takers.note(TWO, B, later);
        assert!(!takers.is_shared(TWO, later), "of one of them the mail is long ago");
        assert_eq!((takers.is_alone(ONE, now), takers.is_alone(TWO, later)), (false, true));
    }

    #[test]
    fn so_many_sets_are_remembered() {
        let (now, mut takers) = (Timestamp(1_000), Takers::default());
        for set in 0..=MOST_SETS as u64 {
            takers.note(ServerSet(set), A, now);
        }
        assert_eq!(takers.0.len(), MOST_SETS);
        takers.note(ServerSet(1_000), A, now.plus(LATELY));
        assert_eq!(takers.0.len(), 1);
    }
}
