//! Reports about TLS that are sent to other domains (RFC 8460): what connections came to, by day (UTC) and domain, as the
//! sum of all processes; whose report is due; and reports on their way to a URL.
//!
//! A domain has one row of a day in `tls_reports`, which stays when its report was looked after: so there is one report of
//! a day, whichever process makes it. `due_at` is the lease as well: only who claimed the row, and is in time, concludes it.

use std::collections::HashSet;

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// Most domains of a day.
pub const MOST_DOMAINS: usize = 10_000;
/// Most rows of a domain and day that are read for its report.
const MOST_ROWS: i64 = 20_000;
/// The tables of a day.
const TABLES: [&str; 4] = ["tls_reports", "tls_report_policies", "tls_report_sessions", "tls_report_posts"];
/// Those with what was counted.
const COUNTED: [&str; 2] = ["tls_report_policies", "tls_report_sessions"];
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// The day of an instant, in days since 1970.
pub fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY)
}

/// When a day begins.
pub fn begin(day: i64) -> Timestamp {
    Timestamp(day.saturating_mul(DAY))
}

/// A policy about TLS that was found of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRow {
    /// The domain.
    pub domain: String,
    /// Tells the policies of a domain apart.
    pub policy: String,
    /// The kind, as RFC 8460 names it.
    pub kind: String,
    /// Its lines.
    pub lines: String,
    /// The mail servers that it names, one a line.
    pub servers: String,
}

/// Connections that came to the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// The domain.
    pub domain: String,
    /// Its policy.
    pub policy: String,
    /// Why they failed, as RFC 8460 names it; empty for success.
    pub result: String,
    /// The name of the mail server; empty where it is not told apart.
    pub host: String,
    /// Its address; empty where it is not told apart.
    pub receiver: String,
    /// The address that was connected from; empty where it is not told apart.
    pub source: String,
    /// The reason in words, of the first of them.
    pub reason: String,
    /// How many there were.
    pub sessions: i64,
}

/// What one process counted of a day. All lists are sorted, so that no two transactions wait for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    /// The day.
    pub day: i64,
    /// The domains, with the time at which the report of each is due.
    pub domains: Vec<(String, Timestamp)>,
    /// Their policies that are new.
    pub policies: Vec<PolicyRow>,
    /// The connections.
    pub sessions: Vec<SessionRow>,
}

/// A domain whose report is this process's to send until its lease ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The day.
    pub day: i64,
    /// The domain.
    pub domain: String,
    /// When the lease ends.
    pub until: Timestamp,
}

/// A report on its way to a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// The day that it is about.
    pub day: i64,
    /// The domain that it is about.
    pub domain: String,
    /// Where it goes.
    pub url: String,
    /// The report, packed.
    pub report: Vec<u8>,
    /// How often it was tried, this time included.
    pub attempts: i64,
    /// When it was made.
    pub first_at: Timestamp,
}

fn texts<'a>(values: impl Iterator<Item = &'a String>) -> Arg<'a> {
    Arg::Texts(values.map(|value| Some(value.as_str().into())).collect())
}

