//! Reading among many contacts: lists at any depth, search, lookups.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Bench;
use crate::cpu::Cost;
use crate::http::{Connection, Endpoint, get};
use crate::people;
use crate::random::Random;
use crate::report::{Bar, Unit};
use crate::server::Server;
use crate::stats::{Latencies, Summary};

/// Milliseconds that a page of a list may take.
const LIST_BAR: f64 = 5.0;
/// Milliseconds that a page of a search may take.
const SEARCH_BAR: f64 = 50.0;
/// Rows of a page.
const PAGE: usize = 100;
/// Requests that come before those that count.
const WARM_UP: usize = 10;
/// Slow requests are repeated for this long only.
const PATIENCE: Duration = Duration::from_secs(6);
/// How long one request may take.
const STUCK: Duration = Duration::from_mins(1);
/// Addresses of one lookup, half of which are contacts.
const LOOKUP: usize = 500;

/// Substrings to search for, and how many rows the first page of each has.
const SEARCHES: [(&str, &str, usize); 4] = [
    ("rare (100 contacts)", "user0123", 100),
    ("common (one in 53)", "@host17.", 100),
    ("everybody", "example", 100),
    ("nobody", "not-in-any-address", 0),
];

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let (server, _) = bench.start(&[]).await?;
    lists(bench, &server).await?;
    searches(bench, &server).await?;
    lookups(bench, &server).await?;
    bench.stop(server, "contacts").await
}

async fn lists(bench: &mut Bench<'_>, server: &Server) -> Result<()> {
    let count = bench.site.people.len();
    for sort in ["createdAt", "email"] {
        for depth in [0, 10, 50, 99] {
            let mut random = Random::new(depth as u64 + 1);
            let requests = |people: &people::People, key: &str| {
                let cursor = if depth == 0 {
                    String::new()
                } else {
                    // both orders are descending, and the contacts are numbered in both
                    let rank = count / 100 * depth + random.below(count / 200);
                    format!("&cursor={}", people.id(count - 1 - rank))
                };
                get(&format!("/contacts?limit={PAGE}&sort={sort}&dir=desc{cursor}"), Some(key))
            };
            let what = format!("page of {PAGE} by {sort}, {depth} % deep");
            measure(bench, server, &what, Some(LIST_BAR), requests, |page| rows(page, PAGE)).await?;
        }
    }
    Ok(())
}

async fn searches(bench: &mut Bench<'_>, server: &Server) -> Result<()> {
    for (name, text, expected) in SEARCHES {
        let request =
            |_: &people::People, key: &str| get(&format!("/contacts?limit={PAGE}&search={text}"), Some(key));
        let what = format!("search, {name}");
        measure(bench, server, &what, Some(SEARCH_BAR), request, |page| rows(page, expected)).await?;
    }
    Ok(())
}

async fn lookups(bench: &mut Bench<'_>, server: &Server) -> Result<()> {
    let mut random = Random::new(1);
    let request = |people: &people::People, key: &str| {
        let emails: Vec<_> = (0..LOOKUP)
            .map(|at| match at % 2 {
                0 => people::email(random.below(people.len())),
                _ => format!("nobody{}@host1.example.com", random.next()),
            })
            .collect();
        let mut out = Vec::new();
        Endpoint::post("/contacts/lookup", key)
            .write(json!({ "emails": emails }).to_string().as_bytes(), &mut out);
        out
    };
    let what = format!("lookup of {LOOKUP} addresses");
    measure(bench, server, &what, None, request, |answer| {
        let found = answer["found"].as_array().map(Vec::len);
        ensure!(found == Some(LOOKUP / 2), "{found:?} of {} contacts were found", LOOKUP / 2);
        Ok(())
    })
    .await?;

    let mut random = Random::new(2);
    let request = |people: &people::People, key: &str| {
        get(&format!("/contacts/{}", people.id(random.below(people.len()))), Some(key))
    };
    measure(bench, server, "one contact by id", None, request, |contact| {
        ensure!(contact["email"].is_string(), "this is no contact: {contact}");
        Ok(())
    })
    .await
}

fn rows(page: &Value, expected: usize) -> Result<()> {
    let rows = page["data"].as_array().context("a page has no data")?.len();
    ensure!(rows == expected, "a page has {rows} rows instead of {expected}");
    Ok(())
}

/// Makes requests one after the other on one connection; how long they took, and the processor time of each. The first
/// answer is looked at closely.
pub(super) async fn one_by_one(
    bench: &Bench<'_>,
    server: &Server,
    what: &str,
    mut request: impl FnMut() -> Vec<u8>,
    check: impl Fn(&Value) -> Result<()>,
) -> Result<(Summary, Option<Cost>)> {
    let meter = bench.meter(server)?;
    let mut answered = 0;
    let mut connection = Connection::open(server.port()).await?;
    let mut latencies = Latencies::default();
    let begin = Instant::now();
    for sample in 0..bench.options.samples() + WARM_UP {
        let wire = request();
        let since = Instant::now();
        let reply = tokio::time::timeout(STUCK, connection.exchange(&wire)).await;
        let reply = reply.with_context(|| format!("{what}: no answer within {STUCK:?}"))??;
        let took = since.elapsed();
        answered += 1;
        let body = reply.ok().with_context(|| what.to_owned())?;
        if sample == 0 {
            check(&serde_json::from_slice(body)?).with_context(|| what.to_owned())?;
        }
        if sample >= WARM_UP {
            latencies.record(took);
            if begin.elapsed() > PATIENCE {
                break;
            }
        }
    }
    let latency = latencies.summary().context("no request was made")?;
    Ok((latency, meter.per(answered)?))
}

/// Measures requests about the contacts.
async fn measure(
    bench: &mut Bench<'_>,
    server: &Server,
    what: &str,
    bar: Option<f64>,
    mut request: impl FnMut(&people::People, &str) -> Vec<u8>,
    check: impl Fn(&Value) -> Result<()>,
) -> Result<()> {
    let wire = || request(&bench.site.people, &bench.site.secret_key);
    let (latency, cost) = one_by_one(bench, server, what, wire, check).await?;
    bench.add("contacts", what, latency.p50, Unit::Milliseconds, |line| {
        let line = line.latency(latency).cost(cost);
        match bar {
            Some(bar) => line.bar(Bar::AtMost(bar)),
            None => line,
        }
    });
    Ok(())
}
