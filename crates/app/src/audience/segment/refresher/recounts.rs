//! The counts that are to be taken again, because members of a segment changed that shows a count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mailwright_core::ids::{ProjectNumber, SegmentId};
use mailwright_core::time::Timestamp;

/// Tracked segments whose members are not all enrolled show a count, which is taken again after members changed.
#[derive(Default)]
pub(super) struct Recounts(BTreeMap<(ProjectNumber, SegmentId), Recount>);

/// The recounts that are wanted, which are taken while contacts are judged.
pub(super) type Wanted = Arc<Mutex<Recounts>>;

pub(super) fn lock(wanted: &Wanted) -> MutexGuard<'_, Recounts> {
    wanted.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Recount {
    pub(super) wanted: bool,
    pub(super) not_before: Timestamp,
}

impl Recounts {
    pub(super) fn of(&mut self, project: ProjectNumber, segment: SegmentId) -> &mut Recount {
        self.0.entry((project, segment)).or_insert(Recount { wanted: false, not_before: Timestamp(0) })
    }

    pub(super) fn want(&mut self, project: ProjectNumber, segments: BTreeSet<SegmentId>) {
        for segment in segments {
            self.of(project, segment).wanted = true;
        }
    }

    /// The projects with counts to take now. What is neither wanted nor to be waited for is forgotten.
    pub(super) fn due(&mut self, now: Timestamp) -> BTreeSet<ProjectNumber> {
        self.0.retain(|_, recount| recount.wanted || recount.not_before > now);
        let due = self.0.iter().filter(|(_, recount)| recount.is_due(now));
        due.map(|((project, _), _)| *project).collect()
    }

    /// Takes the next count of a project to take now. It is wanted again if members change from here on.
    pub(super) fn take(&mut self, project: ProjectNumber, now: Timestamp) -> Option<SegmentId> {
        let mut due = self.0.iter_mut().filter(|((of, _), recount)| *of == project && recount.is_due(now));
        let ((_, segment), recount) = due.next()?;
        recount.wanted = false;
        Some(*segment)
    }
}

impl Recount {
    fn is_due(&self, now: Timestamp) -> bool {
        self.wanted && self.not_before <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_taken_once_and_again_when_members_change_meanwhile() {
        let (project, other) = (ProjectNumber(1), ProjectNumber(2));
        let segment = SegmentId::new(Timestamp(1), rand::random());
        let mut recounts = Recounts::default();
        recounts.want(project, BTreeSet::from([segment]));
        assert_eq!(recounts.due(Timestamp(10)), BTreeSet::from([project]));
        assert_eq!(recounts.take(other, Timestamp(10)), None);
        assert_eq!(recounts.take(project, Timestamp(10)), Some(segment));
        assert_eq!(recounts.take(project, Timestamp(10)), None, "it is being taken");
        assert!(recounts.due(Timestamp(10)).is_empty());

        recounts.want(project, BTreeSet::from([segment]));
        recounts.of(project, segment).not_before = Timestamp(20);
        assert!(recounts.due(Timestamp(19)).is_empty(), "it has to wait");
        assert_eq!(recounts.due(Timestamp(20)), BTreeSet::from([project]));
        assert_eq!(recounts.take(project, Timestamp(20)), Some(segment));
        recounts.due(Timestamp(20));
        assert!(recounts.0.is_empty(), "what nobody wants is forgotten");
    }
}
