//! Questions to SpamAssassin, which are bounded: it takes seconds for a mail, and a processor.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_mail::spamd::{self, SpamReport};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::error::{Error, Result};

/// Questions that this process asks at once. Each project asks one.
const AT_ONCE: usize = 4;
/// How long a question waits until another one has its answer.
const WAIT: Duration = Duration::from_secs(20);

/// What SpamAssassin makes of a mail, or why it was not asked.
pub type Spam = std::result::Result<SpamReport, String>;

/// The questions that are under way.
#[derive(Debug)]
pub(crate) struct SpamQuestions {
    places: Semaphore,
    projects: Mutex<HashSet<ProjectNumber>>,
}

impl Default for SpamQuestions {
    fn default() -> Self {
        Self { places: Semaphore::new(AT_ONCE), projects: Mutex::default() }
    }
}

/// The question that a project may ask, until this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'q> {
    all: &'q SpamQuestions,
    project: ProjectNumber,
}

impl SpamQuestions {
    /// Takes the turn of a project; an error while it has a question under way.
    pub(super) fn begin(&self, project: ProjectNumber) -> Result<Turn<'_>> {
        if !self.lock().insert(project) {
            return Err(Error::QueueFull(
                "SpamAssassin judges 1 mail of a project at a time, which is the limit. Try again when the check that is \
                 under way has its answer."
                    .into(),
            ));
        }
        Ok(Turn { all: self, project })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<ProjectNumber>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Asks the `spamd` at an address.
    pub(super) async fn ask(&self, address: &str, mail: &[u8]) -> Spam {
        self.ask_within(WAIT, address, mail).await
    }

    async fn ask_within(&self, wait: Duration, address: &str, mail: &[u8]) -> Spam {
        let place = timeout(wait, self.all.places.acquire()).await;
        let Ok(Ok(_place)) = place else {
            return Err(
                "SpamAssassin was not asked: it judges mails of other projects. Try again later.".into()
            );
        };
        spamd::check(address, mail).await.map_err(|error| {
            tracing::warn!(%error, "spamd did not judge a mail");
            format!("SpamAssassin was asked in vain: {error}.")
        })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.all.lock().remove(&self.project);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_project_asks_one_question_at_a_time() {
        let questions = SpamQuestions::default();
        let first = questions.begin(ProjectNumber(1)).unwrap();
        assert!(matches!(questions.begin(ProjectNumber(1)), Err(Error::QueueFull(_))));
        let other = questions.begin(ProjectNumber(2)).unwrap();
        drop(first);
        questions.begin(ProjectNumber(1)).unwrap();
        // nothing listens there
        assert!(other.ask("127.0.0.1:1", b"").await.is_err());
    }

    #[tokio::test]
    async fn a_question_does_not_wait_for_ever() {
        let questions = SpamQuestions::default();
        let places = questions.places.acquire_many(AT_ONCE as u32).await.unwrap();
        let turn = questions.begin(ProjectNumber(1)).unwrap();
        let refused = turn.ask_within(Duration::from_millis(10), "127.0.0.1:1", b"").await.unwrap_err();
        assert!(refused.contains("other projects"), "{refused}");
        drop(places);
    }
}
