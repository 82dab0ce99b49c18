//! Tracked segments: how long it takes from the answer to a change until everybody can see who joined.

mod plan;
mod watch;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mailwright_core::time::Clock;
use mailwright_store::Db;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Audience, Bench};
use crate::http::Caller;
use crate::report::{Bar, Unit, progress};
use crate::seed::Site;
use crate::server::Server;
use crate::stats::Latencies;

use plan::{Change, Plan};
use watch::Watch;

const CASE: &str = "segments";
/// Changes a second.
const RATE: u32 = 200;
/// Connections that the changes come on.
const CONNECTIONS: usize = 8;
/// Milliseconds from the answer to a change until its event can be seen.
const BAR: f64 = 1000.0;
/// How long after the last change the last event may come.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let audience = bench.audience().await?;
    let since = Instant::now();
    let plan = Plan::new(&audience.site, &audience.history, Clock::system().now());
    let db = audience.site.database.open()?;
    plan.store(&db, audience.site.project).await?;
    db.close().await;
    audience.site.database.vacuum().await?;
    audience.site.database.settle().await?;
    progress(format_args!(
        "stored {} segments with {} members in {:.1} s",
        plan.segments(),
        plan.members(),
        since.elapsed().as_secs_f64()
    ));

    let (server, _) = bench.start_on(&audience.site.database, &[]).await?;
    verify(&server, &audience.site, &plan).await?;
    changes(bench, &server, &audience, &plan).await?;
    bench.stop(server, CASE).await?;
    // its contacts are not what they were
    bench.audience = None;
    Ok(())
}

/// Lets the product judge everybody by some of the segments, which changes nothing when the members are right.
async fn verify(server: &Server, site: &Site, plan: &Plan) -> Result<()> {
    let db = site.database.open()?;
    let before = watch::entries(&db, site.project).await?;
    let mut caller = Caller::open(server.port(), &site.secret_key).await?;
    for (segment, members) in plan.samples() {
        let path = format!("/segments/{}/compute", segment.id);
        let computed = caller.call("POST", &path, Some(&json!({}))).await?;
        // time passes, and ends some memberships
        let total = computed["total"].as_u64().context("nothing was computed")?;
        ensure!(
            total <= members && members - total <= members / 100,
            "{} was stored with {members} members, and has {total}",
            segment.name
        );
    }
    let joined = watch::entries(&db, site.project).await? - before;
    ensure!(joined == 0, "{joined} contacts joined segments whose members were all stored");
    db.close().await;
    Ok(())
}

/// A change whose answer has come.
struct Acknowledged {
    change: Change,
    at: Instant,
}

async fn changes(bench: &mut Bench<'_>, server: &Server, audience: &Audience, plan: &Plan) -> Result<()> {
    let seconds = bench.options.measured().as_secs() * 2;
    let changes = plan.changes(RATE as usize * seconds as usize);
    let expected: usize = changes.iter().map(|change| change.entries().len()).sum();
    let db: Db = audience.site.database.open()?;
    let watch = Watch::start(db.clone(), audience.site.project);
    let begin = Instant::now();
    let acknowledged = make(server, &audience.site, changes).await?;
    let rate = acknowledged.len() as f64 / begin.elapsed().as_secs_f64();
    let what = format!("changes made, {} tracked segments", plan.segments());
    bench.add(CASE, what, rate, Unit::PerSecond, |line| line);

    let last = Instant::now();
    while watch.seen() < expected && last.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let seen = watch.stop().await?;
    db.close().await;
    for (kind, of_kind) in [("data", Change::is_of_data as fn(&Change) -> bool), ("event", Change::is_event)]
    {
        let (mut latencies, mut missing) = (Latencies::default(), 0);
        for Acknowledged { change, at } in acknowledged.iter().filter(|done| of_kind(&done.change)) {
            for entry in change.entries() {
                match seen.get(&(change.contact, entry)) {
                    Some(visible) => latencies.record(visible.saturating_duration_since(*at)),
                    None => missing += 1,
                }
            }
        }
        let moves = latencies.len();
        let latency = latencies.summary().context("nobody joined a segment")?;
        let what = format!("new {kind} answered until its entry event is there, p99 of {moves}");
        bench.add(CASE, what, latency.p99, Unit::Milliseconds, |line| {
            line.latency(latency).bar(Bar::AtMost(BAR)).errors(missing)
        });
    }
    Ok(())
}

/// Makes changes at a steady rate.
async fn make(server: &Server, site: &Site, changes: Vec<Change>) -> Result<Vec<Acknowledged>> {
    let mut shares: Vec<Vec<Change>> = (0..CONNECTIONS).map(|_| Vec::new()).collect();
    for (number, change) in changes.into_iter().enumerate() {
        shares[number % CONNECTIONS].push(change);
    }
    let pause = Duration::from_secs(1) / RATE * CONNECTIONS as u32;
    let mut tasks = JoinSet::new();
    for (number, share) in shares.into_iter().enumerate() {
        let with_secret = Caller::open(server.port(), &site.secret_key).await?;
        let with_public = Caller::open(server.port(), &site.public_key).await?;
        let begin = tokio::time::Instant::now() + pause * number as u32 / CONNECTIONS as u32;
        tasks.spawn(drive(with_secret, with_public, share, tokio::time::interval_at(begin, pause)));
    }
    let mut acknowledged = Vec::new();
    while let Some(done) = tasks.join_next().await {
        acknowledged.extend(done??);
    }
    Ok(acknowledged)
}

async fn drive(
    mut with_secret: Caller,
    mut with_public: Caller,
    changes: Vec<Change>,
    mut ticks: tokio::time::Interval,
) -> Result<Vec<Acknowledged>> {
    let mut acknowledged = Vec::with_capacity(changes.len());
    for change in changes {
        ticks.tick().await;
        let (method, path, body): (_, String, Value) = change.request();
        let caller = if change.is_event() { &mut with_public } else { &mut with_secret };
        caller.call(method, &path, Some(&body)).await?;
        acknowledged.push(Acknowledged { change, at: Instant::now() });
    }
    Ok(acknowledged)
}
