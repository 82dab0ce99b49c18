//! Opens and clicks: how many are recorded, how soon a link leads on while a campaign is sent, and what tracking and
//! bounces cost each mail.

mod compute;
mod pace;

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::delivery::CONNECTIONS;
use super::{Bench, JUDGED, complain};
use crate::http::{Caller, Endpoint, get};
use crate::limit;
use crate::load::{self, Length, Requests};
use crate::people;
use crate::random::Random;
use crate::report::{Bar, Unit};
use crate::seed::{ED25519_DOMAIN, Site};
use crate::server::Server;
use crate::sink::Sink;

const CASE: &str = "tracking";
/// Links of each mail.
const LINKS: usize = 30;
/// What the visitors' programs call themselves.
const AGENT: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
     Chrome/142.0.0.0 Safari/537.36";
/// Opens and clicks a second that have to be recorded.
const RECORD_BAR: f64 = 10_000.0;
/// Seconds from the last answer until all that was answered is stored.
const DURABLE_BAR: f64 = 1.0;
/// Redirects a second while a campaign is sent.
const RATE: u32 = 1_000;
/// Milliseconds that 99 of 100 of them may take.
const REDIRECT_BAR: f64 = 10.0;
/// Connections that mails are sent with.
const SENDING: usize = 16;
/// How long nothing may move before something counts as stuck.
const STUCK: Duration = Duration::from_mins(1);
/// How far the random numbers of connections are apart, so that each follows links of other mails: a mail has no more
/// than a hundred opens and clicks a minute.
const APART: u64 = 1_000_003;
/// How long the service may take to record the last hand-overs.
const RECORDING: Duration = Duration::from_secs(1);

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    compute::run(bench).await?;
    let bare = limit::bare_hits(bench, CASE, AGENT).await?;
    let site = bench.site.copy(&bench.home, "tracking").await?;
    let sink = Sink::start()?;
    sink.open();
    let variables = [
        ("MAILWRIGHT_TRANSPORT", format!("smtp://127.0.0.1:{}?tls=none", sink.port())),
        ("MAILWRIGHT_DELIVERY_CONNECTIONS", CONNECTIONS.to_string()),
    ];
    let (server, _) = bench.start_on(&site.database, &variables).await?;
    let tokens = send_mails(bench, &site, &server, &sink).await?;
    bench.http_limit(&server, CASE).await?;
    for kind in [Kind::Open, Kind::Click, Kind::Both] {
        site.database.settle().await?;
        record(bench, &site, &server, &tokens, kind, bare).await?;
    }
    wait_until_judged(bench, &site).await?;
    beside_a_campaign(bench, &site, &server, &sink, &tokens).await?;
    bench.stop(server, CASE).await
}

/// The HTML of a mail, with different links.
fn html(bytes: usize) -> String {
    let text = "You find what was sent, and when it is due, on the page of your orders; answer this mail if anything \
         is missing. "
        .repeat(bytes / LINKS / 128);
    let mut html = String::from("<!doctype html>\n<html><body>\n<p>Hello {{firstName ?? \"there\"}},</p>\n");
    for number in 0..LINKS {
        let _ = writeln!(
            html,
            "<p style=\"margin:0 0 16px\">{text}<a href=\"https://shop.example.com/orders/{number}?from=mail\">Look \
             at order {number}</a>.</p>"
        );
    }
    html.push_str("<p>Yours, the shop</p>\n</body></html>\n");
    html
}

