//! Very many mails that wait for very many sites, of which most are paused: the memory of the server, and how fast the
//! mails leave that may.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mailwright_core::ids::InterventionId;
use mailwright_core::intervention::{Intervention, InterventionKind, Scope};
use mailwright_core::time::Clock;
use mailwright_store::delivery::intervention;
use mailwright_store::{Db, args, body};

use super::delivery::sent;
use super::send::{self, To};
use super::{Bench, complain};
use crate::engine::Database;
use crate::letter;
use crate::load::{self, Length};
use crate::names::Names;
use crate::report::{Bar, Unit, progress};
use crate::seed::{ED25519_DOMAIN, Site};
use crate::server::Server;
use crate::sink::Sink;

const CASE: &str = "backlog";
/// The domains that mails wait for, each with a site of its own, and how many of them are paused.
const SITES: usize = 10_000;
const PAUSED: usize = 9_000;
/// Bytes of the HTML.
const HTML: usize = 2 * 1024;
const CONNECTIONS: usize = 128;
/// Connections that mails are put into the queue with.
const FILLING: usize = 64;
/// Megabytes that the server may take at most.
const MEMORY_BAR: f64 = 150.0;
/// The part of the rate without pauses that is wanted of the mails that may leave, and of claims while others are paused.
const RATE_BAR: f64 = 0.8;
/// The part of the mails that may leave by which their rate is measured: while the others leave, nothing is measured to
/// the last mail either.
const MOST: f64 = 0.9;
/// How long the rate is measured.
const MEASURED: Duration = Duration::from_secs(30);
/// How often it is counted how much is put aside: every time, the database reads all mails for it.
const LOOK: Duration = Duration::from_secs(20);
/// How long it may take until all mail for paused sites is put aside.
const PATIENCE: Duration = Duration::from_mins(10);
/// Nobody listens there.
const NOWHERE: &str = "smtp://127.0.0.1:1?tls=none";

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let waiting = bench.options.waiting();
    let (sink, names) = (Sink::start()?, Names::start()?);
    let site = bench.site.copy(&bench.home, CASE).await?;
    let began = Instant::now();
    fill(bench, &site, To::Domains(SITES), waiting).await?;
    progress(format_args!("{waiting} mails wait after {:.1} s", began.elapsed().as_secs_f64()));
    sink.open();

    let db = site.database.open()?;
    let server = deliver(bench, &site.database, &sink, &names).await?;
    let (first, began) = ((sent(site.project, &db).await? as f64), Instant::now());
    tokio::time::sleep(MEASURED).await;
    let free = ((sent(site.project, &db).await? as f64) - first) / began.elapsed().as_secs_f64();
    bench.add(CASE, format!("mails to {SITES} sites, {waiting} waiting"), free, Unit::PerSecond, |line| line);

    let (first, began) = ((sent(site.project, &db).await? as f64), Instant::now());
    pause(&db).await?;
    let Aside { mails: aside, sent: left, at } = until_put_aside(&db, &site, &server).await?;
    let claimed = (aside + left - first) / at.duration_since(began).as_secs_f64();
    bench.add(
        CASE,
        format!("mails claimed while {PAUSED} sites are being paused"),
        claimed,
        Unit::PerSecond,
        |line| line.limit("nothing paused", free).bar(Bar::OfLimit(RATE_BAR)),
    );
    let peak = server.memory()?.peak;
    bench.add(
        CASE,
        format!("peak memory, {waiting} mails for {SITES} sites (VmHWM)"),
        peak,
        Unit::Megabytes,
        |line| line.bar(Bar::AtMost(MEMORY_BAR)),
    );
    bench.stop(server, CASE).await?;

    // what may still leave is not enough to measure by; now there are as many for each site as at first
    let more = waiting * (SITES - PAUSED) as u64 / SITES as u64;
    fill(bench, &site, To::LastDomains { of: SITES, after: PAUSED }, more).await?;
    let all = sent(site.project, &db).await? as f64 + more as f64;
    let server = deliver(bench, &site.database, &sink, &names).await?;
    // some may have left since the server began
    let (first, began) = ((sent(site.project, &db).await? as f64), Instant::now());
    let most = first + (all - first) * MOST;
    let mut rate = None;
    loop {
        let now = sent(site.project, &db).await? as f64;
        if now >= most {
            rate.get_or_insert((now - first) / began.elapsed().as_secs_f64());
        }
        if now >= all {
            break;
        }
        ensure!(began.elapsed() < PATIENCE, "mail for free sites is stuck:\n{}", server.last_words());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let whole = (all - first) / began.elapsed().as_secs_f64();
    let what = format!("mails to the other sites, {PAUSED} paused with {aside:.0} mails");
    bench.add(CASE, what, rate.unwrap_or(whole), Unit::PerSecond, |line| {
        line.limit("nothing paused", free).bar(Bar::OfLimit(RATE_BAR))
    });
    bench.add(CASE, "the same, up to the very last".to_owned(), whole, Unit::PerSecond, |line| line);
    db.close().await;
    bench.stop(server, CASE).await
}

