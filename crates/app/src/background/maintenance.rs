//! Background work besides delivery, campaigns, segments and jobs: what is done at intervals, statistics of the queue,
//! small repairs.
//!
//! Each round goes from project to project and does what is due there. Rounds of several processes do not disturb each
//! other, because due work is claimed. Processes find each other's work by such rounds; `NOTIFY` would serialise
//! commits on PostgreSQL.

use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::retention::Kind;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::limits::REFUSALS_KEPT;
use mailwright_store::audience::{event_counts, saved_columns, search};
use mailwright_store::automation::{forget, refusal};
use mailwright_store::background::forward;
use mailwright_store::body;
use mailwright_store::database::migrate;
use mailwright_store::delivery::delivery_stats;
use mailwright_store::insight::{domains, rollup};
use mailwright_store::project;
use mailwright_store::project::billing::usage;
use mailwright_store::sending::campaign::queue;
use mailwright_store::sending::{campaign, content, email, idempotency};

use crate::App;
use crate::automation::webhook::LONGEST_PAUSE;
use crate::background::retention;
use crate::background::runner::{Runner, every};
use crate::background::tasks::Tasks;
use crate::delivery::LONGEST_PUT_OFF;
use crate::error::Result;
use crate::sending::domain::{Aging, Rechecks, Registrations};

/// How often stats about the queue are taken.
const STATS: Duration = Duration::from_secs(5);
/// How often expired keys are removed and search indexes are looked after.
const MAINTENANCE: Duration = Duration::from_mins(1);
/// How often the rows of projects that were reset or deleted are looked for.
const PURGING: Duration = Duration::from_secs(2);
/// How often it is looked for passwords that are to be reset.
const RESETS: Duration = Duration::from_millis(500);
/// How often it is looked at most for domains that accounts are to be asked about.
const REGISTRATIONS: Duration = Duration::from_secs(1);
/// For how many days the daily delivery statistics are kept, besides the totals.
const STATS_DAYS: i64 = 31;
/// By how much more than its longest pause a mail may be due in the future.
const SLACK: Duration = Duration::from_secs(5);
/// How long a campaign under way is left alone at most.
const CAMPAIGN_PAUSE: Duration = Duration::from_mins(2);
/// How long a job that failed is left alone at most.
const JOB_PAUSE: Duration = Duration::from_secs(64);
/// After how long a segment is counted again at least, if counting it takes long.
const SEGMENT_PAUSE: Duration = Duration::from_hours(1);
/// Steps of counting a project's events by hour in one round, and of folding what is counted of them.
const EVENT_STEPS: u32 = 100;
/// Projects looked at together.
const PROJECTS: i64 = 500;

pub(crate) fn start(app: &App, tasks: &Tasks) {
    let domains = app.settings().domains.check_interval.min(Duration::from_secs(5));
    let booted = app.clone();
    let stop = tasks.clone();
    tasks.spawn("bringing forward", async move {
        while let Err(error) = booted.bring_forward().await {
            tracing::warn!(%error, "what was stored while the clock was ahead could not be brought forward, trying again");
            if !stop.pause(MAINTENANCE).await {
                break;
            }
        }
    });
    retention::start(app, tasks);
    Runner::new(app, "domain checks", domains).later().start(tasks, Rechecks::new(app, tasks));
    if app.settings().domains.key_lifetime.is_some() {
        let rounds = Runner::new(app, Aging::NAME, Aging::SWEEP).woken_by(app.aged_keys().waker());
        rounds.start(tasks, Aging::new(app));
    }
    if app.registers_domains() {
        let rounds = Runner::new(app, Registrations::NAME, domains).woken_by(app.identity_waker());
        rounds.resting(REGISTRATIONS).start(tasks, Registrations::new(app, tasks));
    }
    every(app, tasks, "queue stats", STATS, |app| async move { app.measure_queue().await });
    every(app, tasks, "maintenance", MAINTENANCE, |app| async move { app.maintain().await });
    every(app, tasks, "purging", PURGING, |app| async move { app.purge_retired().await });
    every(app, tasks, "sessions", MAINTENANCE, |app| async move { app.sweep_sessions().await });
    every(app, tasks, "one-time links", MAINTENANCE, |app| async move { app.sweep_one_time_links().await });
    every(app, tasks, "password resets", RESETS, |app| async move { app.send_resets().await });
}

