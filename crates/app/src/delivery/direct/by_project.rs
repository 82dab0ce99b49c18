//! What goes on, counted by project.

use std::collections::HashMap;

use mailwright_core::ids::ProjectNumber;

/// How many there are, and how many of them each project has, of those with any.
#[derive(Debug, Default)]
pub(in crate::delivery::direct) struct ByProject {
    pub(in crate::delivery::direct) all: usize,
    projects: HashMap<ProjectNumber, usize>,
}

impl ByProject {
    pub(in crate::delivery::direct) fn add(&mut self, project: ProjectNumber) {
        self.all += 1;
        *self.projects.entry(project).or_default() += 1;
    }

    pub(in crate::delivery::direct) fn remove(&mut self, project: ProjectNumber) {
        self.all = self.all.saturating_sub(1);
        if let Some(count) = self.projects.get_mut(&project) {
            *count -= 1;
            if *count == 0 {
                self.projects.remove(&project);
            }
        }
    }

    /// How many a project has.
    pub(in crate::delivery::direct) fn of(&self, project: ProjectNumber) -> usize {
        self.projects.get(&project).copied().unwrap_or_default()
    }
}
