//! The limits on requests a minute: of a project (contract, Limits), of a person about the own account, and of a client
//! without a key or with a wrong one.
//!
//! The use of a project is counted in the database, so the limit holds across processes. A process takes a handful of
//! requests at a time and counts them down in memory. The handful shrinks towards the limit, so the limit is exact.
//! When there are so many projects that one is forgotten, its handful is lost: it gets less, and never more. Requests
//! with the public key, which anybody can read in a web page, are counted in a bucket of their own and cannot use up
//! those of the project's servers. A member has a share beyond the project's limit, so that keys cannot keep people out.
//!
//! People and clients are counted in memory, by each process. A client that is forgotten begins anew. That takes requests of as
//! many others as are remembered ([`REMEMBERED`]), and whoever has so many addresses has an allowance for each of them
//! anyway.

use std::convert::Infallible;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mailwright_core::ids::{ContactId, ProjectNumber, UserId};
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::body;
use mailwright_store::project::rate_limit::{self, Bucket};
use mailwright_store::{Db, Error as StoreError};
use quick_cache::sync::Cache;

use crate::account::client_key::ClientKey;
use crate::settings::RequestLimits;

const MINUTE_MS: i64 = 60_000;
/// Most requests taken at a time.
const HANDFUL: i64 = 256;
/// Most projects, and most clients of each kind, that are remembered: the least used are forgotten.
const REMEMBERED: usize = 100_000;
/// How often the subscription of a contact may be changed in an hour without a key. Unsubscribing is not counted.
const RESUBSCRIPTIONS: i64 = 10;
const HOUR_MS: i64 = 3_600_000;

/// The state of the limit for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Whether the request may go on.
    pub allowed: bool,
    /// Requests in a window.
    pub limit: i64,
    /// Requests left in this window, as far as this process knows.
    pub remaining: i64,
    /// Seconds until the next window.
    pub reset: i64,
}

/// The limits on requests.
#[derive(Debug)]
pub struct Limiter {
    clock: Clock,
    limits: RequestLimits,
    projects: Shared,
    public: Shared,
    /// What members take beyond the limit of a project.
    members: Counts<(ProjectNumber, UserId)>,
    /// What clients take beyond the limit of a public key, and how much of that there was for each project.
    shares: Counts<(ProjectNumber, ClientKey)>,
    shared_out: Counts<ProjectNumber>,
    people: Counts<UserId>,
    keyless: Counts<ClientKey>,
    invalid_keys: Counts<ClientKey>,
    resubscriptions: Counts<ContactId>,
}

impl Limiter {
    pub(crate) fn new(db: &Db, clock: Clock, limits: RequestLimits) -> Self {
        Self {
            clock,
            projects: Shared::new(db, Bucket::Secret, limits.per_project),
            public: Shared::new(db, Bucket::Public, limits.public),
            members: Counts::new(limits.member_share, MINUTE_MS),
            shares: Counts::new(limits.public_share, MINUTE_MS),
            shared_out: Counts::new(limits.public, MINUTE_MS),
            people: Counts::new(limits.person, MINUTE_MS),
            keyless: Counts::new(limits.keyless, MINUTE_MS),
            invalid_keys: Counts::new(limits.invalid_keys, MINUTE_MS),
            resubscriptions: Counts::new(RESUBSCRIPTIONS, HOUR_MS),
            limits,
        }
    }

    fn is_off(&self) -> bool {
        self.limits.per_project <= 0
    }

    /// Counts a request of a project with a secret key. `None` when limits are switched off.
    ///
    /// A request is let through when the count cannot be read: if the database is gone, the request itself will say so.
    pub async fn take(&self, project: ProjectNumber) -> Option<Allowance> {
        if self.is_off() {
            return None;
        }
        Some(self.projects.take(project, self.clock.now()).await)
    }

    /// Counts a request of a project by a member. If others have used up the limit, a member who made few requests may
    /// go on, so that a stolen key that floods the project can be revoked.
    pub async fn take_member(&self, project: ProjectNumber, member: UserId) -> Option<Allowance> {
        let allowance = self.take(project).await?;
        if allowance.allowed {
            return Some(allowance);
        }
        let share = self.members.take((project, member), self.clock.now());
        Some(if share.allowed { share } else { allowance })
    }

