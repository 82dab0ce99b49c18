//! Time to start on a large database, and memory of a server that does nothing.

use anyhow::Result;

use super::Bench;
use crate::report::{Bar, Unit};
use crate::stats::median;

/// Seconds from the start of the process to the first 200 of `/ready`.
const START_BAR: f64 = 1.0;
/// Megabytes resident.
const IDLE_BAR: f64 = 40.0;

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..bench.options.starts() {
        let (server, took) = bench.start(&[]).await?;
        times.push(took.as_secs_f64());
        server.stop().await?;
    }
    let what = format!("start until ready, {} contacts, median of {}", bench.site.people.len(), times.len());
    bench.add("process", what, median(times), Unit::Seconds, |line| line.bar(Bar::AtMost(START_BAR)));

    let (server, _) = bench.start(&[]).await?;
    let idle = bench.options.idle();
    tokio::time::sleep(idle).await;
    let memory = server.memory()?;
    let what = format!("memory after {} s without traffic (VmRSS)", idle.as_secs());
    bench.add("process", what, memory.resident, Unit::Megabytes, |line| line.bar(Bar::AtMost(IDLE_BAR)));
    let what = "of it the process's own (RssAnon)";
    bench.add("process", what, memory.anonymous, Unit::Megabytes, |line| line);
    bench.stop(server, "idling").await
}
