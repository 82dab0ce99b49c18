//! The same contacts and the same calls in one project, and divided among many: what each call then costs the program
//! and the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mailwright_store::{Db, body};
use serde_json::Value;

use super::{Bench, JUDGED, complain};
use crate::engine::Database;
use crate::http::Endpoint;
use crate::letter;
use crate::load::{self, Length, Measured, Requests};
use crate::people::{self, EVENTS};
use crate::random::Random;
use crate::report::{Unit, progress};
use crate::seed::projects::{self, Project};
use crate::server::Server;

const CASE: &str = "projects";
/// How many projects there are, and how the report says it. The others are compared with the first.
const PROJECTS: [(usize, &str); 3] = [(1, "1 project"), (16, "16 projects"), (1_000, "1,000 projects")];
/// Contacts of all projects together.
const CONTACTS: usize = 25_000;
/// More connections than [`JUDGED`], with which more calls of a project are a transaction together.
const MANY: usize = 512;
/// How long a server may be busy with its rounds through all projects after its start, and the share of one processor that
/// it and the database use when they are done.
const BUSY: (Duration, f64) = (Duration::from_mins(1), 0.1);
/// Bytes of the HTML.
const HTML: usize = 1024;
/// How often it is asked how many mails wait.
const LOOK: Duration = Duration::from_millis(200);
/// How long it may take until one mail fewer waits.
const STUCK: Duration = Duration::from_mins(1);
/// Mail is captured, and no mailbox gets full: a project alone would begin to remove its oldest mails, and many would
/// not.
const VARIABLES: [(&str, &str); 3] = [
    ("MAILWRIGHT_TRANSPORT", "capture"),
    ("MAILWRIGHT_MAILBOX_COUNT", "100000000"),
    ("MAILWRIGHT_MAILBOX_TOTAL_MB", "1048576"),
];

/// What was done in a second with some number of projects, and how the report calls it.
type Rates = [(&'static str, f64); 3];

/// What is running with some number of projects.
struct Running<'r> {
    server: &'r Server,
    database: &'r Database,
    db: &'r Db,
    projects: &'r Arc<[Project]>,
}

/// A call that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Track,
    Send,
}

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let mut alone: Option<Rates> = None;
    for (count, named) in PROJECTS {
        let rates = measure(bench, count, named).await?;
        let Some(alone) = alone else {
            alone = Some(rates);
            continue;
        };
        for ((what, rate), (_, of_one)) in rates.into_iter().zip(alone) {
            let what = format!("{what}, {named} / {}", PROJECTS[0].1);
            bench.add(CASE, what, rate / of_one, Unit::Ratio, |line| line);
        }
    }
    Ok(())
}

/// Measures both calls with so many projects.
async fn measure(bench: &mut Bench<'_>, count: usize, named: &str) -> Result<Rates> {
    let (database, projects) =
        projects::make(bench.program, bench.host, &bench.home, count, CONTACTS).await?;
    let (server, _) =
        bench.start_on(&database, &VARIABLES.map(|(name, value)| (name, value.to_owned()))).await?;
    let projects: Arc<[Project]> = projects.into();
    let db = database.open()?;
    let running = Running { server: &server, database: &database, db: &db, projects: &projects };

    let (track, _) = measure_call(bench, &running, Call::Track, JUDGED).await?;
    let (crowded, _) = measure_call(bench, &running, Call::Track, MANY).await?;
    let (send, captured) = measure_call(bench, &running, Call::Send, JUDGED).await?;
    let all = [("track", JUDGED, &track), ("track", MANY, &crowded), ("send", JUDGED, &send)];
    for (what, connections, measured) in all {
        let what = format!("{what}, {named}, {connections} connections");
        bench.add(CASE, what, measured.per_second, Unit::PerSecond, |line| {
            line.latency(measured.latency).cost(measured.cost).errors(measured.errors)
        });
    }
    bench.add(CASE, format!("send until all are captured, {named}"), captured, Unit::PerSecond, |line| line);
    db.close().await;
    bench.stop(server, CASE).await?;
    Ok([("track", track.per_second), ("send", send.per_second), ("send until all are captured", captured)])
}