    /// Counts a request with a project's public key. If others have used up the limit, a client that made few requests
    /// itself may go on, so that one visitor of a web page cannot block all others. There is as much for all of these
    /// together as the limit has.
    pub async fn take_public(&self, project: ProjectNumber, client: ClientKey) -> Option<Allowance> {
        if self.is_off() {
            return None;
        }
        let now = self.clock.now();
        let allowance = self.public.take(project, now).await;
        let share = self.shares.take((project, client), now);
        if allowance.allowed || !share.allowed || !self.shared_out.take(project, now).allowed {
            return Some(allowance);
        }
        Some(share)
    }

    /// Counts a request of a signed-in person that is about no project.
    pub fn take_person(&self, person: UserId) -> Option<Allowance> {
        (!self.is_off()).then(|| self.people.take(person, self.clock.now()))
    }

    /// Counts a request of a client without a key.
    pub fn take_keyless(&self, client: ClientKey) -> Option<Allowance> {
        (!self.is_off()).then(|| self.keyless.take(client, self.clock.now()))
    }

    /// How many more keys that are not valid a client may try; `None` when limits are switched off.
    pub fn invalid_keys(&self, client: ClientKey) -> Option<Allowance> {
        (!self.is_off()).then(|| self.invalid_keys.look(&client, self.clock.now()))
    }

    /// Notes that a client came with a key that is not valid.
    pub fn note_invalid_key(&self, client: ClientKey) {
        if !self.is_off() {
            self.invalid_keys.take(client, self.clock.now());
        }
    }

    /// Counts that a contact is subscribed again without a key.
    pub(crate) fn take_resubscription(&self, contact: ContactId) -> Allowance {
        self.resubscriptions.take(contact, self.clock.now())
    }
}

/// A limit of each project that all processes share.
#[derive(Debug)]
struct Shared {
    db: Db,
    bucket: Bucket,
    limit: i64,
    /// What this process has taken of each project's limit.
    projects: Cache<ProjectNumber, Arc<tokio::sync::Mutex<Held>>>,
}

#[derive(Debug, Default)]
struct Held {
    window: i64,
    tokens: i64,
    /// Requests left in the database after the last handful.
    left: i64,
    /// Nothing is left in this window.
    spent: bool,
}

impl Shared {
    fn new(db: &Db, bucket: Bucket, limit: i64) -> Self {
        Self { db: db.clone(), bucket, limit, projects: Cache::new(REMEMBERED) }
    }

    async fn take(&self, project: ProjectNumber, now: Timestamp) -> Allowance {
        let window = now.0 - now.0.rem_euclid(MINUTE_MS);
        let held = remembered(&self.projects, &project);
        let mut held = held.lock().await;
        if held.window != window {
            *held = Held { window, ..Held::default() };
        }
        if held.tokens == 0 && !held.spent {
            self.refill(project, &mut held, now).await;
        }
        let allowed = held.tokens > 0;
        held.tokens -= i64::from(allowed);
        let reset = seconds_until(window + MINUTE_MS, now);
        Allowance { allowed, limit: self.limit, remaining: held.left + held.tokens, reset }
    }

    async fn refill(&self, project: ProjectNumber, held: &mut Held, now: Timestamp) {
        let (bucket, limit) = (self.bucket, self.limit);
        let times = [Timestamp(held.window), now];
        let taken = self
            .db
            .write(body!(async |tx| {
                let taken = rate_limit::take_requests(tx, bucket, project, times, limit, HANDFUL).await?;
                Ok::<_, StoreError>((taken, rate_limit::requests_left(tx, bucket, project, limit).await?))
            }))
            .await;
        match taken {
            Ok((0, _)) => (held.spent, held.left) = (true, 0),
            Ok((tokens, left)) => (held.tokens, held.left) = (tokens, left),
            Err(error) => {
                tracing::warn!(%error, "the request count could not be read, a request was let through");
                held.tokens = 1;
            }
        }
    }
}

/// Counts by key in a window of time, in the memory of this process.
#[derive(Debug)]
struct Counts<K> {
    limit: i64,
    window_ms: i64,
    of: Cache<K, Arc<Mutex<Count>>>,
}

