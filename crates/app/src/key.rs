//! API keys: what they look like, and whom they belong to.

use mailwright_core::project::Project;
use mailwright_store::api_key::{self, KeyHash, KeyKind};
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

    /// The text, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    pub fn hash(&self) -> KeyHash {
        hash(&self.0)
    }
}

fn hash(token: &str) -> KeyHash {
    Sha256::digest(token.as_bytes()).into()
}

/// Whom a key belongs to.
#[derive(Debug, Clone)]
pub struct Identity {
    /// What it opens.
    pub kind: KeyKind,
    /// Its project.
    pub project: Project,
    /// What is stored of it.
    pub hash: KeyHash,
}

/// Most keys remembered.
const REMEMBERED: usize = 10_000;

/// Looks keys up, many requests with one query.
///
/// A key that was revoked on any node stops working at once. Most requests are therefore looked up each time. The two
/// that must be fast take what is remembered and look again inside their own transaction, where a revoked key cannot
/// slip through.
#[derive(Debug)]
pub struct Keyring {
    lookups: Coalescer<KeyHash, Option<(KeyKind, Project)>>,
    remembered: Cache<KeyHash, Identity>,
}

impl Keyring {
    pub(crate) fn new(db: &Db) -> Self {
        let lookups = Coalescer::reads(db, |rx, hashes| Box::pin(find(rx, hashes)));
        Self { lookups, remembered: Cache::new(REMEMBERED) }
    }

    /// Whom a token belongs to.
    pub async fn find(&self, token: &str) -> Result<Option<Identity>> {
        let looks_right = token.len() == 67 && (token.starts_with("sk_") || token.starts_with("pk_"));
        if !looks_right {
            return Ok(None);
        }
        let hash = hash(token);
        let found = self.lookups.call(0, hash).await?.map(|(kind, project)| Identity { kind, project, hash });
        match &found {
            Some(identity) if !identity.project.disabled => self.remembered.insert(hash, identity.clone()),
            _ => self.forget(&hash),
        }
        Ok(found)
    }

    /// Whom a token belonged to when it was last looked up. Only for requests whose transaction looks again.
    pub async fn recall(&self, token: &str) -> Result<Option<Identity>> {
        match self.remembered.get(&hash(token)) {
            Some(identity) => Ok(Some(identity)),
            None => self.find(token).await,
        }
    }

    pub(crate) fn forget(&self, hash: &KeyHash) {
        self.remembered.remove(hash);
    }
}

/// Why a remembered key does not open its project any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stale {
    Revoked,
    ProjectDisabled,
}

impl From<Stale> for Error {
    fn from(stale: Stale) -> Self {
        match stale {
            Stale::Revoked => Self::KeyRevoked,
            Stale::ProjectDisabled => Self::ProjectDisabled,
        }
    }
}

/// Looks the keys of a group of operations up again. `None` for each that still opens its project for writing.
pub(crate) async fn recheck(
    rx: &Rx<'_>,
    hashes: Vec<KeyHash>,
) -> mailwright_store::Result<Vec<Option<Stale>>> {
    let found = find(rx, &hashes).await?;
    Ok(found
        .into_iter()
        .map(|found| match found {
            None => Some(Stale::Revoked),
            Some((_, project)) if project.disabled => Some(Stale::ProjectDisabled),
            Some(_) => None,
        })
        .collect())
}

async fn find(rx: &Rx<'_>, hashes: &[KeyHash]) -> mailwright_store::Result<Vec<Option<(KeyKind, Project)>>> {
    let mut distinct = hashes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let found = api_key::find(rx, &distinct).await?;
    let owner = |hash: &KeyHash| {
        found.iter().find(|(h, ..)| h == hash).map(|(_, kind, project)| (*kind, project.clone()))
    };
    Ok(hashes.iter().map(owner).collect())
}