impl App {
    /// Runs a job for every project. A project whose job fails does not keep the others from their turn; without a
    /// database, though, the round ends.
    pub(crate) async fn each_project<F: Future<Output = Result<()>> + Send>(
        &self,
        job: impl Fn(ProjectNumber) -> F,
        name: &'static str,
    ) -> Result<()> {
        let mut after = ProjectNumber(i64::MIN);
        loop {
            let numbers = self.read(body!(async |rx| project::numbers(rx, after, PROJECTS).await)).await?;
            let Some(last) = numbers.last() else { return Ok(()) };
            after = *last;
            for number in numbers {
                if let Err(error) = job(number).await {
                    tracing::warn!(%error, job = name, project = number.0, "background work failed for a project");
                    self.0.db.ping().await?;
                }
            }
        }
    }

    /// The projects that have a mail due in a lane, and whether a newer program has migrated the database, so that
    /// this one should leave them to it.
    pub(crate) async fn projects_with_mail(
        &self,
        lane: Lane,
        now: Timestamp,
    ) -> mailwright_store::Result<(bool, Vec<ProjectNumber>)> {
        self.0
            .db
            .read(body!(async |rx| {
                let superseded = migrate::is_superseded(rx).await?;
                let projects = if lane == Lane::Campaign {
                    queue::due_projects(rx, now).await?
                } else {
                    email::due_projects(rx, lane, now).await?
                };
                Ok((superseded, projects))
            }))
            .await
    }

    async fn measure_queue(&self) -> Result<()> {
        let now = self.0.clock.now();
        for lane in Lane::ALL {
            let (mut depth, mut oldest) = (0, now);
            for number in self.projects_with_mail(lane, now).await?.1 {
                let backlog = self.read(body!(async |rx| {
                    if lane == Lane::Campaign {
                        queue::backlog(rx, number, now).await
                    } else {
                        email::backlog(rx, number, lane, now).await
                    }
                }));
                let (count, since) = match backlog.await {
                    Ok(backlog) => backlog,
                    Err(error) => {
                        tracing::warn!(%error, project = number.0, "the queue of a project could not be measured");
                        self.0.db.ping().await?;
                        continue;
                    }
                };
                depth += count;
                oldest = since.map_or(oldest, |since| since.min(oldest));
            }
            self.0.metrics.queue(lane, depth, now.since(oldest).as_secs_f64());
        }
        Ok(())
    }

    /// Brings forward due times that were stored while the clock was ahead: otherwise the rows would wait until the
    /// clock reaches them.
    pub(crate) async fn bring_forward(&self) -> Result<()> {
        let (now, delivery) = (self.0.clock.now(), &self.settings().delivery);
        // a tenth is the most that a pause is made longer by
        let attempts = now.plus((delivery.retry_max + delivery.retry_max / 10).max(delivery.lease) + SLACK);
        let mails = email::Latest { attempts, paused: now.plus(LONGEST_PUT_OFF + SLACK) };
        let looked_at = now.plus(CAMPAIGN_PAUSE);
        let settings = self.settings();
        let others = forward::Latest {
            jobs: now.plus(settings.jobs.lease.max(JOB_PAUSE) + SLACK),
            domains: now.plus(settings.domains.check_interval + SLACK),
            segments: now.plus(settings.segments.refresh_interval.max(SEGMENT_PAUSE) + SLACK),
            requests: now.plus(LONGEST_PAUSE + LONGEST_PAUSE / 10 + SLACK),
        };
        let job = |number| async move {
            if self.read(body!(async |rx| forward::waits(rx, number, others).await)).await? {
                self.0
                    .db
                    .write_in_background(body!(
                        async |tx| forward::bring_forward(tx, number, now, others).await
                    ))
                    .await?;
            }
            let ahead = self.read(body!(async |rx| email::waits_ahead(rx, number, now).await)).await?;
            if !ahead {
                return Ok(());
            }
            self.0
                .db
                .write_in_background(body!(
                    async |tx| campaign::bring_forward(tx, number, now, looked_at).await
                ))
                .await?;
            self.bring_mails_forward(number, now, mails).await
        };
        self.each_project(job, "bringing forward").await
    }

