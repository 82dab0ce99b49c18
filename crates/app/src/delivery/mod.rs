//! Delivery: from the outbox to the next hop, nothing lost and nothing twice.
//!
//! 1. A **feeder** for each lane claims due mails into the short queues of the **dispatcher**. Projects take **turns**
//!    in both.
//! 2. A worker with a connection (**sender**; **worker** has the part that does not depend on the transport) takes a
//!    mail. The **render pool** renders and signs it.
//! 3. The worker sends the envelope. When the server waits for the content, the **ledger** marks the mail `SENDING`, on
//!    disk, with the date of its first hand-over, so that a retry is the same message. Then the content goes out.
//! 4. The answer becomes a **hand-over** (**refusal** translates SMTP's answers). **outcome** says what follows for the
//!    mail, and the **next hop** what follows for connections and rates.
//! 5. The ledger writes the outcome, many workers' steps in one transaction.
//!
//! A worker marks its next mail in the transaction that records its last one, if both are of one project. So a process
//! that dies leaves at most one mail in doubt for each connection ([`sender`] says when it can be more). The capture
//! transport stores message and outcome in one transaction and is never in doubt.
//!
//! A mail that cannot be rendered fails at once, also if rendering panics; it does not wait for the end of its lease.
//! If the sender's domain is no longer verified, the mail waits and the campaigns of the domain pause.

pub mod mailbox;
pub mod reputation;
pub(crate) mod suspension;