#[derive(Debug, Default)]
struct Count {
    window: i64,
    done: i64,
}

impl<K: Hash + Eq + Clone> Counts<K> {
    fn new(limit: i64, window_ms: i64) -> Self {
        Self { limit, window_ms, of: Cache::new(REMEMBERED) }
    }

    /// Counts one more. What is beyond the limit is not counted.
    fn take(&self, who: K, now: Timestamp) -> Allowance {
        let count = remembered(&self.of, &who);
        let (window, reset) = self.window(now);
        let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
        if count.window != window {
            *count = Count { window, done: 0 };
        }
        let allowed = count.done < self.limit;
        count.done += i64::from(allowed);
        Allowance { allowed, limit: self.limit, remaining: self.limit - count.done, reset }
    }

    /// The number that is left, without counting.
    fn look(&self, who: &K, now: Timestamp) -> Allowance {
        let (window, reset) = self.window(now);
        let done = self.of.get(who).map_or(0, |count| {
            let count = count.lock().unwrap_or_else(PoisonError::into_inner);
            if count.window == window { count.done } else { 0 }
        });
        Allowance { allowed: done < self.limit, limit: self.limit, remaining: self.limit - done, reset }
    }

    fn window(&self, now: Timestamp) -> (i64, i64) {
        let window = now.0 - now.0.rem_euclid(self.window_ms);
        (window, seconds_until(window + self.window_ms, now))
    }
}

/// What is remembered of somebody; a new one for who is not known.
fn remembered<K: Hash + Eq + Clone, V: Default>(all: &Cache<K, Arc<V>>, who: &K) -> Arc<V> {
    let Ok(found) = all.get_or_insert_with(who, || Ok::<_, Infallible>(Arc::default()));
    found
}

/// Whole seconds until a time, at least one.
fn seconds_until(then: i64, now: Timestamp) -> i64 {
    let wait = Duration::from_millis(then.saturating_sub(now.0).max(0).unsigned_abs());
    i64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(i64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_its_limit_and_the_next_one_a_new_one() {
        let counts = Counts::new(2, MINUTE_MS);
        let take = |who, at| counts.take(who, Timestamp(at)).allowed;
        assert!(take("a", 0) && take("a", 59_999) && !take("a", 59_999));
        assert!(take("b", 59_999), "another one has a count of its own");
        assert!(!counts.look(&"a", Timestamp(59_999)).allowed && counts.look(&"c", Timestamp(0)).allowed);
        assert!(take("a", 60_000));
        // a clock that was set back begins another window as well
        assert!(take("a", 0) && take("a", 0) && !take("a", 0));
        assert_eq!(counts.take("a", Timestamp(58_500)).reset, 2);
    }

    #[test]
    fn counts_are_bounded() {
        let counts = Counts::new(1, MINUTE_MS);
        for who in 0..3 * REMEMBERED {
            counts.take(who, Timestamp(0));
        }
        assert!(counts.of.len() <= REMEMBERED);
    }

    #[tokio::test]
    async fn a_project_that_is_forgotten_gets_no_more_than_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let location = mailwright_store::Location::Sqlite(folder.path().join("limit.db"));
        let db = Db::open(&location, mailwright_store::StoreMetrics::default()).unwrap();
        mailwright_store::database::migrate::migrate(&db, Timestamp(0)).await.unwrap();
        let (room, limit) = (4, 100);
        let shared = Shared { projects: Cache::new(room), ..Shared::new(&db, Bucket::Public, limit) };
        let project = ProjectNumber(0);
        let mut allowed = 0;
        for round in 0..2 * limit {
            if round % 10 == 1 {
                assert!(shared.projects.remove(&project).is_some());
            }
            allowed += i64::from(shared.take(project, Timestamp(0)).await.allowed);
        }
        assert!(allowed > limit / 2 && allowed <= limit, "{allowed}");
        for other in 1..=20 {
            assert!(shared.take(ProjectNumber(other), Timestamp(0)).await.allowed);
        }
        assert!(shared.projects.len() <= room, "{}", shared.projects.len());
        assert!(shared.take(project, Timestamp(MINUTE_MS)).await.allowed);
    }
}