/// Adds what a process counted. What comes when the report of a domain was looked after is nothing any more, and so is what
/// is beyond [`MOST_DOMAINS`].
pub async fn add(tx: &mut Tx<'_>, sums: &Sums) -> Result<()> {
    add_domains(tx, sums).await?;
    let of = |text: fn(&PolicyRow) -> &String| texts(sums.policies.iter().map(text));
    tx.each(
        "insert into tls_report_policies (day, domain, policy, kind, lines, servers) \
         select $6, r.domain, r.policy, r.kind, r.lines, r.servers \
         from {rows r: domain text, policy text, kind text, lines text, servers text} \
         where exists (select 1 from tls_reports t where t.day = $6 and t.domain = r.domain and t.due_at is not null) \
         on conflict (day, domain, policy) do nothing",
        &[
            of(|row| &row.domain),
            of(|row| &row.policy),
            of(|row| &row.kind),
            of(|row| &row.lines),
            of(|row| &row.servers),
            sums.day.into(),
        ],
    )
    .await?;
    let of = |text: fn(&SessionRow) -> &String| texts(sums.sessions.iter().map(text));
    tx.each(
        "insert into tls_report_sessions (day, domain, policy, result, host, receiver, source, reason, sessions) \
         select $9, r.domain, r.policy, r.result, r.host, r.receiver, r.source, r.reason, r.sessions \
         from {rows r: domain text, policy text, result text, host text, receiver text, source text, reason text, \
         sessions int} \
         where exists (select 1 from tls_reports t where t.day = $9 and t.domain = r.domain and t.due_at is not null) \
         on conflict (day, domain, policy, result, host, receiver, source) \
         do update set sessions = tls_report_sessions.sessions + excluded.sessions",
        &[
            of(|row| &row.domain),
            of(|row| &row.policy),
            of(|row| &row.result),
            of(|row| &row.host),
            of(|row| &row.receiver),
            of(|row| &row.source),
            of(|row| &row.reason),
            Arg::Ints(sums.sessions.iter().map(|row| Some(row.sessions)).collect()),
            sums.day.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Makes the rows of domains that are new, as long as there are not too many.
async fn add_domains(tx: &mut Tx<'_>, sums: &Sums) -> Result<()> {
    let asked = [sums.day.into(), texts(sums.domains.iter().map(|(domain, _)| domain))];
    let known: HashSet<String> = tx
        .all("select domain from tls_reports where day = $1 and domain {in $2}", &asked, |r| r.get(0))
        .await?
        .into_iter()
        .collect();
    let fresh: Vec<_> = sums.domains.iter().filter(|(domain, _)| !known.contains(domain)).collect();
    if fresh.is_empty() {
        return Ok(());
    }
    let count = tx
        .one("select count(*) from tls_reports where day = $1", args![sums.day], |r| r.get::<i64>(0))
        .await?;
    let room = MOST_DOMAINS.saturating_sub(count as usize);
    let added = &fresh[..room.min(fresh.len())];
    tx.each(
        "insert into tls_reports (day, domain, due_at) select $3, r.domain, r.due_at \
         from {rows r: domain text, due_at int} where true on conflict (day, domain) do nothing",
        &[
            texts(added.iter().map(|(domain, _)| domain)),
            Arg::Ints(added.iter().map(|(_, due_at)| Some(due_at.0)).collect()),
            sums.day.into(),
        ],
    )
    .await?;
    Ok(())
}

/// Claims up to `most` domains whose report is due, the longest due first, until `until`.
pub async fn claim(tx: &mut Tx<'_>, now: Timestamp, until: Timestamp, most: i64) -> Result<Vec<Claim>> {
    tx.all(
        "with picked as (select day, domain from tls_reports where due_at <= $1 order by due_at limit $2 {skip_locked}) \
         update tls_reports set due_at = $3 where (day, domain) in (select day, domain from picked) \
         returning day, domain, due_at",
        args![now, most, until],
        |r| Ok(Claim { day: r.get(0)?, domain: r.get(1)?, until: r.get(2)? }),
    )
    .await
}

/// The policies of a domain on a day, in the order of their names.
pub async fn policies(rx: &Rx<'_>, day: i64, domain: &str) -> Result<Vec<PolicyRow>> {
    rx.all(
        "select domain, policy, kind, lines, servers from tls_report_policies where day = $1 and domain = $2 \
         order by policy limit $3",
        args![day, domain, MOST_ROWS],
        |r| {
            Ok(PolicyRow {
                domain: r.get(0)?,
                policy: r.get(1)?,
                kind: r.get(2)?,
                lines: r.get(3)?,
                servers: r.get(4)?,
            })
        },
    )
    .await
}

/// What connections to a domain came to on a day.
pub async fn sessions(rx: &Rx<'_>, day: i64, domain: &str) -> Result<Vec<SessionRow>> {
    rx.all(
        "select domain, policy, result, host, receiver, source, reason, sessions from tls_report_sessions \
         where day = $1 and domain = $2 order by policy, result, host, receiver, source limit $3",
        args![day, domain, MOST_ROWS],
        |r| {
            Ok(SessionRow {
                domain: r.get(0)?,
                policy: r.get(1)?,
                result: r.get(2)?,
                host: r.get(3)?,
                receiver: r.get(4)?,
                source: r.get(5)?,
                reason: r.get(6)?,
                sessions: r.get(7)?,
            })
        },
    )
    .await
}

/// Ends a claim for good, and removes what was counted. Returns whether the claim still held: whoever sends the report does
/// so in the same transaction, and only then.
pub async fn conclude(tx: &mut Tx<'_>, claim: &Claim) -> Result<bool> {
    let held = tx
        .execute(
            "update tls_reports set due_at = null where day = $1 and domain = $2 and due_at = $3",
            args![claim.day, claim.domain.as_str(), claim.until],
        )
        .await?;
    if held == 0 {
        return Ok(false);
    }
    for table in COUNTED {
        let sql = format!("delete from {table} where day = $1 and domain = $2");
        tx.execute(sql, args![claim.day, claim.domain.as_str()]).await?;
    }
    Ok(true)
}

/// Gives a claim back, to be looked at again at `due_at`.
pub async fn put_off(tx: &mut Tx<'_>, claim: &Claim, due_at: Timestamp) -> Result<()> {
    tx.execute(
        "update tls_reports set due_at = $4 where day = $1 and domain = $2 and due_at = $3",
        args![claim.day, claim.domain.as_str(), claim.until, due_at],
    )
    .await?;
    Ok(())
}

/// Has a report sent to URLs, which are different.
pub async fn queue_posts(
    tx: &mut Tx<'_>,
    claim: &Claim,
    urls: &[String],
    report: &[u8],
    now: Timestamp,
) -> Result<()> {
    tx.each(
        "insert into tls_report_posts (day, domain, url, report, due_at, begun_at, attempts, first_at) \
         select $2, $3, r.url, $4, $5, $5, 0, $5 from {rows r: url text} where true \
         on conflict (day, domain, url) do nothing",
        &[texts(urls.iter()), claim.day.into(), claim.domain.as_str().into(), report.into(), now.into()],
    )
    .await?;
    Ok(())
}

/// Takes up to `most` reports that are due at a URL, the longest due first. Each is under way from then on, and is taken by
/// nobody else, also if this process dies: it may have arrived.
pub async fn take_posts(tx: &mut Tx<'_>, now: Timestamp, most: i64) -> Result<Vec<Post>> {
    tx.all(
        "with picked as (select day, domain, url from tls_report_posts where due_at <= $1 order by due_at limit $2 \
         {skip_locked}) \
         update tls_report_posts set due_at = null, begun_at = $1, attempts = attempts + 1 \
         where (day, domain, url) in (select day, domain, url from picked) \
         returning day, domain, url, report, attempts, first_at",
        args![now, most],
        |r| {
            Ok(Post {
                day: r.get(0)?,
                domain: r.get(1)?,
                url: r.get(2)?,
                report: r.get(3)?,
                attempts: r.get(4)?,
                first_at: r.get(5)?,
            })
        },
    )
    .await
}

/// Has a report that certainly did not arrive sent again.
pub async fn repeat_post(tx: &mut Tx<'_>, post: &Post, due_at: Timestamp) -> Result<()> {
    tx.execute(
        "update tls_report_posts set due_at = $4 where day = $1 and domain = $2 and url = $3 and due_at is null",
        args![post.day, post.domain.as_str(), post.url.as_str(), due_at],
    )
    .await?;
    Ok(())
}

/// Forgets a report that arrived, or was given up.
pub async fn end_post(tx: &mut Tx<'_>, post: &Post) -> Result<()> {
    tx.execute(
        "delete from tls_report_posts where day = $1 and domain = $2 and url = $3",
        args![post.day, post.domain.as_str(), post.url.as_str()],
    )
    .await?;
    Ok(())
}

/// Forgets reports that have been under way since before a time: whoever sent them died. Returns how many there were.
pub async fn abandon_posts(tx: &mut Tx<'_>, before: Timestamp) -> Result<u64> {
    tx.execute("delete from tls_report_posts where due_at is null and begun_at < $1", args![before]).await
}

/// Forgets what is of days before one, `most` rows of each kind at a time. Returns how many there were.
pub async fn forget(tx: &mut Tx<'_>, oldest: i64, most: i64) -> Result<u64> {
    let mut removed = 0;
    for table in TABLES {
        let sql = format!(
            "delete from {table} where (day, domain) in \
             (select day, domain from {table} where day < $1 order by day, domain limit $2)"
        );
        removed += tx.execute(sql, args![oldest, most]).await?;
    }
    Ok(removed)
}
