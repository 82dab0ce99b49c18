//! Many connections that each make one request after the other.
//!
//! All of them live on one thread with an event loop of its own: with few processors that leaves the most to the
//! server, and the client's share is the same in what is measured and in its HTTP limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use crate::cpu::Cost;
use crate::http::Connection;
use crate::stats::{Latencies, Summary};

/// How long the last answers may take after the end of a load.
const PATIENCE: Duration = Duration::from_mins(1);
/// The longest that a load of so many requests may take.
const LONGEST: Duration = Duration::from_mins(10);

/// Appends the next request of a connection.
pub(crate) type Requests = Box<dyn FnMut(&mut Vec<u8>) + Send>;

/// When a load ends.
#[derive(Debug, Clone)]
pub(crate) enum Length {
    /// After a time, whose beginning does not count.
    For { warm_up: Duration, measured: Duration },
    /// After so many requests.
    Requests(u64),
    /// When this is set.
    Until(Arc<AtomicBool>),
}

/// What came of a load.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Requests answered a second, in the time that counts.
    pub(crate) per_second: f64,
    /// Requests answered in all, also outside of that time.
    pub(crate) answered: u64,
    /// Latencies of the requests that began in the time that counts.
    pub(crate) latency: Summary,
    /// The processor time of each request; `None` where nobody looked.
    pub(crate) cost: Option<Cost>,
    /// Requests that were not answered with 200 or, where a link is followed, 302; in all.
    pub(crate) errors: u64,
    /// The first of those answers.
    pub(crate) first_error: Option<String>,
}

struct Plan {
    from: Instant,
    until: Option<Instant>,
    left: AtomicU64,
    over: Arc<AtomicBool>,
}

impl Plan {
    fn new(length: Length, begin: Instant) -> Self {
        let endless = Self { from: begin, until: None, left: AtomicU64::new(u64::MAX), over: Arc::default() };
        match length {
            Length::For { warm_up, measured } => {
                let from = begin + warm_up;
                Self { from, until: Some(from + measured), ..endless }
            }
            Length::Requests(count) => Self { left: AtomicU64::new(count), ..endless },
            Length::Until(over) => Self { over, ..endless },
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        self.over.load(Ordering::Relaxed)
            || self.until.is_some_and(|until| now >= until)
            || !take_one(&self.left)
    }
}

#[derive(Default)]
struct Tally {
    latencies: Latencies,
    completed: u64,
    answered: u64,
    errors: u64,
    first_error: Option<String>,
}

impl Tally {
    fn error(&mut self, text: impl FnOnce() -> String) {
        self.errors += 1;
        if self.first_error.is_none() {
            self.first_error = Some(text());
        }
    }
}

/// Puts a load on the server at `port`. `requests` makes the requests of one connection.
pub(crate) async fn run(
    port: u16,
    connections: usize,
    length: Length,
    requests: impl Fn(usize) -> Requests + Send + 'static,
) -> Result<Measured> {
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(drive_all(port, connections, length, requests))
    })
    .await?
}

async fn drive_all(
    port: u16,
    connections: usize,
    length: Length,
    requests: impl Fn(usize) -> Requests,
) -> Result<Measured> {
    let mut open = Vec::with_capacity(connections);
    for number in 0..connections {
        open.push((
            Connection::open(port).await.context("the server takes no connection")?,
            requests(number),
        ));
    }
    let begin = Instant::now();
    let plan = Arc::new(Plan::new(length, begin));
    let mut tasks = JoinSet::new();
    for (connection, requests) in open {
        tasks.spawn(drive(connection, requests, Arc::clone(&plan)));
    }
    let deadline = plan.until.unwrap_or(begin + LONGEST) + PATIENCE;
    let gathered = tokio::time::timeout_at(deadline.into(), gather(tasks)).await;
    let sum = gathered.context("the server has stopped answering")??;
    let window = plan.until.unwrap_or_else(Instant::now) - plan.from;
    let first_error = sum.first_error;
    let reason = || format!("no request was answered; {}", first_error.as_deref().unwrap_or("none was made"));
    Ok(Measured {
        per_second: sum.completed as f64 / window.as_secs_f64(),
        answered: sum.answered,
        cost: None,
        latency: sum.latencies.summary().with_context(reason)?,
        errors: sum.errors,
        first_error,
    })
}

async fn gather(mut tasks: JoinSet<Tally>) -> Result<Tally> {
    let mut sum = Tally::default();
    while let Some(tally) = tasks.join_next().await {
        let tally = tally?;
        sum.latencies.merge(tally.latencies);
        sum.completed += tally.completed;
        sum.answered += tally.answered;
        sum.errors += tally.errors;
        sum.first_error = sum.first_error.or(tally.first_error);
    }
    Ok(sum)
}

async fn drive(mut connection: Connection, mut requests: Requests, plan: Arc<Plan>) -> Tally {
    let mut tally = Tally::default();
    let mut request = Vec::with_capacity(16 * 1024);
    loop {
        request.clear();
        requests(&mut request);
        let sent = Instant::now();
        if plan.is_over(sent) {
            return tally;
        }
        match connection.exchange(&request).await {
            Ok(reply) if matches!(reply.status, 200 | 302) => {
                let done = Instant::now();
                if sent >= plan.from {
                    tally.latencies.record(done - sent);
                }
                tally.answered += 1;
                // an answer after the end says how long it took, but is not one of the window's
                tally.completed +=
                    u64::from(done >= plan.from && plan.until.is_none_or(|until| done <= until));
            }
            Ok(reply) => tally.error(|| format!("the server answered {}: {}", reply.status, reply.text())),
            Err(error) => {
                tally.error(|| format!("{error:#}"));
                return tally;
            }
        }
    }
}

fn take_one(left: &AtomicU64) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}
