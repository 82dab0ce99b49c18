//! The background work of campaigns: starts those whose time has come, freezes audiences, requeues mails for a retry,
//! finishes cancelled campaigns, and ends campaigns.
//!
//! The campaign's row says what is to be done. A step is one transaction that changes this row first: it is lock, lease
//! and cursor. Any process continues where the last step ended. The steps of each project run beside the rounds, which
//! only start them ([`ProjectWork`]). A campaign that meets another transaction rests for a second.
//!
//! The steps are in [`scheduled`], [`freezing`] and [`ending`]. Changes of state set `next_at`, so resuming or
//! cancelling wakes a campaign on any node. A worker that settles a mail tells the runner ([`Hints::settled()`]).

mod backoff;
mod ending;
mod freezing;
mod hints;
mod scheduled;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use mailwright_core::campaign::{Audience, CampaignStatus};
use mailwright_core::email::Lane;
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::sending::campaign::ledger::{self, Retry};
use mailwright_store::sending::campaign::run::{self, Due, Lease, Run};
use tokio::sync::Semaphore;

use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

use backoff::{AFTER_FAILURE, PUT_OFF, TooSlow};
pub(crate) use hints::Hints;

/// How often the runner looks at campaigns that no waker announced.
const TICK: Duration = Duration::from_millis(200);
/// How long a campaign stays with a process that gives no sign of life, at most.
const LEASE: Duration = Duration::from_secs(10);
/// Most steps that run at the same time. Of steps that look an audience up for long, only those that write are counted.
const TOGETHER: usize = 4;
/// Contacts, or mails, that one step takes. Other writes wait for a step on SQLite.
const CHUNK: usize = 250;

pub(crate) fn start(app: &App, tasks: &Tasks) {
    let lease = app.settings().delivery.lease.min(LEASE);
    let campaigns = Campaigns {
        app: app.clone(),
        holder: rand::random(),
        lease,
        worked_on: ProjectWork::new(tasks),
        looked_up: ProjectWork::new(tasks),
        turns: Semaphore::new(TOGETHER),
        too_slow: Mutex::default(),
        resting: Mutex::default(),
    };
    let runner = Runner::new(app, "campaigns", TICK).woken_by(&app.0.sending.campaigns.waker);
    runner.start(tasks, Arc::new(campaigns));
}

impl Work for Arc<Campaigns> {
    async fn round(&mut self) -> Result<Next> {
        self.start_due().await?;
        Ok(Next::In(self.first_rest()))
    }
}

/// The background work of one process.
struct Campaigns {
    app: App,
    /// Tells this process from others.
    holder: i64,
    lease: Duration,
    /// The projects whose campaigns are worked on.
    worked_on: ProjectWork,
    /// The projects whose audiences are being looked up by reads that may take long.
    looked_up: ProjectWork,
    /// Turns to take steps, and to write what such a read found.
    turns: Semaphore,
    too_slow: Mutex<TooSlow>,
    /// The campaigns whose freezing takes its time, or that met another transaction, and when they go on.
    resting: Mutex<HashMap<CampaignId, Instant>>,
}

/// A campaign that ends as soon as none of its mails waits: its state, and when it was due to be looked at; `None` if
/// it is looked at because mails were settled.
type Ending = Option<(CampaignStatus, Timestamp)>;

impl Campaigns {
    fn lease(&self) -> Lease {
        let now = self.app.clock().now();
        Lease { holder: self.holder, now, until: now.plus(self.lease) }
    }

    /// Starts what there is to do for each project. It waits for none of them.
    async fn start_due(self: &Arc<Self>) -> Result<()> {
        self.resting().retain(|_, until| *until > self.app.clock().steady());
        if self.app.dispatcher().is_superseded() {
            return Ok(());
        }
        let now = self.app.clock().now();
        let due = self.app.read(body!(async |rx| run::due_projects(rx, now).await)).await?;
        for project in due.into_iter().chain(self.app.0.sending.campaigns.with_settled()) {
            self.worked_on.start("campaigns", project, Arc::clone(self).work(project).boxed());
        }
        Ok(())
    }

    /// Takes the steps of a project's campaigns until none is due.
    async fn work(self: Arc<Self>, project: ProjectNumber) {
        let began = Instant::now();
        let mut looked_at: Option<Instant> = None;
        while self.worked_on.goes_on(began) && !self.app.dispatcher().is_superseded() {
            let settled = if looked_at.is_none_or(|at| at.elapsed() >= TICK / 2) {
                looked_at = Some(Instant::now());
                self.app.0.sending.campaigns.take_settled(project)
            } else {
                BTreeSet::new()
            };
            if !self.steps(project, settled).await {
                return;
            }
        }
    }

    /// Takes one step of each due campaign of a project that does not rest; campaigns with settled mails may be over.
    /// Returns whether anything was done. Work that may take long is only started.
    async fn steps(self: &Arc<Self>, project: ProjectNumber, settled: BTreeSet<CampaignId>) -> bool {
        let turn = self.turns.acquire().await.ok();
        let (runs, more) = self.due_of(project).await;
        let (slow, runs): (Vec<_>, Vec<_>) = runs.into_iter().partition(is_slow);
        if !slow.is_empty() {
            self.looked_up.start("campaign audience", project, Arc::clone(self).look_up(project).boxed());
        }
        let (ending, runs): (Vec<_>, Vec<_>) = runs.into_iter().partition(is_ending);
        let mut endings: BTreeMap<CampaignId, Ending> = settled.into_iter().map(|id| (id, None)).collect();
        endings.extend(ending.into_iter().map(|run| (run.id, Some((run.status, run.next_at)))));
        let (over, put_off) = match self.look(project, &endings).await {
            Ok(looked_at) => looked_at,
            Err(error) => {
                tracing::warn!(%error, project = project.0, "campaigns could not be looked at");
                (Vec::new(), 0)
            }
        };
        drop(turn);
        let mut did = more && put_off > 0;
        for run in runs {
            let _turn = self.turns.acquire().await;
            let id = run.id;
            did |= self.guarded(project, id, self.step(run)).await;
        }
        for id in over {
            let _turn = self.turns.acquire().await;
            did |= self.guarded(project, id, self.finish(project, id)).await;
        }
        did
    }