mod dispatcher;
mod feeder;
mod hand_over;
mod instance_rate;
mod ledger;
mod next_hop;
mod outcome;
mod refusal;
mod render_pool;
mod rests;
mod sender;
mod turns;
mod wording;
mod worker;

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZero;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::{EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_mail::dkim::{KeyType, SigningKey};
use mailwright_mail::smtp::RelayConfig;
use mailwright_store::sending::domain;
use mailwright_store::sending::email::{self, ClaimRef, Claimed};
use mailwright_store::{Coalescer, Error as StoreError, Gathering, Result as StoreResult, project};

use crate::App;
use crate::background::tasks::Tasks;
use crate::error::{Error, Result};
use crate::secret::DKIM;
use crate::sending::domain::Obstacle;
use crate::sending::footer::Footers;

pub(crate) use dispatcher::Dispatcher;
use ledger::{Step, StepDone};
use next_hop::NextHop;
use outcome::Backoff;
use render_pool::RenderPool;

/// Where mail goes.
#[derive(Debug, Clone)]
pub enum Transport {
    /// Nowhere: it is kept in the mailbox that the API shows.
    Capture,
    /// To a mail server.
    Smtp(Box<RelayConfig>),
}

impl Transport {
    /// The next hop's name in logs and delivery attempts.
    pub(crate) fn host(&self) -> &str {
        match self {
            Self::Capture => "capture",
            Self::Smtp(relay) => &relay.host,
        }
    }
}

/// What feeder and workers share.
struct Delivery {
    app: App,
    tasks: Tasks,
    /// Writes steps, a little later and many together.
    ledger: Coalescer<Step, StepDone>,
    /// Writes the steps that somebody waits for.
    express: Coalescer<Step, StepDone>,
    backoff: Backoff,
    /// What is known of the next hop.
    hop: Arc<NextHop>,
    held: Mutex<HashMap<EmailId, ClaimRef>>,
    keys: Mutex<HashMap<(ProjectNumber, String), CachedKey>>,
    footer_cache: Mutex<HashMap<ProjectNumber, (Timestamp, Arc<Footers>)>>,
    /// When the log told last that the mail of a domain waits.
    told: Mutex<HashMap<(ProjectNumber, String), Timestamp>>,
    render_pool: RenderPool,
}

/// Starts feeder, workers and the heartbeat that keeps claims.
pub(crate) fn start(app: &App, tasks: &Tasks) {
    let settings = &app.settings().delivery;
    let delivery = Arc::new(Delivery {
        app: app.clone(),
        tasks: tasks.clone(),
        ledger: Coalescer::gathered_writes(&app.0.db, gathering(settings.connections), |tx, steps| {
            Box::pin(ledger::run(tx, steps))
        }),
        express: Coalescer::writes(&app.0.db, |tx, steps| Box::pin(ledger::run(tx, steps))),
        backoff: Backoff { base: settings.retry_base, max: settings.retry_max, patience: settings.deadline },
        hop: Arc::new(NextHop::new(settings, app.metrics().clone())),
        held: Mutex::default(),
        keys: Mutex::default(),
        footer_cache: Mutex::default(),
        told: Mutex::default(),
        render_pool: RenderPool::start(std::thread::available_parallelism().map_or(1, NonZero::get)),
    });
    if settings.instance_per_second > 0 {
        app.0.dispatcher.limit();
        let instance_rate = instance_rate::run(Arc::clone(&delivery), settings.instance_per_second);
        tasks.spawn("instance rate", instance_rate);
    }
    for lane in Lane::ALL {
        feeder::start(&delivery, lane);
    }
    tasks.spawn("delivery heartbeat", heartbeat(Arc::clone(&delivery)));
    if let Transport::Smtp(relay) = &app.0.transport {
        tasks.spawn("next hop", next_hop::keep_informed(Arc::clone(&delivery), relay.name()));
    }
    for _ in 0..settings.connections.max(1) {
        tasks.spawn("delivery worker", worker::run(Arc::clone(&delivery)));
    }
}

/// While some workers wait for the database the others render and sign, so it pays to write the steps of many at once.
fn gathering(connections: usize) -> Gathering {
    Gathering { enough: connections.div_ceil(2), apart: Duration::from_millis(8) }
}

/// Extends the leases of what this process holds, well before they end.
async fn heartbeat(delivery: Arc<Delivery>) {
    let lease = delivery.app.settings().delivery.lease;
    while delivery.tasks.pause(lease / 4).await || !delivery.held().is_empty() {
        let claims = delivery.held();
        for part in claims.chunks(500) {
            let (part, until) = (part.to_vec(), delivery.lease_until());
            let extended = delivery
                .app
                .0
                .db
                .write(move |tx| Box::pin(async move { email::extend(tx, &part, until).await }))
                .await;
            if let Err(error) = extended {
                tracing::warn!(%error, "leases could not be extended");
            }
        }
        if delivery.tasks.is_stopping() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Delivery {
    fn now(&self) -> Timestamp {
        self.app.clock().now()
    }

    fn lease_until(&self) -> Timestamp {
        self.now().plus(self.app.settings().delivery.lease)
    }

    /// Takes note of claimed mails. Returns those that are new to this process: a mail that one of its workers is
    /// busy with was only claimed again, because its lease ended while the database was away.
    fn hold(&self, mails: Vec<Claimed>) -> Vec<Claimed> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        mails.into_iter().filter(|mail| held.insert(mail.id, claim_ref(mail)).is_none()).collect()
    }

    /// The newest claim that this process has on a mail.
    fn current(&self, claim: ClaimRef) -> ClaimRef {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).get(&claim.id).copied().unwrap_or(claim)
    }

    fn let_go(&self, id: EmailId) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    fn held(&self) -> Vec<ClaimRef> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).values().copied().collect()
    }

    /// Gives mails back to the outbox, due at `due_at`.
    async fn release(&self, mails: &[ClaimRef], due_at: Timestamp) {
        self.hand_back(mails, due_at, None).await;
    }

    /// Gives mails back to the outbox, due at `due_at`, without an attempt, and stores why they wait.
    async fn hold_back(&self, mails: &[ClaimRef], due_at: Timestamp, why: String) {
        self.hand_back(mails, due_at, Some(why)).await;
    }

    async fn hand_back(&self, mails: &[ClaimRef], due_at: Timestamp, why: Option<String>) {
        // claimed again meanwhile, where the database was away for longer than a lease
        let mails: Vec<_> = mails.iter().map(|mail| self.current(*mail)).collect();
        for mail in &mails {
            self.let_go(mail.id);
        }
        for part in mails.chunks(500) {
            let (part, why) = (part.to_vec(), why.clone());
            let given_back = self.app.0.db.write(move |tx| {
                Box::pin(async move {
                    match &why {
                        None => email::release(tx, &part, due_at).await,
                        Some(why) => email::hold(tx, &part, due_at, why).await,
                    }
                })
            });
            if let Err(error) = given_back.await {
                tracing::warn!(%error, "claims could not be given back, their leases will end");
            }
        }
    }

    /// Gives back a mail that was refused for a reason that is not its own, however long the database takes.
    async fn postpone(&self, mail: &Claimed, wait: Duration, error: &str) {
        let given_back = self.insist(mail.id, || {
            let (claim, now, error) = (self.current(claim_ref(mail)), self.now(), error.to_owned());
            self.app
                .0
                .db
                .write(move |tx| Box::pin(async move { email::postpone(tx, claim, wait, &error, now).await }))
        });
        if given_back.await.is_some() {
            self.app.metrics().delivery("held");
        }
        self.let_go(mail.id);
    }

    /// Writes the outcome of a mail, and tries again after any failure; `None` if it gave up. Repeating is harmless: an
    /// outcome under a claim that was lost or used changes nothing.
    async fn insist<T, W>(&self, mail: EmailId, write: impl Fn() -> W) -> Option<T>
    where
        W: Future<Output = StoreResult<T>>,
    {
        let mut tries = Tries::default();
        loop {
            let error = match write().await {
                Ok(done) => return Some(done),
                Err(error) => error,
            };
            let Some(pause) = tries.after(&error, self.tasks.is_stopping()) else {
                tracing::error!(%error, email = %mail, "what became of a mail was not written, its lease will end");
                return None;
            };
            tracing::warn!(%error, email = %mail, "what became of a mail could not be written, trying again");
            tokio::time::sleep(pause).await;
        }
    }

    /// What the project of a mail puts into it; `None` when the project is gone.
    async fn footers(&self, number: ProjectNumber) -> Result<Option<Arc<Footers>>> {
        let now = self.now();
        if let Some((read_at, footers)) =
            self.footer_cache.lock().unwrap_or_else(PoisonError::into_inner).get(&number)
            && now.since(*read_at) < KEY_CACHE
        {
            return Ok(Some(Arc::clone(footers)));
        }
        let found =
            self.app.0.db.read(move |rx| Box::pin(async move { project::get(rx, number).await })).await?;
        let Some(project) = found else { return Ok(None) };
        let footers = Arc::new(Footers::new(&project));
        let mut footer_cache = self.footer_cache.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut footer_cache, |(read_at, _)| now.since(*read_at) < KEY_CACHE);
        footer_cache.insert(number, (now, Arc::clone(&footers)));
        Ok(Some(footers))
    }

    /// The DKIM key of a sender's domain, if mail may be signed with it.
    async fn signing_key(&self, project: ProjectNumber, name: &str) -> Result<Signing> {
        let cache_key = (project, name.to_owned());
        let (now, changes) = (self.now(), self.app.0.domain_changes.load(Ordering::SeqCst));
        if let Some(cached) = self.keys.lock().unwrap_or_else(PoisonError::into_inner).get(&cache_key)
            && now.since(cached.read_at) < KEY_CACHE
            && cached.changes == changes
        {
            return Ok(Signing::Key(cached.key.clone()));
        }
        let (wanted, leaves) = (cache_key.clone(), self.app.mail_leaves());
        let stored = self
            .app
            .0
            .db
            .read(move |rx| {
                Box::pin(async move { domain::signing_key(rx, wanted.0, &wanted.1, leaves).await })
            })
            .await?;
        // that there is none is not remembered: the mails of a domain that was just added again must not fail for it
        let Some(stored) = stored else { return Ok(Signing::Removed) };
        if !stored.may_send {
            return Ok(Signing::Withheld(Obstacle::Unverified));
        }
        let Ok(der) = self.app.0.secret.open(DKIM, &stored.private_key) else {
            return Ok(Signing::Withheld(Obstacle::Unopened));
        };
        let kind = if stored.kind == KeyType::Ed25519.as_str() { KeyType::Ed25519 } else { KeyType::Rsa2048 };
        let key = SigningKey::from_der(kind, &der).map_err(|e| Error::Internal(e.to_string()))?;
        let key = (stored.selector, key);
        let cached = CachedKey { read_at: now, changes, key: key.clone() };
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut keys, |key| now.since(key.read_at) < KEY_CACHE);
        keys.insert(cache_key, cached);
        Ok(Signing::Key(key))
    }

    /// Whether the log is to tell that the mail of a domain waits: it did not for a while.
    fn is_news(&self, project: ProjectNumber, domain: &str) -> bool {
        let now = self.now();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |told_at: &Timestamp| now.since(*told_at) < TOLD_AGAIN;
        let domain = (project, domain.to_owned());
        if told.get(&domain).is_some_and(is_fresh) {
            return false;
        }
        make_room(&mut told, is_fresh);
        told.insert(domain, now);
        true
    }
}

