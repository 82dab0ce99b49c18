//! Reports about TLS (RFC 8460): what each domain that asks for it is told of how connections to its mail servers fared.
//!
//! 1. What connections come to is counted in memory ([`TlsResults`](super::direct)), and stored every minute: the sums of all
//!    processes by day (UTC).
//! 2. After the end of the day, within four hours, each domain is looked after once, by the process that claims it. It looks
//!    up where the domain wants its report. Where it wants none, what was counted is dropped.
//! 3. In one transaction the report is put into the outbox for each address ([`mailing`]), and beside it for each URL
//!    ([`posting`]), and what was counted is removed. So there is one report, whatever dies.
//!
//! The mails are the instance's own, in the lane of automations. They leave whatever the domain demands of TLS, and their
//! connections are not counted (section 3).

mod mailing;
pub(crate) mod metrics;
mod posting;
mod report;

use std::time::Duration;

use futures_util::future::join_all;
use mailwright_core::email::Lane;
use mailwright_core::time::Timestamp;
use mailwright_mail::dns::DnsError;
use mailwright_mail::tls_report::{Destination, destinations, record_name};
use mailwright_store::body;
use mailwright_store::delivery::tls_report::{self, Claim, begin, day};

use crate::App;
use crate::background::runner::{Next, Runner, Work};
use crate::background::tasks::Tasks;
use crate::error::{Error, Result};
use crate::sending::system_mail::{SystemSender, enqueue};
use metrics::End;

/// Time between two rounds.
const PERIOD: Duration = Duration::from_mins(1);
/// Most domains that are looked after at a time.
const DOMAINS: i64 = 20;
/// Most reports on their way to URLs at a time.
const POSTS: i64 = 8;
/// How long a process may take for a domain, and for a report on its way to a URL.
const LEASE: Duration = Duration::from_mins(15);
/// When a domain is looked at again whose name servers gave no answer.
const NO_ANSWER: Duration = Duration::from_mins(30);
/// For how long that is tried, from the end of the day.
const TRIED_FOR: Duration = Duration::from_hours(24);

/// Starts counting and reporting, where the operator asks for it.
pub(super) fn start(app: &App, tasks: &Tasks) {
    if app.settings().tls_reports.is_some() {
        let work = Reports { app: app.clone(), day: day(app.clock().now()), counts: Counts::default() };
        Runner::new(app, "reports about TLS", PERIOD).start(tasks, work);
    }
}

/// How many reports came to what, of this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    sent: u64,
    failed: u64,
    /// Domains that want none.
    dropped: u64,
    /// Connections that could not be counted, since there were too many domains.
    uncounted: u64,
}

impl Counts {
    fn add(&mut self, end: End, count: u64) {
        let of_end = match end {
            End::Sent => &mut self.sent,
            End::Failed => &mut self.failed,
            End::Dropped => &mut self.dropped,
        };
        *of_end += count;
    }
}

struct Reports {
    app: App,
    day: i64,
    counts: Counts,
}

impl Work for Reports {
    async fn round(&mut self) -> Result<Next> {
        self.store_counts().await;
        let now = self.app.clock().now();
        if day(now) != self.day {
            self.tell();
            self.day = day(now);
        }
        if !self.app.clock_is_right() {
            return Ok(Next::Woken);
        }
        let Some(sender) = self.app.system_sender().await? else { return Ok(Next::Woken) };
        let more_domains = self.look_after_domains(&sender, now).await?;
        let more_posts = self.post(now).await?;
        Ok(if more_domains || more_posts { Next::Now } else { Next::Woken })
    }

    async fn stop(&mut self) {
        self.store_counts().await;
        self.tell();
    }
}

impl Reports {
    fn add(&mut self, ends: impl IntoIterator<Item = (End, u64)>) {
        for (end, count) in ends {
            self.app.metrics().tls_reports.count(end, count);
            self.counts.add(end, count);
        }
    }

    /// Says in the log what a day came to.
    fn tell(&mut self) {
        let counts = std::mem::take(&mut self.counts);
        if counts != Counts::default() {
            let Counts { sent, failed, dropped, uncounted } = counts;
            tracing::info!(sent, failed, dropped, uncounted, "reports about TLS of a day");
        }
    }

    /// Stores what was counted. What cannot be stored is lost.
    async fn store_counts(&mut self) {
        let results = &self.app.0.delivery.tls_results;
        let (parts, uncounted) = results.take();
        self.counts.uncounted += uncounted;
        for part in parts {
            let (of_day, policies) = (part.day, part.policies.clone());
            let sessions: i64 = part.sessions.iter().map(|row| row.sessions).sum();
            let db = &self.app.0.db;
            let stored = db.write_in_background(body!(async |tx| tls_report::add(tx, &part).await));
            if let Err(error) = stored.await {
                tracing::warn!(%error, sessions, "what TLS came to could not be stored, reports will lack it");
                results.put_back(of_day, policies);
            }
        }
    }

