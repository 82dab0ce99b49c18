//! The feed of activity, and figures over time, of a year with many events.

use anyhow::{Context, Result, ensure};
use mailwright_core::ids::EventId;
use mailwright_core::time::Timestamp;
use serde_json::Value;

use super::Bench;
use super::contacts::one_by_one;
use crate::http::get;
use crate::random::Random;
use crate::report::{Bar, Unit};
use crate::server::Server;
use crate::year::{BUSY, Year};

const CASE: &str = "insight";
/// Milliseconds that a page of the feed may take, 99 of 100 times. On a shared machine that tells of the pauses of its
/// processors as well (`machine`).
const PAGE_BAR: f64 = 5.0;
/// Milliseconds that figures of a year may take, 99 of 100 times.
const FIGURES_BAR: f64 = 20.0;
/// Entries of a page.
const PAGE: usize = 50;

/// Makes the next request's path.
type MakePath<'y> = Box<dyn FnMut(&mut Random) -> String + 'y>;

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let year = bench.year().await?;
    let (server, _) = bench.start_on(&year.site.database, &[]).await?;
    pages(bench, &server, &year).await?;
    figures(bench, &server, &year).await?;
    bench.stop(server, CASE).await
}

/// The place of an entry that may have been at a time.
fn cursor(at: Timestamp) -> String {
    format!("{}_{}", at.0, EventId::first_of(at))
}

async fn pages(bench: &mut Bench<'_>, server: &Server, year: &Year) -> Result<()> {
    let people = &year.site.people;
    let deep = |random: &mut Random| format!("&cursor={}", cursor(year.any(random)));
    let pages: [(&str, MakePath<'_>); 9] = [
        ("the first", Box::new(|_| String::new())),
        ("anywhere by cursor", Box::new(deep)),
        ("of a type, the first", Box::new(|_| "&types=contact.subscribed".to_owned())),
        ("of a type, anywhere", Box::new(move |random| format!("&types=contact.subscribed{}", deep(random)))),
        (
            "of a type of many names, anywhere",
            Box::new(move |random| format!("&types=event.triggered{}", deep(random))),
        ),
        (
            "of a rare type of many names, anywhere",
            Box::new(move |random| format!("&types=segment.entered{}", deep(random))),
        ),
        (
            "of any contact",
            Box::new(|random| format!("&contactId={}", people.id(BUSY + random.below(people.len() - BUSY)))),
        ),
        (
            "of a contact with 10,000 events, anywhere",
            Box::new(move |random| format!("&contactId={}{}", people.id(random.below(BUSY)), deep(random))),
        ),
        (
            "of a type and a contact with 10,000 events, anywhere",
            Box::new(move |random| {
                let contact = people.id(random.below(BUSY));
                format!("&types=contact.subscribed&contactId={contact}{}", deep(random))
            }),
        ),
    ];
    let entries = year.events + people.len();
    for (name, mut path) in pages {
        let what = format!("page of {PAGE} of {entries} entries, {name}");
        let of_page = move |random: &mut Random| format!("/activity?limit={PAGE}{}", path(random));
        let check = |page: &Value| {
            let found = page["data"].as_array().map(Vec::len).context("a page has no data")?;
            ensure!(found > 0, "a page is empty");
            Ok(())
        };
        measure(bench, (server, year), &what, PAGE_BAR, of_page, check).await?;
    }
    Ok(())
}

async fn figures(bench: &mut Bench<'_>, server: &Server, year: &Year) -> Result<()> {
    let period = format!("startDate={}&endDate={}", year.from, year.until());
    for path in ["timeseries", "top-events", "campaign-stats", "top-campaigns", "cohorts"] {
        let asked = format!("/analytics/{path}?{period}");
        let what = format!("a year of {path}, {} events", year.events);
        let events = year.events as u64;
        let check = move |found: &Value| match path {
            "timeseries" => {
                let days = found.as_array().context("no list of days")?;
                let sum: u64 = days.iter().filter_map(|day| day["events"].as_u64()).sum();
                ensure!(sum >= events, "{sum} events in a year of {events}");
                Ok(())
            }
            "campaign-stats" => {
                ensure!(found["completed"].as_u64() > Some(0), "no campaigns: {found}");
                Ok(())
            }
            _ => {
                ensure!(found.as_array().is_some_and(|rows| !rows.is_empty()), "nothing in {found}");
                Ok(())
            }
        };
        measure(bench, (server, year), &what, FIGURES_BAR, |_| asked.clone(), check).await?;
    }
    let what = "what was recorded in the last hour".to_owned();
    let path = |_: &mut Random| "/activity/recent-count?minutes=60".to_owned();
    measure(bench, (server, year), &what, PAGE_BAR, path, |_| Ok(())).await
}

/// Measures requests against a bar.
async fn measure(
    bench: &mut Bench<'_>,
    (server, year): (&Server, &Year),
    what: &str,
    bar: f64,
    mut path: impl FnMut(&mut Random) -> String,
    check: impl Fn(&Value) -> Result<()>,
) -> Result<()> {
    let mut random = Random::new(7);
    let wire = || get(&path(&mut random), Some(&year.site.secret_key));
    let (latency, cost) = one_by_one(bench, server, what, wire, check).await?;
    bench.add(CASE, what, latency.p99, Unit::Milliseconds, |line| {
        line.latency(latency).cost(cost).bar(Bar::AtMost(bar))
    });
    Ok(())
}
