//! Whom keys and sessions belong to.
//!
//! Keys and sessions are looked up for every request, many requests with one query (a coalescer of reads), so a revoked
//! key or an ended session is dead at once on every node. `/v1/track` and `/v1/send` use a remembered key instead and
//! look it up inside their transaction ([`recheck`](mod@super::recheck)).

use std::time::Duration;

use mailwright_core::audit::Actor;
use mailwright_core::ids::{ProjectId, SessionId};
use mailwright_core::project::Project;
use mailwright_core::role::Holder;
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::account::session::{self, Session};
use mailwright_store::project::api_key::{self, Found, KeyHash, KeyKind};
use mailwright_store::{Coalescer, Db, Rx};
use quick_cache::sync::Cache;

use super::recheck::find;
use super::token::hash;
use crate::error::Result;

/// Most keys remembered.
const REMEMBERED: usize = 10_000;
/// Most characters of a program's name that are kept.
const LONGEST_CLIENT: usize = 200;
/// How often it is noted that a key or a session is in use.
const NOTED_EVERY: Duration = Duration::from_mins(1);

/// On whose behalf a request acts in a project.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Kind of the key.
    pub kind: KeyKind,
    /// The project.
    pub project: Project,
    /// Role or scopes of the caller.
    pub holder: Holder,
    /// Who the caller is.
    pub actor: Actor,
    /// What is stored of the key; `None` for a person, whose session was looked up for this very request.
    pub hash: Option<KeyHash>,
}

impl Identity {
    fn of_key(found: Found, hash: KeyHash) -> Self {
        Self {
            kind: found.kind,
            project: found.project,
            holder: Holder::Key(found.scopes),
            actor: Actor::Key { id: found.id, name: found.name },
            hash: Some(hash),
        }
    }
}

/// Something to be looked up.
#[derive(Debug, Clone)]
enum Lookup {
    Key(KeyHash),
    Session(SessionId, Option<ProjectId>),
}

/// The result of a look-up.
#[derive(Debug)]
enum Answer {
    Key(Option<Box<Found>>),
    Session(Option<Box<Session>>),
}

/// Looks credentials up, many requests with one query.
///
/// A key that was revoked, or a session that was ended, on any node stops working at once. Most requests are therefore
/// looked up each time. The endpoints that must be fast use the remembered key and look it up again inside their own
/// transaction, so that a revoked key changes nothing.
#[derive(Debug)]
pub struct Keyring {
    lookups: Coalescer<Lookup, Answer>,
    remembered: Cache<KeyHash, Identity>,
    uses: Coalescer<(KeyHash, Timestamp), ()>,
    noted: Cache<KeyHash, Timestamp>,
    session_uses: Coalescer<session::Use, ()>,
    noted_sessions: Cache<SessionId, Timestamp>,
    clock: Clock,
}

impl Keyring {
    pub(crate) fn new(db: &Db, clock: Clock) -> Self {
        Self {
            lookups: Coalescer::reads(db, |rx, lookups| Box::pin(look_up(rx, lookups))),
            remembered: Cache::new(REMEMBERED),
            uses: Coalescer::writes(db, |tx, uses| Box::pin(note(tx, uses))),
            noted: Cache::new(REMEMBERED),
            session_uses: Coalescer::writes(db, |tx, uses| Box::pin(note_sessions(tx, uses))),
            noted_sessions: Cache::new(REMEMBERED),
            clock,
        }
    }

    /// The owner of a token.
    pub async fn find(&self, token: &str) -> Result<Option<Identity>> {
        let looks_right = token.len() == 67 && (token.starts_with("sk_") || token.starts_with("pk_"));
        if !looks_right {
            return Ok(None);
        }
        let hash = hash(token);
        let found = match self.lookups.call(0, Lookup::Key(hash)).await? {
            Answer::Key(found) => found.map(|found| Identity::of_key(*found, hash)),
            Answer::Session(_) => None,
        };
        match &found {
            Some(identity) if !identity.project.disabled => self.remembered.insert(hash, identity.clone()),
            _ => self.forget(&hash),
        }
        if found.is_some() {
            self.note_use(hash);
        }
        Ok(found)
    }

