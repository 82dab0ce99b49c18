//! Filters over contacts and their events: how many a filter finds, and the first of them.
//!
//! A filter counts as new on a server that has just been started, has seen none, and keeps no columns in memory: the
//! database counts. What the operating system keeps of the database's files is not taken from it.

mod memory;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mailwright_core::filter::Filter;
use mailwright_core::time::Clock;
use mailwright_store::Db;
use mailwright_store::audience::filter as store;
use mailwright_store::audience::filter::Segments;
use mailwright_store::body;
use serde_json::{Value, json};

use super::{Audience, Bench};
use crate::history::{self, RARE};
use crate::http::Caller;
use crate::random::Random;
use crate::report::{Bar, Unit};
use crate::stats::{Latencies, Summary};

const CASE: &str = "filter";
/// Milliseconds that the first count of a filter may take.
const COUNT_BAR: f64 = 500.0;
/// Milliseconds that the count of a tracked segment may take.
const MAINTAINED_BAR: f64 = 5.0;
/// Milliseconds that the first page of a filter may take.
const PAGE_BAR: f64 = 50.0;
/// Contacts of a page.
const PAGE: usize = 100;
/// Slow requests are repeated for this long only.
const PATIENCE: Duration = Duration::from_secs(2);

/// With 0 the server leaves all counts to the database.
const NO_COLUMNS: &str = "MAILWRIGHT_SEGMENTS_MEMORY_MB";

/// A filter, another one with each number.
type MakeFilter = fn(&mut Random) -> Vec<Value>;

/// The filters, which find about one contact in a hundred to one in three.
const FILTERS: [(&str, MakeFilter); 7] = [
    ("two data conditions, plan and score", |random| {
        vec![
            data("plan", "equals", json!("team")),
            data("score", "greaterThan", json!(90_000 + random.below(2000))),
        ]
    }),
    ("two data conditions, city and score", |random| {
        vec![
            data("city", "equals", json!("Oslo")),
            data("score", "lessThan", json!(20_000 + random.below(2000))),
        ]
    }),
    ("two data conditions, part of a name and score", |random| {
        vec![
            data("firstName", "contains", json!("ra")),
            data("score", "greaterThanOrEqual", json!(20_000 + random.below(2000))),
        ]
    }),
    ("one event condition, rare event ever", |random| {
        vec![event(&history::rare(random.below(RARE)), "triggered", None)]
    }),
    ("one event condition, frequent event in 3 days", |random| {
        vec![event("feature.used", "triggeredWithin", Some(3 * 1440 + random.below(60)))]
    }),
    ("one event condition, frequent event ever", |_| vec![event("order.placed", "triggered", None)]),
    ("one event condition, frequent event, not in 60 days", |random| {
        vec![event("item.added", "triggeredOlderThan", Some(60 * 1440 + random.below(60)))]
    }),
];
/// The filter among them by which a segment is tracked.
const TRACKED: usize = 1;

fn data(field: &str, operator: &str, value: Value) -> Value {
    json!({ "field": format!("data.{field}"), "operator": operator, "value": value })
}

fn event(name: &str, operator: &str, minutes: Option<usize>) -> Value {
    match minutes {
        None => json!({ "field": format!("event.{name}"), "operator": operator }),
        Some(minutes) => json!({
            "field": format!("event.{name}"), "operator": operator, "value": minutes, "unit": "minutes"
        }),
    }
}

fn condition(filters: Vec<Value>) -> Value {
    json!({ "logic": "AND", "groups": [{ "filters": filters }] })
}

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let audience = bench.audience().await?;
    for (name, filter) in FILTERS {
        new(bench, &audience, name, filter).await?;
    }
    maintained(bench, &audience).await?;
    memory::run(bench, &audience).await?;
    // its contacts are not what they were
    bench.audience = None;
    Ok(())
}

/// A filter that no server has seen, each time on a server that has seen nothing.
async fn new(bench: &mut Bench<'_>, audience: &Audience, name: &str, filter: MakeFilter) -> Result<()> {
    let site = &audience.site;
    let mut random = Random::new(3);
    let (mut counts, mut pages, mut found) = (Latencies::default(), Latencies::default(), 0);
    for _ in 0..bench.options.starts() {
        let (server, _) = bench.start_on(&site.database, &[(NO_COLUMNS, "0".to_owned())]).await?;
        let mut caller = Caller::open(server.port(), &site.secret_key).await?;
        let segment = json!({ "name": name, "condition": condition(filter(&mut random)) });
        let since = Instant::now();
        let created = caller.call("POST", "/segments", Some(&segment)).await?;
        counts.record(since.elapsed());
        let path = path_of(&created)?;
        let since = Instant::now();
        let page = caller.call("GET", &format!("{path}/contacts?pageSize={PAGE}"), None).await?;
        pages.record(since.elapsed());
        found = created["memberCount"].as_u64().context("a segment has no memberCount")?;
        check(&page, found)?;
        caller.call("DELETE", &path, None).await?;
        bench.stop(server, CASE).await?;
    }
    let share = found as f64 * 100.0 / site.people.len() as f64;
    let counts = counts.summary().context("nothing was counted")?;
    let what = format!("count of a new filter, {name} ({share:.1} %)");
    bench.add(CASE, what, counts.p99, Unit::Milliseconds, |line| {
        line.latency(counts).bar(Bar::AtMost(COUNT_BAR))
    });
    let pages = pages.summary().context("no page was read")?;
    let what = format!("first page of {PAGE} with its total, {name}");
    bench.add(CASE, what, pages.p99, Unit::Milliseconds, |line| {
        line.latency(pages).bar(Bar::AtMost(PAGE_BAR))
    });
    let alone = pages_alone(bench, audience, filter, &mut random).await?;
    let what = format!("of it the page without the total, storage alone, {name}");
    bench.add(CASE, what, alone.p50, Unit::Milliseconds, |line| line.latency(alone));
    Ok(())
}

