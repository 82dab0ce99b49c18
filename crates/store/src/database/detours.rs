//! Groups of writes that have to run on the coordinator of a cluster, because they change rows of the instance.
//!
//! One that is sent to the worker of its project only to find that out costs twice. So it is remembered for a while of which
//! kind of write of which project that was.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mailwright_core::ids::ProjectNumber;

/// How long it is remembered.
const KEPT: Duration = Duration::from_mins(1);
/// Of how many kinds and projects at most.
const MOST: usize = 20_000;

#[derive(Debug, Default)]
pub(crate) struct Detours(Mutex<HashMap<(usize, ProjectNumber), Instant>>);

impl Detours {
    /// Notes that writes of a kind have to run on the coordinator for a project.
    pub(crate) fn note(&self, kind: usize, project: ProjectNumber) {
        let (mut noted, now) = (self.0.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        if noted.len() >= MOST {
            noted.retain(|_, since| now.duration_since(*since) < KEPT);
        }
        if noted.len() < MOST {
            noted.insert((kind, project), now);
        }
    }

    /// Whether that was noted a while ago.
    pub(crate) fn is_noted(&self, kind: usize, project: ProjectNumber) -> bool {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.get(&(kind, project)).is_some_and(|since| since.elapsed() < KEPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_noted() {
        let detours = Detours::default();
        assert!(!detours.is_noted(1, ProjectNumber(1)));
        for project in 0..=MOST as i64 {
            detours.note(1, ProjectNumber(project));
        }
        assert!(detours.is_noted(1, ProjectNumber(1)) && !detours.is_noted(2, ProjectNumber(1)));
        assert!(!detours.is_noted(1, ProjectNumber(MOST as i64)), "there is no room for more");
    }
}
