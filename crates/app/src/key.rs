//! API keys: what they look like, and whom they belong to.

use mailwright_core::project::Project;
use mailwright_store::api_key::{self, KeyHash, KeyKind};
use mailwright_store::{Coalescer, Db, Rx};
use sha2::{Digest, Sha256};

use crate::error::Result;

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

/// Looks keys up, many requests with one query.
///
/// The lookup is made for every request, not cached: a key that was revoked on any node stops working at once.
#[derive(Debug)]
pub struct Keyring(Coalescer<KeyHash, Option<(KeyKind, Project)>>);

impl Keyring {
    pub(crate) fn new(db: &Db) -> Self {
        Self(Coalescer::reads(db, |rx, hashes| Box::pin(find(rx, hashes))))
    }

    /// The project a token opens, and whether it is a secret or a public key.
    pub async fn find(&self, token: &str) -> Result<Option<(KeyKind, Project)>> {
        let looks_right = token.len() == 67 && (token.starts_with("sk_") || token.starts_with("pk_"));
        if !looks_right {
            return Ok(None);
        }
        Ok(self.0.call(0, hash(token)).await?)
    }
}

async fn find(
    rx: &mut Rx<'_>,
    hashes: &[KeyHash],
) -> mailwright_store::Result<Vec<Option<(KeyKind, Project)>>> {
    let mut distinct = hashes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let found = api_key::find(rx, &distinct).await?;
    let owner = |hash: &KeyHash| {
        found.iter().find(|(h, ..)| h == hash).map(|(_, kind, project)| (*kind, project.clone()))
    };
    Ok(hashes.iter().map(owner).collect())
}
