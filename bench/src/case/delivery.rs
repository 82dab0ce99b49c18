//! Mails from the outbox to an SMTP server: rendered, signed, handed over and recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mailwright_core::email::EmailStatus;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::{Clock, Timestamp};
use mailwright_mail::dkim::{KeyType, SigningKey};
use mailwright_mail::smtp::{Connection, RelayConfig, Security};
use mailwright_store::Db;
use mailwright_store::body;
use mailwright_store::insight::counter::{self, Counter};
use tokio::task::JoinSet;

use super::send::{self, To};
use super::{Bench, complain};
use crate::cpu::Cost;
use crate::engine::Engine;
use crate::letter;
use crate::load::{self, Length};
use crate::machine::cores;
use crate::names::Names;
use crate::report::{Bar, Unit};
use crate::seed::{ED25519_DOMAIN, RSA_DOMAIN};
use crate::sink::Sink;

const CASE: &str = "delivery";
/// Connections to the next hop: the server's default.
pub(super) const CONNECTIONS: usize = 32;
/// Bytes of the HTML.
const HTML: usize = 10 * 1024;
/// The part of the signing rate that mail signed with RSA has to reach.
const RSA_BAR: f64 = 0.8;
/// Domains whose servers mails are brought to, the connections for it, and the part of the rate to one relay that is
/// wanted.
const SITES: usize = 1_000;
const DIRECT_CONNECTIONS: usize = 128;
const DIRECT_BAR: f64 = 0.5;
/// How long nothing may move before the delivery counts as stuck.
const STUCK: Duration = Duration::from_mins(1);
/// Connections that mails are put into the queue with.
const FILLING: usize = 64;

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let measured = bench.options.measured();
    let html = letter::html(HTML);
    let now = Clock::system().now();
    let message: Arc<[u8]> =
        letter::message(&format!("hello@{RSA_DOMAIN}"), "user000123@host17.example.com", &html, now).into();
    let mut signing = Vec::new();
    for kind in [KeyType::Rsa2048, KeyType::Ed25519] {
        let rate = sign(kind, Arc::clone(&message), now, measured).await?;
        let what = format!(
            "limit: {} signatures of a message of {} bytes, {} threads",
            kind.as_str(),
            message.len(),
            cores()
        );
        bench.add(CASE, what, rate, Unit::PerSecond, |line| line);
        signing.push(rate);
    }
    let bare = bare_client(Arc::clone(&message), now, measured).await?;
    let what = format!("limit: bare pipelined client, {CONNECTIONS} connections, not signing");
    bench.add(CASE, what, bare, Unit::PerSecond, |line| line);

    let (rsa, cost) = deliver(bench, RSA_DOMAIN, &html, Way::Relay).await?;
    bench.add(CASE, "mails signed with RSA-2048", rsa, Unit::PerSecond, |line| {
        line.cost(cost).limit("signing", signing[0]).bar(Bar::OfLimit(RSA_BAR))
    });
    let (ed25519, cost) = deliver(bench, ED25519_DOMAIN, &html, Way::Relay).await?;
    let least = ed25519_bar(bench.engine());
    bench.add(CASE, "mails signed with Ed25519", ed25519, Unit::PerSecond, |line| {
        line.cost(cost).limit("bare client", bare).bar(Bar::AtLeast(least))
    });
    let (direct, cost) = deliver(bench, ED25519_DOMAIN, &html, Way::Sites).await?;
    let what = format!("mails signed with Ed25519, to {SITES} sites of their own");
    bench.add(CASE, what, direct, Unit::PerSecond, |line| {
        line.cost(cost).limit("one relay", ed25519).bar(Bar::OfLimit(DIRECT_BAR))
    });
    Ok(())
}

/// Where mails go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// To one mail server.
    Relay,
    /// To the mail servers of [`SITES`] domains.
    Sites,
}

/// Mails a second that are wanted where a signature takes little time.
fn ed25519_bar(engine: Engine) -> f64 {
    match engine {
        Engine::Sqlite => 12_000.0,
        Engine::Postgres => 10_000.0,
    }
}

/// Signatures a second, on all processors.
pub(super) async fn sign(
    kind: KeyType,
    message: Arc<[u8]>,
    now: Timestamp,
    measured: Duration,
) -> Result<f64> {
    tokio::task::spawn_blocking(move || {
        let (private, _) = SigningKey::generate(kind)?;
        let key = SigningKey::from_der(kind, &private)?;
        let begin = Instant::now();
        let threads: Vec<_> = (0..cores())
            .map(|_| {
                let (key, message) = (key.clone(), Arc::clone(&message));
                std::thread::spawn(move || {
                    let mut count = 0_u64;
                    while begin.elapsed() < measured {
                        key.sign(RSA_DOMAIN, "bench", &message, now)?;
                        count += 1;
                    }
                    anyhow::Ok(count)
                })
            })
            .collect();
        let mut count = 0;
        for thread in threads {
            count += thread.join().map_err(|_| anyhow::anyhow!("a signing thread panicked"))??;
        }
        Ok(count as f64 / begin.elapsed().as_secs_f64())
    })
    .await?
}

