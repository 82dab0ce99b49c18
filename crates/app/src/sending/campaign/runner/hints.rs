//! What wakes the work of campaigns in this process, and says which of them may be over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mailwright_core::ids::{CampaignId, ProjectNumber};

use crate::background::runner::Waker;

/// Wakes the campaigns' work of this process, and tells it which campaigns may be over.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    pub(super) waker: Waker,
    settled: Mutex<BTreeMap<ProjectNumber, BTreeSet<CampaignId>>>,
}

impl Hints {
    /// Says that there is something to do. This is a hint: work that nobody announced is found as well.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Says that a mail of a campaign is settled, which may have been the last.
    pub(crate) fn settled(&self, project: ProjectNumber, campaign: CampaignId) {
        self.lock().entry(project).or_default().insert(campaign);
    }

    /// The projects with a settled mail.
    pub(super) fn with_settled(&self) -> Vec<ProjectNumber> {
        self.lock().keys().copied().collect()
    }

    /// The campaigns of a project with mails that were settled since the last call.
    pub(super) fn take_settled(&self, project: ProjectNumber) -> BTreeSet<CampaignId> {
        self.lock().remove(&project).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ProjectNumber, BTreeSet<CampaignId>>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
