//! The background work of campaigns: starts those whose time has come, freezes audiences, requeues mails for a retry,
//! finishes cancelled campaigns, and ends campaigns.
//!
//! The campaign's row says what is to be done. A step is one transaction that changes this row first: it is lock, lease
//! and cursor. Any process continues where the last step ended. The steps of each project run beside the rounds, which
//! only start them ([`ProjectWork`]). A campaign that meets another transaction rests for a second.
//!
//! - **Freezing** walks the audience by contact id, up to the ids of the start, some hundred contacts a step, fewer if
//!   their data is large. A contact that gets no mail is a row as well, SKIPPED. Sending begins with the first step.
//!   Once [`AHEAD`] mails wait, freezing rests [`REST`] times as long as a step takes, so it continues at about the
//!   pace of sending. An audience by filter or segment may take minutes to look up. It is looked up by slow reads, one
//!   at a time for each project. If that takes too long, the campaign rests, twice as long each time, and its `note`
//!   says so.
//! - **Waiting.** A campaign that only waits for its mails is put off for ten seconds. A worker that settles one of its
//!   mails tells the runner ([`Hints::settled()`]), which reads the ledgers of such campaigns together. Changes of state
//!   set `next_at`, so resuming or cancelling wakes a campaign on any node.
//! - **The end.** A campaign ends when it is frozen, nothing waits, and audience = accepted + skipped + failed + in
//!   doubt. The equation is stored; an outcome that comes later changes the ledger and not the equation. A ledger that
//!   does not add up is an error in the log, and the campaign does not end.
//!
//! A scheduled campaign that missed its time by more than `latest_start_hours` becomes a draft again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::campaign::{Audience, Campaign, CampaignStatus, excluded};
use mailwright_core::custom_data::Data;
use mailwright_core::email::{Lane, RecipientState};
use mailwright_core::ids::{CampaignId, ContactId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_store::insight::counter::Deltas;
use mailwright_store::project::audit;
use mailwright_store::sending::campaign::ledger::{self, Retry};
use mailwright_store::sending::campaign::run::{self, Candidate, Due, Entry, Lease, Run};
use mailwright_store::sending::campaign::{self as store, audience};
use mailwright_store::{Door, Error as StoreError, Tx, json_text, project};
use serde_json::json;
use tokio::sync::Semaphore;

use super::state::{start as start_campaign, withhold as withhold_campaign};
use crate::App;
use crate::background::project_work::ProjectWork;
use crate::background::runner::{Next, Runner, Waker, Work};
use crate::background::tasks::Tasks;
use crate::error::{Error, Result, too_many_conditions};
use crate::sending::content::Prepared;
use crate::sending::domain::sender_refused;

/// How often the runner looks at campaigns that no waker announced.
const TICK: Duration = Duration::from_millis(200);
/// Pause after the database did not answer.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How long a campaign stays with a process that gives no sign of life, at most.
const LEASE: Duration = Duration::from_secs(10);
/// Steps that are taken at the same time; of those that look an audience up for long, that write.
const TOGETHER: usize = 4;
/// The longest pause after looking an audience up took too long. The first one is [`AFTER_FAILURE`], and each is twice
/// as long as the one before.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// When it is forgotten that this took too long, if nobody tried again here.
const FORGOTTEN: Duration = Duration::from_hours(1);
/// Contacts that the first step of freezing takes, so that the first mail leaves soon.
const FIRST_CHUNK: usize = 100;
/// Contacts, or mails, that one step takes. Other writes wait for a step on SQLite.
const CHUNK: usize = 250;
/// How many mails of a campaign wait before its freezing takes its time.
const AHEAD: i64 = 5_000;
/// How many times as long as its step took freezing rests then, and how long at most.
const REST: u32 = 8;
const LONGEST_REST: Duration = Duration::from_millis(400);
/// When a campaign is looked at again whose ledger does not add up, or that cannot be read.
const PUT_OFF: Duration = Duration::from_mins(1);
/// When a campaign is looked at again that only waits for its mails. The process that settles the last of them looks at
/// once; this is for what no process tells, such as the removal of a contact, or one that died before it could.
const WAITING: Duration = Duration::from_secs(10);
/// How late a scheduled campaign may always start: it is never looked at in the very moment, and a process that froze
/// may hold its row until the database ends it.
const GRACE: Duration = Duration::from_mins(1);

/// Wakes the campaigns' work of this process, and tells it which campaigns may be over.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    waker: Waker,
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
    fn with_settled(&self) -> Vec<ProjectNumber> {
        self.lock().keys().copied().collect()
    }

    /// The campaigns of a project with mails that were settled since the last call.
    fn take_settled(&self, project: ProjectNumber) -> BTreeSet<CampaignId> {
        self.lock().remove(&project).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ProjectNumber, BTreeSet<CampaignId>>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
    let runner = Runner::new(app, "campaigns", TICK).woken_by(&app.0.campaigns.waker);
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

/// The campaigns whose audience takes too long to look up: how often in a row it did, and until when they rest.
#[derive(Debug, Default)]
struct TooSlow(HashMap<CampaignId, (u32, Instant)>);

impl TooSlow {
    /// Notes that it took too long again: how long the campaign rests.
    fn again(&mut self, id: CampaignId, now: Instant) -> Duration {
        self.0.retain(|_, (_, until)| now.saturating_duration_since(*until) < FORGOTTEN);
        let times = self.0.get(&id).map_or(1, |(times, _)| times.saturating_add(1));
        let pause = AFTER_FAILURE.saturating_mul(2_u32.saturating_pow(times - 1)).min(LONGEST_PAUSE);
        self.0.insert(id, (times, now + pause));
        pause
    }
}

/// A campaign that ends as soon as none of its mails waits: where it stands, and since when it is to be looked at.
/// `None` when it is looked at because mails were settled.
type Ending = Option<(CampaignStatus, Timestamp)>;

impl Campaigns {
    fn lease(&self) -> Lease {
        let now = self.app.clock().now();
        Lease { holder: self.holder, now, until: now.plus(self.lease) }
    }

    /// Starts what there is to do for each project. It waits for none of them.
    async fn start_due(self: &Arc<Self>) -> Result<()> {
        self.resting().retain(|_, until| *until > Instant::now());
        if self.app.0.dispatcher.is_superseded() {
            return Ok(());
        }
        let now = self.app.clock().now();
        let due =
            self.app.0.db.read(move |rx| Box::pin(async move { run::due_projects(rx, now).await })).await?;
        for project in due.into_iter().chain(self.app.0.campaigns.with_settled()) {
            self.worked_on.start("campaigns", project, Arc::clone(self).work(project).boxed());
        }
        Ok(())
    }

    /// Takes the steps of a project's campaigns until none is due.
    async fn work(self: Arc<Self>, project: ProjectNumber) {
        let began = Instant::now();
        let mut looked_at: Option<Instant> = None;
        while self.worked_on.goes_on(began) && !self.app.0.dispatcher.is_superseded() {
            let settled = if looked_at.is_none_or(|at| at.elapsed() >= TICK / 2) {
                looked_at = Some(Instant::now());
                self.app.0.campaigns.take_settled(project)
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
        while self.looked_up.goes_on(began) && !self.app.0.dispatcher.is_superseded() {
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
        let due =
            self.app.0.db.read(move |rx| Box::pin(async move { run::due(rx, project, holder, now).await }));
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
        runs.retain(|run| resting.get(&run.id).is_none_or(|until| *until <= Instant::now()));
        (runs, more)
    }

    /// Reads the ledgers of campaigns of a project that end when no mail waits. Returns those that do, and how many
    /// were put off.
    async fn look(
        &self,
        project: ProjectNumber,
        campaigns: &BTreeMap<CampaignId, Ending>,
    ) -> Result<(Vec<CampaignId>, usize)> {
        if campaigns.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let ids: Vec<_> = campaigns.keys().copied().collect();
        let told: Vec<_> = campaigns.iter().filter(|(_, e)| e.is_none()).map(|(id, _)| *id).collect();
        let (ledgers, told) = self
            .app
            .0
            .db
            .read(move |rx| {
                Box::pin(async move {
                    let told = run::ending(rx, project, &told).await?;
                    Ok((ledger::read(rx, project, &ids).await?, told))
                })
            })
            .await?;
        let waits = |id| ledgers.get(id).is_some_and(|ledger| ledger.count(RecipientState::Waiting) > 0);
        let (waiting, over): (Vec<_>, Vec<_>) = campaigns.iter().partition(|(id, _)| waits(id));
        let over = over.into_iter().filter(|(id, ending)| ending.is_some() || told.contains(id));
        let over = over.map(|(id, _)| *id).collect();
        let waiting: Vec<_> = waiting
            .into_iter()
            .filter_map(|(id, ending)| ending.map(|(status, seen)| (*id, status, seen)))
            .collect();
        let put_off = waiting.len();
        if put_off > 0 {
            let until = self.app.clock().now().plus(WAITING);
            let ids: Vec<_> = waiting.iter().map(|(id, ..)| *id).collect();
            let put_off = self.app.0.db.write_in_background(move |tx| {
                Box::pin(async move { run::wait(tx, project, &waiting, until).await })
            });
            match put_off.await {
                // those that are over do not wait for it
                Err(StoreError::Contention(_)) => {
                    for id in ids {
                        self.rest(id);
                    }
                    return Ok((over, 0));
                }
                put_off => put_off?,
            }
        }
        Ok((over, put_off))
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
        let now = Instant::now();
        let rests = self.resting().values().map(|until| until.saturating_duration_since(now)).min();
        rests.unwrap_or(Duration::MAX)
    }

    /// Leaves a campaign alone for a moment without a note in its row, which another transaction may hold.
    fn rest(&self, id: CampaignId) {
        self.resting().insert(id, Instant::now() + AFTER_FAILURE);
    }

    /// Leaves a campaign alone for a moment, so that its trouble is not looked at again and again.
    async fn put_off(&self, project: ProjectNumber, id: CampaignId, pause: Duration) {
        let until = self.app.clock().now().plus(pause);
        let put_off = self.app.0.db.write_in_background(move |tx| {
            Box::pin(async move { run::put_off(tx, project, id, until).await })
        });
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

    /// Starts a campaign whose time has come, or cancels it when its project may not send. One that is too late becomes
    /// a draft again.
    async fn fire(&self, number: ProjectNumber, id: CampaignId) -> Result<bool> {
        let rules = Rules {
            now: self.app.clock().now(),
            latest_start: self.app.settings().latest_start,
            leaves: self.app.mail_leaves(),
        };
        let db = &self.app.0.db;
        let fired = db.write_in_background(move |tx| Box::pin(fire(tx, number, id, rules))).await?;
        if let Some(campaign) = &fired {
            tracing::info!(campaign = %id, status = campaign.status.as_str(), "a scheduled campaign was due");
        }
        Ok(fired.is_some())
    }

    /// Freezes the next contacts of the audience: the mail of each is put into the queue, or skipped.
    async fn freeze(&self, run: Run) -> Result<bool> {
        let began = Instant::now();
        let (project, id) = (run.project, run.id);
        let started = run.sent_at.ok_or_else(|| Error::Internal("a campaign has no start".into()))?;
        let limit = if run.frozen_to.is_none() { FIRST_CHUNK } else { CHUNK };
        // contacts made after the start have later ids
        let beyond = ContactId::first_of(Timestamp(started.0 + 1));
        let (audience, after, now) = (run.audience.clone(), run.frozen_to, self.app.clock().now());
        // a filter that hardly anybody matches looks at everybody
        let is_slow = is_slow(&run);
        let door = if is_slow { Door::Background(project) } else { Door::Fast };
        let page = self.app.0.db.read_by(door, move |rx| {
            Box::pin(async move {
                let members = audience::resolve(rx, project, &audience).await?;
                let page = audience::page(rx, project, &members, (after, beyond), limit, now).await?;
                let fitting = run::fitting(rx, project, &page).await?;
                Ok((page, fitting))
            })
        });
        let (mut chunk, fitting) = match page.await {
            Err(StoreError::TooManyConditions) => return self.withhold(project, id).await,
            Err(error @ (StoreError::TooSlow(_) | StoreError::NoTurn(_))) => {
                return self.leave_alone(project, id, &error).await;
            }
            page => page?,
        };
        self.too_slow().0.remove(&id);
        let last = chunk.len() < limit && fitting == chunk.len();
        chunk.truncate(fitting);
        let content = self.app.0.contents.get(project, &run.content_hash).await?;
        let content = content.ok_or_else(|| Error::Internal("the content of a campaign is gone".into()))?;
        let turn = if is_slow { self.turns.acquire().await.ok() } else { None };
        let lease = self.lease();
        let frozen = self.app.write_in_background(move |tx| {
            Box::pin(async move {
                if !run::advance(tx, &run, chunk.last().copied(), last, lease).await? {
                    return Ok(false);
                }
                let candidates = run::candidates(tx, project, &chunk).await?;
                let entries: Vec<Entry> =
                    candidates.iter().map(|c| entry(&run, &content, c, lease.now)).collect();
                let mut deltas = Deltas::default();
                run::freeze(tx, &run, &entries, &mut deltas, lease.now).await?;
                deltas.save(tx).await?;
                if last {
                    let ledger = ledger::read(tx, project, &[run.id]).await?.remove(&run.id);
                    let recipients = ledger.unwrap_or_default().recipients;
                    run::set_recipients(tx, project, run.id, recipients).await?;
                }
                Ok(true)
            })
        });
        let frozen = frozen.await?;
        drop(turn);
        self.app.0.dispatcher.wake(Lane::Campaign, project);
        if frozen && last {
            self.app.0.campaigns.wake(); // it may be over: perhaps nobody of its audience gets a mail
        }
        if frozen && !last && self.is_ahead(project, id).await? {
            // most of the time is left to the mails that wait already, and to everything else
            let rest = (began.elapsed() * REST).min(LONGEST_REST);
            self.resting().insert(id, Instant::now() + rest);
        }
        Ok(frozen)
    }

    /// Pauses a campaign whose segments have become too large to look its audience up. It is looked at again from time
    /// to time, and goes on where it is paused, so that resuming it is all that is to be done once they are smaller.
    async fn withhold(&self, project: ProjectNumber, id: CampaignId) -> Result<bool> {
        let now = self.app.clock().now();
        let note = format!("Paused, because its audience cannot be looked up. {}", too_many_conditions());
        let paused = self.app.write_in_background(move |tx| {
            Box::pin(async move {
                let paused = withhold_campaign(tx, project, id, note, now).await?;
                run::put_off(tx, project, id, now.plus(PUT_OFF)).await?;
                Ok(paused)
            })
        });
        if paused.await? {
            tracing::warn!(campaign = %id, "a campaign was paused, because its filter has too many conditions");
        }
        Ok(false)
    }

    /// Leaves a campaign alone whose audience could not be looked up, and has it say why. Where that took too long, it
    /// does so for twice as long each time; where others had their turn, it only asks again.
    async fn leave_alone(&self, project: ProjectNumber, id: CampaignId, error: &StoreError) -> Result<bool> {
        tracing::warn!(%error, campaign = %id, project = project.0,
            "the audience of a campaign could not be looked up, trying again");
        let pause = match error {
            StoreError::TooSlow(_) => self.too_slow().again(id, Instant::now()),
            _ => AFTER_FAILURE,
        };
        let now = self.app.clock().now();
        let until = now.plus(pause);
        let db = &self.app.0.db;
        db.write_in_background(move |tx| Box::pin(leave_alone(tx, project, id, now, until))).await?;
        Ok(false)
    }

    /// Whether so many mails of a campaign wait that freezing the others can take its time.
    async fn is_ahead(&self, project: ProjectNumber, id: CampaignId) -> Result<bool> {
        let ledgers =
            self.app.0.db.read(move |rx| Box::pin(async move { ledger::read(rx, project, &[id]).await }));
        Ok(ledgers.await?.get(&id).is_some_and(|ledger| ledger.count(RecipientState::Waiting) >= AHEAD))
    }

    /// Puts the next mails of a retry back into the queue.
    async fn requeue(&self, number: ProjectNumber, id: CampaignId, retry: Retry) -> Result<bool> {
        let lease = self.lease();
        let requeued = self.app.write_in_background(move |tx| {
            Box::pin(async move {
                if !run::lease(tx, number, id, CampaignStatus::Sending, lease).await? {
                    return Ok(false);
                }
                let after = ledger::requeue(tx, number, id, &retry, CHUNK, lease.now).await?;
                let rest = after.map(|place| Retry { after: Some(place), ..retry });
                ledger::save_retry(tx, number, id, rest.as_ref()).await?;
                Ok(true)
            })
        });
        let requeued = requeued.await?;
        self.app.0.dispatcher.wake(Lane::Campaign, number);
        Ok(requeued)
    }

    /// Skips the next mails of a cancelled campaign. When none waits any more, it is over; those on the wire are waited
    /// for.
    async fn cancel(&self, run: Run) -> Result<bool> {
        let (number, id, lease) = (run.project, run.id, self.lease());
        let skipped = self.app.0.db.write_in_background(move |tx| {
            Box::pin(async move {
                if !run::lease(tx, number, id, CampaignStatus::Cancelled, lease).await? {
                    return Ok(0);
                }
                ledger::cancel(tx, number, id, CHUNK, lease.now).await
            })
        });
        if skipped.await? == CHUNK {
            return Ok(true);
        }
        let ending = BTreeMap::from([(id, Some((run.status, lease.now)))]);
        let (over, _) = self.look(number, &ending).await?;
        if over.is_empty() { Ok(false) } else { self.finish(number, id).await }
    }

    /// Ends a campaign when the mail of every contact of its audience is settled. Returns whether anything was done.
    async fn finish(&self, number: ProjectNumber, id: CampaignId) -> Result<bool> {
        let now = self.app.clock().now();
        let ended = self.app.0.db.write_in_background(move |tx| Box::pin(finish(tx, number, id, now)));
        match ended.await? {
            End::NotYet => Ok(false),
            End::Goes => Ok(true),
            End::Over => {
                tracing::info!(campaign = %id, "a campaign is over, every mail is accounted for");
                Ok(true)
            }
            End::Wrong => {
                tracing::error!(campaign = %id, "the ledger of a campaign does not add up");
                Ok(false)
            }
        }
    }
}

/// What a campaign says whose audience could not be looked up.
const STILL_LOOKED_UP: &str = "Its audience could not be looked up yet: that takes too long, or others had their turn. It \
     is tried again. If this stays, cancel the campaign, and send a copy with a simpler filter.";

/// Whether the next step looks the audience of a campaign up by a read that may take long.
fn is_slow(run: &Run) -> bool {
    run.status == CampaignStatus::Sending && run.frozen_at.is_none() && run.audience != Audience::All
}

/// Whether nothing is left to do for a campaign but to wait for its mails and to end it.
fn is_ending(run: &Run) -> bool {
    run.status == CampaignStatus::Sending && run.frozen_at.is_some() && run.retry.is_none()
}

/// The mail of a contact as it is frozen.
fn entry(run: &Run, content: &Prepared, candidate: &Candidate, now: Timestamp) -> Entry {
    let id = EmailId::new(now, rand::random());
    let contact = &candidate.contact;
    let skipped = excluded(run.kind, contact.subscribed, candidate.suppressed);
    let variables = if skipped.is_some() { Data::new() } else { content.variables(contact, &Data::new()) };
    Entry {
        id,
        contact: contact.id,
        recipient: contact.email.clone(),
        variables: json_text(&variables),
        skipped,
        message_id: format!("{id}@{}", run.from.domain()),
    }
}

/// By what a scheduled campaign starts or does not.
#[derive(Debug, Clone, Copy)]
struct Rules {
    now: Timestamp,
    /// How late it may start.
    latest_start: Duration,
    /// Whether mail leaves the machine.
    leaves: bool,
}

/// Starts a scheduled campaign. Returns it when its time had come.
async fn fire(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    id: CampaignId,
    Rules { now, latest_start, leaves }: Rules,
) -> mailwright_store::Result<Option<Campaign>> {
    let due = |campaign: &Campaign| {
        campaign.status == CampaignStatus::Scheduled && campaign.scheduled_for.is_some_and(|at| at <= now)
    };
    let Some(mut campaign) = store::get_for_update(tx, number, id).await?.filter(due) else {
        return Ok(None);
    };
    let latest_start = latest_start.max(GRACE);
    if let Some(due_at) = campaign.scheduled_for.filter(|at| now.since(*at) > latest_start) {
        // what was good news on Friday may do harm on Monday: somebody has to look at it
        let note = format!(
            "It was to start at {due_at}. The service did not run then or could not start it, and it would have been more \
             than {} late. Send or schedule it anew.",
            spelled(latest_start)
        );
        let entry = audit::Entry::new(Action::CampaignMissed, id.to_string())
            .with(json!({ "name": campaign.name, "scheduledFor": due_at }));
        audit::record(tx, number, &Actor::Service, &entry, now).await?;
        campaign.status = CampaignStatus::Draft;
        campaign.scheduled_for = None;
        campaign.note = Some(note);
        campaign.updated_at = now;
        store::save_state(tx, number, &campaign).await?;
        return Ok(Some(campaign));
    }
    let disabled = project::get(tx, number).await?.is_none_or(|project| project.disabled);
    let refused = if disabled {
        Some("The project was disabled when the campaign was due.".to_owned())
    } else if !audience::can_be_found(tx, number, &campaign.audience, now).await? {
        Some(too_many_conditions())
    } else {
        sender_refused(tx, number, &campaign.from, leaves).await?.map(|refused| refused.to_string())
    };
    if let Some(reason) = refused {
        campaign.status = CampaignStatus::Cancelled;
        campaign.note = Some(reason);
        campaign.finished_at = Some(now);
        campaign.updated_at = now;
    } else {
        start_campaign(tx, number, &mut campaign, None, now).await?;
    }
    store::save_state(tx, number, &campaign).await?;
    Ok(Some(campaign))
}

fn spelled(time: Duration) -> String {
    match time.as_secs() / 3600 {
        0 => "1 minute".into(), // less than an hour is the grace
        1 => "1 hour".into(),
        hours => format!("{hours} hours"),
    }
}

/// Puts off a campaign whose audience is still looked up, and has it say why, unless somebody paused it.
async fn leave_alone(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    id: CampaignId,
    now: Timestamp,
    until: Timestamp,
) -> mailwright_store::Result<()> {
    let is_freezing =
        |campaign: &Campaign| campaign.status == CampaignStatus::Sending && campaign.frozen_at.is_none();
    let Some(mut campaign) = store::get_for_update(tx, number, id).await?.filter(is_freezing) else {
        return Ok(());
    };
    if campaign.paused_at.is_none() && campaign.note.as_deref() != Some(STILL_LOOKED_UP) {
        campaign.note = Some(STILL_LOOKED_UP.into());
        campaign.updated_at = now;
        store::save_state(tx, number, &campaign).await?;
    }
    run::put_off(tx, number, id, until).await
}

/// How far the end of a campaign came.
enum End {
    /// There is something to be done before.
    NotYet,
    /// A step of it is done.
    Goes,
    /// It is over.
    Over,
    /// Its ledger does not add up.
    Wrong,
}

async fn finish(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    id: CampaignId,
    now: Timestamp,
) -> mailwright_store::Result<End> {
    let there = |campaign: &Campaign| {
        matches!(campaign.status, CampaignStatus::Sending | CampaignStatus::Cancelled)
            && campaign.finished_at.is_none()
    };
    let Some(mut campaign) = store::get_for_update(tx, number, id).await?.filter(there) else {
        return Ok(End::NotYet);
    };
    let open = campaign.status == CampaignStatus::Sending
        && (campaign.frozen_at.is_none() || ledger::is_retrying(tx, number, id).await?);
    let ledger = ledger::read(tx, number, &[id]).await?.remove(&id).unwrap_or_default();
    if open || ledger.count(RecipientState::Waiting) > 0 {
        return Ok(End::NotYet);
    }
    if !ledger.is_balanced() {
        run::put_off(tx, number, id, now.plus(PUT_OFF)).await?;
        return Ok(End::Wrong);
    }
    if run::forget_former(tx, number, id).await? {
        return Ok(End::Goes);
    }
    if campaign.status == CampaignStatus::Sending {
        campaign.status = CampaignStatus::Sent;
    }
    campaign.paused_at = None;
    campaign.finished_at = Some(now);
    campaign.updated_at = now;
    run::finish(tx, number, &campaign, &run::equation(&ledger)).await?;
    Ok(End::Over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_after_an_audience_took_too_long_double_up_to_a_bound() {
        let (mut slow, now) = (TooSlow::default(), Instant::now());
        let (one, other) =
            (CampaignId::new(Timestamp(1), rand::random()), CampaignId::new(Timestamp(2), rand::random()));
        let pauses: Vec<_> = (0..40).map(|_| slow.again(one, now).as_secs()).collect();
        assert_eq!(pauses[..10], [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
        assert_eq!(pauses[39], 300);
        assert_eq!(slow.again(other, now), AFTER_FAILURE, "each counts for itself");
        let later = now + LONGEST_PAUSE + FORGOTTEN;
        assert_eq!(slow.again(other, later), AFTER_FAILURE);
        assert_eq!(slow.0.len(), 1, "what was not tried again is forgotten");
    }
}
