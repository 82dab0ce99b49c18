//! The erasure of people who did much: from the request until nothing of them is left.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Bench;
use crate::http::Member;
use crate::report::{Bar, Unit};
use crate::seed::OWNER;
use crate::stats::Latencies;
use crate::year::OF_BUSY;

const CASE: &str = "erasure";
/// Seconds until nothing is left of a person, at most.
const BAR: f64 = 1.0;
/// How many people are erased.
const PEOPLE: usize = 5;
/// Pause between two looks at a receipt.
const LOOK: Duration = Duration::from_millis(5);
/// How long an erasure may take before it counts as stuck.
const STUCK: Duration = Duration::from_mins(2);

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let year = bench.year().await?;
    let (server, _) = bench.start_on(&year.site.database, &[]).await?;
    let mut owner = Member::sign_in(server.port(), OWNER, &year.site.project_id).await?;
    let (mut answers, mut all) = (Latencies::default(), Latencies::default());
    for number in 0..PEOPLE {
        year.site.database.settle().await?;
        let contact = year.site.people.id(number);
        let since = Instant::now();
        let begun = owner.call("POST", &format!("/contacts/{contact}/erase"), &json!({})).await?;
        answers.record(since.elapsed());
        let path = format!("/erasures/{}", begun["id"].as_str().context("an erasure has no id")?);
        let receipt = loop {
            let receipt = owner.call("GET", &path, &Value::Null).await?;
            if !receipt["completedAt"].is_null() {
                break receipt;
            }
            ensure!(since.elapsed() < STUCK, "the erasure is stuck: {receipt}");
            tokio::time::sleep(LOOK).await;
        };
        all.record(since.elapsed());
        let events = receipt["counts"]["events"].as_u64().context("a receipt counts no events")?;
        ensure!(events >= OF_BUSY as u64, "{events} events went of {OF_BUSY}");
    }
    let answers = answers.summary().context("nobody was erased")?;
    let what = format!("answer to the erasure of a contact with {OF_BUSY} events");
    bench.add(CASE, what, answers.p50, Unit::Milliseconds, |line| line.latency(answers));
    let all = all.summary().context("nobody was erased")?;
    let what = format!("nothing is left of it, of {} events, the slowest of {PEOPLE}", year.events);
    bench.add(CASE, what, all.p99 / 1000.0, Unit::Seconds, |line| line.latency(all).bar(Bar::AtMost(BAR)));
    bench.stop(server, CASE).await
}
