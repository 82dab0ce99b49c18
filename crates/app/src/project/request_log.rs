//! The log of requests: what keys and people asked of a project, and what they were answered.
//!
//! Whoever answers a request asks first whether it is kept: every error, and of the successes the share that the instance
//! wants. A minute of a project has a bound, beyond which few errors are kept and the others counted ([`rules`]). What is
//! kept goes into a bounded buffer in memory, and one task in each process stores it once a second, apart from the writes
//! of requests. Nobody waits for the log: what finds the buffer full or the database away is dropped and counted. A
//! process that is killed loses what came in the last second.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mailwright_core::ids::{LoggedRequestId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::request_log as rules;
use mailwright_core::retention::{Kind, Periods};
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::project::request_log::{self, Gap};
pub use mailwright_store::project::request_log::{Asker, Logged, Wanted};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::App;
use crate::background::tasks::Tasks;
use crate::error::{Error, Resource, Result};
use crate::metrics::Metrics;
use crate::settings::RequestLogSettings;

/// Most requests that wait to be stored.
const BUFFER: usize = 20_000;
/// Most minutes of projects whose errors that are not stored are counted in memory.
const GAPS: usize = 10_000;
/// How long requests are gathered.
const GATHERED: Duration = Duration::from_secs(1);
/// Rows that are stored or removed in one transaction.
const ROWS: usize = 500;

/// The requests that wait to be stored.
pub(crate) struct RequestLog {
    settings: RequestLogSettings,
    held: Mutex<Held>,
    /// There is something to store.
    filled: Notify,
    /// Requests are over.
    over: CancellationToken,
}

#[derive(Default)]
struct Held {
    requests: Vec<(ProjectNumber, Logged)>,
    /// The minute that `counted` is of.
    minute: i64,
    /// Errors, and successes that were drawn, of whoever asks in each project in this minute. One who makes many errors,
    /// as anybody with a public key may, hides nobody else's.
    counted: HashMap<(ProjectNumber, Asker), [u32; 2]>,
    /// Errors that are not stored, by project and minute.
    gaps: BTreeMap<(ProjectNumber, i64), i64>,
}

/// A page of the log.
#[derive(Debug)]
pub struct Page {
    /// The requests, newest first.
    pub requests: Vec<Logged>,
    /// Whether more follow.
    pub has_more: bool,
    /// How many errors of the period were not kept, on the first page; 0 on later ones.
    pub left_out: i64,
}

