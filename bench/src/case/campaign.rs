//! A campaign to everybody: how soon it begins, how fast it goes, what memory it takes, and what becomes of the mails that
//! are sent one by one meanwhile.

mod probe;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mailwright_core::time::Clock;
use mailwright_mail::dkim::KeyType;
use serde_json::json;

use super::delivery::{self, CONNECTIONS};
use super::{Audience, Bench};
use crate::engine::Engine;
use crate::http::Caller;
use crate::letter;
use crate::report::{Bar, Unit};
use crate::seed::{ED25519_DOMAIN, RSA_DOMAIN};
use crate::server::Server;
use crate::sink::Sink;

use probe::{Probed, Probes};

const CASE: &str = "campaign";
/// Bytes of the HTML.
const HTML: usize = 10 * 1024;
/// Seconds from the answer of `send` to the first mail.
const FIRST_BAR: f64 = 1.0;
/// Megabytes that the server may take at most.
const MEMORY_BAR: f64 = 64.0;
/// How many times longer than without a campaign the slowest mails of other kinds may take.
const PROBE_BAR: f64 = 2.0;
/// How long after the first window is waited until the audience is frozen.
const FREEZING: Duration = Duration::from_secs(90);
/// How long nothing may move before a campaign counts as stuck.
const STUCK: Duration = Duration::from_mins(1);

/// What the machine can do at most.
struct Limits {
    signing: f64,
    /// The part of the signing rate that the mails have to reach: where a signature is what takes most of the time.
    part: Option<f64>,
    bare_client: f64,
}

/// The part of the signing rate that a campaign has to reach.
fn rate_bar(engine: Engine) -> f64 {
    match engine {
        Engine::Sqlite => 0.75,
        Engine::Postgres => 0.7,
    }
}

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let measured = bench.options.measured();
    let html = letter::html(HTML);
    let now = Clock::system().now();
    let message: std::sync::Arc<[u8]> =
        letter::message(&format!("hello@{RSA_DOMAIN}"), "user000123@host17.example.com", &html, now).into();
    let bare_client = delivery::bare_client(message.clone(), now, measured).await?;
    for (kind, domain) in [(KeyType::Rsa2048, RSA_DOMAIN), (KeyType::Ed25519, ED25519_DOMAIN)] {
        let signing = delivery::sign(kind, message.clone(), now, measured).await?;
        let part = (kind == KeyType::Rsa2048).then(|| rate_bar(bench.engine()));
        let limits = Limits { signing, part, bare_client };
        let audience = bench.audience().await?;
        send(bench, &audience, kind.as_str(), domain, &html, &limits).await?;
    }
    Ok(())
}

/// Sends a campaign for a while, on a copy of the database that is thrown away then.
async fn send(
    bench: &mut Bench<'_>,
    audience: &Audience,
    key: &'static str,
    domain: &str,
    html: &str,
    limits: &Limits,
) -> Result<()> {
    let site = audience.site.copy(&bench.home, "campaign").await?;
    let sink = Sink::start()?;
    sink.open();
    let (server, _) = bench
        .start_on(
            &site.database,
            &[
                ("MAILWRIGHT_TRANSPORT", format!("smtp://127.0.0.1:{}?tls=none", sink.port())),
                ("MAILWRIGHT_DELIVERY_CONNECTIONS", CONNECTIONS.to_string()),
            ],
        )
        .await?;
    let mut probes = Probes::new(&site, &server, &sink, domain);
    let alone = probes.run(bench.options.measured() * 3, || Ok(true)).await?;
    let what = format!("other mail from its request to its arrival, {key}, idle");
    bench.add(CASE, what, alone.latency.p99, Unit::Milliseconds, |line| {
        line.latency(alone.latency).errors(alone.missing)
    });

    let mut caller = Caller::open(server.port(), &site.secret_key).await?;
    let campaign = start(bench, &mut caller, &sink, key, domain, html).await?;
    tokio::time::sleep(bench.options.warm_up()).await;

    let run = Run { campaign, sink: &sink, server: &server, key, limits, alone };
    run.window(bench, &mut probes, "while its audience is frozen", bench.options.measured() * 4).await?;
    if run.is_frozen(bench, &mut caller).await? {
        run.window(bench, &mut probes, "once its audience is frozen", bench.options.measured() * 2).await?;
    }
    let what = format!("peak memory while sending, {key} (VmHWM)");
    let memory = server.memory()?;
    bench.add(CASE, what, memory.peak, Unit::Megabytes, |line| line.bar(Bar::AtMost(MEMORY_BAR)));
    run.check(bench, &mut caller).await?;
    // what is left would take long, and goes with the database
    bench.stop(server, CASE).await
}

/// A campaign under way.
struct Campaign {
    path: String,
    recipients: u64,
    since: Instant,
}

