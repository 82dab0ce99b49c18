//! Reporting what is used to the payment service.
//!
//! A round puts what projects with a subscription used since the last one into batches, and reports batches that are due.
//! The id of a batch is the identifier of its event, so one whose answer was lost is reported again and counted once. A
//! batch is tried until it is answered, however many days that takes, less and less often.

use std::time::Duration;

use futures_util::future::join_all;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::project::billing::batch::{self, Batch};
use mailwright_store::project::billing::{account, payment};

use super::client::Failed;
use crate::App;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::Result;

/// How often what was used is put into batches.
const GATHERING: Duration = Duration::from_mins(1);
/// How often it is looked for batches that are due.
const SWEEP: Duration = Duration::from_secs(5);
/// How long a batch stays with a process that reports it: longer than a request may take.
const LEASE: Duration = Duration::from_mins(1);
/// The first pause after a try that failed. It doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause: the payment service knows an identifier for a day.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// The oldest time that the payment service takes, less a day.
const OLDEST: Duration = Duration::from_hours(34 * 24);
/// Projects that are looked at together.
const PROJECTS: i64 = 500;
/// Batches that are looked at together.
const TOGETHER: i64 = 50;
/// Batches that are reported at once: a payment service takes a while to answer, and takes 25 requests a second or more.
const AT_ONCE: usize = 8;
/// How long batches that were reported are kept, and what the payment service told.
const KEPT: Duration = Duration::from_hours(90 * 24);
/// How often what is older is removed, and how much in one step.
const FORGETTING: Duration = Duration::from_hours(1);
const FORGOTTEN: i64 = 500;

struct Meter {
    app: App,
    stop: Tasks,
    gathered_at: Option<Timestamp>,
    forgot_at: Option<Timestamp>,
}

pub(super) fn start(app: &App, tasks: &Tasks) {
    let meter = Meter { app: app.clone(), stop: tasks.clone(), gathered_at: None, forgot_at: None };
    Runner::new(app, "metering", SWEEP).start(tasks, meter);
}

impl Work for Meter {
    async fn round(&mut self) -> Result<Next> {
        let now = self.app.clock().now();
        if is_due(self.gathered_at, GATHERING, now) {
            self.app.gather_usage().await?;
            self.gathered_at = Some(now);
        }
        if is_due(self.forgot_at, FORGETTING, now) {
            self.app.forget_payments(now).await?;
            self.forgot_at = Some(now);
        }
        let beyond = now.plus(LONGEST_PAUSE * 2);
        let due = self.app.read(body!(async |rx| batch::due(rx, now, beyond, TOGETHER).await)).await?;
        let all = due.len() as i64 == TOGETHER;
        for batches in due.chunks(AT_ONCE) {
            let reports = join_all(batches.iter().map(|batch| self.report(batch))).await;
            let answered = reports.into_iter().collect::<Result<Vec<_>>>()?;
            // the others would fail as well, or wait as long
            if answered.contains(&false) || self.stop.is_stopping() {
                return Ok(Next::Woken);
            }
        }
        Ok(if all { Next::Now } else { Next::Woken })
    }
}

/// Whether something is to be done again. A time in the future is none: the clock was set back.
fn is_due(last: Option<Timestamp>, period: Duration, now: Timestamp) -> bool {
    last.is_none_or(|last| last > now || now.since(last) >= period)
}

impl Meter {
    /// Reports a batch. False when the payment service did not answer.
    async fn report(&self, batch: &Batch) -> Result<bool> {
        let (app, id, now) = (&self.app, batch.id, self.app.clock().now());
        let claimed = {
            let batch = batch.clone();
            app.write_in_background(body!(async |tx| Ok(batch::claim(tx, &batch, now.plus(LEASE)).await?)))
        };
        if !claimed.await? {
            return Ok(true);
        }
        let reported = {
            let request = app.report_batch(batch, now);
            let stopping = self.stop.stopping();
            tokio::select! {
                reported = request => reported?,
                // it is reported again under the same identifier
                () = stopping => return Ok(false),
            }
        };
        let Err(failed) = reported else {
            app.write_in_background(body!(async |tx| Ok(batch::reported(tx, id).await?))).await?;
            return Ok(true);
        };
        let pause = pause(batch.tries);
        let (reason, until) = (failed.reason(), now.plus(pause));
        tracing::warn!(batch = %id, reason, tries = batch.tries + 1, "usage could not be reported, trying again");
        app.write_in_background(body!(async |tx| Ok(batch::failed(tx, id, &reason, until).await?))).await?;
        Ok(matches!(failed, Failed::Refused { .. }))
    }
}

fn pause(tries: i64) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << tries.clamp(0, 16)).min(LONGEST_PAUSE)
}

impl App {
    async fn report_batch(&self, batch: &Batch, now: Timestamp) -> Result<std::result::Result<(), Failed>> {
        let service = self.payment_service()?;
        let (id, units) = (batch.id.to_string(), batch.units.to_string());
        let happened_at = (batch.happened_at.max(now.minus(OLDEST)).0 / 1000).to_string();
        let fields = [
            ("event_name", self.billing()?.meter_event.as_str()),
            ("identifier", &id),
            ("timestamp", &happened_at),
            ("payload[stripe_customer_id]", &batch.customer),
            ("payload[value]", &units),
        ];
        Ok(match service.post_once("/v1/billing/meter_events", &fields, &id).await {
            Ok(_) => Ok(()),
            // an earlier report arrived, and its answer was lost
            Err(Failed::Refused { status: 400, message, .. }) if message.contains(&id) => Ok(()),
            Err(failed) => Err(failed),
        })
    }

    /// Puts what projects with a subscription used since the last time into batches.
    async fn gather_usage(&self) -> Result<()> {
        let mut after = ProjectNumber(i64::MIN);
        loop {
            let projects =
                self.read(body!(async |rx| account::subscribed(rx, after, PROJECTS).await)).await?;
            let Some(last) = projects.last() else { return Ok(()) };
            after = *last;
            for project in projects {
                let now = self.0.clock.now();
                let is_more = self.read(body!(async |rx| batch::is_more(rx, project, now).await));
                if !is_more.await? {
                    continue;
                }
                self.write_in_background(body!(async |tx| {
                    let account = account::hold(tx, project, now).await?;
                    Ok(batch::gather(tx, project, &account, now).await?)
                }))
                .await?;
            }
        }
    }

    async fn forget_payments(&self, now: Timestamp) -> Result<()> {
        let before = now.minus(KEPT);
        let forget = || {
            self.write_in_background(body!(async |tx| {
                let told = payment::forget(tx, before, FORGOTTEN).await?;
                Ok(told + batch::forget(tx, before, FORGOTTEN).await?)
            }))
        };
        while forget().await? > 0 {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_an_hour() {
        let pauses: Vec<_> = (0..10).map(|tries| pause(tries).as_secs()).collect();
        assert_eq!(pauses, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
        assert_eq!(pause(i64::MAX), LONGEST_PAUSE);
    }
}