fn path_of(segment: &Value) -> Result<String> {
    Ok(format!("/segments/{}", segment["id"].as_str().context("a segment has no id")?))
}

fn check(page: &Value, found: u64) -> Result<()> {
    let rows = page["data"].as_array().context("a page has no data")?.len();
    ensure!(rows as u64 == found.min(PAGE as u64), "a page has {rows} rows of {found}");
    // time passes between the two, and with it the time of a window
    let total = page["total"].as_u64().context("a page has no total")?;
    ensure!(total.abs_diff(found) <= found / 100, "a page has a total of {total}, and {found} were counted");
    Ok(())
}

/// First pages of filters that all differ, read by the product's own storage layer in this process.
async fn pages_alone(
    bench: &Bench<'_>,
    audience: &Audience,
    filter: MakeFilter,
    random: &mut Random,
) -> Result<Summary> {
    let db = audience.site.database.open()?;
    let mut latencies = Latencies::default();
    let begin = Instant::now();
    while latencies.len() < bench.options.samples() && begin.elapsed() < PATIENCE {
        let tree = Filter::parse(&condition(filter(random)));
        let tree = Arc::new(tree.map_err(|issues| anyhow::anyhow!("a filter is refused: {issues:?}"))?);
        let since = Instant::now();
        let rows = page_alone(&db, audience, tree).await?;
        latencies.record(since.elapsed());
        ensure!(rows == PAGE, "a page has {rows} rows");
    }
    db.close().await;
    latencies.summary().context("no page was read")
}

async fn page_alone(db: &Db, audience: &Audience, tree: Arc<Filter>) -> Result<usize> {
    let (project, now) = (audience.site.project, Clock::system().now());
    let read =
        db.read(body!(async |rx| store::page(rx, project, &tree, &Segments::new(), now, None, PAGE).await));
    Ok(read.await?.len())
}

/// A tracked segment that everybody was judged by.
async fn maintained(bench: &mut Bench<'_>, audience: &Audience) -> Result<()> {
    let site = &audience.site;
    let (server, _) = bench.start_on(&site.database, &[]).await?;
    let mut caller = Caller::open(server.port(), &site.secret_key).await?;
    let (name, filter) = FILTERS[TRACKED];
    let segment = json!({
        "name": name, "condition": condition(filter(&mut Random::new(4))), "trackMembership": true
    });
    let created = caller.call("POST", "/segments", Some(&segment)).await?;
    let (path, counted) = (path_of(&created)?, created["memberCount"].clone());
    let since = Instant::now();
    let computed = caller.call("POST", &format!("{path}/compute"), Some(&json!({}))).await?;
    let what = format!("everybody judged by a segment, {counted} join");
    bench.add(CASE, what, since.elapsed().as_secs_f64(), Unit::Seconds, |line| line);
    ensure!(computed["added"] == counted, "{counted} contacts were counted, and {computed} joined");

    let count = repeat(bench, &mut caller, &path, |segment| {
        ensure!(segment["memberCount"] == counted, "a segment of {counted} members shows {segment}");
        Ok(())
    })
    .await?;
    bench.add(CASE, "count of a tracked segment", count.p99, Unit::Milliseconds, |line| {
        line.latency(count).bar(Bar::AtMost(MAINTAINED_BAR))
    });
    let members = counted.as_u64().context("a segment has no memberCount")?;
    let page = format!("{path}/contacts?pageSize={PAGE}");
    let page = repeat(bench, &mut caller, &page, |page| check(page, members)).await?;
    let what = format!("first page of {PAGE} with its total, tracked segment");
    bench.add(CASE, what, page.p99, Unit::Milliseconds, |line| line.latency(page).bar(Bar::AtMost(PAGE_BAR)));
    caller.call("DELETE", &path, None).await?;
    bench.stop(server, CASE).await
}

/// Asks for something again and again.
async fn repeat(
    bench: &Bench<'_>,
    caller: &mut Caller,
    path: &str,
    check: impl Fn(&Value) -> Result<()>,
) -> Result<Summary> {
    let mut latencies = Latencies::default();
    let begin = Instant::now();
    while latencies.len() < bench.options.samples() && begin.elapsed() < PATIENCE {
        let since = Instant::now();
        let answer = caller.call("GET", path, None).await?;
        latencies.record(since.elapsed());
        check(&answer)?;
    }
    latencies.summary().context("nothing was answered")
}
