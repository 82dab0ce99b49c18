//! `POST /v1/track`.

use anyhow::Result;

use super::{Bench, CONNECTIONS, JUDGED, plural, track_requests, track_requests_of};
use crate::limit::{self, Rows};
use crate::people::Kind;
use crate::report::{Bar, Unit};
use crate::server::Server;

const CASE: &str = "track";
/// The part of the bare insert's rate that has to be reached.
const RATE_BAR: f64 = 0.6;
/// How many times the median the 99th percentile may be.
const TAIL_BAR: f64 = 10.0;
/// The same where every call writes.
const TAIL_OF_CHANGES_BAR: f64 = 5.0;
/// The part of the rate that has to be left with the log of requests.
const LOG_BAR: f64 = 0.97;
/// How often each way is measured for that.
const LOG_ROUNDS: usize = 4;

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let bare = limit::best(bench, CASE, &Rows::Track { look_up: false }).await?;
    let (rate, latency) = limit::coalesced(bench, JUDGED).await?;
    let what = format!("storage alone, coalesced, {JUDGED} under way");
    bench.add(CASE, what, rate, Unit::PerSecond, |line| {
        line.latency(latency).limit("bare insert", bare.at(JUDGED))
    });

    let (server, _) = bench.start(&[]).await?;
    bench.http_limit(&server, CASE).await?;
    for connections in CONNECTIONS {
        bench.site.database.settle().await?;
        let measured = bench.load(&server, connections, track_requests(&bench.site)).await?;
        let judged = connections == JUDGED;
        bench.add(CASE, plural(connections), measured.per_second, Unit::PerSecond, |line| {
            let line = line
                .latency(measured.latency)
                .cost(measured.cost)
                .limit("bare insert", bare.at(connections))
                .errors(measured.errors);
            if judged { line.bar(Bar::OfLimit(RATE_BAR)) } else { line }
        });
        if judged {
            bench.add_tail(CASE, &plural(connections), measured.latency, TAIL_BAR);
        }
    }
    for (what, kind) in [("each changes a field", Kind::Changed), ("each is new", Kind::New)] {
        all_of(bench, &server, what, kind).await?;
    }
    bench.stop(server, CASE).await?;
    log_of_requests(bench).await
}

/// Calls of one kind, at every number of connections.
async fn all_of(bench: &mut Bench<'_>, server: &Server, what: &str, kind: Kind) -> Result<()> {
    for connections in CONNECTIONS {
        bench.site.database.settle().await?;
        let requests = track_requests_of(&bench.site, Some(kind));
        let measured = bench.load(server, connections, requests).await?;
        let of = format!("{}, {what}", plural(connections));
        bench.add(CASE, &of, measured.per_second, Unit::PerSecond, |line| {
            line.latency(measured.latency).cost(measured.cost).errors(measured.errors)
        });
        bench.add_tail(CASE, &of, measured.latency, TAIL_OF_CHANGES_BAR);
    }
    Ok(())
}

/// What the log of requests costs: the same load with it and without, by turns, so that what the machine does besides
/// falls on both.
async fn log_of_requests(bench: &mut Bench<'_>) -> Result<()> {
    let mut rates = [Vec::new(), Vec::new()];
    let mut errors = 0;
    for round in 0..2 * LOG_ROUNDS {
        // with, without, without, with
        let with = usize::from(matches!(round % 4, 0 | 3));
        let days = if with == 1 { "30" } else { "0" };
        let (server, _) = bench.start(&[("MAILWRIGHT_REQUESTS_RETENTION_DAYS", days.to_owned())]).await?;
        bench.site.database.settle().await?;
        let measured = bench.load(&server, JUDGED, track_requests(&bench.site)).await?;
        rates[with].push(measured.per_second);
        errors += measured.errors;
        bench.stop(server, CASE).await?;
    }
    let [without, with] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2 - 1].midpoint(rates[rates.len() / 2])
    });
    let what = format!("with the log of requests / without, {}", plural(JUDGED));
    bench.add(CASE, what, with / without, Unit::Ratio, |line| line.errors(errors).bar(Bar::AtLeast(LOG_BAR)));
    Ok(())
}
