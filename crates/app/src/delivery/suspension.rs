//! Disabling projects: by the operator, and by the service itself if too much of a project's mail comes back.
//!
//! A project is judged after mails of it bounced or were complained about, by sums that are kept with the mails
//! (`delivery_stats`). The worker that records such a mail only notes the project. A task judges each noted project
//! once, at most ten times a second, however many mails came back. A critical project is disabled in one transaction
//! with the entry in the audit log and the mails to its members.
//!
//! Judgement runs after the commit, since two concurrent transactions cannot see each other's bounces. The notes are
//! lost with the process, so the maintenance judges every project as well. Re-enabling a project stores its totals so
//! far as a baseline, which later judgements subtract. A reset keeps the baseline.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::ids::{ProjectId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::reputation::{Health, Level};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::delivery::delivery_stats;
use mailwright_store::delivery::suspension as store;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::project::member;
use mailwright_store::{Tx, project};
use serde_json::json;

use crate::App;
use crate::background::runner::{Next, Runner, Waker, Work};
use crate::background::tasks::Tasks;
use crate::delivery::remembered::Remembered;
use crate::delivery::reputation::evidence;
use crate::error::{Error, Resource, Result};
use crate::project::member::MOST;
use crate::sending::system_mail::{SystemSender, enqueue};

/// The shortest time between two judgements of a project.
const ROUND: Duration = Duration::from_millis(100);
/// How often it is looked for projects that were noted.
const SWEEP: Duration = Duration::from_secs(10);
/// How often the operator is told of a project that should be disabled and is not.
const TOLD_EVERY: Duration = Duration::from_hours(1);

/// Projects whose mail came back, to be judged.
#[derive(Debug)]
pub(crate) struct ReputationQueue {
    noted: Mutex<BTreeSet<ProjectNumber>>,
    waker: Waker,
    /// The projects that the operator was told of lately.
    told: Remembered<ProjectNumber, ()>,
}

impl Default for ReputationQueue {
    fn default() -> Self {
        Self { noted: Mutex::default(), waker: Waker::default(), told: Remembered::lasting(TOLD_EVERY) }
    }
}

impl ReputationQueue {
    /// Notes that a mail of a project bounced, or that somebody complained about it.
    pub(crate) fn note(&self, project: ProjectNumber) {
        if self.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(project) {
            self.waker.wake();
        }
    }

    fn take(&self) -> BTreeSet<ProjectNumber> {
        std::mem::take(&mut self.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the operator is to be told of a project now.
    fn is_to_tell(&self, project: ProjectNumber, now: Timestamp) -> bool {
        self.told.is_news(project, now)
    }
}

/// Judges the projects that were noted.
struct Judging(App);

pub(crate) fn start(app: &App, tasks: &Tasks) {
    let runner =
        Runner::new(app, "reputation", SWEEP).woken_by(&app.0.delivery.reputation_queue.waker).resting(ROUND);
    runner.start(tasks, Judging(app.clone()));
}

impl Work for Judging {
    /// Each project is judged once, however many of its mails came back. Projects that could not be judged are noted
    /// again.
    async fn round(&mut self) -> Result<Next> {
        let Self(app) = self;
        let mut failed = None;
        for number in app.0.delivery.reputation_queue.take() {
            match AssertUnwindSafe(app.judge(number)).catch_unwind().await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(%error, project = number.0, "a project could not be judged, trying again");
                    app.0.delivery.reputation_queue.note(number);
                    failed = Some(error);
                }
                // the maintenance judges it again
                Err(_) => tracing::error!(project = number.0, "judging a project panicked"),
            }
        }
        failed.map_or(Ok(Next::Woken), Err)
    }
}

impl App {
    /// Disables a project whose stats are critical, unless the operator wants to be told only.
    pub(crate) async fn judge(&self, number: ProjectNumber) -> Result<()> {
        let now = self.0.clock.now();
        let found = self.read(body!(async |rx| evidence(rx, number, now).await)).await?;
        let Some((project, stats)) = found else { return Ok(()) };
        let health = Health::of(&stats);
        if project.disabled || project.is_system() || health.worst() < Level::Critical {
            return Ok(());
        }
        let reason = health.words(Level::Critical).join(" ");
        if self.settings().auto_project_disable {
            return self.suspend(&project, reason).await;
        }
        if self.0.delivery.reputation_queue.is_to_tell(number, now) {
            tracing::warn!(project = %project.id, reason, "a project should be disabled");
        }
        Ok(())
    }