/// Messages a second that the product's SMTP client hands to the sink when it does nothing else.
pub(super) async fn bare_client(message: Arc<[u8]>, now: Timestamp, measured: Duration) -> Result<f64> {
    let sink = Sink::start()?;
    sink.open();
    let (private, _) = SigningKey::generate(KeyType::Ed25519)?;
    let signature: Arc<str> = SigningKey::from_der(KeyType::Ed25519, &private)?
        .sign(ED25519_DOMAIN, "bench", &message, now)?
        .into();
    let relay = RelayConfig::new("127.0.0.1", sink.port(), Security::None);
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(&relay).await?);
    }
    let sent = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for mut connection in connections {
        let (message, signature, sent) = (Arc::clone(&message), Arc::clone(&signature), Arc::clone(&sent));
        tasks.spawn(async move {
            let size = signature.len() + message.len();
            while begin.elapsed() < measured {
                connection
                    .envelope("hello@ed25519.bench.example", "user000123@host17.example.com", size)
                    .await?;
                connection.content(signature.as_bytes(), &message).await?;
                sent.fetch_add(1, Ordering::Relaxed);
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let rate = sent.load(Ordering::Relaxed) as f64 / begin.elapsed().as_secs_f64();
    ensure!(sink.received() == sent.load(Ordering::Relaxed), "the sink did not receive what was sent");
    Ok(rate)
}

/// Fills the outbox with mails of a domain while the sink greets nobody, then lets it, and times how long it takes
/// until all are recorded as sent. Mails a second, and the processor time of each.
async fn deliver(bench: &mut Bench<'_>, domain: &str, html: &str, way: Way) -> Result<(f64, Option<Cost>)> {
    let mails = bench.options.mails();
    let (sink, names) = (Sink::start()?, Names::start()?);
    let bytes = bench.site.database.bytes().await?;
    let (transport, connections) = match way {
        Way::Relay => (format!("smtp://127.0.0.1:{}?tls=none", sink.port()), CONNECTIONS),
        Way::Sites => (format!("direct:?helo=bench.example.com&port={}", sink.port()), DIRECT_CONNECTIONS),
    };
    let (server, _) = bench
        .start(&[
            ("MAILWRIGHT_TRANSPORT", transport),
            ("MAILWRIGHT_DELIVERY_CONNECTIONS", connections.to_string()),
            ("MAILWRIGHT_DNS_SERVER", names.address().to_string()),
            ("MAILWRIGHT_ALLOW_PRIVATE_NETWORKS", "true".into()),
        ])
        .await?;
    let db = bench.site.database.open()?;
    let before = sent(bench.site.project, &db).await?;
    let to = match way {
        Way::Relay => To::Contacts,
        Way::Sites => To::Domains(SITES),
    };
    let requests = send::requests(&bench.site, &format!("hello@{domain}"), html, to);
    let filled = load::run(server.port(), FILLING, Length::Requests(mails), requests).await?;
    complain(&server, &filled);
    ensure!(filled.errors == 0, "not every mail was taken into the queue");
    bench.site.database.settle().await?;

    let meter = bench.meter(&server)?;
    sink.open();
    let begin = Instant::now();
    let (mut last, mut moved) = (0, Instant::now());
    while last < mails {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = sent(bench.site.project, &db).await? - before;
        if now > last {
            (last, moved) = (now, Instant::now());
        }
        ensure!(
            moved.elapsed() < STUCK,
            "the delivery is stuck at {last} of {mails} mails; the end of the server's log:\n{}",
            server.last_words()
        );
    }
    let took = begin.elapsed().as_secs_f64();
    let cost = meter.per(mails)?;
    let received = sink.received();
    if received != mails {
        bench.report.note(format!(
            "{} {CASE}: {mails} mails were sent, but the sink received {received}",
            bench.engine()
        ));
    }
    db.close().await;
    bench.stop(server, CASE).await?;
    bench.site.database.settle().await?;
    let grown = bench.site.database.bytes().await?.saturating_sub(bytes);
    bench.add_size(&format!("mail that was sent from {domain}"), grown, mails);
    Ok((mails as f64 / took, cost))
}

/// Mails that were ever sent, by the sum that is kept of them.
pub(super) async fn sent(project: ProjectNumber, db: &Db) -> Result<u64> {
    let sums = db.read(body!(async |rx| counter::values(rx, project, Counter::Email).await)).await?;
    let sent =
        sums.iter().find(|(name, _)| name == EmailStatus::Sent.as_str()).map_or(0, |(_, count)| *count);
    sent.try_into().context("the sum of sent mails is negative")
}
