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
use mailwright_store::delivery::tls_policy::{self, KeptPolicy};
use mailwright_store::{Db, body};

use crate::http_client::{GivenUrl, HttpClient, Request};

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

/// The policies of domains.
pub(super) struct Policies {
    db: Db,
    dns: Dns,
    http: HttpClient,
    not_fetched: Mutex<HashMap<String, Timestamp>>,
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

    /// The policy that holds for mail to a domain, if one is to be enforced; an error where the kept one cannot be read.
    pub(super) async fn enforced(
        &self,
        domain: &str,
        now: Timestamp,
    ) -> mailwright_store::Result<Option<Policy>> {
        Ok(self.of(domain, now).await?.filter(|policy| policy.mode == Mode::Enforce))
    }

    async fn of(&self, domain: &str, now: Timestamp) -> mailwright_store::Result<Option<Policy>> {
        let records = self.dns.txt(&format!("_mta-sts.{domain}")).await.unwrap_or_default();
        let named = version(records.iter().map(String::as_str));
        let name = domain.to_owned();
        let kept = self.db.read(body!(async |rx| tls_policy::get(rx, &name, now).await)).await?;
        let is_current = |kept: &KeptPolicy| named == Some(kept.version.as_str()) && !is_old(kept, now);
        if let Some(named) = named
            && !kept.as_ref().is_some_and(is_current)
            && let Some(policy) = self.fetch(domain, named, now).await
        {
            return Ok(Some(policy));
        }
        Ok(kept.and_then(|kept| Policy::parse(&kept.policy).ok()))
    }

    /// Fetches a policy and keeps it.
    async fn fetch(&self, domain: &str, version: &str, now: Timestamp) -> Option<Policy> {
        if self.was_not_fetched(domain, now) {
            return None;
        }
        match self.ask(domain).await {
            Ok((text, policy)) => {
                let expires_at = now.plus(policy.max_age);
                let kept =
                    KeptPolicy { version: version.to_owned(), policy: text, fetched_at: now, expires_at };
                let name = domain.to_owned();
                let written = self.db.write(body!(async |tx| tls_policy::put(tx, &name, &kept).await)).await;
                if let Err(error) = written {
                    tracing::warn!(%error, domain, "the policy of a domain could not be kept");
                }
                Some(policy)
            }
            Err(error) => {
                tracing::info!(domain, error, "the MTA-STS policy of a domain cannot be used");
                self.note_not_fetched(domain, now);
                None
            }
        }
    }

    async fn ask(&self, domain: &str) -> Result<(String, Policy), String> {
        let url = GivenUrl::parse(&place_of(domain)).map_err(|error| error.to_string())?;
        // a redirect is no policy (section 3.3)
        let request = Request::get(url).keeping(MOST_BYTES).may_repeat();
        let answer = self.http.send(request).await.map_err(|error| error.to_string())?;
        if answer.status != hyper::StatusCode::OK {
            return Err(format!("the answer has the status {}", answer.status.as_u16()));
        }
        let text = std::str::from_utf8(&answer.body).map_err(|_| "it is not text".to_owned())?;
        let policy = Policy::parse(text).map_err(|error| error.to_string())?;
        Ok((text.to_owned(), policy))
    }

    fn was_not_fetched(&self, domain: &str, now: Timestamp) -> bool {
        let known = self.not_fetched.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(domain).is_some_and(|at| now.since(*at) < NOT_FETCHED_FOR)
    }

    fn note_not_fetched(&self, domain: &str, now: Timestamp) {
        let mut known = self.not_fetched.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_NOT_FETCHED {
            known.retain(|_, at| now.since(*at) < NOT_FETCHED_FOR);
        }
        if known.len() < MOST_NOT_FETCHED {
            known.insert(domain.to_owned(), now);
        }
    }
}
