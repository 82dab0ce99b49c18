//! The mails under way to sites that might keep them for long, by how much is known of each site.

use std::collections::HashMap;

use mailwright_core::ids::ProjectNumber;

use crate::delivery::direct::site::Standing;

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
}

/// The mails under way to sites that are not proven to answer.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// To sites that have answered a mail lately.
    pub(super) answering: ByProject,
    /// Tries: to sites of which it is not known whether they answer.
    pub(super) tries: ByProject,
    /// To sites that hang.
    pub(super) hanging: ByProject,
    /// To whatever sites, those of which an answer is slow.
    pub(super) slow: ByProject,
}

impl UnderWay {
    /// Those to sites that stand so; `None` where they do not count.
    pub(super) fn alike(&self, standing: Standing) -> Option<&ByProject> {
        match standing {
            Standing::Proven => None,
            Standing::Answers => Some(&self.answering),
            Standing::Unknown => Some(&self.tries),
            Standing::Hangs => Some(&self.hanging),
        }
    }

    fn counted(&mut self, standing: Standing) -> Option<&mut ByProject> {
        match standing {
            Standing::Proven => None,
            Standing::Answers => Some(&mut self.answering),
            Standing::Unknown => Some(&mut self.tries),
            Standing::Hangs => Some(&mut self.hanging),
        }
    }

    pub(super) fn add(&mut self, project: ProjectNumber, standing: Standing) {
        if let Some(counted) = self.counted(standing) {
            counted.add(project);
        }
    }

    pub(super) fn remove(&mut self, project: ProjectNumber, standing: Standing) {
        if let Some(counted) = self.counted(standing) {
            counted.remove(project);
        }
    }

    /// Whether a project has none.
    pub(super) fn has_none_of(&self, project: ProjectNumber) -> bool {
        [&self.answering, &self.tries, &self.hanging].iter().all(|kind| kind.of(project) == 0)
    }

    /// All of them.
    pub(super) fn all(&self) -> usize {
        self.answering.all + self.tries.all + self.hanging.all
    }
}
