//! Mails sent one by one at a steady rate, each timed from its request to its arrival.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use crate::http::{Connection, Endpoint};
use crate::letter;
use crate::seed::Site;
use crate::server::Server;
use crate::sink::{PROBE, Sink};
use crate::stats::{Latencies, Summary};

/// Mails a second.
const RATE: u32 = 20;
/// Connections that they are asked for on.
const CONNECTIONS: u32 = 4;
/// Bytes of the HTML.
const HTML: usize = 2 * 1024;
/// How long the last mail may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Pause between two looks at what else goes on.
const LOOK: Duration = Duration::from_millis(10);

/// How long mails took.
pub(super) struct Probed {
    pub(super) latency: Summary,
    /// Mails that did not arrive.
    pub(super) missing: u64,
}

/// Sends such mails.
pub(super) struct Probes<'s> {
    sink: &'s Sink,
    port: u16,
    endpoint: Endpoint,
    content: Arc<str>,
    /// The number of the next mail.
    next: u64,
}

impl<'s> Probes<'s> {
    /// Sends from an address of `domain`.
    pub(super) fn new(site: &Site, server: &Server, sink: &'s Sink, domain: &str) -> Self {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let content = format!(
            r#""from":{},"subject":{},"body":{},"data":{}"#,
            text(&format!("hello@{domain}")),
            text(letter::SUBJECT),
            text(&letter::html(HTML)),
            letter::request_data("Ada", 123_456)
        );
        let endpoint = Endpoint::post("/v1/send", &site.secret_key);
        Self { sink, port: server.port(), endpoint, content: content.into(), next: 0 }
    }

    /// Sends for a while, as long as `going_on` says so, and waits for what was sent.
    pub(super) async fn run(
        &mut self,
        length: Duration,
        mut going_on: impl FnMut() -> Result<bool>,
    ) -> Result<Probed> {
        let stop = Arc::new(AtomicBool::new(false));
        let pause = Duration::from_secs(1) / RATE;
        let begin = tokio::time::Instant::now();
        let mut tasks = JoinSet::new();
        for number in 0..CONNECTIONS {
            let probe = Probe {
                connection: Connection::open(self.port).await?,
                endpoint: self.endpoint.clone(),
                content: Arc::clone(&self.content),
                next: self.next + u64::from(number),
                stop: Arc::clone(&stop),
            };
            let ticks = tokio::time::interval_at(begin + pause * number, pause * CONNECTIONS);
            tasks.spawn(probe.drive(ticks));
        }
        while begin.elapsed() < length && going_on()? {
            tokio::time::sleep(LOOK).await;
        }
        stop.store(true, Ordering::Relaxed);
        let mut sent = HashMap::new();
        while let Some(done) = tasks.join_next().await {
            sent.extend(done??);
        }
        self.next = sent.keys().max().map_or(self.next, |last| last + u64::from(CONNECTIONS));
        self.collect(&sent).await
    }

    async fn collect(&self, sent: &HashMap<u64, Instant>) -> Result<Probed> {
        let begin = Instant::now();
        loop {
            let mut latencies = Latencies::default();
            for (number, arrived) in self.sink.probes() {
                if let Some(since) = sent.get(&number) {
                    latencies.record(arrived - *since);
                }
            }
            let missing = sent.len().saturating_sub(latencies.len()) as u64;
            if missing == 0 || begin.elapsed() > PATIENCE {
                let latency = latencies.summary().context("no mail has arrived")?;
                return Ok(Probed { latency, missing });
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// One connection.
struct Probe {
    connection: Connection,
    endpoint: Endpoint,
    content: Arc<str>,
    next: u64,
    stop: Arc<AtomicBool>,
}

impl Probe {
    /// Asks for a mail at each tick; when each was asked for.
    async fn drive(mut self, mut ticks: tokio::time::Interval) -> Result<Vec<(u64, Instant)>> {
        let mut sent = Vec::new();
        let mut request = Vec::new();
        loop {
            ticks.tick().await;
            if self.stop.load(Ordering::Relaxed) {
                return Ok(sent);
            }
            let body = format!(r#"{{"to":"{PROBE}{}@probes.example.com",{}}}"#, self.next, self.content);
            request.clear();
            self.endpoint.write(body.as_bytes(), &mut request);
            sent.push((self.next, Instant::now()));
            self.connection.exchange(&request).await?.ok()?;
            self.next += u64::from(CONNECTIONS);
        }
    }
}