/// Sends the campaign and waits for its first mail.
async fn start(
    bench: &mut Bench<'_>,
    caller: &mut Caller,
    sink: &Sink,
    key: &'static str,
    domain: &str,
    html: &str,
) -> Result<Campaign> {
    let draft = json!({
        "name": "Bench", "subject": letter::SUBJECT.replace("code", "plan"), "body": html.replace("code", "plan"),
        "from": format!("hello@{domain}"), "audienceType": "ALL",
    });
    let created = caller.call("POST", "/campaigns", Some(&draft)).await?;
    let id = created["data"]["id"].as_str().context("a campaign has no id")?;
    let path = format!("/campaigns/{id}");
    let recipients = created["data"]["totalRecipients"].as_u64().context("a campaign has no recipients")?;
    let since = Instant::now();
    caller.call("POST", &format!("{path}/send"), Some(&json!({}))).await?;
    let answered = since.elapsed().as_secs_f64();
    let since = Instant::now();
    while sink.others() == 0 {
        ensure!(since.elapsed() < STUCK, "no mail of the campaign has arrived");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let first = since.elapsed().as_secs_f64();
    let what = format!("request to send to {recipients} recipients, {key}");
    bench.add(CASE, what, answered, Unit::Seconds, |line| line);
    let what = format!("answer to it until the first mail, {key}");
    bench.add(CASE, what, first, Unit::Seconds, |line| line.bar(Bar::AtMost(FIRST_BAR)));
    Ok(Campaign { path, recipients, since })
}

/// A campaign while it is looked at.
struct Run<'r> {
    campaign: Campaign,
    sink: &'r Sink,
    server: &'r Server,
    key: &'static str,
    limits: &'r Limits,
    /// Mails of other kinds without the campaign.
    alone: Probed,
}

impl Run<'_> {
    /// Measures for a while, or until the campaign has reached everybody.
    async fn window(
        &self,
        bench: &mut Bench<'_>,
        probes: &mut Probes<'_>,
        phase: &str,
        length: Duration,
    ) -> Result<()> {
        let before = self.sink.others();
        let meter = bench.meter(self.server)?;
        let begin = Instant::now();
        let (mut last, mut moved) = (before, begin);
        let beside = probes
            .run(length, || {
                let mails = self.sink.others();
                if mails > last {
                    (last, moved) = (mails, Instant::now());
                }
                self.is_moving(moved)?;
                Ok(mails < self.campaign.recipients)
            })
            .await?;
        let took = begin.elapsed().as_secs_f64();
        let sent = self.sink.others() - before;
        let (rate, cost) = (sent as f64 / took, meter.per(sent)?);

        let (key, limits) = (self.key, self.limits);
        let what = format!("mails signed with {key} {phase}, {took:.0} s of it");
        bench.add(CASE, what.clone(), rate, Unit::PerSecond, |line| {
            let line = line.cost(cost).limit("signing", limits.signing);
            if let Some(part) = limits.part { line.bar(Bar::OfLimit(part)) } else { line }
        });
        bench.add(CASE, what, rate, Unit::PerSecond, |line| line.limit("bare client", limits.bare_client));
        let what = format!("other mail from its request to its arrival, {key}, {phase}");
        bench.add(CASE, what, beside.latency.p99, Unit::Milliseconds, |line| {
            line.latency(beside.latency).errors(beside.missing)
        });
        let what = format!("other mail, {key}, p99 {phase} / idle");
        let ratio = beside.latency.p99 / self.alone.latency.p99;
        bench.add(CASE, what, ratio, Unit::Ratio, |line| line.bar(Bar::AtMost(PROBE_BAR)));
        Ok(())
    }

    fn is_moving(&self, moved: Instant) -> Result<()> {
        ensure!(
            moved.elapsed() < STUCK,
            "the campaign is stuck at {} mails; the end of the server's log:\n{}",
            self.sink.others(),
            self.server.last_words()
        );
        Ok(())
    }

    /// Waits until the audience is frozen, for some time; whether it is, and mails are left to be sent.
    async fn is_frozen(&self, bench: &mut Bench<'_>, caller: &mut Caller) -> Result<bool> {
        let begin = Instant::now();
        loop {
            let ledger = caller.call("GET", &format!("{}/ledger", self.campaign.path), None).await?;
            let frozen = ledger["equation"]["audience"].as_u64().unwrap_or(0);
            let took = self.campaign.since.elapsed().as_secs_f64();
            let is_frozen = ledger["frozen"] == true;
            if is_frozen || begin.elapsed() > FREEZING {
                let what = format!("contacts frozen in the first {took:.0} s, {}", self.key);
                bench.add(CASE, what, frozen as f64 / took, Unit::PerSecond, |line| line);
                return Ok(is_frozen && self.sink.others() < self.campaign.recipients);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// What was measured has to be what a campaign is for.
    async fn check(&self, bench: &mut Bench<'_>, caller: &mut Caller) -> Result<()> {
        let ledger = caller.call("GET", &format!("{}/ledger", self.campaign.path), None).await?;
        let equation = &ledger["equation"];
        let failed = equation["failed"].as_object().map_or(0, serde_json::Map::len);
        ensure!(failed == 0 && equation["inDoubt"] == 0, "mails of the campaign were not taken: {equation}");
        let note = format!(
            "{} {CASE}: {} of {} mails signed with {} were recorded as sent when the campaign was left",
            bench.engine(),
            equation["accepted"],
            self.campaign.recipients,
            self.key
        );
        bench.report.note(note);
        Ok(())
    }
}