    /// The owner of a token when it was last looked up. Only for requests whose transaction looks it up again.
    pub async fn recall(&self, token: &str) -> Result<Option<Identity>> {
        let hash = hash(token);
        match self.remembered.get(&hash) {
            Some(identity) => {
                self.note_use(hash);
                Ok(Some(identity))
            }
            None => self.find(token).await,
        }
    }

    /// Whether a token belonged to somebody when it was last looked up, without looking.
    pub fn knows(&self, token: &str) -> bool {
        self.remembered.get(&hash(token)).is_some()
    }

    /// A session that has not ended, and the project that was asked for, if its user is a member there.
    pub async fn session(&self, id: SessionId, project: Option<ProjectId>) -> Result<Option<Session>> {
        match self.lookups.call(0, Lookup::Session(id, project)).await? {
            Answer::Session(found) => {
                let now = self.clock.now();
                Ok(found.map(|session| *session).filter(|session| session.expires_at > now))
            }
            Answer::Key(_) => Ok(None),
        }
    }

    /// Notes that a session is in use, and by what program: at most once a minute, and without anybody waiting for it.
    pub fn note_session(&self, id: SessionId, client: Option<&str>) {
        let now = self.clock.now();
        if self.noted_sessions.get(&id).is_some_and(|last| now.since(last) < NOTED_EVERY) {
            return;
        }
        self.noted_sessions.insert(id, now);
        let client = client.map(|name| name.chars().take(LONGEST_CLIENT).collect());
        self.session_uses.post(session::Use { id, at: now, client });
    }

    pub(crate) fn forget(&self, hash: &KeyHash) {
        self.remembered.remove(hash);
    }

    /// Forgets the owners of all keys: for when projects get other numbers.
    pub(crate) fn forget_all(&self) {
        self.remembered.clear();
    }

    /// Notes that a key is in use: at most once a minute, and without anybody waiting for it.
    fn note_use(&self, hash: KeyHash) {
        let now = self.clock.now();
        if self.noted.get(&hash).is_some_and(|last| now.since(last) < NOTED_EVERY) {
            return;
        }
        self.noted.insert(hash, now);
        self.uses.post((hash, now));
    }
}

async fn look_up(rx: &mut Rx<'_>, lookups: &[Lookup]) -> mailwright_store::Result<Vec<Answer>> {
    let (mut hashes, mut wanted) = (Vec::new(), Vec::new());
    for lookup in lookups {
        match lookup {
            Lookup::Key(hash) => hashes.push(*hash),
            Lookup::Session(id, project) => wanted.push((*id, *project)),
        }
    }
    let keys = find(rx, &hashes).await?;
    wanted.sort_unstable();
    wanted.dedup();
    let sessions = session::find(rx, &wanted).await?;
    Ok(lookups
        .iter()
        .map(|lookup| match lookup {
            Lookup::Key(hash) => Answer::Key(keys.iter().find(|key| key.hash == hash).cloned().map(Box::new)),
            Lookup::Session(id, project) => {
                let mine = sessions.iter().find(|(asked, s)| s.id == *id && asked == project);
                Answer::Session(mine.map(|(_, session)| Box::new(session.clone())))
            }
        })
        .collect())
}

async fn note(
    tx: &mut mailwright_store::Tx<'_>,
    uses: &[(KeyHash, Timestamp)],
) -> mailwright_store::Result<Vec<()>> {
    let mut sorted = uses.to_vec();
    // one row each, in one order
    sorted.sort_unstable_by_key(|(hash, at)| (*hash, std::cmp::Reverse(*at)));
    sorted.dedup_by_key(|(hash, _)| *hash);
    api_key::used(tx, &sorted).await?;
    Ok(vec![(); uses.len()])
}

async fn note_sessions(
    tx: &mut mailwright_store::Tx<'_>,
    uses: &[session::Use],
) -> mailwright_store::Result<Vec<()>> {
    let mut sorted = uses.to_vec();
    sorted.sort_unstable_by_key(|used| (used.id, std::cmp::Reverse(used.at)));
    sorted.dedup_by_key(|used| used.id);
    session::used(tx, &sorted).await?;
    Ok(vec![(); uses.len()])
}
