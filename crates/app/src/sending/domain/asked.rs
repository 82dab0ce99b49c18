//! Look-ups that people ask for, which are bounded for each project: a name server that does not answer keeps each of
//! them for seconds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mailwright_core::ids::ProjectNumber;

use crate::error::{Error, Result};

/// Look-ups of one project's domains that are under way because somebody asked.
const AT_ONCE: usize = 16;

/// The look-ups that are under way.
#[derive(Debug, Clone, Default)]
pub(crate) struct AskedLookUps(Arc<Mutex<HashMap<ProjectNumber, usize>>>);

/// A look-up that is under way until this is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay {
    all: AskedLookUps,
    project: ProjectNumber,
}

impl AskedLookUps {
    /// Begins a look-up; an error when the project has too many under way.
    pub(crate) fn begin(&self, project: ProjectNumber) -> Result<UnderWay> {
        let mut all = self.lock();
        let count = all.entry(project).or_default();
        if *count >= AT_ONCE {
            return Err(Error::QueueFull(format!(
                "{AT_ONCE} domains of this project are being looked up at the moment. Try again when some of them are \
                 done."
            )));
        }
        *count += 1;
        Ok(UnderWay { all: self.clone(), project })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProjectNumber, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(count) = all.get_mut(&self.project) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.project);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_so_many_under_way_and_is_forgotten_afterwards() {
        let (all, project) = (AskedLookUps::default(), ProjectNumber(1));
        let mut under_way: Vec<_> = (0..AT_ONCE).map(|_| all.begin(project).unwrap()).collect();
        assert!(matches!(all.begin(project), Err(Error::QueueFull(_))));
        assert!(all.begin(ProjectNumber(2)).is_ok(), "another project has as many");
        under_way.pop();
        under_way.push(all.begin(project).unwrap());
        drop(under_way);
        assert!(all.lock().is_empty());
    }
}