/// The pauses between the tries of a write, which become longer.
struct Tries {
    next: Duration,
}

impl Default for Tries {
    fn default() -> Self {
        Self { next: Duration::from_millis(50) }
    }
}

impl Tries {
    /// How long the next try waits; `None` when it is time to give up. A database that is away is waited for, but not
    /// when the service stops. What will not pass has a good second to prove the opposite: after that it would keep a
    /// worker and its connection for good.
    fn after(&mut self, error: &StoreError, is_stopping: bool) -> Option<Duration> {
        let may_pass = error.is_temporary() || matches!(error, StoreError::Unknown(_));
        if self.next > Duration::from_secs(1) && (is_stopping || !may_pass) {
            return None;
        }
        let pause = self.next;
        self.next = (pause * 2).min(Duration::from_secs(2));
        Some(pause)
    }
}

/// Whether mail of a domain may be signed.
enum Signing {
    /// With this key, whose selector comes first.
    Key((String, SigningKey)),
    /// Not now.
    Withheld(Obstacle),
    /// The project has no such domain.
    Removed,
}

/// How long a signing key or a project is used without looking whether it is still the same.
const KEY_CACHE: Duration = Duration::from_secs(5);
/// How long the log says no second time that the mail of a domain waits.
const TOLD_AGAIN: Duration = Duration::from_mins(5);

