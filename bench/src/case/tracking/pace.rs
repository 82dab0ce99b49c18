//! Requests at a steady rate, whether or not those before were answered in time.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use crate::http::Connection;
use crate::load::Requests;
use crate::stats::{Latencies, Summary};

/// Connections that take turns.
const CONNECTIONS: u32 = 64;

/// What came of it.
pub(super) struct Paced {
    /// Requests answered a second.
    pub(super) per_second: f64,
    /// From the request to its answer.
    pub(super) answered: Summary,
    /// From the moment at which the request was due, which this program may have missed, too.
    pub(super) due: Summary,
    /// Requests that were answered neither with 200 nor with 302.
    pub(super) errors: u64,
}

#[derive(Default)]
struct Tally {
    answered: Latencies,
    due: Latencies,
    errors: u64,
}

/// Makes `rate` requests a second for a while, on a thread and an event loop of its own.
pub(super) async fn run(
    port: u16,
    rate: u32,
    length: Duration,
    requests: impl Fn(usize) -> Requests + Send + 'static,
) -> Result<Paced> {
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(drive_all(port, rate, length, requests))
    })
    .await?
}

async fn drive_all(
    port: u16,
    rate: u32,
    length: Duration,
    requests: impl Fn(usize) -> Requests,
) -> Result<Paced> {
    let pause = Duration::from_secs(1) / rate;
    let mut open = Vec::new();
    for number in 0..CONNECTIONS {
        open.push((number, Connection::open(port).await?, requests(number as usize)));
    }
    let begin = tokio::time::Instant::now();
    let mut tasks = JoinSet::new();
    for (number, connection, requests) in open {
        let ticks = tokio::time::interval_at(begin + pause * number, pause * CONNECTIONS);
        tasks.spawn(drive(connection, requests, ticks, begin + length));
    }
    let mut sum = Tally::default();
    while let Some(done) = tasks.join_next().await {
        let tally = done??;
        sum.answered.merge(tally.answered);
        sum.due.merge(tally.due);
        sum.errors += tally.errors;
    }
    let per_second = sum.answered.len() as f64 / length.as_secs_f64();
    let answered = sum.answered.summary().context("no request was answered")?;
    let due = sum.due.summary().context("no request was answered")?;
    Ok(Paced { per_second, answered, due, errors: sum.errors })
}

async fn drive(
    mut connection: Connection,
    mut requests: Requests,
    mut ticks: tokio::time::Interval,
    until: tokio::time::Instant,
) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut request = Vec::new();
    loop {
        let due = ticks.tick().await;
        if due >= until {
            return Ok(tally);
        }
        request.clear();
        requests(&mut request);
        let sent = Instant::now();
        let reply = connection.exchange(&request).await?;
        if matches!(reply.status, 200 | 302) {
            tally.answered.record(sent.elapsed());
            tally.due.record(due.elapsed());
        } else {
            tally.errors += 1;
        }
    }
}
