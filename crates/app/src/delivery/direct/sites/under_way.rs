//! The mails under way to sites that might keep them for long, by how much is known of each site.

use mailwright_core::ids::ProjectNumber;

use crate::delivery::direct::by_project::ByProject;
use crate::delivery::direct::site::Standing;

const ANSWERING: usize = 0;
const TRIES: usize = 1;
const HANGING: usize = 2;

/// The place of a kind among those that count.
fn kind(standing: Standing) -> Option<usize> {
    match standing {
        Standing::Proven => None,
        Standing::Answers => Some(ANSWERING),
        Standing::Unknown => Some(TRIES),
        Standing::Hangs => Some(HANGING),
    }
}

/// The mails under way to sites that are not proven to answer.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// Those to sites that have answered a mail lately, tries at sites of which that is not known, and those to sites
    /// that hang.
    kinds: [ByProject; 3],
    /// To whatever sites, those of which an answer is slow.
    pub(super) slow: ByProject,
}

impl UnderWay {
    /// Those to sites that stand so; `None` where they do not count.
    pub(super) fn alike(&self, standing: Standing) -> Option<&ByProject> {
        kind(standing).map(|kind| &self.kinds[kind])
    }

    /// Tries: those to sites of which it is not known whether they answer.
    pub(super) fn tries(&self) -> &ByProject {
        &self.kinds[TRIES]
    }

    /// Those to sites that hang.
    pub(super) fn hanging(&self) -> &ByProject {
        &self.kinds[HANGING]
    }

    pub(super) fn add(&mut self, project: ProjectNumber, standing: Standing) {
        if let Some(kind) = kind(standing) {
            self.kinds[kind].add(project);
        }
    }

    pub(super) fn remove(&mut self, project: ProjectNumber, standing: Standing) {
        if let Some(kind) = kind(standing) {
            self.kinds[kind].remove(project);
        }
    }

    /// Whether a project has none.
    pub(super) fn has_none_of(&self, project: ProjectNumber) -> bool {
        self.kinds.iter().all(|kind| kind.of(project) == 0)
    }

    /// All of them.
    pub(super) fn all(&self) -> usize {
        self.kinds.iter().map(|kind| kind.all).sum()
    }
}
