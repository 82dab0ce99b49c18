//! Counts of conditions on data that are judged in memory, while contacts change, and the first of them after a start.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mailwright_core::filter::Filter;
use mailwright_store::audience::saved_columns;
use mailwright_store::body;
use serde_json::{Value, json};

use super::{FILTERS, MakeFilter, condition};
use crate::case::{Audience, Bench};
use crate::http::{Caller, Connection, Endpoint, get};
use crate::load::{self, Length, Requests};
use crate::people::{self, SCORES};
use crate::random::Random;
use crate::report::{Bar, Unit};
use crate::seed::Site;
use crate::server::Server;
use crate::stats::Latencies;

const CASE: &str = "filter";
/// Milliseconds that a count may take, as a person waits for it.
const BAR: f64 = 10.0;
/// Milliseconds that the first count after a start may take.
const COLD_BAR: f64 = 300.0;
/// Rows that the log of contacts may be ahead of saved columns.
const BEHIND: i64 = 5_000;
/// The filters that are counted: those on two fields.
const ON_DATA: usize = 3;
/// How long columns may be read.
const PATIENCE: Duration = Duration::from_mins(2);
/// A pause between two counts, as while somebody edits.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) async fn run(bench: &mut Bench<'_>, audience: &Audience) -> Result<()> {
    let site = &audience.site;
    let (server, _) = bench.start_on(&site.database, &[]).await?;
    let mut caller = Caller::open(server.port(), &site.secret_key).await?;
    for (name, filter) in &FILTERS[..ON_DATA] {
        let since = Instant::now();
        ready(&server, &mut caller, *filter).await?;
        let what = format!("columns read, {name}");
        bench.add(CASE, what, since.elapsed().as_secs_f64(), Unit::Seconds, |line| line);
    }
    let over = Arc::new(AtomicBool::new(false));
    let writes = tokio::spawn(load::run(server.port(), 1, Length::Until(Arc::clone(&over)), changes(site)));
    for (name, filter) in &FILTERS[..ON_DATA] {
        let mut latencies = Latencies::default();
        let mut random = Random::new(9);
        let before = in_memory(&server).await?;
        for _ in 0..bench.options.samples() {
            let since = Instant::now();
            preview(&mut caller, *filter, &mut random).await?;
            latencies.record(since.elapsed());
            tokio::time::sleep(PAUSE).await;
        }
        let judged = in_memory(&server).await? - before;
        ensure!(judged == bench.options.samples() as u64, "{judged} of the counts were judged in memory");
        let counts = latencies.summary().context("nothing was counted")?;
        let what = format!("count while contacts change, {name}");
        bench.add(CASE, what, counts.p50, Unit::Milliseconds, |line| {
            line.latency(counts).bar(Bar::AtMost(BAR))
        });
    }
    over.store(true, Ordering::Relaxed);
    let writes = writes.await??;
    bench.add(CASE, "changes meanwhile, 1 connection", writes.per_second, Unit::PerSecond, |line| {
        line.latency(writes.latency).errors(writes.errors)
    });
    saved(site).await?;
    bench.stop(server, CASE).await?;
    cold(bench, audience).await
}

/// Waits until the columns of all filters are saved, and not much later than what changes.
async fn saved(site: &Site) -> Result<()> {
    let (db, project, begin) = (site.database.open()?, site.project, Instant::now());
    let mut random = Random::new(9);
    let mut aspects = BTreeSet::new();
    for (_, filter) in &FILTERS[..ON_DATA] {
        let tree = Filter::parse(&condition(filter(&mut random)));
        let tree = tree.map_err(|issues| anyhow::anyhow!("a filter is refused: {issues:?}"))?;
        aspects.extend(tree.aspects(&BTreeMap::new()));
    }
    loop {
        let wanted = aspects.clone();
        let behind = db.read(body!(async |rx| saved_columns::behind(rx, project, &wanted).await));
        if behind.await?.is_some_and(|rows| rows < BEHIND) {
            break;
        }
        ensure!(begin.elapsed() < PATIENCE, "the columns are not saved");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    db.close().await;
    Ok(())
}

/// The first count of servers that have just been started, while contacts change.
async fn cold(bench: &mut Bench<'_>, audience: &Audience) -> Result<()> {
    let site = &audience.site;
    for (name, filter) in &FILTERS[..ON_DATA] {
        let (mut latencies, mut random) = (Latencies::default(), Random::new(10));
        for _ in 0..bench.options.starts() {
            let (server, _) = bench.start_on(&site.database, &[]).await?;
            let over = Arc::new(AtomicBool::new(false));
            let until = Length::Until(Arc::clone(&over));
            let writes = tokio::spawn(load::run(server.port(), 1, until, changes(site)));
            let mut caller = Caller::open(server.port(), &site.secret_key).await?;
            let since = Instant::now();
            preview(&mut caller, *filter, &mut random).await?;
            latencies.record(since.elapsed());
            over.store(true, Ordering::Relaxed);
            writes.await??;
            ensure!(in_memory(&server).await? == 1, "the count was not judged in memory");
            bench.stop(server, CASE).await?;
        }
        let counts = latencies.summary().context("nothing was counted")?;
        let what = format!("first count after a start while contacts change, {name}");
        bench.add(CASE, what, counts.p99, Unit::Milliseconds, |line| {
            line.latency(counts).bar(Bar::AtMost(COLD_BAR))
        });
    }
    Ok(())
}

/// Counts until the columns answer.
async fn ready(server: &Server, caller: &mut Caller, filter: MakeFilter) -> Result<()> {
    let (begin, mut random) = (Instant::now(), Random::new(8));
    loop {
        let before = in_memory(server).await?;
        preview(caller, filter, &mut random).await?;
        if in_memory(server).await? > before {
            return Ok(());
        }
        ensure!(begin.elapsed() < PATIENCE, "the columns are not read");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn preview(caller: &mut Caller, filter: MakeFilter, random: &mut Random) -> Result<Value> {
    let body = json!({ "condition": condition(filter(random)) });
    caller.call("POST", "/segments/preview", Some(&body)).await
}

/// How many filters the server judged in memory.
async fn in_memory(server: &Server) -> Result<u64> {
    let mut connection = Connection::open(server.port()).await?;
    let answer = connection.exchange(&get("/metrics", None)).await?;
    let metrics = String::from_utf8_lossy(answer.body);
    let line =
        metrics.lines().find(|line| line.starts_with("mailwright_audience_filters_total{by=\"memory\"}"));
    Ok(line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0))
}

/// Calls of `/v1/track` that change a field of a contact each.
fn changes(site: &Site) -> impl Fn(usize) -> Requests + Send + 'static {
    let endpoint = Endpoint::post("/v1/track", &site.public_key);
    let count = site.people.len();
    move |connection| {
        let (endpoint, mut random) = (endpoint.clone(), Random::new(connection as u64 + 77));
        Box::new(move |out| {
            let (email, score) = (people::email(random.below(count)), random.below(SCORES));
            let body = format!(r#"{{"email":"{email}","event":"page.viewed","data":{{"score":{score}}}}}"#);
            endpoint.write(body.as_bytes(), out);
        })
    }
}