impl RequestLog {
    pub(super) fn new(settings: RequestLogSettings) -> Self {
        Self { settings, held: Mutex::default(), filled: Notify::new(), over: CancellationToken::new() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_off(&self) -> bool {
        self.settings.keep.is_zero()
    }

    /// Whether a request is kept that was answered with this status. `is_polled` is for what pages ask again and again:
    /// of these errors alone are.
    fn keeps(
        &self,
        (project, asker): (ProjectNumber, Asker),
        status: u16,
        is_polled: bool,
        now: Timestamp,
        metrics: &Metrics,
    ) -> bool {
        let is_error = status >= 400;
        if self.is_off() || (!is_error && (is_polled || !self.draws())) {
            return false;
        }
        let place = self.held().count((project, asker), is_error, request_log::minute_of(now));
        let is_kept = if is_error { rules::is_error_kept(place) } else { rules::is_success_kept(place) };
        if !is_kept {
            metrics.request_not_logged("bound", 1);
            if is_error {
                self.held().leave_out(project, request_log::minute_of(now), 1);
                self.filled.notify_one();
            }
        }
        is_kept
    }

    /// Draws whether a success is kept.
    fn draws(&self) -> bool {
        match self.settings.sample_percent {
            0 => false,
            100.. => true,
            share => rand::random_range(0..100_u32) < share,
        }
    }

    fn put(&self, project: ProjectNumber, request: Logged, metrics: &Metrics) {
        let mut held = self.held();
        if held.requests.len() >= BUFFER {
            metrics.request_not_logged("full", 1);
            held.leave_out_one(project, &request);
        } else {
            held.requests.push((project, request));
        }
        drop(held);
        self.filled.notify_one();
    }

    /// Takes out what is to be stored.
    fn take(&self) -> (Vec<(ProjectNumber, Logged)>, Vec<Gap>) {
        let mut held = self.held();
        let (requests, gaps) = (std::mem::take(&mut held.requests), std::mem::take(&mut held.gaps));
        drop(held);
        let gap = |((project, minute), left_out)| Gap { project, minute, left_out };
        (requests, gaps.into_iter().map(gap).collect())
    }
}

impl Held {
    /// Counts one more in this minute of who asked in a project; its place, from 1.
    fn count(&mut self, asker: (ProjectNumber, Asker), is_error: bool, minute: i64) -> u32 {
        if self.minute != minute {
            self.minute = minute;
            self.counted.clear();
        }
        let counted = &mut self.counted.entry(asker).or_default()[usize::from(is_error)];
        *counted = counted.saturating_add(1);
        *counted
    }

    fn leave_out(&mut self, project: ProjectNumber, minute: i64, count: i64) {
        if self.gaps.len() < GAPS || self.gaps.contains_key(&(project, minute)) {
            *self.gaps.entry((project, minute)).or_default() += count;
        }
    }

    fn leave_out_one(&mut self, project: ProjectNumber, request: &Logged) {
        if request.status >= 400 {
            self.leave_out(project, request_log::minute_of(request.id.instant()), 1);
        }
    }
}

impl App {
    /// Keeps a request to a project in the log, if it is one that is kept: then it is asked for with `request`. `status`
    /// is that of the answer, `at` when the request came. `is_polled` is for what pages ask again and again: of these
    /// errors alone are kept. It waits for nothing.
    pub fn log_request(
        &self,
        (project, asker): (ProjectNumber, Asker),
        (status, is_polled): (u16, bool),
        at: Timestamp,
        request: impl FnOnce(LoggedRequestId) -> Logged,
    ) {
        let (log, metrics) = (&self.0.project.request_log, self.metrics());
        if log.keeps((project, asker), status, is_polled, at, metrics) {
            log.put(project, request(LoggedRequestId::new(at, rand::random())), metrics);
        }
    }

    /// Whether the log keeps the addresses of clients.
    pub fn logs_addresses(&self) -> bool {
        self.0.project.request_log.settings.addresses
    }

    /// Starts storing requests. Every process that answers requests does so.
    pub fn start_request_log(&self, tasks: &Tasks) {
        tasks.keep("request log", run(self.clone()));
    }

    /// Stores what is in the buffer, and nothing more. To be called when no request is answered any more, and before the
    /// end of the background work is waited for.
    pub fn stop_request_log(&self) {
        self.0.project.request_log.over.cancel();
    }

    /// A page of the log of requests, with at most `limit` of them: those that follow `after`, if it is given.
    pub async fn requests(
        &self,
        project: &Project,
        wanted: Wanted,
        after: Option<LoggedRequestId>,
        limit: usize,
    ) -> Result<Page> {
        let number = project.number;
        let wanted = Arc::new(wanted);
        let (mut requests, left_out) = self
            .read_slow(
                number,
                body!(async |rx| {
                    let left_out = match after {
                        None => request_log::left_out(rx, number, wanted.since, wanted.until).await?,
                        Some(_) => 0,
                    };
                    Ok((request_log::list(rx, number, &wanted, after, limit + 1).await?, left_out))
                }),
            )
            .await?;
        let has_more = requests.len() > limit;
        requests.truncate(limit);
        Ok(Page { requests, has_more, left_out })
    }

    /// One request of the log.
    pub async fn logged_request(&self, project: &Project, id: LoggedRequestId) -> Result<Logged> {
        let number = project.number;
        let found = self.read(body!(async |rx| request_log::get(rx, number, id).await)).await?;
        found.ok_or_else(|| Error::not_found(Resource::Request, id))
    }

    /// Removes requests that are not kept any longer.
    pub(crate) async fn forget_requests(
        &self,
        project: ProjectNumber,
        periods: Periods,
        now: Timestamp,
    ) -> Result<()> {
        let before = periods.before(Kind::RequestLog, now).unwrap_or_default();
        loop {
            let forgotten = self.write_in_background(body!(async |tx| {
                Ok(request_log::forget(tx, project, before, ROWS as i64).await?)
            }));
            if forgotten.await? == 0 {
                return Ok(());
            }
        }
    }
}

async fn run(app: App) {
    let log = &app.0.project.request_log;
    loop {
        let is_over = tokio::select! {
            () = log.filled.notified() => false,
            () = log.over.cancelled() => true,
        };
        if !is_over {
            tokio::select! {
                () = tokio::time::sleep(GATHERED) => {}
                () = log.over.cancelled() => {}
            }
        }
        store(&app).await;
        if is_over {
            return;
        }
    }
}

/// Stores what was gathered. What cannot be stored is dropped, so that it takes no room while the database is away.
async fn store(app: &App) {
    let (mut requests, mut gaps) = app.0.project.request_log.take();
    while !requests.is_empty() {
        let rest = requests.split_off(requests.len().min(ROWS));
        let batch = Arc::new(std::mem::replace(&mut requests, rest));
        let rows = Arc::clone(&batch);
        let stored = app.write_in_background(body!(async |tx| Ok(request_log::add(tx, &rows).await?)));
        if let Err(error) = stored.await {
            tracing::warn!(%error, requests = batch.len(), "requests could not be stored in the log");
            app.metrics().request_not_logged("database", batch.len() as u64);
            let mut held = app.0.project.request_log.held();
            batch.iter().for_each(|(project, request)| held.leave_out_one(*project, request));
        }
    }
    while !gaps.is_empty() {
        let rest = gaps.split_off(gaps.len().min(ROWS));
        let batch = Arc::new(std::mem::replace(&mut gaps, rest));
        let rows = Arc::clone(&batch);
        let stored = app.write_in_background(body!(async |tx| Ok(request_log::add_gaps(tx, &rows).await?)));
        if let Err(error) = stored.await {
            tracing::warn!(%error, "the number of requests that are not in the log could not be stored, trying again");
            let mut held = app.0.project.request_log.held();
            batch.iter().for_each(|gap| held.leave_out(gap.project, gap.minute, gap.left_out));
        }
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::ids::ApiKeyId;

    use super::*;

    const PROJECT: ProjectNumber = ProjectNumber(1);

    fn key(number: u8) -> Asker {
        Asker::Key(ApiKeyId::from_bytes([number; 16]))
    }

    fn log(sample_percent: u32) -> RequestLog {
        let keep = Duration::from_hours(24);
        RequestLog::new(RequestLogSettings { keep, sample_percent, addresses: false })
    }

    fn request(status: u16) -> Logged {
        Logged {
            id: LoggedRequestId::new(Timestamp(120_000), rand::random()),
            asker: None,
            method: "GET".into(),
            route: "/contacts".into(),
            path: "/contacts".into(),
            status,
            code: None,
            micros: 1,
            request_id: "r".into(),
            address: None,
        }
    }

    #[test]
    fn a_minute_of_a_key_is_bounded_and_takes_nothing_from_others() {
        let (log, metrics) = (log(100), Metrics::default());
        let kept_of = |asker, status, at| log.keeps(asker, status, false, Timestamp(at), &metrics);
        let kept = |project, status, at| kept_of((project, key(1)), status, at);
        let many = 3 * rules::KEPT_PER_MINUTE;
        let successes = (0..many).filter(|_| kept(PROJECT, 200, 0)).count();
        let errors = (0..many).filter(|_| kept(PROJECT, 404, 59_999)).count();
        assert_eq!(successes, rules::KEPT_PER_MINUTE as usize);
        assert_eq!(errors, (rules::KEPT_PER_MINUTE + 2 * rules::KEPT_PER_MINUTE / rules::ONE_OF) as usize);
        assert!(kept_of((PROJECT, key(2)), 404, 59_999), "another key has a bound of its own");
        assert!(kept(ProjectNumber(2), 404, 59_999), "and so has another project");
        assert!(kept(PROJECT, 404, 60_000), "and so has the next minute");
        let (_, gaps) = log.take();
        assert_eq!(gaps, [Gap { project: PROJECT, minute: 0, left_out: i64::from(many) - errors as i64 }]);
    }

    #[test]
    fn successes_are_drawn_and_polling_is_not_kept() {
        let metrics = Metrics::default();
        let kept =
            |log: &RequestLog, polled| log.keeps((PROJECT, key(1)), 200, polled, Timestamp(0), &metrics);
        assert!(!(0..1000).any(|_| kept(&log(0), false)));
        assert!(kept(&log(100), false) && !kept(&log(100), true));
        assert!(log(0).keeps((PROJECT, key(1)), 500, true, Timestamp(0), &metrics));
        let half = log(50);
        assert!((350..650).contains(&(0..1000).filter(|_| half.draws()).count()));
    }

    #[test]
    fn a_full_buffer_takes_no_more_and_says_so() {
        let (log, metrics) = (log(0), Metrics::default());
        for _ in 0..BUFFER + 7 {
            log.put(PROJECT, request(500), &metrics);
        }
        log.put(PROJECT, request(200), &metrics);
        let (requests, gaps) = log.take();
        assert_eq!(requests.len(), BUFFER);
        assert_eq!(gaps, [Gap { project: PROJECT, minute: 2, left_out: 7 }]);
        assert!(metrics.render(false).contains("mailwright_requests_not_logged_total{reason=\"full\"} 8"));
        for project in 0..2 * GAPS as i64 {
            log.held().leave_out(ProjectNumber(project), 0, 1);
        }
        assert_eq!(log.take().1.len(), GAPS);
    }
}
