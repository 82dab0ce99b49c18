//! Mails that are counted all together and for each project.

use std::collections::HashMap;

use mailwright_core::ids::ProjectNumber;

/// How many mails there are, and how many of them each project has, of those with any.
#[derive(Debug, Default)]
pub(super) struct ByProject {
    pub(super) all: usize,
    projects: HashMap<ProjectNumber, usize>,
}

impl ByProject {
    pub(super) fn add(&mut self, project: ProjectNumber) {
        self.all += 1;
        *self.projects.entry(project).or_default() += 1;
    }

    pub(super) fn remove(&mut self, project: ProjectNumber) {
        self.all = self.all.saturating_sub(1);
        if let Some(count) = self.projects.get_mut(&project) {
            *count -= 1;
            if *count == 0 {
                self.projects.remove(&project);
            }
        }
    }

    /// How many a project has.
    pub(super) fn of(&self, project: ProjectNumber) -> usize {
        self.projects.get(&project).copied().unwrap_or_default()
    }

    /// Whether nothing is kept any more.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.all == 0 && self.projects.is_empty()
    }
}
