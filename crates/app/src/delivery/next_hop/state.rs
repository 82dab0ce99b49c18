//! The state machines together: what is known about connections, rates and refusals.

use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::routing::TransportNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::sending::email::Claimed;

use super::pace::{Meter, Paces};
use super::pool::Pool;
use super::project_news::News;
use super::refusals::{Refusals, Verdict};
use crate::delivery::dispatcher::{Dispatcher, Taken};
use crate::delivery::flows::Flow;
use crate::delivery::hand_over::Reply;

/// When a mail is looked at again whose project has no turn for so long that it does not wait in memory.
const LATER: Duration = Duration::from_secs(1);

pub(super) struct State {
    pub(super) pool: Pool,
    pub(super) paces: Paces,
    pub(super) refusals: Refusals,
    /// Hand-overs that ended, however.
    pub(super) ended: Meter,
    /// The error when the next hop was last found unusable.
    pub(super) error: String,
    /// News about single projects, for the log.
    pub(super) news: News,
    /// When the metrics were last brought up to date because a mail was taken.
    pub(super) measured_at: Timestamp,
}

impl State {
    /// Whether mail of a project waits for others of it.
    pub(super) fn is_held_up(&self, project: ProjectNumber) -> bool {
        self.refusals.codes(project).is_some() || self.paces.rate_of(project).is_some()
    }

    /// Whether mail of a project may be handed over now; otherwise when that may have changed.
    pub(super) fn may_try(&self, project: ProjectNumber, now: Timestamp) -> Result<(), Timestamp> {
        if let Some(wait) = self.refusals.waits(project, now) {
            return Err(now.plus(wait));
        }
        self.paces.ready_at(project, now).map_or(Ok(()), Err)
    }

    /// How many mails of a project are held in memory at most, and when the others are looked at again. Without a limit
    /// unless the project waits.
    pub(super) fn keeps(&self, project: ProjectNumber, now: Timestamp) -> Option<(usize, Duration)> {
        if self.refusals.codes(project).is_some() {
            // one is tried when the time has come
            return Some(match self.refusals.waits(project, now) {
                Some(wait) => (0, wait),
                None => (1, LATER),
            });
        }
        let rate = self.paces.rate_of(project)?;
        let wait = self.paces.ready_at(project, now).map_or(LATER, |at| at.since(now).max(LATER));
        Some((rate.ceil().max(1.0) as usize, wait))
    }

    /// Removes mails from the queues that are not to be tried for a while.
    pub(super) fn withdraw(
        &self,
        dispatcher: &Dispatcher,
        transport: TransportNumber,
        now: Timestamp,
    ) -> Vec<Withdrawn> {
        if !self.refusals.is_any_kept_back() && !self.paces.is_any_slow() {
            return Vec::new();
        }
        let withdrawn = dispatcher.withdraw(|Flow { project, destination }, _| {
            let kept = (destination.transport == transport).then(|| self.keeps(project, now))?;
            kept.map(|(keep, _)| keep)
        });
        let explained = withdrawn.into_iter().map(|Taken { lane, flow: Flow { project, .. }, mails }| {
            let codes =
                self.refusals.codes(project).or_else(|| self.paces.codes(project)).unwrap_or_default();
            let why = format!(
                "The mail waits, because the next hop refuses mail of this project. Last: \
                               {codes}"
            );
            let wait = self.keeps(project, now).map_or(Duration::ZERO, |(_, wait)| wait);
            Withdrawn { lane, mails, wait, why }
        });
        explained.collect()
    }

    pub(super) fn conclude<'r>(
        &mut self,
        project: ProjectNumber,
        verdict: Verdict,
        reply: &'r Reply,
    ) -> Judgement<'r> {
        match verdict {
            Verdict::Mail { overtaken } => Judgement::Own { overtaken },
            Verdict::Project { wait, begins } => {
                // the text may name a recipient; each mail shows it
                self.error = reply.codes();
                if begins {
                    self.news.held(project, reply.codes());
                }
                Judgement::NotOwn(wait, reply)
            }
        }
    }
}

/// Mails of a project that are given back, since none is to be tried for a while.
pub(in crate::delivery) struct Withdrawn {
    pub(in crate::delivery) lane: Lane,
    pub(in crate::delivery) mails: Vec<Claimed>,
    pub(in crate::delivery) wait: Duration,
    pub(in crate::delivery) why: String,
}

/// Whether the end of a hand-over counts for the mail, or has a reason outside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::delivery) enum Judgement<'r> {
    /// The mail's. `overtaken` when other mail was taken since it was refused before.
    Own { overtaken: bool },
    /// The reason is outside the mail, which is tried again after this time. With the reply of the next hop.
    NotOwn(Duration, &'r Reply),
}