/// Sends tracked mails to as many people; the tokens in their links.
async fn send_mails(
    bench: &Bench<'_>,
    site: &Site,
    server: &Server,
    sink: &Sink,
) -> Result<Arc<Vec<String>>> {
    let mails = bench.options.mails();
    let endpoint = Endpoint::post("/v1/send", &site.secret_key);
    let content: Arc<str> = format!(
        r#""from":"hello@{ED25519_DOMAIN}","subject":"Orders","tracking":true,"body":{}"#,
        Value::from(html(2 * 1024))
    )
    .into();
    let requests = move |connection| -> Requests {
        let (endpoint, content, mut number) = (endpoint.clone(), Arc::clone(&content), connection);
        Box::new(move |out| {
            let to = people::email(number);
            number += SENDING;
            endpoint.write(format!(r#"{{"to":"{to}",{content}}}"#).as_bytes(), out);
        })
    };
    sink.keep_tokens(true);
    let sent = load::run(server.port(), SENDING, Length::Requests(mails), requests).await?;
    complain(server, &sent);
    ensure!(sent.errors == 0, "not every mail was taken into the queue");
    let (mut last, mut moved) = (0, Instant::now());
    while last < mails {
        let now = sink.received();
        if now > last {
            (last, moved) = (now, Instant::now());
        }
        ensure!(moved.elapsed() < STUCK, "the delivery is stuck at {last} of {mails} mails");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(RECORDING).await;
    sink.keep_tokens(false);
    let tokens = sink.tokens();
    ensure!(tokens.len() as u64 == mails, "{} of {mails} mails had tracked links", tokens.len());
    Ok(Arc::new(tokens))
}

/// What visitors do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Open,
    Click,
    /// Opens and clicks by turns.
    Both,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Open => "opens",
            Self::Click => "clicks",
            Self::Both => "opens and clicks by turns",
        }
    }
}

/// Visits of any mails.
fn visits(tokens: &Arc<Vec<String>>, kind: Kind) -> impl Fn(usize) -> Requests + Send + 'static {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let tokens = Arc::clone(tokens);
    move |connection| {
        let tokens = Arc::clone(&tokens);
        let run = NEXT.fetch_add(1, Ordering::Relaxed);
        let (mut random, mut number) = (Random::new(run * APART), connection);
        Box::new(move |out| {
            let token = &tokens[random.below(tokens.len())];
            number += 1;
            let opens = kind == Kind::Open || (kind == Kind::Both && number.is_multiple_of(2));
            // writing to memory does not fail
            let _ = if opens {
                write!(out, "GET /t/{token}/o.gif")
            } else {
                write!(out, "GET /t/{token}/{}", random.below(LINKS))
            };
            let _ = write!(out, " HTTP/1.1\r\nhost: 127.0.0.1\r\nuser-agent: {AGENT}\r\n\r\n");
        })
    }
}