    /// Looks after domains whose report is due. Returns whether there may be more of them.
    async fn look_after_domains(&mut self, sender: &SystemSender, now: Timestamp) -> Result<bool> {
        let (db, until) = (&self.app.0.db, now.plus(LEASE));
        let claimed =
            db.write_in_background(body!(async |tx| tls_report::claim(tx, now, until, DOMAINS).await));
        let claims: Vec<Claim> = claimed.await?;
        let is_more = claims.len() as i64 == DOMAINS;
        let app = &self.app;
        let ends = join_all(claims.into_iter().map(|claim| look_after(app, sender, claim, now))).await;
        self.add(ends.into_iter().flatten());
        Ok(is_more)
    }

    /// Brings reports to URLs. Returns whether there may be more of them.
    async fn post(&mut self, now: Timestamp) -> Result<bool> {
        let (db, before) = (&self.app.0.db, now.minus(LEASE));
        let abandoned =
            db.write_in_background(body!(async |tx| tls_report::abandon_posts(tx, before).await)).await?;
        let taken = db.write_in_background(body!(async |tx| tls_report::take_posts(tx, now, POSTS).await));
        let posts = taken.await?;
        let is_more = posts.len() as i64 == POSTS;
        let app = &self.app;
        let arrived = join_all(posts.into_iter().map(|post| posting::post(app, post))).await;
        let ends = arrived.into_iter().flatten().map(|arrived| if arrived { End::Sent } else { End::Failed });
        let lost = (abandoned > 0).then_some((End::Failed, abandoned));
        self.add(ends.map(|end| (end, 1)).chain(lost));
        Ok(is_more)
    }
}

/// Looks after a domain. What fails is tried again when the lease ends.
async fn look_after(app: &App, sender: &SystemSender, claim: Claim, now: Timestamp) -> Option<(End, u64)> {
    let domain = claim.domain.clone();
    try_to_look_after(app, sender, claim, now).await.unwrap_or_else(|error| {
        tracing::warn!(%error, domain, "a report about TLS could not be made, it is tried again");
        None
    })
}

async fn try_to_look_after(
    app: &App,
    sender: &SystemSender,
    claim: Claim,
    now: Timestamp,
) -> Result<Option<(End, u64)>> {
    let records = match app.0.dns.txt(&record_name(&claim.domain)).await {
        Ok(records) => records,
        Err(DnsError::NotFound) => Vec::new(),
        Err(DnsError::Unavailable(_)) => return put_off(app, claim, now).await,
    };
    match destinations(records.iter().map(String::as_str)) {
        Some(to) => send(app, sender, claim, to, now).await,
        None => drop_counts(app, claim, Some((End::Dropped, 1))).await,
    }
}

/// Looks at a domain again later whose name servers gave no answer.
async fn put_off(app: &App, claim: Claim, now: Timestamp) -> Result<Option<(End, u64)>> {
    let due_at = now.plus(NO_ANSWER);
    if due_at > begin(claim.day + 1).plus(TRIED_FOR) {
        tracing::info!(
            domain = claim.domain,
            "no name server says where a report about TLS goes, it is given up"
        );
        return drop_counts(app, claim, Some((End::Failed, 1))).await;
    }
    app.write(body!(async |tx| Ok(tls_report::put_off(tx, &claim, due_at).await?))).await?;
    Ok(None)
}

/// Ends a claim without a report.
async fn drop_counts(app: &App, claim: Claim, end: Option<(End, u64)>) -> Result<Option<(End, u64)>> {
    let held = app.write(body!(async |tx| Ok(tls_report::conclude(tx, &claim).await?))).await?;
    Ok(end.filter(|_| held))
}

/// Makes the report of a domain and has it sent. Returns how many are on their way by mail.
async fn send(
    app: &App,
    sender: &SystemSender,
    claim: Claim,
    to: Vec<Destination>,
    now: Timestamp,
) -> Result<Option<(End, u64)>> {
    let settings = app.settings().tls_reports.as_ref();
    let settings = settings.ok_or_else(|| Error::Internal("no reports about TLS are configured".into()))?;
    let (of_day, domain) = (claim.day, claim.domain.clone());
    let found = app.read(body!(async |rx| {
        let policies = tls_report::policies(rx, of_day, &domain).await?;
        Ok((policies, tls_report::sessions(rx, of_day, &domain).await?))
    }));
    let (policies, sessions) = found.await?;
    let submitter = sender.from().domain();
    let report = report::report(settings, submitter, (of_day, &claim.domain), &policies, &sessions);
    let Some(report) = report else { return drop_counts(app, claim, None).await };
    let packed = report.to_gzip();
    let (mut mails, mut urls) = (Vec::new(), Vec::new());
    for destination in to {
        match destination {
            Destination::Mail(to) => {
                mails.push(mailing::mail(app, sender, to, (&claim.domain, &report, &packed)));
            }
            Destination::Https(url) => urls.push(String::from(url)),
        }
    }
    let mailed = mails.len() as u64;
    let held = app.write(body!(async |tx| {
        if !tls_report::conclude(tx, &claim).await? {
            return Ok(false);
        }
        tls_report::queue_posts(tx, &claim, &urls, &packed, now).await?;
        enqueue(tx, &mails).await?;
        Ok(true)
    }));
    if !held.await? || mailed == 0 {
        return Ok(None);
    }
    app.dispatcher().wake(Lane::Workflow, sender.project().number);
    Ok(Some((End::Sent, mailed)))
}
