//! Background work besides delivery, campaigns, segments and jobs: domain checks, housekeeping, statistics of the
//! queue.
//!
//! Each round goes from project to project and does what is due there. Rounds of several processes do not disturb each
//! other, because due work is claimed. Processes find each other's work by such rounds; `NOTIFY` would serialise
//! commits on PostgreSQL.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use mailwright_core::domain::Domain;
use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::{event_day, search};
use mailwright_store::database::migrate;
use mailwright_store::delivery::delivery_stats;
use mailwright_store::project;
use mailwright_store::sending::campaign::queue;
use mailwright_store::sending::{campaign, content, domain, email, idempotency};

use crate::App;
use crate::background::runner::every;
use crate::background::tasks::Tasks;
use crate::error::{Error, Result};

/// How often stats about the queue are taken.
const STATS: Duration = Duration::from_secs(5);
/// How often expired keys are removed and search indexes are looked after.
const HOUSEKEEPING: Duration = Duration::from_mins(1);
/// How often the rows of projects that were reset or deleted are looked for.
const PURGING: Duration = Duration::from_secs(2);
/// How often it is looked for passwords that are to be reset.
const RESETS: Duration = Duration::from_millis(500);
/// For how many days the daily delivery statistics are kept, besides the totals.
const STATS_DAYS: i64 = 31;
/// By how much more than its longest pause a mail may be due in the future.
const SLACK: Duration = Duration::from_secs(5);
/// How long a campaign under way is left alone at most.
const CAMPAIGN_PAUSE: Duration = Duration::from_mins(2);
/// Domains of a project that are looked up at the same time.
const CHECKS: usize = 8;
/// Steps of counting a project's events by day in one round.
const EVENT_STEPS: u32 = 100;
/// Projects looked at together.
const PROJECTS: i64 = 500;

pub(crate) fn start(app: &App, tasks: &Tasks) {
    let domains = app.settings().domains.check_interval.min(Duration::from_secs(5));
    let booted = app.clone();
    tasks.spawn("bringing forward", async move {
        if let Err(error) = booted.bring_forward().await {
            tracing::warn!(%error, "mail could not be brought forward that was stored while the clock was ahead");
        }
    });
    every(app, tasks, "domain checks", domains, |app| async move { app.check_due_domains().await });
    every(app, tasks, "queue stats", STATS, |app| async move { app.measure_queue().await });
    every(app, tasks, "housekeeping", HOUSEKEEPING, |app| async move { app.housekeep().await });
    every(app, tasks, "purging", PURGING, |app| async move { app.purge_retired().await });
    every(app, tasks, "sessions", HOUSEKEEPING, |app| async move { app.sweep_sessions().await });
    every(app, tasks, "proofs", HOUSEKEEPING, |app| async move { app.sweep_one_time_links().await });
    every(app, tasks, "password resets", RESETS, |app| async move { app.send_resets().await });
}

