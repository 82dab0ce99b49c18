//! What TLS with the mail servers of domains came to, counted for the reports to these domains (RFC 8460).
//!
//! Counted is each connection that is opened for a mail, for the domain of that mail and under the policy that was found of
//! it; not each mail. The counts are taken and stored every minute ([`TlsResults::take`]).
//!
//! **Bounds.** What was counted in a day (UTC) is remembered as long as the day lasts, so that what is beyond a bound stays
//! there: so many domains, so many policies of each, and so many mail servers with failures. A failure beyond the last bound
//! counts without its server.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mailwright_core::time::{Clock, Timestamp};
use mailwright_mail::tls_report::ResultType;
use mailwright_store::delivery::tls_report::{MOST_DOMAINS, PolicyRow, SessionRow, Sums, begin, day};

use super::applied::Applied;
use super::policies::Found;

/// Most policies of a domain on a day.
const MOST_POLICIES: usize = 5;
/// Most failures of a domain on a day that are told apart by server and reason.
const MOST_DETAILS: usize = 100;
/// The same of all domains together.
const MOST_DETAILS_IN_ALL: usize = 50_000;
/// The longest reason that is kept, in bytes.
const MOST_REASON: usize = 200;
/// Most rows that are stored in one transaction.
const AT_ONCE: usize = 500;
/// How long it is known which policy a domain has, where there are too many domains.
const NOTED_FOR: Duration = Duration::from_hours(1);
/// After the end of a day, all processes have so long to store what they counted.
const SETTLED_AFTER: Duration = Duration::from_mins(10);
/// Reports of a day are sent within this time after its end (RFC 8460 section 4.1).
const SPREAD: Duration = Duration::from_hours(4);

/// What a connection came to, as far as its TLS goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Success,
    Failure(ResultType, String),
}

/// A connection that was opened, or was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session<'s> {
    /// The name of the mail server; empty where there is none.
    pub(super) host: &'s str,
    /// Its address.
    pub(super) receiver: Option<IpAddr>,
    /// Ours, where it is one that others can reach.
    pub(super) source: Option<IpAddr>,
    pub(super) outcome: Outcome,
}

/// What TLS came to. Clones share it. Nothing is counted where no reports are sent.
#[derive(Clone)]
pub(in crate::delivery) struct TlsResults(Option<Arc<Shared>>);

struct Shared {
    clock: Clock,
    state: Mutex<State>,
}

impl TlsResults {
    pub(in crate::delivery) fn new(is_wanted: bool, clock: &Clock) -> Self {
        let shared = || Arc::new(Shared { clock: clock.clone(), state: Mutex::default() });
        Self(is_wanted.then(shared))
    }

    fn state(&self) -> Option<(MutexGuard<'_, State>, Timestamp)> {
        let shared = self.0.as_ref()?;
        Some((shared.state.lock().unwrap_or_else(PoisonError::into_inner), shared.clock.now()))
    }

    /// Takes note of what was found of a domain's policy.
    pub(super) fn found(&self, domain: &str, found: &Found) {
        if let Some((mut state, now)) = self.state() {
            state.note(domain, Applied::sts(found), now);
        }
    }

    /// The policy of a domain; `None` where nothing is to be counted for it.
    pub(super) fn of(&self, domain: &str) -> Option<Arc<Applied>> {
        let (state, _) = self.state()?;
        state.noted.get(domain).map(|(applied, _)| Arc::clone(applied))
    }

    /// Counts a connection for a domain.
    pub(super) fn count(&self, domain: &str, applied: &Applied, session: &Session<'_>) {
        if let Some((mut state, now)) = self.state() {
            state.count(domain, applied, session, now);
        }
    }

    /// Takes what is not stored yet, in parts that are not too large, and how many connections could not be counted.
    pub(in crate::delivery) fn take(&self) -> (Vec<Sums>, u64) {
        let Some((mut state, now)) = self.state() else { return (Vec::new(), 0) };
        state.turn_to(day(now));
        let mut taken = std::mem::take(&mut state.late);
        taken.extend(state.drain());
        (taken, std::mem::take(&mut state.left_out))
    }

    /// Takes policies back that could not be stored, so that they are with what is taken next of their domains.
    pub(in crate::delivery) fn put_back(&self, of_day: i64, policies: Vec<PolicyRow>) {
        let Some((mut state, _)) = self.state() else { return };
        if state.day == of_day {
            for row in policies {
                state.policies.entry(row.domain.clone()).or_default().push(row);
            }
        }
    }
}

/// What is told apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    domain: String,
    policy: String,
    /// Empty for success.
    result: &'static str,
    host: String,
    receiver: String,
    source: String,
}

impl Key {
    fn of(domain: &str, applied: &Applied) -> Self {
        Self {
            domain: domain.to_owned(),
            policy: applied.name().to_owned(),
            result: "",
            host: String::new(),
            receiver: String::new(),
            source: String::new(),
        }
    }

    fn without_server(self) -> Self {
        Self { host: String::new(), receiver: String::new(), source: String::new(), ..self }
    }
}

#[derive(Debug, Default)]
struct Count {
    reason: String,
    /// Those that are not stored yet.
    sessions: u64,
}

/// What is remembered of a domain for a day.
#[derive(Debug, Default)]
struct OfDomain {
    policies: Vec<String>,
    details: usize,
}