    /// Freezes the audiences of a project that are looked up by reads that may take long, step by step, until none is
    /// due.
    async fn look_up(self: Arc<Self>, project: ProjectNumber) {
        let began = Instant::now();
        while self.looked_up.goes_on(began) && !self.app.dispatcher().is_superseded() {
            let Some(run) = self.due_of(project).await.0.into_iter().find(is_slow) else { return };
            let id = run.id;
            if !self.guarded(project, id, self.step(run)).await {
                return;
            }
        }
    }

    /// The campaigns of a project that there is something to do for and that do not rest, and whether there may be
    /// more. One that cannot be read is put off, and a project whose campaigns cannot be has none.
    async fn due_of(&self, project: ProjectNumber) -> (Vec<Run>, bool) {
        let (now, holder) = (self.app.clock().now(), self.holder);
        let due = self.app.read(body!(async |rx| run::due(rx, project, holder, now).await));
        let Due { mut runs, unreadable, more } = match due.await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(%error, project = project.0, "campaigns could not be read");
                return (Vec::new(), false);
            }
        };
        for (id, error) in unreadable {
            tracing::error!(%error, table = "campaigns", campaign = %id, project = project.0,
                "a campaign cannot be read and does not go on");
            self.put_off(project, id, PUT_OFF).await;
        }
        let resting = self.resting();
        runs.retain(|run| resting.get(&run.id).is_none_or(|until| *until <= self.app.clock().steady()));
        (runs, more)
    }

    /// Takes a step of a campaign. What goes wrong with it is the campaign's alone, which rests.
    async fn guarded(
        &self,
        project: ProjectNumber,
        id: CampaignId,
        step: impl Future<Output = Result<bool>> + Send,
    ) -> bool {
        match AssertUnwindSafe(step).catch_unwind().await {
            Ok(Ok(did)) => return did,
            Ok(Err(error)) => {
                tracing::warn!(%error, campaign = %id, "a step of a campaign failed, trying again");
                if error.is_unavailable() {
                    self.rest(id);
                    return false;
                }
            }
            Err(_) => tracing::error!(campaign = %id, "a step of a campaign panicked, trying again"),
        }
        self.put_off(project, id, AFTER_FAILURE).await;
        false
    }

    fn too_slow(&self) -> MutexGuard<'_, TooSlow> {
        self.too_slow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resting(&self) -> MutexGuard<'_, HashMap<CampaignId, Instant>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long until a campaign has rested.
    fn first_rest(&self) -> Duration {
        let now = self.app.clock().steady();
        let rests = self.resting().values().map(|until| until.saturating_duration_since(now)).min();
        rests.unwrap_or(Duration::MAX)
    }

    /// Leaves a campaign alone for a moment without a note in its row, which another transaction may hold.
    fn rest(&self, id: CampaignId) {
        self.resting().insert(id, self.app.clock().steady() + AFTER_FAILURE);
    }

    /// Leaves a campaign alone for a moment, so that its trouble is not looked at again and again.
    async fn put_off(&self, project: ProjectNumber, id: CampaignId, pause: Duration) {
        let until = self.app.clock().now().plus(pause);
        let put_off =
            self.app.0.db.write_in_background(body!(async |tx| run::put_off(tx, project, id, until).await));
        if let Err(error) = put_off.await {
            tracing::warn!(%error, campaign = %id, "a campaign could not be put off");
            self.rest(id);
        }
    }

    async fn step(&self, run: Run) -> Result<bool> {
        match run.status {
            CampaignStatus::Scheduled => self.fire(run.project, run.id).await,
            CampaignStatus::Sending if run.frozen_at.is_none() => self.freeze(run).await,
            CampaignStatus::Sending => match run.retry {
                Some(retry) => self.requeue(run.project, run.id, retry).await,
                None => self.finish(run.project, run.id).await,
            },
            CampaignStatus::Cancelled => self.cancel(run).await,
            CampaignStatus::Draft | CampaignStatus::Sent => Ok(false),
        }
    }

    /// Puts the next mails of a retry back into the queue.
    async fn requeue(&self, number: ProjectNumber, id: CampaignId, retry: Retry) -> Result<bool> {
        let lease = self.lease();
        let requeued = self.app.write_in_background(body!(async |tx| {
            if !run::lease(tx, number, id, CampaignStatus::Sending, lease).await? {
                return Ok(false);
            }
            let after = ledger::requeue(tx, number, id, &retry, CHUNK, lease.now).await?;
            let rest = after.map(|place| Retry { after: Some(place), ..retry });
            ledger::save_retry(tx, number, id, rest.as_ref()).await?;
            Ok(true)
        }));
        let requeued = requeued.await?;
        self.app.dispatcher().wake(Lane::Campaign, number);
        Ok(requeued)
    }
}

/// Whether the next step looks the audience of a campaign up by a read that may take long.
fn is_slow(run: &Run) -> bool {
    run.status == CampaignStatus::Sending && run.frozen_at.is_none() && run.audience != Audience::All
}

/// Whether nothing is left to do for a campaign but to wait for its mails and to end it.
fn is_ending(run: &Run) -> bool {
    run.status == CampaignStatus::Sending && run.frozen_at.is_some() && run.retry.is_none()
}
