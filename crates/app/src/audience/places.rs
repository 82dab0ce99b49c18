//! Places for what a project may have under way at once in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use mailwright_core::ids::ProjectNumber;

/// How many each project has under way.
#[derive(Debug, Clone)]
pub(super) struct Places {
    most: usize,
    under_way: Arc<Mutex<HashMap<ProjectNumber, usize>>>,
}

impl Places {
    /// Places for so many of each project.
    pub(super) fn new(most: usize) -> Self {
        Self { most, under_way: Arc::default() }
    }

    /// A place; `None` if the project has as many as it may.
    pub(super) fn take(&self, project: ProjectNumber) -> Option<Place> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let number = under_way.entry(project).or_default();
        if *number >= self.most {
            return None;
        }
        *number += 1;
        Some(Place { places: self.clone(), project })
    }
}

/// A place, which is free again when this is dropped: also when the client goes before the end.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    project: ProjectNumber,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut under_way = self.places.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = under_way.get_mut(&self.project) {
            *number -= 1;
            if *number == 0 {
                under_way.remove(&self.project);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_so_many_places_and_each_is_free_again_when_it_is_left() {
        let places = Places::new(2);
        let (one, other) = (ProjectNumber(1), ProjectNumber(2));
        let taken: Vec<_> = (0..2).map(|_| places.take(one)).collect();
        assert!(taken.iter().all(Option::is_some));
        assert!(places.take(one).is_none());
        assert!(places.take(other).is_some(), "another project has its own");
        drop(taken);
        assert!(places.take(one).is_some());
        assert!(places.under_way.lock().unwrap().is_empty(), "nothing is kept of who has none under way");
    }
}