#[derive(Default)]
struct State {
    day: i64,
    noted: HashMap<String, (Arc<Applied>, Timestamp)>,
    domains: HashMap<String, OfDomain>,
    counts: BTreeMap<Key, Count>,
    details: usize,
    /// Policies that are not stored yet, by domain.
    policies: HashMap<String, Vec<PolicyRow>>,
    /// What is not stored yet of days before.
    late: Vec<Sums>,
    /// Connections that could not be counted.
    left_out: u64,
}

impl State {
    fn note(&mut self, domain: &str, applied: Applied, now: Timestamp) {
        if self.noted.len() >= MOST_DOMAINS && !self.noted.contains_key(domain) {
            self.noted.retain(|_, (_, at)| now.since(*at) < NOTED_FOR);
            if self.noted.len() >= MOST_DOMAINS {
                return;
            }
        }
        self.noted.insert(domain.to_owned(), (Arc::new(applied), now));
    }

    /// Begins a day, if it is another one.
    fn turn_to(&mut self, day: i64) {
        if day == self.day {
            return;
        }
        let rest = self.drain();
        self.late.extend(rest);
        self.domains.clear();
        self.counts.clear();
        self.policies.clear();
        (self.day, self.details) = (day, 0);
    }

    fn count(&mut self, domain: &str, applied: &Applied, session: &Session<'_>, now: Timestamp) {
        self.turn_to(day(now));
        if self.domains.len() >= MOST_DOMAINS && !self.domains.contains_key(domain) {
            self.left_out += 1;
            return;
        }
        let known = self.domains.entry(domain.to_owned()).or_default();
        if !known.policies.iter().any(|policy| policy == applied.name()) {
            if known.policies.len() >= MOST_POLICIES {
                self.left_out += 1;
                return;
            }
            known.policies.push(applied.name().to_owned());
            self.policies.entry(domain.to_owned()).or_default().push(applied.row(domain));
        }
        let (mut key, reason) = told_apart(Key::of(domain, applied), applied, session);
        if !key.host.is_empty() && !self.counts.contains_key(&key) {
            if known.details >= MOST_DETAILS || self.details >= MOST_DETAILS_IN_ALL {
                key = key.without_server();
            } else {
                known.details += 1;
                self.details += 1;
            }
        }
        let count = self.counts.entry(key).or_insert_with(|| Count { reason: cut(reason), sessions: 0 });
        count.sessions += 1;
    }

    /// Takes the counts of the day, in parts that are not too large.
    fn drain(&mut self) -> Vec<Sums> {
        let mut parts: Vec<Sums> = Vec::new();
        for (key, count) in self.counts.iter_mut().filter(|(_, count)| count.sessions > 0) {
            if parts.last().is_none_or(|part| part.sessions.len() >= AT_ONCE) {
                let (domains, policies, sessions) = (Vec::new(), Vec::new(), Vec::new());
                parts.push(Sums { day: self.day, domains, policies, sessions });
            }
            let Some(part) = parts.last_mut() else { break };
            if part.domains.last().is_none_or(|(known, _)| *known != key.domain) {
                part.domains.push((key.domain.clone(), due_at(self.day, &key.domain)));
            }
            let mut policies = self.policies.remove(&key.domain).unwrap_or_default();
            policies.sort_by(|a, b| a.policy.cmp(&b.policy));
            part.policies.extend(policies);
            part.sessions.push(SessionRow {
                domain: key.domain.clone(),
                policy: key.policy.clone(),
                result: key.result.to_owned(),
                host: key.host.clone(),
                receiver: key.receiver.clone(),
                source: key.source.clone(),
                reason: count.reason.clone(),
                sessions: std::mem::take(&mut count.sessions) as i64,
            });
        }
        parts
    }
}

/// What a connection counts as under a policy, and the reason in words. That the policy cannot be had says nothing of a mail
/// server; that the server is not one that it names matters where nothing else is wrong.
fn told_apart<'r>(key: Key, applied: &'r Applied, session: &'r Session<'_>) -> (Key, &'r str) {
    let of_server = |result: ResultType| Key {
        result: result.as_str(),
        host: session.host.to_owned(),
        receiver: session.receiver.map(|address| address.to_string()).unwrap_or_default(),
        source: session.source.map(|address| address.to_string()).unwrap_or_default(),
        ..key.clone()
    };
    match (applied.fault(), &session.outcome) {
        (Some(fault), _) => (Key { result: fault.kind.as_str(), ..key }, &fault.error),
        (None, Outcome::Failure(result, reason)) => (of_server(*result), reason),
        (None, Outcome::Success) if !applied.names(session.host) => {
            let (result, reason) = Applied::UNNAMED;
            (of_server(result), reason)
        }
        (None, Outcome::Success) => (key, ""),
    }
}

/// When the report of a day to a domain is due: within four hours after its end, each domain at a time of its own.
fn due_at(day: i64, domain: &str) -> Timestamp {
    let mut hasher = DefaultHasher::new();
    (day, domain).hash(&mut hasher);
    let spread = SPREAD.saturating_sub(SETTLED_AFTER).as_millis() as u64;
    begin(day + 1).plus(SETTLED_AFTER + Duration::from_millis(hasher.finish() % spread))
}

fn cut(reason: &str) -> String {
    let mut line: String = reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.truncate(line.floor_char_boundary(MOST_REASON));
    line
}

#[cfg(test)]
#[path = "tls_results_tests.rs"]
mod tests;
