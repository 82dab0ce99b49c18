//! Idempotency keys (contract, Limits; reference 1.4).

use mailwright_store::body;
use mailwright_store::project::api_key::KeyKind;
use mailwright_store::sending::idempotency::{self, Claim, Scope, ScopedKey, Used};

use crate::App;
use crate::error::{Error, Result};
use crate::project::key::Identity;

/// A checked `Idempotency-Key` of a request to one of the endpoints that take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The key: 1 to 255 printable ASCII characters.
    pub key: String,
    /// Path of the request; the method is always `POST`.
    pub path: &'static str,
}

impl IdempotencyKey {
    /// Checks a header's value.
    pub fn parse(value: &[u8], path: &'static str) -> Result<Self> {
        let printable = value.iter().all(|b| (0x20..=0x7e).contains(b));
        match std::str::from_utf8(value) {
            Ok(key) if printable && (1..=255).contains(&key.len()) => Ok(Self { key: key.to_owned(), path }),
            _ => Err(Error::BadRequest(
                "The Idempotency-Key header must have 1 to 255 printable ASCII characters.".into(),
            )),
        }
    }
}

pub(crate) fn reused(key: String, used: Used) -> Error {
    Error::KeyReused {
        key,
        request: format!("{} {}", used.method, used.path),
        at: used.at,
        status_code: used.status_code,
    }
}

impl App {
    /// Refuses a key that is taken, before anything else of the request is looked at. The claim itself is made in the
    /// transaction that does the work.
    pub async fn check_key(&self, caller: &Identity, key: &IdempotencyKey) -> Result<()> {
        let (number, now) = (caller.project.number, self.0.clock.now());
        let wanted = ScopedKey::new(scope(caller), &key.key);
        let used = self.read(body!(async |rx| idempotency::holder(rx, number, &wanted, now).await)).await?;
        used.map_or(Ok(()), |used| Err(reused(key.key.clone(), used)))
    }

    pub(crate) fn claim(&self, caller: &Identity, key: Option<IdempotencyKey>) -> Option<Claim> {
        let now = self.0.clock.now();
        key.map(|key| Claim {
            project: caller.project.number,
            key: ScopedKey::new(scope(caller), &key.key),
            method: "POST",
            path: key.path,
            at: now,
            expires_at: now.plus(self.0.settings.idempotency_ttl),
        })
    }
}

fn scope(caller: &Identity) -> Scope {
    match caller.kind {
        KeyKind::Secret => Scope::Project,
        KeyKind::Public => Scope::Public,
    }
}

/// Claims the keys of a group of operations. Returns for each operation the request that holds its key already, if
/// there is one.
pub(crate) async fn claim_all<O>(
    tx: &mailwright_store::Tx<'_>,
    operations: &[O],
    claim: fn(&O) -> Option<&Claim>,
) -> mailwright_store::Result<Vec<Option<Used>>> {
    let claims: Vec<&Claim> = operations.iter().filter_map(claim).collect();
    if claims.is_empty() {
        return Ok(vec![None; operations.len()]);
    }
    let mut holders = idempotency::claim(tx, &claims).await?.into_iter();
    Ok(operations.iter().map(|o| claim(o).and_then(|_| holders.next().flatten())).collect())
}
