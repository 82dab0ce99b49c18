//! Workflows: what those who listen cost each event, what waiting contacts take, how soon a timer is noticed, how many
//! steps are taken in a second, and how fast the past is rehearsed.

mod flow;
mod track;
mod waits;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Bench;
use crate::http::Caller;
use crate::report::{Bar, Unit, progress};
use crate::server::Server;

use flow::Flow;
use waits::Waits;

const CASE: &str = "workflows";
/// Seconds from the start of the process to the first 200 of `/ready`.
const START_BAR: f64 = 2.0;
/// Bytes of a waiting execution in its table, without its entries in indexes.
const BYTES_BAR: f64 = 250.0;
/// Milliseconds from the time for which a timer is set until its step was taken.
const TIMER_BAR: f64 = 1000.0;
/// Steps a second.
const STEPS_BAR: f64 = 5_000.0;
/// Events a second that are rehearsed: a million in ten seconds.
const REHEARSAL_BAR: f64 = 100_000.0;
/// How long nothing may move before something counts as stuck.
const STUCK: Duration = Duration::from_mins(1);
/// The part of the contacts whose steps are counted.
const PART: usize = 10;

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let audience = bench.audience().await?;
    let site = audience.site.copy(&bench.home, "workflows").await?;
    let (server, _) = bench.start_on(&site.database, &[]).await?;
    track::run(bench, &server, &site).await?;
    let mut caller = Caller::open(server.port(), &site.secret_key).await?;
    rehearse(bench, &mut caller).await?;

    // everybody waits, and then ends
    let everybody = flow::segment(&mut caller, "email", "contains", &json!("@")).await?;
    let waiting = Flow::waiting(&mut caller, &[("EXIT", json!({"reason": "over"}))]).await?;
    let count = enrol(bench, &mut caller, &waiting, &everybody).await?;
    // some of them take steps besides
    let scored = json!(crate::people::SCORES / PART);
    let some = flow::segment(&mut caller, "data.score", "lessThan", &scored).await?;
    let steps = flow::steps();
    let busy = Flow::waiting(&mut caller, &steps).await?;
    let members = enrol(bench, &mut caller, &busy, &some).await?;
    bench.stop(server, CASE).await?;

    site.database.vacuum().await?;
    site.database.settle().await?;
    let bytes = site.database.table_bytes("workflow_executions").await? as f64 / (count + members) as f64;
    let what = format!("bytes of each of {} waiting executions", count + members);
    bench.add(CASE, what, bytes, Unit::Bytes, |line| line.bar(Bar::AtMost(BYTES_BAR)));

    let (server, took) = bench.start_on(&site.database, &[]).await?;
    bench.add(CASE, "start until ready with them", took.as_secs_f64(), Unit::Seconds, |line| {
        line.bar(Bar::AtMost(START_BAR))
    });
    let waits = Waits { db: site.database.open()?, project: site.project };
    timers(bench, &waits, &waiting).await?;
    advance(bench, &waits, &busy, members, steps.len() + 1).await?;
    waits.db.close().await;
    verify(&server, &site.secret_key, &[(&waiting, bench.options.timers().0), (&busy, members)]).await?;
    bench.stop(server, CASE).await
}

/// Makes sure that executions came to their end, and not to a failure.
async fn verify(server: &Server, key: &str, flows: &[(&Flow, usize)]) -> Result<()> {
    let mut caller = Caller::open(server.port(), key).await?;
    for (flow, expected) in flows {
        let stats = caller.call("GET", &flow.path("/stats"), None).await?;
        ensure!(stats["exited"] == *expected, "{expected} executions should have ended: {stats}");
    }
    Ok(())
}