impl App {
    /// Runs a job for every project. A project whose job fails does not keep the others from their turn; without a
    /// database, though, the round ends.
    async fn each_project<F: Future<Output = Result<()>> + Send>(
        &self,
        job: impl Fn(ProjectNumber) -> F,
        name: &'static str,
    ) -> Result<()> {
        let mut after = ProjectNumber(i64::MIN);
        loop {
            let numbers = self
                .0
                .db
                .read(move |rx| Box::pin(async move { project::numbers(rx, after, PROJECTS).await }))
                .await?;
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

    async fn check_due_domains(&self) -> Result<()> {
        let now = self.0.clock.now();
        let next = now.plus(self.settings().domains.check_interval);
        let job = |number| async move {
            let due = self
                .0
                .db
                .read(move |rx| Box::pin(async move { domain::is_check_due(rx, number, now).await }))
                .await?;
            if !due {
                return Ok(());
            }
            let claimed = self
                .0
                .db
                .write_in_background(move |tx| {
                    Box::pin(async move { domain::claim_due(tx, number, now, next).await })
                })
                .await?;
            let checks = claimed.into_iter().map(|domain| self.check_claimed(number, domain));
            stream::iter(checks).buffer_unordered(CHECKS).collect::<()>().await;
            Ok(())
        };
        self.each_project(job, "domain checks").await
    }

    async fn check_claimed(&self, project: ProjectNumber, domain: Domain) {
        match self.check_domain(project, &domain).await {
            Ok(_) | Err(Error::NotFound { .. }) => {} // not found: it was removed meanwhile
            Err(error) => {
                tracing::warn!(%error, domain = %domain.id, "a domain could not be checked, trying again later");
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
        let read = self.0.db.read(move |rx| {
            Box::pin(async move {
                let superseded = migrate::is_superseded(rx).await?;
                let projects = if lane == Lane::Campaign {
                    queue::due_projects(rx, now).await?
                } else {
                    email::due_projects(rx, lane, now).await?
                };
                Ok((superseded, projects))
            })
        });
        read.await
    }

    async fn measure_queue(&self) -> Result<()> {
        let now = self.0.clock.now();
        for lane in Lane::ALL {
            let (mut depth, mut oldest) = (0, now);
            for number in self.projects_with_mail(lane, now).await?.1 {
                let backlog = self.0.db.read(move |rx| {
                    Box::pin(async move {
                        if lane == Lane::Campaign {
                            queue::backlog(rx, number, now).await
                        } else {
                            email::backlog(rx, number, lane, now).await
                        }
                    })
                });
                let (count, since) = backlog.await?;
                depth += count;
                oldest = since.map_or(oldest, |since| since.min(oldest));
            }
            self.0.metrics.queue(lane, depth, now.since(oldest).as_secs_f64());
        }
        Ok(())
    }

    /// Brings forward what was stored while the clock was ahead of where it is now: otherwise it would wait until the
    /// clock is there again.
    pub(crate) async fn bring_forward(&self) -> Result<()> {
        let (now, delivery) = (self.0.clock.now(), &self.settings().delivery);
        // a tenth is the most that a pause is made longer by
        let latest = now.plus((delivery.retry_max + delivery.retry_max / 10).max(delivery.lease) + SLACK);
        let looked_at = now.plus(CAMPAIGN_PAUSE);
        let job = |number| async move {
            let ahead = self
                .0
                .db
                .read(move |rx| Box::pin(async move { email::waits_ahead(rx, number, now).await }))
                .await?;
            if !ahead {
                return Ok(());
            }
            self.0
                .db
                .write_in_background(move |tx| {
                    Box::pin(async move { campaign::bring_forward(tx, number, now, looked_at).await })
                })
                .await?;
            while self
                .0
                .db
                .write_in_background(move |tx| {
                    Box::pin(async move { email::bring_forward(tx, number, now, latest).await })
                })
                .await?
            {}
            Ok(())
        };
        self.each_project(job, "bringing forward").await
    }

    async fn housekeep(&self) -> Result<()> {
        let now = self.0.clock.now();
        let job = |number| async move {
            while self
                .0
                .db
                .write_in_background(move |tx| {
                    Box::pin(async move { idempotency::sweep(tx, number, now).await })
                })
                .await?
                > 0
            {}
            let oldest = delivery_stats::day(now) - STATS_DAYS;
            while self
                .0
                .db
                .write_in_background(move |tx| {
                    Box::pin(async move { delivery_stats::forget(tx, number, oldest).await })
                })
                .await?
                > 0
            {}
            while search::build_step(&self.0.db, number, now).await? {}
            // many are counted in several rounds, so that the other projects have their turn
            let mut steps = 0;
            while steps < EVENT_STEPS && event_day::count_step(&self.0.db, number).await? {
                steps += 1;
            }
            // a process may have died before it judged what it recorded
            self.judge(number).await?;
            // last, since it waits for its turn to read
            Ok(content::forget(&self.0.db, number, now).await?)
        };
        self.each_project(job, "housekeeping").await
    }
}