/// Most signing keys, and most projects, that are remembered.
const MOST_CACHED: usize = 10_000;

/// Makes room for one more in a cache that is full: what is no longer good goes, and where all is, everything.
fn make_room<K: Eq + Hash, V>(cache: &mut HashMap<K, V>, is_good: impl Fn(&V) -> bool) {
    if cache.len() < MOST_CACHED {
        return;
    }
    cache.retain(|_, value| is_good(value));
    if cache.len() >= MOST_CACHED {
        cache.clear();
    }
}

struct CachedKey {
    read_at: Timestamp,
    /// The count of changes to domains at that time.
    changes: u64,
    key: (String, SigningKey),
}

fn claim_ref(mail: &Claimed) -> ClaimRef {
    ClaimRef { project: mail.project, id: mail.id, claim: mail.claim }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_waited_for_and_an_error_that_does_not_pass_is_not() {
        let pauses = |error: &StoreError, is_stopping| {
            let mut tries = Tries::default();
            std::iter::from_fn(|| tries.after(error, is_stopping)).take(1000).collect::<Vec<_>>()
        };
        let away = [StoreError::Unavailable("away".into()), StoreError::Unknown("cut off".into())];
        let hopeless = StoreError::Statement("constraint".into());
        for error in &away {
            assert_eq!(pauses(error, false).len(), 1000, "{error}");
            assert!(pauses(error, false).iter().all(|pause| *pause <= Duration::from_secs(2)));
        }
        for pauses in [pauses(&away[0], true), pauses(&hopeless, false), pauses(&hopeless, true)] {
            let all: Duration = pauses.iter().sum();
            assert!(all > Duration::from_secs(1) && all < Duration::from_secs(3), "{pauses:?}");
        }
    }

    #[test]
    fn a_cache_keeps_what_is_good_and_never_grows_beyond_its_bound() {
        let mut cache = HashMap::new();
        for key in 0..MOST_CACHED * 3 {
            make_room(&mut cache, |made: &usize| *made + 10 > key);
            cache.insert(key, key);
            assert!(cache.len() <= MOST_CACHED && cache.contains_key(&key.saturating_sub(1)));
        }
        // as many, and each as good as new
        for key in 0..MOST_CACHED * 2 {
            make_room(&mut cache, |_| true);
            cache.insert(usize::MAX - key, key);
            assert!(cache.len() <= MOST_CACHED);
        }
    }
}
