//! The limits of the machine: the same rows that the product writes, written by the simplest possible program straight
//! on the engine, durably and in groups. No HTTP, no JSON to parse, nothing read: it knows everybody's id.

mod groups;
mod hits;
mod postgres;
mod sqlite;
mod storage;

use std::sync::Arc;

use anyhow::Result;

use crate::case::Bench;
use crate::engine::{Database, Engine};
use crate::people::People;
use crate::report::{Line, Unit};

pub(crate) use groups::{Mail, Rows};
pub(crate) use hits::bare as bare_hits;
pub(crate) use storage::coalesced;

use groups::Group;

/// How many operations are under way at a time, shared by the writers.
const SIZES: [usize; 3] = [64, 256, 512];
/// Rows are made beforehand. No engine writes more operations a second than this.
const MOST_PER_SECOND: u64 = 60_000;

/// What the engine takes, by the number of operations under way.
#[derive(Debug, Clone)]
pub(crate) struct Limits(Vec<(usize, f64)>);

impl Limits {
    /// The most operations a second with no more under way than `connections`: a caller that waits for its answer
    /// cannot be in two groups, so no service could make larger ones.
    pub(crate) fn at(&self, connections: usize) -> f64 {
        let within = self.0.iter().filter(|(size, _)| *size <= connections.max(SIZES[0]));
        within.map(|(_, rate)| *rate).fold(0.0, f64::max)
    }
}

/// Measures the most operations a second that the engine takes, and reports it.
pub(crate) async fn best(bench: &mut Bench<'_>, case: &'static str, rows: &Rows) -> Result<Limits> {
    let mut best = (0.0, 0);
    let mut limits = Vec::new();
    for size in SIZES {
        let rate = measure(bench, rows, size).await?;
        limits.push((size, rate));
        let what = format!("limit: bare insert of the same rows, {size} under way");
        bench.add(case, what, rate, Unit::PerSecond, |line| line);
        if rate > best.0 {
            best = (rate, size);
        }
    }
    if matches!(rows, Rows::Track { look_up: false }) {
        let rate = measure(bench, &Rows::Track { look_up: true }, best.1).await?;
        let what = format!("the same with a lookup of each contact by address, {} under way", best.1);
        let rate_line = Line::new(bench.engine(), case, what, rate, Unit::PerSecond);
        bench.report.add(rate_line);
    }
    Ok(Limits(limits))
}

async fn measure(bench: &mut Bench<'_>, rows: &Rows, size: usize) -> Result<f64> {
    let (engine, measured) = (bench.engine(), bench.options.measured());
    let (project, people) = (bench.site.project, Arc::clone(&bench.site.people));
    let database = bench.limit_database().await?;
    database.settle().await?;
    // two writers on PostgreSQL, so that one computes while the other waits for the disk
    let writers = if engine == Engine::Postgres { 2 } else { 1 };
    let size = size / writers;
    let count = (MOST_PER_SECOND * measured.as_secs()) as usize / size / writers;
    let work = make(&people, rows, size, writers, count);
    match engine {
        Engine::Sqlite => {
            let file = database.file()?;
            tokio::task::spawn_blocking(move || sqlite::run(&file, project.0, &work, measured)).await?
        }
        Engine::Postgres => postgres::run(&database.url()?, project.0, work, measured).await,
    }
}

/// `count` groups for each writer, all about different contacts.
fn make(people: &People, rows: &Rows, size: usize, writers: usize, count: usize) -> Vec<Vec<Group>> {
    let mut source = groups::Source::new(people, rows);
    let mut work: Vec<Vec<Group>> = (0..writers).map(|_| Vec::with_capacity(count)).collect();
    for _ in 0..count {
        for groups in &mut work {
            groups.push(source.group(size));
        }
    }
    work
}

/// A copy of the large database for the limits, so that they and the server do not fill each other's tables.
pub(crate) async fn copy(bench: &Bench<'_>) -> Result<Database> {
    bench.site.database.copy(&bench.home, "limit").await
}