/// Enrols the members of a segment, and waits until all of them stand at the first wait; how many there are.
async fn enrol(bench: &mut Bench<'_>, caller: &mut Caller, flow: &Flow, segment: &str) -> Result<usize> {
    let since = Instant::now();
    let started = caller.call("POST", &flow.path("/enrol"), Some(&json!({ "segmentId": segment }))).await?;
    finished(caller, &flow.path("/enrol"), &started).await?;
    let (mut last, mut moved) = (0, Instant::now());
    let members = loop {
        let stats = caller.call("GET", &flow.path("/stats"), None).await?;
        let entered = stats["entered"].as_u64().context("the figures tell of no entries")?;
        let steps = stats["steps"].as_array().context("the figures tell of no steps")?;
        let delay =
            steps.iter().find(|step| step["name"] == "DELAY").context("the figures tell of no DELAY")?;
        let waiting = delay["waiting"].as_u64().context("the figures tell of no waiting")?;
        if waiting == entered && entered > 0 {
            break usize::try_from(entered)?;
        }
        if waiting != last {
            (last, moved) = (waiting, Instant::now());
        }
        ensure!(moved.elapsed() < STUCK, "only {waiting} of {entered} wait: {stats}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let rate = members as f64 / since.elapsed().as_secs_f64();
    bench.add(
        CASE,
        format!("enrolling {members} contacts, until they wait"),
        rate,
        Unit::PerSecond,
        |line| line,
    );
    Ok(members)
}

/// Waits until a job is over; what it came to.
async fn finished(caller: &mut Caller, path: &str, started: &Value) -> Result<Value> {
    let id = started["jobId"].as_str().context("no job was started")?;
    loop {
        let status = caller.call("GET", &format!("{path}/{id}"), None).await?;
        match status["state"].as_str() {
            Some("completed") => return Ok(status["result"].clone()),
            Some("failed") => anyhow::bail!("the job failed: {status}"),
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Rehearses a workflow with what the contacts did.
async fn rehearse(bench: &mut Bench<'_>, caller: &mut Caller) -> Result<()> {
    let flow = Flow::of_history(caller).await?;
    let since = Instant::now();
    let started = caller.call("POST", &flow.path("/simulate"), Some(&json!({ "days": 365 }))).await?;
    let result = finished(caller, &flow.path("/simulate"), &started).await?;
    let took = since.elapsed().as_secs_f64();
    let events = result["summary"]["events"].as_u64().context("nothing was rehearsed")?;
    progress(format_args!("rehearsed {} executions", result["summary"]["entered"]));
    let what = format!("rehearsal of {events} events of {} contacts", result["summary"]["contacts"]);
    bench
        .add(CASE, what, events as f64 / took, Unit::PerSecond, |line| line.bar(Bar::AtLeast(REHEARSAL_BAR)));
    Ok(())
}

/// Has the timers of some contacts fall due evenly, and looks how late they are noticed.
async fn timers(bench: &mut Bench<'_>, waits: &Waits, flow: &Flow) -> Result<()> {
    let (count, length) = bench.options.timers();
    waits.fall_due(flow, count, length).await?;
    let latencies = waits.watch(STUCK).await?;
    let seen = latencies.len();
    let latency = latencies.summary().context("no timer fell due")?;
    let what = format!("timer until its steps are taken, p99 of {seen} within {} s", length.as_secs());
    bench.add(CASE, what, latency.p99, Unit::Milliseconds, |line| {
        line.latency(latency).bar(Bar::AtMost(TIMER_BAR)).errors((count - seen) as u64)
    });
    Ok(())
}

/// Has everybody of a workflow go on at once.
async fn advance(
    bench: &mut Bench<'_>,
    waits: &Waits,
    flow: &Flow,
    count: usize,
    steps: usize,
) -> Result<()> {
    waits.fall_due(flow, count, Duration::ZERO).await?;
    let since = Instant::now();
    waits.watch(STUCK).await?;
    let rate = (count * steps) as f64 / since.elapsed().as_secs_f64();
    let what = format!("steps taken, {count} executions with {steps} each");
    bench.add(CASE, what, rate, Unit::PerSecond, |line| line.bar(Bar::AtLeast(STEPS_BAR)));
    Ok(())
}
