//! A project that does all it may at once, and what another one notices of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::task::JoinSet;

use super::Bench;
use crate::http::{Connection, Endpoint, get};
use crate::letter;
use crate::load::{self, Length, Measured, Requests};
use crate::people::{self, EVENTS};
use crate::random::Random;
use crate::report::{Bar, Unit};
use crate::seed::{self, RSA_DOMAIN, Site};
use crate::server::Server;
use crate::stats::{Latencies, Summary};

const CASE: &str = "noisy";
/// Nobody listens there.
const NOWHERE: &str = "smtp://127.0.0.1:1?tls=none";
/// Requests a minute and project, as by default: beyond it the noisy project hears 429, and goes on asking.
const LIMIT: &str = "1000";
/// Time between two calls that are measured, so that the quiet project stays within the limit.
const PAUSE: Duration = Duration::from_millis(70);
/// Connections for each kind of noise.
const CONNECTIONS: usize = 8;
/// Recipients of a large send.
const RECIPIENTS: usize = 100;
/// Bytes of the data of a large track.
const DATA: usize = 32 * 1024;
/// How many times as long a send may take beside the noise: its 99th percentile against the quiet one's.
const SEND_BAR: f64 = 5.0;
/// Milliseconds that `/ready` may take beside the noise, 99 of 100 times.
const READY_BAR: f64 = 100.0;

/// What the quiet project notices.
struct Noticed {
    send: Summary,
    ready: Summary,
}

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let audience = bench.audience().await?;
    let site = &audience.site;
    let quiet = seed::another(bench.program, &site.database, "Quiet", "quiet.bench.example").await?;
    let variables = [
        ("MAILWRIGHT_TRANSPORT", NOWHERE.to_owned()),
        ("MAILWRIGHT_RATE_LIMIT_PER_MINUTE", LIMIT.to_owned()),
    ];
    let (server, _) = bench.start_on(&site.database, &variables).await?;
    let alone = notice(bench, &server, &quiet).await?;
    let over = Arc::default();
    let noise = make_noise(&server, site, &over);
    let beside = notice(bench, &server, &quiet).await;
    over.store(true, Ordering::Relaxed);
    for made in noise.join_all().await {
        made.context("a part of the noise was none")?;
    }
    let beside = beside?;
    for (what, noticed) in [("alone", &alone), ("beside a noisy project", &beside)] {
        bench.add(CASE, format!("send, {what}, p50"), noticed.send.p50, Unit::Milliseconds, |line| {
            line.latency(noticed.send)
        });
    }
    let slower = beside.send.p99 / alone.send.p99;
    bench.add(CASE, "send, p99 beside a noisy project / alone", slower, Unit::Ratio, |line| {
        line.bar(Bar::AtMost(SEND_BAR))
    });
    bench.add(CASE, "/ready, p99 beside a noisy project", beside.ready.p99, Unit::Milliseconds, |line| {
        line.latency(beside.ready).bar(Bar::AtMost(READY_BAR))
    });
    bench.stop(server, CASE).await
}

/// Sends mails of the quiet project and asks whether the service is ready, in turns.
async fn notice(bench: &Bench<'_>, server: &Server, quiet: &Value) -> Result<Noticed> {
    let text = |name: &str| quiet[name].as_str().with_context(|| format!("no {name} in {quiet}"));
    let (key, from) = (text("secretKey")?, text("from")?);
    let endpoint = Endpoint::post("/v1/send", key);
    let mut connection = Connection::open(server.port()).await?;
    let (mut send, mut ready) = (Latencies::default(), Latencies::default());
    for number in 0..bench.options.samples() * 2 {
        tokio::time::sleep(PAUSE).await;
        let mut request = Vec::new();
        let body = format!(
            r#"{{"to":"quiet{number}@example.com","from":"{from}","subject":"Hello","body":"<p>Hello</p>"}}"#
        );
        endpoint.write(body.as_bytes(), &mut request);
        send.record(timed(&mut connection, &request).await?);
        ready.record(timed(&mut connection, &get("/ready", None)).await?);
    }
    let send = send.summary().context("no mail was sent")?;
    let ready = ready.summary().context("nobody asked")?;
    Ok(Noticed { send, ready })
}

async fn timed(connection: &mut Connection, request: &[u8]) -> Result<Duration> {
    let begin = Instant::now();
    let reply = connection.exchange(request).await?;
    ensure!(reply.status == 200, "the server answered {}: {}", reply.status, reply.text());
    Ok(begin.elapsed())
}

/// Everything at once, until it is over. Each kind must have had an answer.
fn make_noise(server: &Server, site: &Site, over: &Arc<AtomicBool>) -> JoinSet<Result<Measured>> {
    let (port, mut noise) = (server.port(), JoinSet::new());
    let reads =
        ["/events/stats?startDate=2020-01-01", "/contacts?search=a&subscribed=true", "/events?limit=1000"];
    let reads = reads.into_iter().map(str::to_owned);
    let usage = EVENTS.iter().take(1).map(|name| format!("/events/{name}/usage"));
    for path in reads.chain(usage) {
        let request: Arc<[u8]> = get(&path, Some(&site.secret_key)).into();
        let requests = move |_| -> Requests {
            let request = Arc::clone(&request);
            Box::new(move |out| out.extend_from_slice(&request))
        };
        noise.spawn(load::run(port, CONNECTIONS, Length::Until(Arc::clone(over)), requests));
    }
    noise.spawn(load::run(port, CONNECTIONS, Length::Until(Arc::clone(over)), large_sends(site)));
    noise.spawn(load::run(port, CONNECTIONS, Length::Until(Arc::clone(over)), large_tracks(site)));
    noise
}

fn large_sends(site: &Site) -> impl Fn(usize) -> Requests + Send + 'static {
    let endpoint = Endpoint::post("/v1/send", &site.secret_key);
    let people = Arc::clone(&site.people);
    let html = Value::from(letter::html(2 * 1024)).to_string();
    move |connection| {
        let (endpoint, people, html) = (endpoint.clone(), Arc::clone(&people), html.clone());
        let mut random = Random::new(connection as u64 + 1);
        Box::new(move |out| {
            let first = random.below(people.len() - RECIPIENTS);
            let to: Vec<_> = (first..first + RECIPIENTS).map(people::email).collect();
            let to = Value::from(to);
            let body =
                format!(r#"{{"to":{to},"from":"hello@{RSA_DOMAIN}","subject":"Noise","body":{html}}}"#);
            endpoint.write(body.as_bytes(), out);
        })
    }
}

fn large_tracks(site: &Site) -> impl Fn(usize) -> Requests + Send + 'static {
    let endpoint = Endpoint::post("/v1/track", &site.public_key);
    let people = Arc::clone(&site.people);
    move |connection| {
        let (endpoint, people) = (endpoint.clone(), Arc::clone(&people));
        let mut random = Random::new(connection as u64 + 1);
        let data = "x".repeat(DATA);
        Box::new(move |out| {
            let email = people::email(random.below(people.len()));
            let number = random.below(1_000_000);
            let body =
                format!(r#"{{"email":"{email}","event":"noise","data":{{"noise":"{number}{data}"}}}}"#);
            endpoint.write(body.as_bytes(), out);
        })
    }
}
