//! Amazon SES as a transport.
//!
//! A worker has a **seat** where a worker of a mail server has a connection: leave to send, as the account stood when it
//! was asked last. An answer that speaks of the account itself (the key, the quota) ends all seats; then the account is
//! asked again, and the breaker of [`next_hop`](super::next_hop) opens if it may not send. The HTTP client keeps the
//! real connections.
//!
//! Mails a second are bounded by what the account says, in each process; where several exceed it together, SES answers
//! with throttling, and the projects slow down as with any next hop.

mod sender;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::header::{HeaderName, HeaderValue};
use mailwright_core::time::Timestamp;
use mailwright_mail::dns::Dns;
use mailwright_mail::ses::api::{Quota, SendAnswer, quota};
use mailwright_mail::ses::config::SesConfig;
use mailwright_mail::ses::identity::{IdentityAnswer, answered};
use mailwright_mail::ses::request::{Method, Said, SignedRequest};

use super::next_hop::Trouble;
use crate::http_client::{Answer, ConfiguredUrl, Error, HttpClient, Request};

pub(super) use sender::work;

/// How long what the account said counts for further seats. Amazon answers such a question once a second.
const KNOWN_FOR: Duration = Duration::from_secs(30);
/// A domain that nobody has registered (RFC 2606), to see what is answered.
const NOBODYS: &str = "doctor.invalid";
/// Seconds of the rate that can be saved up.
const BURST_SECONDS: f64 = 1.0;

/// An account of SES, as this process uses it.
pub(super) struct Ses {
    config: SesConfig,
    http: HttpClient,
    /// What the account said last. Held while it is asked, so that one worker asks.
    known: tokio::sync::Mutex<Option<(u64, Instant)>>,
    /// Counts how often the account itself was refused: seats of before have ended.
    generation: AtomicU64,
    rate: Mutex<Rate>,
}

/// Why the account may not send.
pub(super) struct Closed {
    pub(super) trouble: Trouble,
    pub(super) error: String,
}

/// Mails a second.
#[derive(Debug)]
struct Rate {
    per_second: f64,
    tokens: f64,
    at: Instant,
}

impl Rate {
    fn fill(&mut self, now: Instant) {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * self.per_second;
        self.tokens = (self.tokens + gained).min((self.per_second * BURST_SECONDS).max(1.0));
        self.at = now;
    }

    /// How long until a mail may leave; `None` when one may leave now.
    fn rests(&mut self, now: Instant) -> Option<Duration> {
        self.fill(now);
        let missing = 1.0 - self.tokens;
        (missing > 0.0).then(|| Duration::from_secs_f64((missing / self.per_second.max(0.01)).min(60.0)))
    }

    fn set(&mut self, per_second: f64, now: Instant) {
        self.fill(now);
        self.per_second = per_second.max(0.01);
    }
}

impl Ses {
    pub(super) fn new(config: &SesConfig, dns: &Dns) -> Self {
        Self {
            config: config.clone(),
            http: HttpClient::for_mail(dns.clone()),
            known: tokio::sync::Mutex::new(None),
            generation: AtomicU64::new(0),
            rate: Mutex::new(Rate { per_second: 1.0, tokens: 1.0, at: Instant::now() }),
        }
    }

    fn rate(&self) -> std::sync::MutexGuard<'_, Rate> {
        self.rate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// The account itself was refused: it is asked again before anything else is sent.
    fn end_seats(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks the account whether it may send, unless that is known. Returns the generation of the seat.
    async fn sit_down(&self, now: Timestamp) -> Result<u64, Closed> {
        let generation = self.generation();
        let mut known = self.known.lock().await;
        if let Some((of, at)) = *known
            && of == generation
            && at.elapsed() < KNOWN_FOR
        {
            return Ok(generation);
        }
        *known = None;
        let found = ask(&self.config, &self.http, now).await?;
        self.rate().set(found.per_second, Instant::now());
        *known = Some((generation, Instant::now()));
        Ok(generation)
    }
}

/// Asks an account what it may send. One whose quota is used up may not send.
async fn ask(config: &SesConfig, http: &HttpClient, now: Timestamp) -> Result<Quota, Closed> {
    let unreachable = |error: String| Closed { trouble: Trouble::Unreachable, error };
    let answer = send(http, config.ask_quota(now)).await.map_err(|error| unreachable(error.to_string()))?;
    match quota(answer.status.as_u16(), error_type(&answer), &answer.body) {
        Ok(found) if found.is_used_up() => {
            let most = found.per_day.unwrap_or_default();
            let error = format!("{} mails were sent in 24 hours, and {most} may be", found.sent);
            Err(Closed { trouble: Trouble::Quota, error })
        }
        Ok(found) => Ok(found),
        Err(SendAnswer::Denied(Said { text, .. })) => Err(Closed { trouble: Trouble::Login, error: text }),
        Err(SendAnswer::QuotaUsedUp(Said { text, .. })) => {
            Err(Closed { trouble: Trouble::Quota, error: text })
        }
        Err(other) => Err(unreachable(format!("{other:?}"))),
    }
}

/// What an account of SES may send, for whoever looks at the set-up.
pub async fn ses_quota(config: &SesConfig, dns: &Dns, now: Timestamp) -> Result<Quota, String> {
    let http = HttpClient::for_mail(dns.clone());
    ask(config, &http, now).await.map_err(|closed| closed.error)
}

/// Whether the key of an account may look at the domains that are registered with it, for whoever looks at the set-up.
pub async fn ses_identities(config: &SesConfig, dns: &Dns, now: Timestamp) -> Result<(), String> {
    let http = HttpClient::for_mail(dns.clone());
    let answer = send(&http, config.get_identity(NOBODYS, now)).await.map_err(|error| error.to_string())?;
    match answered(answer.status.as_u16(), error_type(&answer), &answer.body) {
        IdentityAnswer::Known(_) | IdentityAnswer::Exists | IdentityAnswer::Missing => Ok(()),
        IdentityAnswer::Hindered(_, Said { status, text }) => Err(format!("HTTP {status} {text}")),
    }
}

/// Makes a signed request.
pub(crate) async fn send(http: &HttpClient, signed: SignedRequest) -> Result<Answer, Error> {
    let to = ConfiguredUrl::parse(&signed.url).map_err(Error::Refused)?;
    let mut request = match signed.method {
        Method::Get => Request::get(to).may_repeat(),
        Method::Post => Request::post(to, signed.body),
        Method::Put => Request::new(hyper::Method::PUT, to).with_body(signed.body),
        Method::Delete => Request::new(hyper::Method::DELETE, to),
    };
    for (name, value) in signed.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            request = request.header(name, value);
        }
    }
    http.send(request).await
}

/// The name of the error in an answer.
pub(crate) fn error_type(answer: &Answer) -> Option<&str> {
    answer.headers.get("x-amzn-errortype")?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_leave_in_a_second_than_the_account_may_send() {
        let start = Instant::now();
        let mut rate = Rate { per_second: 1.0, tokens: 0.0, at: start };
        rate.set(10.0, start);
        let mut left = 0;
        let mut now = start;
        while now < start + Duration::from_secs(3) {
            match rate.rests(now) {
                None => {
                    rate.tokens -= 1.0;
                    left += 1;
                }
                Some(wait) => now += wait.max(Duration::from_millis(1)),
            }
        }
        assert!((29..=31).contains(&left), "{left}");
    }
}
