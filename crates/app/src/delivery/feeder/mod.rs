//! Claims due mails into the queue. Each lane has a feeder of its own, so an urgent mail is not claimed after hundreds
//! of a campaign's.
//!
//! Projects take turns; the order outlives a round. While there is room, the next project in the ring has its turn: a
//! small one, or all the room if nobody else waits. A project without claimed mails has its turn at once, even when the
//! queue is full of the mail of others. A feeder learns about due mail from `wake`, and from a look at least every 250
//! ms ([`SWEEP`]).
//!
//! A turn is one transaction ([`claim`]).
//!
//! A failure affects only its project or its row. A project whose claim fails rests for a while (`rests.rs`), one whose
//! server is away until a look finds it again, and a row that cannot be read is settled by itself. Where a look fails,
//! the projects that are known have their turns all the same.

mod claim;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailwright_core::email::{EmailStatus, Lane};
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::Error as StoreError;
use mailwright_store::body;
use mailwright_store::sending::email::{self, Taken, Unreadable};

use crate::background::runner::{Next, Runner, Work, sweep_interval};
use crate::delivery::dispatcher::Load;
use crate::delivery::rests::Rests;
use crate::delivery::{Delivery, claim_ref, instance_rate, outcome};
use crate::error::Result;
use claim::{Claim, Claims, Rest};

/// How often a feeder looks for work that no waker announced, at most.
const SWEEP: Duration = Duration::from_millis(250);
/// After such a look the feeder waits this many times as long as the look took.
const SWEEP_SHARE: u32 = 10;
/// The longest time between two looks, however costly they are.
const LONGEST_SWEEP: Duration = Duration::from_secs(30);
/// Mails of a turn while several projects wait, at least; fewer if the next hop is slow.
const TURN: usize = 8;

/// Starts the feeder of a lane.
pub(super) fn start(delivery: &Arc<Delivery>, lane: Lane) {
    let app = &delivery.app;
    let runner = Runner::new(app, name(lane), SWEEP).woken_by(app.0.delivery.dispatcher.waker(lane));
    let feeder = Feeder {
        delivery: Arc::clone(delivery),
        lane,
        sweep_at: Timestamp(0),
        rests: Rests::default(),
        last: HashMap::new(),
    };
    runner.start(&delivery.tasks, feeder);
}

fn name(lane: Lane) -> &'static str {
    match lane {
        Lane::Transactional => "claims of transactional mail",
        Lane::Workflow => "claims of workflow mail",
        Lane::Campaign => "claims of campaign mail",
    }
}

/// The feeder of a lane.
struct Feeder {
    delivery: Arc<Delivery>,
    lane: Lane,
    /// When the feeder looks next for work that no waker announced.
    sweep_at: Timestamp,
    /// The projects that are left alone for a while.
    rests: Rests<ProjectNumber>,
    /// The campaign of each project that had the last turn.
    last: HashMap<ProjectNumber, CampaignId>,
}

impl Work for Feeder {
    async fn round(&mut self) -> Result<Next> {
        let now = self.delivery.now();
        self.delivery.app.0.delivery.dispatcher.feeder_seen(self.lane);
        if self.feed(now).await? {
            return Ok(Next::Now);
        }
        Ok(Next::In(self.next_look().since(self.delivery.now())))
    }

    async fn stop(&mut self) {
        self.give_back().await;
    }
}

impl Feeder {
    /// One round. Returns whether anything was claimed.
    async fn feed(&mut self, now: Timestamp) -> mailwright_store::Result<bool> {
        let delivery = Arc::clone(&self.delivery);
        let dispatcher = &delivery.app.0.delivery.dispatcher;
        dispatcher.add_due(self.lane, self.rests.over(now));
        if let Some(pause) = self.idle_for() {
            self.give_back().await;
            self.sweep_at = now.plus(pause.min(LONGEST_SWEEP));
            return Ok(false);
        }
        self.place_anew().await;
        // further away than any sweep where the clock was set back since
        let is_to_sweep = self.sweep_at <= now || self.sweep_at.since(now) > LONGEST_SWEEP;
        let swept = if is_to_sweep { self.sweep(now).await } else { Ok(()) };
        if dispatcher.is_superseded() {
            return swept.map(|()| false);
        }
        let settings = &self.delivery.app.settings().delivery;
        let capacity = instance_rate::ahead(self.delivery.outlets.ahead(), settings.instance_per_second);
        let room = capacity.saturating_sub(dispatcher.depth(self.lane));
        let worked = if room >= capacity.div_ceil(2) {
            self.fill(room, turn(capacity)).await?
        } else {
            self.welcome(capacity).await?
        };
        swept.map(|()| worked)
    }

    /// For how long nothing is claimed, since nothing may or can be handed over.
    fn idle_for(&self) -> Option<Duration> {
        if self.delivery.app.clock_is_right() { self.delivery.outlets.rest() } else { Some(SWEEP) }
    }

