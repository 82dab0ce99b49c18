//! How many requests are under way, so that a host that answers slowly keeps no other one waiting.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mailwright_core::ids::ProjectNumber;

/// The most requests of this process: some of those that the HTTP client makes at the same time.
const ALL: usize = 48;
/// The most of a project.
const OF_PROJECT: usize = 16;
/// The most of a project while fewer than half of all places are free.
const OF_PROJECT_BUSY: usize = 4;
/// So many places are for projects that have no request under way.
const FOR_OTHERS: usize = 12;
/// The most of a project to one host: half of those that the HTTP client makes to it, since others may use it as well.
const TO_HOST: usize = 4;

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    projects: BTreeMap<ProjectNumber, BTreeMap<String, usize>>,
}

/// The requests under way.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnderWay(Arc<Mutex<Counts>>);

impl UnderWay {
    /// How many more requests a project may make.
    pub(super) fn room(&self, project: ProjectNumber) -> usize {
        let counts = self.lock();
        let made: usize = counts.projects.get(&project).into_iter().flat_map(BTreeMap::values).sum();
        let most = match counts.all {
            all if all < ALL / 2 => OF_PROJECT,
            all if all < ALL - FOR_OTHERS => OF_PROJECT_BUSY,
            _ => 1,
        };
        most.saturating_sub(made).min(ALL.saturating_sub(counts.all))
    }

    /// How many more it may make to a host, if it may make any.
    pub(super) fn room_for(&self, project: ProjectNumber, host: &str) -> usize {
        let counts = self.lock();
        let made = counts.projects.get(&project).and_then(|hosts| hosts.get(host)).copied().unwrap_or(0);
        TO_HOST.saturating_sub(made)
    }

    /// Counts a request until its place is dropped.
    pub(super) fn enter(&self, project: ProjectNumber, host: &str) -> Place {
        let mut counts = self.lock();
        counts.all += 1;
        *counts.projects.entry(project).or_default().entry(host.to_owned()).or_default() += 1;
        Place { of: self.clone(), project, host: host.to_owned() }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a request, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    of: UnderWay,
    project: ProjectNumber,
    host: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.of.lock();
        counts.all = counts.all.saturating_sub(1);
        let Some(hosts) = counts.projects.get_mut(&self.project) else { return };
        if let Some(made) = hosts.get_mut(&self.host) {
            *made -= 1;
        }
        hosts.retain(|_, made| *made > 0);
        if hosts.is_empty() {
            counts.projects.remove(&self.project);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_a_host_nor_a_project_takes_all_places() {
        let (under_way, one) = (UnderWay::default(), ProjectNumber(1));
        let mut places: Vec<Place> = (0..TO_HOST).map(|_| under_way.enter(one, "slow")).collect();
        assert_eq!((under_way.room_for(one, "slow"), under_way.room_for(one, "other")), (0, TO_HOST));
        assert_eq!(under_way.room(one), OF_PROJECT - TO_HOST);
        places.extend((TO_HOST..OF_PROJECT).map(|n| under_way.enter(one, &n.to_string())));
        assert_eq!((under_way.room(one), under_way.room(ProjectNumber(2))), (0, OF_PROJECT));
        drop(places);
        assert_eq!((under_way.room(one), under_way.room_for(one, "slow")), (OF_PROJECT, TO_HOST));
        assert!(under_way.lock().projects.is_empty(), "nothing is remembered of them");
    }

    #[test]
    fn the_last_places_are_for_those_who_have_none() {
        let under_way = UnderWay::default();
        let mut places = Vec::new();
        for project in 1..100 {
            let project = ProjectNumber(project);
            while under_way.room(project) > 0 && places.len() < ALL - FOR_OTHERS {
                places.push(under_way.enter(project, &places.len().to_string()));
            }
        }
        assert_eq!(places.len(), ALL - FOR_OTHERS);
        assert_eq!((under_way.room(ProjectNumber(1)), under_way.room(ProjectNumber(100))), (0, 1));
    }

    #[test]
    fn all_projects_together_are_bounded() {
        let under_way = UnderWay::default();
        let _places: Vec<Place> = (0..ALL).map(|n| under_way.enter(ProjectNumber(n as i64), "a")).collect();
        assert_eq!(under_way.room(ProjectNumber(1000)), 0);
    }
}