    async fn bring_mails_forward(
        &self,
        project: ProjectNumber,
        now: Timestamp,
        latest: email::Latest,
    ) -> Result<()> {
        let db = &self.0.db;
        for queue in db.read(body!(async |rx| email::queues(rx, project).await)).await? {
            let mut place = Some(email::Place::first(now));
            while let Some(after) = place {
                let looked = db.read_in_background(
                    project,
                    body!(async |rx| email::portion(rx, project, queue, after, latest).await),
                );
                let email::Portion { ahead, next } = looked.await?;
                place = next;
                if !ahead.is_empty() {
                    let until = latest.attempts;
                    db.write_in_background(body!(async |tx| {
                        email::bring_forward(tx, project, &ahead, now, until).await
                    }))
                    .await?;
                }
            }
        }
        Ok(())
    }

    async fn maintain(&self) -> Result<()> {
        let now = self.0.clock.now();
        self.forget_delivery(now).await?;
        let job = |number| async move {
            while self
                .0
                .db
                .write_in_background_of(number, body!(async |tx| idempotency::sweep(tx, number, now).await))
                .await?
                > 0
            {}
            let oldest = delivery_stats::day(now) - STATS_DAYS;
            while self
                .0
                .db
                .write_in_background_of(
                    number,
                    body!(async |tx| delivery_stats::forget(tx, number, oldest).await),
                )
                .await?
                > 0
            {}
            while self
                .0
                .db
                .write_in_background_of(number, body!(async |tx| forget::removed_workflow(tx, number).await))
                .await?
            {}
            let known_until = now.minus(REFUSALS_KEPT);
            while self
                .0
                .db
                .write_in_background_of(
                    number,
                    body!(async |tx| refusal::forget(tx, number, known_until).await),
                )
                .await?
                > 0
            {}
            let periods = self.periods(number).await?;
            self.forget_feedback(number, periods, now).await?;
            self.forget_suppressions(number, now).await?;
            self.forget_topics(number).await?;
            self.forget_requests(number, periods, now).await?;
            self.forget_verifications(number, now).await?;
            while search::index::build_step(&self.0.db, number, now).await? {}
            while self
                .0
                .db
                .write_in_background_of(number, body!(async |tx| rollup::fold(tx, number, now).await))
                .await?
            {}
            while self
                .0
                .db
                .write_in_background_of(number, body!(async |tx| domains::fold(tx, number).await))
                .await?
            {}
            self.forget_log(number).await?;
            saved_columns::forget_old(&self.0.db, number, now).await?;
            while self
                .0
                .db
                .write_in_background_of(number, body!(async |tx| usage::fold(tx, number, now).await))
                .await?
            {}
            self.count_events(number, now).await?;
            // a process may have died before it judged what it recorded
            self.judge(number).await?;
            // last, since it waits for its turn to read
            if let Some(unused_since) = periods.before(Kind::Bodies, now) {
                content::forget(&self.0.db, number, unused_since, now).await?;
            }
            Ok(())
        };
        self.each_project(job, "maintenance").await
    }

    /// Counts a project's events from before they were counted, and folds what is counted. Where there are many, that
    /// takes several rounds, so that the other projects have their turn.
    async fn count_events(&self, number: ProjectNumber, now: Timestamp) -> Result<()> {
        let db = &self.0.db;
        let mut steps = 0;
        while steps < EVENT_STEPS && event_counts::count_step(db, number).await? {
            steps += 1;
        }
        let mut steps = 0;
        let fold =
            || db.write_in_background_of(number, body!(async |tx| event_counts::fold(tx, number, now).await));
        while steps < EVENT_STEPS && fold().await? {
            steps += 1;
        }
        Ok(())
    }
}
