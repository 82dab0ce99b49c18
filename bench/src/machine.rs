//! What the results were measured on.

use std::fmt::Write as _;
use std::fs;
use std::io::{Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::stats::{Latencies, Summary};

/// Writes that the latency of the disk is measured with.
const FLUSHES: usize = 200;
/// How long pauses of the processor are looked for.
const WATCHED: Duration = Duration::from_secs(3);
/// What is shorter is no pause: an interrupt.
const PAUSE: Duration = Duration::from_micros(500);

/// Facts about the machine.
pub(crate) fn facts(folder: &Path) -> Result<Map<String, Value>> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let flush = flush_latency(folder)?;
    let (share, longest) = pauses();
    let mut facts = Map::new();
    facts.insert("processor".into(), json!(field(&text("/proc/cpuinfo"), "model name")));
    facts.insert("cores".into(), json!(cores()));
    facts.insert("memory".into(), json!(field(&text("/proc/meminfo"), "MemTotal")));
    facts.insert("kernel".into(), json!(text("/proc/sys/kernel/osrelease").trim()));
    facts.insert("load at the start".into(), json!(text("/proc/loadavg").trim()));
    facts.insert("data in".into(), json!(folder.display().to_string()));
    facts.insert("flush to disk, p50 ms".into(), json!(flush.p50));
    facts.insert("flush to disk, p99 ms".into(), json!(flush.p99));
    facts.insert("processor lost, %".into(), json!(share));
    facts.insert("longest pause, ms".into(), json!(longest));
    facts.insert("SQLite".into(), json!(rusqlite::version()));
    Ok(facts)
}

/// The facts for people.
pub(crate) fn show(facts: &Map<String, Value>) -> String {
    let mut out = String::new();
    for (name, value) in facts {
        let _ = writeln!(out, "{name:<24}{}", text(value));
    }
    out
}

/// A fact as it is shown.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Processors that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How much of its time a thread that only computes loses in pauses, in percent, and the longest one, in milliseconds: on a
/// machine that is shared, or busy. Where requests of a few milliseconds meet pauses more than once in a hundred times,
/// their p99 tells of the machine.
fn pauses() -> (f64, f64) {
    let begin = Instant::now();
    let (mut lost, mut longest, mut before) = (Duration::ZERO, Duration::ZERO, begin);
    while before - begin < WATCHED {
        let now = Instant::now();
        let gap = now - before;
        if gap >= PAUSE {
            lost += gap;
            longest = longest.max(gap);
        }
        before = now;
    }
    let rounded = |number: f64| (number * 100.0).round() / 100.0;
    (rounded(100.0 * lost.as_secs_f64() / WATCHED.as_secs_f64()), rounded(1000.0 * longest.as_secs_f64()))
}

/// How long a small write takes to be on disk: what a commit costs at least.
fn flush_latency(folder: &Path) -> Result<Summary> {
    let mut file = tempfile::tempfile_in(folder)?;
    let block = [7; 4096];
    let mut latencies = Latencies::default();
    for write in 0..FLUSHES {
        // over and over the same pages, as a log that is used again
        if write % 16 == 0 {
            file.rewind()?;
        }
        let since = Instant::now();
        file.write_all(&block)?;
        file.sync_data()?;
        latencies.record(since.elapsed());
    }
    latencies.summary().context("nothing was written")
}
