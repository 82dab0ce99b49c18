//! Credentials: what keys look like, and whom keys and sessions belong to.
//!
//! Keys and sessions are looked up for every request, many requests with one query (a coalescer of reads), so a revoked
//! key or an ended session is dead at once on every node. `/v1/track` and `/v1/send` use a remembered key instead and
//! look it up inside their transaction ([`recheck`]).

use std::time::Duration;

use mailwright_core::audit::Actor;
use mailwright_core::ids::{ApiKeyId, ProjectId, ProjectNumber, SessionId};
use mailwright_core::project::Project;
use mailwright_core::role::{Holder, Scopes};
use mailwright_core::time::{Clock, Timestamp};
use mailwright_store::account::session::{self, Session};
use mailwright_store::project::api_key::{self, Found, KeyHash, KeyKind, NewKey};
use mailwright_store::{Coalescer, Db, Rx};
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// A key in the form that is given out once.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl Token {
    /// A new key: `sk_` or `pk_` and 32 random bytes in hexadecimal.
    pub fn generate(kind: KeyKind) -> Self {
        let prefix = match kind {
            KeyKind::Secret => "sk_",
            KeyKind::Public => "pk_",
        };
        Self(format!("{prefix}{}", hex::encode(rand::random::<[u8; 32]>())))
    }

    /// A new token for a link: 32 random bytes in hexadecimal.
    pub fn random() -> Self {
        Self(hex::encode(rand::random::<[u8; 32]>()))
    }

    /// A token of these bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self(hex::encode(bytes))
    }

    /// The text, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    pub fn hash(&self) -> KeyHash {
        hash(&self.0)
    }

    /// The key as it is stored. `named` is `None` for a key of the project's own pair.
    pub(crate) fn to_store(&self, kind: KeyKind, named: Option<(String, Scopes)>, now: Timestamp) -> NewKey {
        NewKey {
            id: ApiKeyId::new(now, rand::random()),
            kind,
            hash: self.hash(),
            token: (kind == KeyKind::Public).then(|| self.0.clone()),
            hint: self.0[self.0.len() - 4..].to_owned(),
            named,
        }
    }
}

/// What is stored of a token.
pub(crate) fn hash(token: &str) -> KeyHash {
    Sha256::digest(token.as_bytes()).into()
}

/// On whose behalf a request acts in a project.
#[derive(Debug, Clone)]
pub struct Identity {
    /// What it opens.
    pub kind: KeyKind,
    /// The project.
    pub project: Project,
    /// What the caller is allowed.
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

/// What was found.
#[derive(Debug)]
enum Answer {
    Key(Option<Box<Found>>),
    Session(Option<Box<Session>>),
}

/// Most keys remembered.
const REMEMBERED: usize = 10_000;
/// Most characters of a program's name that are kept.
const LONGEST_CLIENT: usize = 200;
/// How often it is noted that a key or a session is in use.
const NOTED_EVERY: Duration = Duration::from_mins(1);

/// Looks credentials up, many requests with one query.
///
/// A key that was revoked, or a session that was ended, on any node stops working at once. Most requests are therefore
/// looked up each time. The two that must be fast take what is remembered and look again inside their own transaction,
/// where a revoked key cannot slip through.
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

/// Why a remembered key does not open its project any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stale {
    Revoked,
    ProjectDisabled,
    /// The project was reset meanwhile, so that what the request was made for is gone.
    ProjectReset,
}

impl From<Stale> for Error {
    fn from(stale: Stale) -> Self {
        match stale {
            Stale::Revoked => Self::KeyRevoked,
            Stale::ProjectDisabled => Self::ProjectDisabled,
            Stale::ProjectReset => Self::ProjectReset,
        }
    }
}

/// Looks the keys of a group of operations up again. `None` for each that still opens its project for writing, and for
/// each whose caller is a person.
pub(crate) async fn recheck(
    rx: &Rx<'_>,
    callers: Vec<(Option<KeyHash>, ProjectNumber)>,
) -> mailwright_store::Result<Vec<Option<Stale>>> {
    Ok(recheck_trackers(rx, callers).await?.into_iter().map(Result::err).collect())
}

/// What the caller of an event may do and learn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tracker {
    /// Subscribe a contact again that is not subscribed.
    pub(crate) may_resubscribe: bool,
    /// Whether anybody may be behind it: it has the public key.
    pub(crate) is_public: bool,
}

/// The same, with what each may do and learn.
pub(crate) async fn recheck_trackers(
    rx: &Rx<'_>,
    callers: Vec<(Option<KeyHash>, ProjectNumber)>,
) -> mailwright_store::Result<Vec<std::result::Result<Tracker, Stale>>> {
    let hashes: Vec<KeyHash> = callers.iter().filter_map(|(hash, _)| *hash).collect();
    let found = find(rx, &hashes).await?;
    let person = Tracker { may_resubscribe: true, is_public: false };
    let checked = |hash: &KeyHash, number| match found.iter().find(|found| found.hash == hash) {
        None => Err(Stale::Revoked),
        Some(found) if found.project.disabled => Err(Stale::ProjectDisabled),
        Some(found) if found.project.number != number => Err(Stale::ProjectReset),
        Some(found) => {
            Ok(Tracker { may_resubscribe: found.may_resubscribe, is_public: found.kind == KeyKind::Public })
        }
    };
    Ok(callers.iter().map(|(hash, number)| hash.map_or(Ok(person), |hash| checked(&hash, *number))).collect())
}

async fn find(rx: &Rx<'_>, hashes: &[KeyHash]) -> mailwright_store::Result<Vec<Found>> {
    let mut distinct = hashes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.is_empty() { Ok(Vec::new()) } else { api_key::find(rx, &distinct).await }
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