/// Puts mails into the queue while the next hop is down.
async fn fill(bench: &Bench<'_>, site: &Site, to: To, mails: u64) -> Result<()> {
    let (server, _) = bench
        .start_on(
            &site.database,
            &[("MAILWRIGHT_TRANSPORT", NOWHERE.to_owned()), ("MAILWRIGHT_SENDING_PER_SECOND", "0".into())],
        )
        .await?;
    let html = letter::html(HTML);
    let requests = send::requests(site, &format!("hello@{ED25519_DOMAIN}"), &html, to);
    let filled = load::run(server.port(), FILLING, Length::Requests(mails), requests).await?;
    complain(&server, &filled);
    ensure!(filled.errors == 0, "not every mail was taken into the queue");
    server.stop().await?;
    site.database.settle().await
}

/// A server that brings mail to the recipients' own servers.
async fn deliver(bench: &Bench<'_>, database: &Database, sink: &Sink, names: &Names) -> Result<Server> {
    let transport = format!("direct:?helo=bench.example.com&port={}", sink.port());
    let (server, _) = bench
        .start_on(
            database,
            &[
                ("MAILWRIGHT_TRANSPORT", transport),
                ("MAILWRIGHT_DELIVERY_CONNECTIONS", CONNECTIONS.to_string()),
                ("MAILWRIGHT_SENDING_PER_SECOND", "0".into()),
                ("MAILWRIGHT_DNS_SERVER", names.address().to_string()),
                ("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true".into()),
            ],
        )
        .await?;
    Ok(server)
}

/// Pauses the mail for the first domains.
async fn pause(db: &Db) -> Result<()> {
    let now = Clock::system().now();
    let all: Vec<_> = (0..PAUSED)
        .map(|number| Intervention {
            id: InterventionId::new(now, rand::random()),
            kind: InterventionKind::Pause,
            scope: Scope { project: None, domain: Some(send::domain(number)), site: None },
            transport: None,
            reason: None,
            created_by: "operator".into(),
            created_name: None,
            created_at: now,
            ended_at: None,
        })
        .collect();
    db.write(body!(async |tx| {
        for one in &all {
            intervention::add(tx, one).await?;
        }
        Ok::<_, mailwright_store::Error>(())
    }))
    .await?;
    Ok(())
}

/// Mail that is put aside, since it is paused.
struct Aside {
    mails: f64,
    /// How many mails have left by then.
    sent: f64,
    at: Instant,
}

/// Waits until no mail is due any more that is paused.
async fn until_put_aside(db: &Db, site: &Site, server: &Server) -> Result<Aside> {
    let (project, began) = (site.project, Instant::now());
    let mut last: Option<Aside> = None;
    loop {
        let paused: i64 = db
            .read(body!(async |rx| {
                rx.one(
                    "select count(*) from emails where project_id = $1 and paused_by is not null",
                    args![project],
                    |r| r.get(0),
                )
                .await
            }))
            .await?;
        let mails = paused as f64;
        // the last ones are claimed within moments
        match last {
            Some(last) if paused > 0 && last.mails >= mails => return Ok(last),
            _ => last = Some(Aside { mails, sent: sent(project, db).await? as f64, at: Instant::now() }),
        }
        ensure!(began.elapsed() < PATIENCE, "paused mail is not put aside:\n{}", server.last_words());
        tokio::time::sleep(LOOK).await;
    }
}