/// Lets many visitors come, and times how long it takes until every one of them is stored.
async fn record(
    bench: &mut Bench<'_>,
    site: &Site,
    server: &Server,
    tokens: &Arc<Vec<String>>,
    kind: Kind,
    bare: f64,
) -> Result<()> {
    let hits = if kind == Kind::Both { bench.options.hits() } else { bench.options.hits() / 4 };
    let before = site.database.rows("hits").await?;
    let begin = Instant::now();
    let answered = load::run(server.port(), JUDGED, Length::Requests(hits), visits(tokens, kind)).await?;
    let answers = begin.elapsed();
    complain(server, &answered);
    let (mut last, mut moved) = (0, Instant::now());
    let wanted = hits - answered.errors.min(hits);
    while last < wanted && moved.elapsed() < STUCK / 4 {
        let now = site.database.rows("hits").await? - before;
        if now > last {
            (last, moved) = (now, Instant::now());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let took = moved.duration_since(begin);
    let name = kind.name();
    let what = format!("{name} answered, {JUDGED} connections");
    bench.add(CASE, what, answered.per_second, Unit::PerSecond, |line| {
        line.latency(answered.latency).errors(answered.errors)
    });
    let rate = last as f64 / took.as_secs_f64();
    bench.add(CASE, format!("{name} in the table, {last} of {hits}"), rate, Unit::PerSecond, |line| {
        let line = line.limit("bare insert", bare).errors(hits - last.min(hits));
        if kind == Kind::Both { line.bar(Bar::AtLeast(RECORD_BAR)) } else { line }
    });
    let after = took.saturating_sub(answers).as_secs_f64();
    bench.add(CASE, format!("{name}, last answer until all are stored"), after, Unit::Seconds, |line| {
        line.bar(Bar::AtMost(DURABLE_BAR))
    });
    Ok(())
}

/// Waits until every open and click was judged, which happens some seconds later, so that what follows is measured
/// without it.
async fn wait_until_judged(bench: &mut Bench<'_>, site: &Site) -> Result<()> {
    let begin = Instant::now();
    let waiting = "hits where due_at is not null";
    let all = site.database.rows(waiting).await?;
    let (mut last, mut moved) = (all, begin);
    while last > 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = site.database.rows(waiting).await?;
        if now != last {
            (last, moved) = (now, Instant::now());
        }
        ensure!(moved.elapsed() < STUCK, "{last} opens and clicks are not judged");
    }
    let what = format!("the last {all} opens and clicks judged after");
    bench.add(CASE, what, begin.elapsed().as_secs_f64(), Unit::Seconds, |line| line);
    Ok(())
}

/// Follows links at a steady rate, first with nothing else going on, then while a campaign is sent to everybody.
async fn beside_a_campaign(
    bench: &mut Bench<'_>,
    site: &Site,
    server: &Server,
    sink: &Sink,
    tokens: &Arc<Vec<String>>,
) -> Result<()> {
    let length = bench.options.measured() * 3;
    let (alone, nothing) = paced(server, tokens, length).await?;
    report(bench, &alone, &nothing, "alone", false);

    let mut caller = Caller::open(server.port(), &site.secret_key).await?;
    let draft = json!({
        "name": "Bench", "subject": "Orders", "body": html(10 * 1024), "tracking": true,
        "from": format!("hello@{ED25519_DOMAIN}"), "audienceType": "ALL",
    });
    let created = caller.call("POST", "/campaigns", Some(&draft)).await?;
    let id = created["data"]["id"].as_str().context("a campaign has no id")?;
    let recipients = created["data"]["totalRecipients"].as_u64().context("a campaign has no recipients")?;
    let before = sink.received();
    caller.call("POST", &format!("/campaigns/{id}/send"), Some(&json!({}))).await?;
    let since = Instant::now();
    while sink.received() == before {
        ensure!(since.elapsed() < STUCK, "no mail of the campaign has arrived");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (begin, first) = (Instant::now(), sink.received());
    let (beside, nothing) = paced(server, tokens, length).await?;
    let mails = sink.received() - first;
    let rate = mails as f64 / begin.elapsed().as_secs_f64();
    report(bench, &beside, &nothing, "while a campaign is sent", true);
    let what = format!("mails of the campaign meanwhile, {LINKS} tracked links each");
    bench.add(CASE, what, rate, Unit::PerSecond, |line| line);
    if sink.received() - before >= recipients {
        let note = format!("{} {CASE}: the campaign was over before the redirects were", bench.engine());
        bench.report.note(note);
    }
    Ok(())
}

/// Follows links at a steady rate, and at the same time makes fewer requests that take nothing but the HTTP.
async fn paced(
    server: &Server,
    tokens: &Arc<Vec<String>>,
    length: Duration,
) -> Result<(pace::Paced, pace::Paced)> {
    let health = |_| -> Requests { Box::new(|out| out.extend_from_slice(&get("/health", None))) };
    let links = pace::run(server.port(), RATE, length, visits(tokens, Kind::Click));
    tokio::try_join!(links, pace::run(server.port(), RATE / 5, length, health))
}

/// Reports how long redirects took, beside `nothing`: requests at the same time that do nothing.
fn report(bench: &mut Bench<'_>, paced: &pace::Paced, nothing: &pace::Paced, when: &str, is_judged: bool) {
    let rate = paced.per_second;
    let what =
        format!("limit: HTTP alone (/health) at {:.0}/s beside redirects {when}, p99", nothing.per_second);
    bench.add(CASE, what, nothing.answered.p99, Unit::Milliseconds, |line| line.latency(nothing.answered));
    let what = format!("redirects at {rate:.0}/s {when}, p99 from the request");
    bench.add(CASE, what, paced.answered.p99, Unit::Milliseconds, |line| {
        let line = line.latency(paced.answered).limit("/health", nothing.answered.p99).errors(paced.errors);
        if is_judged { line.bar(Bar::AtMost(REDIRECT_BAR)) } else { line }
    });
    let what = format!("redirects at {rate:.0}/s {when}, p99 from when each was due");
    bench.add(CASE, what, paced.due.p99, Unit::Milliseconds, |line| line.latency(paced.due));
}
