//! Bare writes of opens and clicks: one connection, one transaction a group.

use std::time::{Duration, Instant};

use anyhow::Result;
use mailwright_core::ids::{EmailId, EventId};
use mailwright_core::time::{Clock, Timestamp};
use rusqlite::params;
use uuid::Uuid;

use super::{postgres, sqlite};
use crate::case::Bench;
use crate::engine::Engine;
use crate::random::Random;
use crate::report::Unit;

/// Rows of a transaction.
const SIZES: [usize; 2] = [1_000, 10_000];
/// Rows are made beforehand. No engine writes more of them a second than this.
const MOST_PER_SECOND: u64 = 200_000;
/// How long after it a hit is judged.
const SETTLE: i64 = 3_000;

/// The rows of one transaction, column by column.
#[derive(Default)]
struct Group {
    mails: Vec<Uuid>,
    ids: Vec<Uuid>,
    links: Vec<Option<i64>>,
    at: Vec<i64>,
}

/// The most rows a second that the engine takes, of hits by the program `agent`; also reported.
pub(crate) async fn bare(bench: &mut Bench<'_>, case: &'static str, agent: &'static str) -> Result<f64> {
    let (engine, measured, mails) = (bench.engine(), bench.options.measured(), bench.options.mails());
    let project = bench.site.project.0;
    let mut best: f64 = 0.0;
    for size in SIZES {
        let database = bench.limit_database().await?;
        database.settle().await?;
        let groups = make(size, (MOST_PER_SECOND * measured.as_secs()) as usize / size, mails as usize);
        let rate = match engine {
            Engine::Sqlite => {
                let file = database.file()?;
                let run = move || on_sqlite(&file, project, agent, &groups, measured);
                tokio::task::spawn_blocking(run).await??
            }
            Engine::Postgres => on_postgres(&database.url()?, project, agent, &groups, measured).await?,
        };
        let what = format!("limit: bare insert of opens and clicks, {size} together");
        bench.add(case, what, rate, Unit::PerSecond, |line| line);
        best = best.max(rate);
    }
    Ok(best)
}

/// Opens and clicks by turns, of any of so many mails.
fn make(size: usize, count: usize, mails: usize) -> Vec<Group> {
    let now = Clock::system().now();
    let mails: Vec<Uuid> = (0..mails)
        .map(|number| EmailId::new(Timestamp(now.0 + number as i64), rand::random()).into())
        .collect();
    let mut random = Random::new(now.0 as u64);
    let mut group = || {
        let mut group = Group::default();
        for row in 0..size {
            group.mails.push(mails[random.below(mails.len())]);
            group.ids.push(EventId::new(now, rand::random()).into());
            group.links.push((row % 2 == 0).then(|| random.below(30) as i64));
            group.at.push(now.0);
        }
        group
    };
    (0..count).map(|_| group()).collect()
}

fn on_sqlite(
    file: &std::path::Path,
    project: i64,
    agent: &str,
    groups: &[Group],
    limit: Duration,
) -> Result<f64> {
    let connection = sqlite::open(file)?;
    let mut statement = connection.prepare(
        "insert into hits (project_id, email_id, id, link, at, agent, address, due_at) \
         values (?1, ?2, ?3, ?4, ?5, ?6, '127.0.0.1', ?7)",
    )?;
    let (begin, mut rows) = (Instant::now(), 0);
    for group in groups {
        if begin.elapsed() >= limit {
            break;
        }
        connection.execute_batch("begin immediate")?;
        for row in 0..group.ids.len() {
            let (mail, id, at) = (group.mails[row].as_bytes(), group.ids[row].as_bytes(), group.at[row]);
            statement.execute(params![project, mail, id, group.links[row], at, agent, at + SETTLE])?;
        }
        connection.execute_batch("commit")?;
        rows += group.ids.len();
    }
    Ok(rows as f64 / begin.elapsed().as_secs_f64())
}

async fn on_postgres(url: &str, project: i64, agent: &str, groups: &[Group], limit: Duration) -> Result<f64> {
    let client = postgres::connect(url).await?;
    let statement = client
        .prepare(
            "insert into hits (project_id, email_id, id, link, at, agent, address, due_at) \
             select $1::bigint, r.mail, r.id, r.link, r.at, $6::text, '127.0.0.1', r.at + $7::bigint \
             from unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[]) as r(mail, id, link, at)",
        )
        .await?;
    let (begin, mut rows) = (Instant::now(), 0);
    for group in groups {
        if begin.elapsed() >= limit {
            break;
        }
        client
            .execute(
                &statement,
                &[&project, &group.mails, &group.ids, &group.links, &group.at, &agent, &SETTLE],
            )
            .await?;
        rows += group.ids.len();
    }
    Ok(rows as f64 / begin.elapsed().as_secs_f64())
}