/// Puts a load of one call on the server. What was measured, and how many calls a second were done with all that
/// follows from them: mails are handed over after they were accepted, and the cost of a mail has both in it.
async fn measure_call(
    bench: &Bench<'_>,
    running: &Running<'_>,
    call: Call,
    connections: usize,
) -> Result<(Measured, f64)> {
    let (port, projects) = (running.server.port(), running.projects);
    // keys, senders and contents are looked up once for each project, which is not to be measured
    let once = Length::Requests(projects.len().max(connections) as u64);
    complain(running.server, &load::run(port, connections, once, requests(call, projects)).await?);
    until_sent(running).await?;
    running.database.settle().await?;
    until_quiet(bench, running).await?;

    let (meter, begin) = (bench.meter(running.server)?, Instant::now());
    let mut measured = load::run(port, connections, bench.length(), requests(call, projects)).await?;
    if call == Call::Send {
        until_sent(running).await?;
    }
    let rate = measured.answered as f64 / begin.elapsed().as_secs_f64();
    measured.cost = meter.per(measured.answered)?;
    complain(running.server, &measured);
    Ok((measured, rate))
}

/// Waits until the server has little to do. When it starts, it goes through all projects, which is no part of a call.
async fn until_quiet(bench: &Bench<'_>, running: &Running<'_>) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < BUSY.0 {
        let meter = bench.meter(running.server)?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let used = meter.per(1)?.map_or(0.0, |cost| cost.program + cost.database.unwrap_or_default());
        if used < BUSY.1 * 1e6 {
            return Ok(());
        }
    }
    progress(format_args!("the server was still busy after {} s without a call", BUSY.0.as_secs()));
    Ok(())
}

/// Waits until no mail waits.
async fn until_sent(running: &Running<'_>) -> Result<()> {
    let (mut last, mut moved) = (i64::MAX, Instant::now());
    loop {
        let waiting: i64 = running
            .db
            .read(body!(async |rx| {
                let query = "select count(*) from emails where due_at is not null and campaign_id is null";
                rx.one(query, &[], |r| r.get(0)).await
            }))
            .await?;
        if waiting == 0 {
            return Ok(());
        }
        if waiting < last {
            (last, moved) = (waiting, Instant::now());
        }
        ensure!(
            moved.elapsed() < STUCK,
            "{waiting} mails wait and do not move; the end of the server's log:\n{}",
            running.server.last_words()
        );
        tokio::time::sleep(LOOK).await;
    }
}

/// Calls about any contacts, of one project after the other.
fn requests(call: Call, projects: &Arc<[Project]>) -> impl Fn(usize) -> Requests + Send + 'static {
    let projects = Arc::clone(projects);
    let endpoints: Arc<[Endpoint]> = projects.iter().map(|project| call.endpoint(project)).collect();
    let (subject, html) = (Value::from(letter::SUBJECT), Value::from(letter::html(HTML)));
    let content: Arc<str> = format!(r#""subject":{subject},"body":{html}"#).into();
    let turns = Arc::new(AtomicUsize::new(0));
    move |connection| {
        let (projects, endpoints) = (Arc::clone(&projects), Arc::clone(&endpoints));
        let (content, turns) = (Arc::clone(&content), Arc::clone(&turns));
        let mut random = Random::new(connection as u64 + 1);
        Box::new(move |out| {
            let turn = turns.fetch_add(1, Ordering::Relaxed) % projects.len();
            let body = call.body(&projects[turn], &content, &mut random);
            endpoints[turn].write(body.as_bytes(), out);
        })
    }
}

impl Call {
    fn endpoint(self, project: &Project) -> Endpoint {
        match self {
            Self::Track => Endpoint::post("/v1/track", &project.public_key),
            Self::Send => Endpoint::post("/v1/send", &project.secret_key),
        }
    }

    /// A request about some contact of a project; a mail has this subject and HTML.
    fn body(self, project: &Project, content: &str, random: &mut Random) -> String {
        let number = project.people.start + random.below(project.people.len());
        let email = people::email(number);
        match self {
            Self::Track => {
                let event = EVENTS[random.below(EVENTS.len())];
                format!(r#"{{"email":"{email}","event":"{event}"}}"#)
            }
            Self::Send => {
                let data = letter::request_data(people::first_name(number), random.below(1_000_000));
                format!(r#"{{"to":"{email}","from":"{}",{content},"data":{data}}}"#, project.from)
            }
        }
    }
}