    /// Gives back what waits in memory: another process may be able to hand it over, and this one claims it again.
    async fn give_back(&self) {
        let left: Vec<_> =
            self.delivery.app.0.delivery.dispatcher.drain(self.lane).iter().map(claim_ref).collect();
        self.delivery.release(&left, self.delivery.now()).await;
    }

    /// Places what waits in memory for a transport that takes nothing: another may take it.
    async fn place_anew(&self) {
        let outlets = &self.delivery.outlets.all;
        if outlets.len() < 2 {
            return;
        }
        for outlet in outlets.iter().filter(|outlet| outlet.hop.rests().is_some()) {
            let mails = self.delivery.app.0.delivery.dispatcher.drain_for(self.lane, outlet.hop.transport());
            if !mails.is_empty() {
                self.delivery.place(self.lane, mails).await;
            }
        }
    }

    fn next_look(&self) -> Timestamp {
        self.rests.first().map_or(self.sweep_at, |first| first.min(self.sweep_at))
    }

    /// Looks which projects have mail due. The costlier the look, the rarer it is.
    async fn sweep(&mut self, now: Timestamp) -> mailwright_store::Result<()> {
        let began = Instant::now();
        let (superseded, projects) = self.delivery.app.projects_with_mail(self.lane, now).await?;
        self.note_superseded(superseded);
        self.delivery.app.0.delivery.dispatcher.add_due(self.lane, projects);
        let least = sweep_interval(&self.delivery.app, SWEEP);
        self.sweep_at = now.plus((began.elapsed() * SWEEP_SHARE).clamp(least, LONGEST_SWEEP));
        Ok(())
    }

    fn note_superseded(&self, superseded: bool) {
        if !self.delivery.app.0.delivery.dispatcher.set_superseded(superseded) {
            return;
        }
        if superseded {
            tracing::error!(
                "a newer version has migrated the database: this process hands over no more mail; update this \
                 process"
            );
        } else {
            tracing::info!("the database has the schema of this program again, mail is handed over");
        }
    }

    /// Fills the queue, one project after the other having a turn.
    async fn fill(&mut self, room: usize, turn_of: usize) -> mailwright_store::Result<bool> {
        let mut left = room;
        let mut worked = false;
        while left > 0 && !self.delivery.tasks.is_stopping() {
            let Some(turn) = self.delivery.app.0.delivery.dispatcher.next_due(self.lane, false) else {
                break;
            };
            let share = (room / turn.among).max(turn_of).min(left);
            let served = self.serve(turn.project, share).await?;
            left = left.saturating_sub(served.unwrap_or(0));
            worked |= served.is_some_and(|served| served > 0);
        }
        Ok(worked)
    }

    /// While the queue is full, claims a turn for each project that has no mail in it.
    async fn welcome(&mut self, capacity: usize) -> mailwright_store::Result<bool> {
        let delivery = Arc::clone(&self.delivery);
        let dispatcher = &delivery.app.0.delivery.dispatcher;
        let (turn_of, seats) = (turn(capacity), self.delivery.outlets.seats());
        let mut worked = false;
        while dispatcher.has_idle(self.lane) && has_room(dispatcher.load(self.lane), capacity, seats) {
            let Some(turn) = dispatcher.next_due(self.lane, true) else { break };
            worked |= self.serve(turn.project, turn_of).await?.is_some();
        }
        Ok(worked)
    }

    /// A project's turn. Returns how many mails were claimed; `None` when the project rests.
    async fn serve(
        &mut self,
        project: ProjectNumber,
        wanted: usize,
    ) -> mailwright_store::Result<Option<usize>> {
        // not that of the round: a mail that was accepted since would not be due yet, and nobody would announce it again
        let now = self.delivery.now();
        if self.rests.is_resting(project, now)
            || self.delivery.interventions.current().pauses_project(project)
        {
            return Ok(None);
        }
        // of a project that waits or is slow, little is claimed; the next look finds it again
        let mut wanted = wanted;
        if let Some(most) = self.delivery.keeps(project, self.lane) {
            let queued = self.delivery.app.0.delivery.dispatcher.queued_for(self.lane, project);
            wanted = wanted.min(most.saturating_sub(queued));
            if wanted == 0 {
                return Ok(None);
            }
        }
        let claims = match self.claim(project, wanted, now).await {
            Ok(claims) => claims,
            Err(error) => {
                self.not_claimed(project, error, now).await?;
                return Ok(None);
            }
        };
        // also over turns in which its rate was used up
        if let Some(last) = claims.last {
            self.last.insert(project, last);
        }
        let dispatcher = &self.delivery.app.0.delivery.dispatcher;
        match claims.next {
            Rest::Done => {
                self.rests.succeeded(project, None);
                self.last.remove(&project);
            }
            Rest::More => {
                self.rests.succeeded(project, None);
                dispatcher.add_due(self.lane, [project]);
            }
            Rest::In(pause) => self.rests.succeeded(project, Some(now.plus(pause))),
            Rest::Never => self.note_superseded(true),
        }
        for campaign in claims.skipped {
            self.delivery.app.campaign_hints().settled(project, campaign);
        }
        let count = claims.taken.len();
        self.enqueue(claims.taken).await;
        Ok(Some(count))
    }