    /// Disables a project and tells its members, if they can be told.
    async fn suspend(&self, project: &Project, reason: String) -> Result<()> {
        let sender = match self.system_sender().await {
            Ok(sender) => sender,
            // tried again: once the project is disabled, nobody would tell them any more
            Err(error) if error.is_unavailable() => return Err(error),
            Err(error) => {
                tracing::error!(%error, "members cannot be told that their project is disabled");
                None
            }
        };
        let mut suspended = self.stop(project, &reason, sender.clone()).await;
        if let Err(error @ Error::NoOwnSender) = &suspended {
            tracing::error!(%error, "members are not told that their project is disabled");
            suspended = self.stop(project, &reason, None).await;
        }
        if !suspended? {
            return Ok(());
        }
        tracing::warn!(project = %project.id, reason, "a project was disabled, because too much of its mail \
                                                       bounced or was complained about");
        if let Some(sender) = &sender {
            self.wake_system_mail(sender);
        }
        Ok(())
    }

    /// Disables a project and, given a sender, writes the mails to its members, in one transaction. False when it is
    /// disabled already.
    async fn stop(&self, project: &Project, reason: &str, sender: Option<SystemSender>) -> Result<bool> {
        let (app, of, why, now) = (self.clone(), project.clone(), reason.to_owned(), self.0.clock.now());
        self.write_in_background(body!(async |tx| {
            // the operator may have looked at it and enabled it meanwhile
            let health = evidence(tx, of.number, now).await?.map(|(_, stats)| Health::of(&stats));
            if health.is_none_or(|health| health.worst() < Level::Critical) {
                return Ok(false);
            }
            if !disable(tx, of.number, &Actor::Service, &why, now).await? {
                return Ok(false);
            }
            if let Some(sender) = sender {
                app.tell_members(tx, &sender, &of, &why).await?;
            }
            Ok(true)
        }))
        .await
    }

    async fn tell_members(
        &self,
        tx: &mut Tx<'_>,
        sender: &SystemSender,
        project: &Project,
        reason: &str,
    ) -> Result<()> {
        let members = member::list(tx, project.number, MOST).await?;
        let mails: Vec<_> = members
            .into_iter()
            .map(|member| self.suspension_notice(sender, member.email, &project.name, reason))
            .collect();
        enqueue(tx, &mails).await
    }

    /// Disables a project, for its operator: reading works, writing and sending do not. False when it is disabled.
    pub async fn disable_project(&self, id: ProjectId, reason: String) -> Result<bool> {
        let now = self.0.clock.now();
        self.as_operator(id, move |tx, number| {
            Box::pin(async move { disable(tx, number, &Actor::Operator, &reason, now).await })
        })
        .await
    }

    /// Enables a project again. How its mail was received until now is not held against it any more. False when it is
    /// not disabled.
    pub async fn enable_project(&self, id: ProjectId) -> Result<bool> {
        let now = self.0.clock.now();
        self.as_operator(id, move |tx, number| {
            Box::pin(async move {
                let baseline = delivery_stats::read(tx, number, now).await?.baseline();
                if !store::end(tx, number, &baseline, now).await? {
                    return Ok(false);
                }
                let entry = Entry::of_project(Action::ProjectEnabled);
                audit::record(tx, number, &Actor::Operator, &entry, now).await?;
                Ok(true)
            })
        })
        .await
    }

    async fn as_operator<F>(&self, id: ProjectId, change: F) -> Result<bool>
    where
        F: for<'t> FnOnce(
                &'t mut Tx<'_>,
                ProjectNumber,
            ) -> futures_util::future::BoxFuture<'t, mailwright_store::Result<bool>>
            + Clone
            + Send
            + 'static,
    {
        self.write(body!(async |tx| {
            let found = project::by_id(tx, id).await?;
            let project = found.ok_or_else(|| Error::not_found(Resource::Project, id))?;
            Ok(change(tx, project.number).await?)
        }))
        .await
    }
}

/// Disables a project; false when it is disabled already.
pub(crate) async fn disable(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    actor: &Actor,
    reason: &str,
    now: Timestamp,
) -> mailwright_store::Result<bool> {
    if !store::start(tx, number, reason, now).await? {
        return Ok(false);
    }
    let entry = Entry::of_project(Action::ProjectDisabled).with(json!({ "reason": reason }));
    audit::record(tx, number, actor, &entry, now).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_noted_once_however_many_mails_came_back() {
        let reputation_queue = ReputationQueue::default();
        for number in [1, 2, 1, 1] {
            reputation_queue.note(ProjectNumber(number));
        }
        assert_eq!(reputation_queue.take().len(), 2);
        assert!(reputation_queue.take().is_empty());
    }

    #[test]
    fn the_operator_is_told_once_an_hour() {
        let (reputation_queue, now) = (ReputationQueue::default(), Timestamp(0));
        let later = now.plus(TOLD_EVERY);
        let told: Vec<bool> = [now, now, later]
            .into_iter()
            .map(|at| reputation_queue.is_to_tell(ProjectNumber(1), at))
            .collect();
        assert_eq!(told, [true, false, true]);
    }
}
