//! What domains demand of the connections to their mail servers: MTA-STS (RFC 8461).
//!
//! A record in DNS names the version of a policy, which is fetched when it is not the one that is kept. Where the record or
//! the policy cannot be had, the kept one holds on until it expires: whoever suppresses them gains nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_mail::dns::Dns;
use mailwright_mail::mta_sts::{MOST_BYTES, Mode, Policy, policy_url, version};
use mailwright_mail::tls_report::ResultType;
use mailwright_store::delivery::tls_policy::{self, KeptPolicy};
use mailwright_store::{Db, body};

use crate::http_client::{Error, Failure, GivenUrl, HttpClient, Request};

/// How long it is remembered that a policy could not be fetched.
const NOT_FETCHED_FOR: Duration = Duration::from_mins(5);
/// A policy is fetched again after so long, or after half of the time that it lasts.
const REFRESHED_AFTER: Duration = Duration::from_hours(24);
/// Most domains of which that is remembered.
const MOST_NOT_FETCHED: usize = 10_000;

/// Whether a policy is fetched again although its version is the same: long before it expires, so that nobody can wait for
/// that (section 5.1).
fn is_old(kept: &KeptPolicy, now: Timestamp) -> bool {
    let lasts = kept.expires_at.since(kept.fetched_at);
    now.since(kept.fetched_at) >= REFRESHED_AFTER.min(lasts / 2)
}

/// Where the policy of a domain is. A test may not be able to listen on the port of HTTPS.
fn place_of(domain: &str) -> String {
    #[cfg(debug_assertions)]
    if let Ok(port) = std::env::var("MAILWRIGHT_TEST_POLICY_PORT") {
        return policy_url(domain).replacen("/.well-known", &format!(":{port}/.well-known"), 1);
    }
    policy_url(domain)
}

/// What was found of a domain's policy.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// The policy that holds, with its text.
    pub(super) policy: Option<(Policy, String)>,
    /// Why there is none, where the domain's record names one.
    pub(super) fault: Option<Fault>,
}

impl Found {
    /// The policy, if it is to be enforced.
    pub(super) fn enforced(&self) -> Option<&Policy> {
        self.policy.as_ref().map(|(policy, _)| policy).filter(|policy| policy.mode == Mode::Enforce)
    }
}

/// Why a policy cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// As RFC 8460 section 4.3.2.2 names it.
    pub(super) kind: ResultType,
    pub(super) error: String,
}

impl Fault {
    fn fetching(error: String) -> Self {
        Self { kind: ResultType::StsPolicyFetchError, error }
    }

    fn reading(error: String) -> Self {
        Self { kind: ResultType::StsPolicyInvalid, error }
    }

    fn of(error: &Error) -> Self {
        let is_of_certificate = matches!(error, Error::NotSent(Failure::Certificate(_)));
        let kind =
            if is_of_certificate { ResultType::StsWebpkiInvalid } else { ResultType::StsPolicyFetchError };
        Self { kind, error: error.to_string() }
    }
}

/// The policies of domains.
pub(super) struct Policies {
    db: Db,
    dns: Dns,
    http: HttpClient,
    not_fetched: Mutex<HashMap<String, (Timestamp, Fault)>>,
}

impl Policies {
    pub(super) fn new(db: &Db, dns: &Dns, allows_private: bool) -> Self {
        Self {
            db: db.clone(),
            dns: dns.clone(),
            http: HttpClient::new(dns.clone(), allows_private),
            not_fetched: Mutex::default(),
        }
    }

    /// The policy that holds for mail to a domain; an error where the kept one cannot be read.
    pub(super) async fn of(&self, domain: &str, now: Timestamp) -> mailwright_store::Result<Found> {
        let records = self.dns.txt(&format!("_mta-sts.{domain}")).await.unwrap_or_default();
        let named = version(records.iter().map(String::as_str));
        let name = domain.to_owned();
        let kept = self.db.read(body!(async |rx| tls_policy::get(rx, &name, now).await)).await?;
        let is_current = |kept: &KeptPolicy| named == Some(kept.version.as_str()) && !is_old(kept, now);
        let mut fault = None;
        if let Some(named) = named
            && !kept.as_ref().is_some_and(is_current)
        {
            match self.fetch(domain, named, now).await {
                Ok(fetched) => return Ok(Found { policy: Some(fetched), fault: None }),
                Err(error) => fault = Some(error),
            }
        }
        let policy = kept.and_then(|kept| Some((Policy::parse(&kept.policy).ok()?, kept.policy)));
        // one that is kept holds on, whatever became of a new one
        let fault = fault.filter(|_| policy.is_none());
        Ok(Found { policy, fault })
    }

    /// Fetches a policy and keeps it.
    async fn fetch(&self, domain: &str, version: &str, now: Timestamp) -> Result<(Policy, String), Fault> {
        if let Some(fault) = self.was_not_fetched(domain, now) {
            return Err(fault);
        }
        match self.ask(domain).await {
            Ok((text, policy)) => {
                let expires_at = now.plus(policy.max_age);
                let (version, kept) = (version.to_owned(), text.clone());
                let kept = KeptPolicy { version, policy: kept, fetched_at: now, expires_at };
                let name = domain.to_owned();
                let written = self.db.write(body!(async |tx| tls_policy::put(tx, &name, &kept).await)).await;
                if let Err(error) = written {
                    tracing::warn!(%error, domain, "the policy of a domain could not be kept");
                }
                Ok((policy, text))
            }
            Err(fault) => {
                tracing::info!(domain, error = fault.error, "the MTA-STS policy of a domain cannot be used");
                self.note_not_fetched(domain, fault.clone(), now);
                Err(fault)
            }
        }
    }

    async fn ask(&self, domain: &str) -> Result<(String, Policy), Fault> {
        let url =
            GivenUrl::parse(&place_of(domain)).map_err(|refusal| Fault::fetching(refusal.to_string()))?;
        // a redirect is no policy (section 3.3)
        let request = Request::get(url).keeping(MOST_BYTES).may_repeat();
        let answer = self.http.send(request).await.map_err(|error| Fault::of(&error))?;
        if answer.status != hyper::StatusCode::OK {
            return Err(Fault::fetching(format!("the answer has the status {}", answer.status.as_u16())));
        }
        let text = std::str::from_utf8(&answer.body).map_err(|_| Fault::reading("it is not text".into()))?;
        let policy = Policy::parse(text).map_err(|error| Fault::reading(error.to_string()))?;
        Ok((text.to_owned(), policy))
    }

    fn was_not_fetched(&self, domain: &str, now: Timestamp) -> Option<Fault> {
        let known = self.not_fetched.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, fault) = known.get(domain)?;
        (now.since(*at) < NOT_FETCHED_FOR).then(|| fault.clone())
    }

    fn note_not_fetched(&self, domain: &str, fault: Fault, now: Timestamp) {
        let mut known = self.not_fetched.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_NOT_FETCHED {
            known.retain(|_, (at, _)| now.since(*at) < NOT_FETCHED_FOR);
        }
        if known.len() < MOST_NOT_FETCHED {
            known.insert(domain.to_owned(), (now, fault));
        }
    }
}