    /// Leaves a project alone whose mails could not be claimed. Fails if that is not for a reason of its own.
    async fn not_claimed(
        &mut self,
        project: ProjectNumber,
        error: StoreError,
        now: Timestamp,
    ) -> mailwright_store::Result<()> {
        let pause = self.rests.failed(project, error.is_temporary(), now);
        if matches!(error, StoreError::Unavailable(_)) && self.delivery.app.0.db.ping().await.is_ok() {
            // the server of the project is away: a look finds it again when that is back, and nobody waits for it here
            self.rests.leave(project);
            // it may have taken long to find out
            self.delivery.app.0.delivery.dispatcher.feeder_seen(self.lane);
            tracing::warn!(%error, project = project.0, lane = self.lane.as_str(), ?pause,
                "the mails of a project could not be claimed, because its server does not answer");
            return Ok(());
        }
        match error {
            // what somebody else is doing with this project says nothing about the others
            StoreError::Contention(_) => {
                tracing::warn!(%error, project = project.0, lane = self.lane.as_str(), ?pause,
                    "the mails of a project could not be claimed, because another transaction holds a lock");
            }
            error if error.is_temporary() => return Err(error),
            error => {
                tracing::error!(%error, project = project.0, lane = self.lane.as_str(), ?pause,
                    "the mails of a project could not be claimed, the project rests for a while");
            }
        }
        Ok(())
    }

    async fn claim(
        &self,
        project: ProjectNumber,
        wanted: usize,
        now: Timestamp,
    ) -> mailwright_store::Result<Claims> {
        let claim = Claim {
            project,
            lane: self.lane,
            wanted: wanted as i64,
            instance_rate: self.delivery.app.settings().delivery.per_second,
            after: self.last.get(&project).copied(),
            now,
            lease_until: self.delivery.lease_until(),
        };
        self.delivery.app.0.db.try_write_of(project, body!(async |tx| claim.run(tx).await)).await
    }

    /// Queues claimed mails. Mails that an earlier process left half handed over, and mails that cannot be read, are
    /// settled at once.
    async fn enqueue(&self, taken: Taken) {
        let claimed = self.delivery.held.hold(taken.mails);
        let (doubtful, fresh): (Vec<_>, Vec<_>) =
            claimed.into_iter().partition(|mail| mail.status == EmailStatus::Sending);
        self.delivery.place(self.lane, fresh).await;
        for mail in doubtful {
            let record = outcome::abandoned(&mail, self.lane, self.delivery.now());
            self.delivery.record(record).await;
        }
        for row in taken.unreadable {
            self.settle(row).await;
        }
    }

    /// Ends a mail whose row cannot be read. Where that fails as well, it comes again when its lease has ended.
    async fn settle(&self, row: Unreadable) {
        tracing::error!(error = %row.error, table = "emails", column = row.column, email = ?row.id(),
            project = row.project.0, "a mail cannot be read and is not sent");
        let (now, project, campaign) = (self.delivery.now(), row.project, row.campaign);
        let db = &self.delivery.app.0.db;
        let settled = db.try_write(body!(async |tx| email::settle_unreadable(tx, &row, now).await));
        match settled.await {
            Ok(()) => {
                if let Some(campaign) = campaign {
                    self.delivery.app.campaign_hints().settled(project, campaign);
                }
            }
            Err(error) => tracing::error!(%error, project = project.0, "a mail that cannot be read stays"),
        }
    }
}

/// How many mails a turn has while several projects wait, where so many are claimed ahead: fewer where few leave in a
/// second, so that there is room for several.
fn turn(capacity: usize) -> usize {
    (capacity / 4).clamp(1, TURN)
}

/// Whether a project without queued mail may join the queue: while the queue holds less than twice the number of mails
/// that are claimed ahead, and beyond that while there are seats. Many mails of few projects may have been claimed
/// while mail left faster, and these projects leave some connections to others.
fn has_room(queued: Load, capacity: usize, seats: usize) -> bool {
    queued.mails + turn(capacity) <= 2 * capacity || queued.projects < seats
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_claimed_when_more_left_keeps_nobody_out() {
        let (shrunken, seats) = (32, 32);
        assert!(has_room(Load { mails: 128, projects: 1 }, shrunken, seats));
        assert!(has_room(Load { mails: 128, projects: 31 }, shrunken, seats));
        // however many projects wait, what is in memory is bounded
        assert!(!has_room(Load { mails: 128, projects: 32 }, shrunken, seats));
        assert!(has_room(Load { mails: 56, projects: 56 }, shrunken, seats));
        assert!(!has_room(Load { mails: 57, projects: 57 }, shrunken, seats));
    }
}
