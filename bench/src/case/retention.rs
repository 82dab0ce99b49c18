//! What the removal of old events costs those who record new ones.
//!
//! Every event of the past is older than is kept. The same load is measured without retention and with it, by turns, so
//! that what the machine does besides falls on both.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use mailwright_core::time::Clock;

use super::{Bench, JUDGED, plural, track_requests};
use crate::load::Measured;
use crate::report::{Bar, Unit, progress};
use crate::stats::median;
use crate::year::{self, Year};

const CASE: &str = "retention";
/// The part of the rate that has to be left beside the removal.
const RATE_BAR: f64 = 0.9;
/// How many times as long 99 of 100 requests may take beside it.
const TAIL_BAR: f64 = 2.0;
/// How often each way is measured.
const ROUNDS: usize = 3;
/// The setting, and the days for which events are kept with it.
const SETTING: &str = "MAILWRIGHT_RETENTION_EVENTS_DAYS";
const DAYS: &str = "365";
/// How long ago the year of the past began.
const AGO: Duration = Duration::from_hours(4 * 365 * 24);
/// How long it may take until the removal begins after a start: the maintenance has its rounds.
const BEGINS: Duration = Duration::from_mins(4);
/// Pause between two looks at whether it has begun.
const LOOK: Duration = Duration::from_millis(200);

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let site = bench.site.copy(&bench.home, "retention").await?;
    let past = year::store(site, bench.options.year(), Clock::system().now().minus(AGO)).await?;
    let mut ways = [Way::default(), Way::default()];
    for round in 0..2 * ROUNDS {
        // without, with, with, without, without, with
        let with = matches!(round % 4, 1 | 2);
        if with && past.site.database.oldest_event(past.site.project).await? >= Some(past.until().0) {
            bail!("all events of the past are removed: more of them are needed (--events)");
        }
        ways[usize::from(with)].measured(turn(bench, &past, with).await?);
    }
    report(bench, ways);
    Ok(())
}

/// What came of one way.
#[derive(Default)]
struct Way {
    rates: Vec<f64>,
    tails: Vec<f64>,
    removed: Vec<f64>,
    errors: u64,
}

impl Way {
    fn measured(&mut self, (measured, removed): (Measured, f64)) {
        self.rates.push(measured.per_second);
        self.tails.push(measured.latency.p99);
        self.removed.push(removed);
        self.errors += measured.errors;
    }
}

/// The load on a server that removes old events, or not: what came of it, and how many rows were removed in a second.
async fn turn(bench: &mut Bench<'_>, past: &Year, with: bool) -> Result<(Measured, f64)> {
    let (database, project) = (&past.site.database, past.site.project);
    let before = database.rows_before(project, past.until().0).await?;
    let oldest = database.oldest_event(project).await?;
    let days = if with { DAYS } else { "0" };
    let (server, _) = bench.start_on(database, &[(SETTING, days.to_owned())]).await?;
    let started = Instant::now();
    while with && database.oldest_event(project).await? == oldest {
        ensure!(started.elapsed() < BEGINS, "nothing was removed within {BEGINS:?} of the start");
        tokio::time::sleep(LOOK).await;
    }
    let (began, first) = (Instant::now(), database.oldest_event(project).await?);
    let measured = bench.load(&server, JUDGED, track_requests(&past.site)).await?;
    let last = database.oldest_event(project).await?;
    bench.stop(server, CASE).await?;
    let (took, after) = (began.elapsed(), database.rows_before(project, past.until().0).await?);
    ensure!(!with || last > first, "nothing was removed while the load was measured");
    ensure!(with || after == before, "{} events were removed without retention", before - after);
    let removed = (before - after) as f64 / took.as_secs_f64();
    progress(format_args!("{} of {before} old events were removed in {took:?}", before - after));
    Ok((measured, removed))
}

fn report(bench: &mut Bench<'_>, [without, with]: [Way; 2]) {
    let errors = without.errors + with.errors;
    let rates = [median(without.rates), median(with.rates)];
    for (way, rate) in ["without", "with"].into_iter().zip(rates) {
        let what = format!("track {way} retention, {}", plural(JUDGED));
        bench.add(CASE, what, rate, Unit::PerSecond, |line| line);
    }
    let removed = with.removed.iter().sum::<f64>() / with.removed.len() as f64;
    bench.add(CASE, "old events removed meanwhile", removed, Unit::PerSecond, |line| line);
    bench.add(CASE, "rate with retention / without", rates[1] / rates[0], Unit::Ratio, |line| {
        line.errors(errors).bar(Bar::AtLeast(RATE_BAR))
    });
    let tail = median(with.tails) / median(without.tails);
    bench
        .add(CASE, "p99 with retention / without", tail, Unit::Ratio, |line| line.bar(Bar::AtMost(TAIL_BAR)));
}
