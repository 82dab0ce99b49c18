//! The instance's secret. The keys for everything that is encrypted or signed are derived from it.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac;

use mailwright_core::ids::{DomainId, ProjectNumber, UserId};
use mailwright_store::Db;
use mailwright_store::body;
use mailwright_store::database::sealed::{self, DomainKey, Sealed};

use crate::error::{Error, Result};

/// Purpose under which the private keys of domains are encrypted.
pub(crate) const DKIM: &str = "dkim";
/// Purpose under which the check of the secret is encrypted.
const CHECK: &str = "check";
/// Domains, or second factors, that are looked at together.
const PAGE: i64 = 200;
/// Most domains that one message names.
const NAMED: usize = 10;

/// `MAILWRIGHT_SECRET`. Never printed.
#[derive(Clone)]
pub struct InstanceSecret(Vec<u8>);

impl std::fmt::Debug for InstanceSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl InstanceSecret {
    /// Takes the secret's bytes; any length, at least 16 bytes should be random.
    pub fn new(secret: impl Into<Vec<u8>>) -> Self {
        Self(secret.into())
    }

    /// Encrypts data for one purpose. The purpose, such as `dkim`, is needed again to decrypt.
    pub fn seal(&self, purpose: &str, plain: &[u8]) -> Result<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut sealed = plain.to_vec();
        self.key(purpose)?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)
            .map_err(|_| Error::Internal("encryption failed".into()))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Decrypts what [`InstanceSecret::seal`] made. Fails when the instance's secret is another one by now.
    pub fn open(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>> {
        let failed = || {
            Error::Internal(format!(
                "stored {purpose} data cannot be decrypted: was MAILWRIGHT_SECRET changed?"
            ))
        };
        let (nonce, rest) = sealed.split_at_checked(NONCE_LEN).ok_or_else(failed)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| failed())?;
        let mut rest = rest.to_vec();
        let plain = self.key(purpose)?.open_in_place(nonce, Aad::empty(), &mut rest).map_err(|_| failed())?;
        Ok(plain.to_vec())
    }

    /// Encrypts the seed of a user's second factor.
    pub(crate) fn seal_seed(&self, user: UserId, seed: &[u8]) -> Result<Vec<u8>> {
        self.seal(&seed_purpose(user), seed)
    }

    /// Decrypts what [`InstanceSecret::seal_seed`] made for this user.
    pub(crate) fn open_seed(&self, user: UserId, sealed: &[u8]) -> Result<Vec<u8>> {
        self.open(&seed_purpose(user), sealed)
    }

    /// Whether this is the secret that something was encrypted with.
    pub fn opens(&self, sealed: &Sealed) -> bool {
        match sealed {
            Sealed::Check(check) => self.open(CHECK, check).is_ok(),
            Sealed::Dkim(key) => self.open(DKIM, key).is_ok(),
            Sealed::Seed(user, seed) => self.open_seed(*user, seed).is_ok(),
        }
    }

    /// Signs data for one purpose (HMAC-SHA256).
    pub fn sign(&self, purpose: &str, data: &[u8]) -> Result<Vec<u8>> {
        Ok(hmac::sign(&self.signing_key(purpose)?, data).as_ref().to_vec())
    }

    /// Whether [`InstanceSecret::sign`] made a signature. The time taken tells nothing.
    pub fn is_signature(&self, purpose: &str, data: &[u8], signature: &[u8]) -> bool {
        self.signing_key(purpose).is_ok_and(|key| hmac::verify(&key, data, signature).is_ok())
    }

    /// The key that signatures for a purpose are made with.
    pub(crate) fn signing_key(&self, purpose: &str) -> Result<hmac::Key> {
        Ok(hmac::Key::new(hmac::HMAC_SHA256, &self.derive(&format!("sign {purpose}"))?))
    }

    fn key(&self, purpose: &str) -> Result<LessSafeKey> {
        UnboundKey::new(&AES_256_GCM, &self.derive(purpose)?)
            .map(LessSafeKey::new)
            .map_err(|_| Error::Internal("key derivation failed".into()))
    }

    fn derive(&self, purpose: &str) -> Result<[u8; 32]> {
        let mut bytes = [0; 32];
        Salt::new(HKDF_SHA256, b"mailwright")
            .extract(&self.0)
            .expand(&[purpose.as_bytes()], HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut bytes))
            .map_err(|_| Error::Internal("key derivation failed".into()))?;
        Ok(bytes)
    }
}

/// An encrypted value of a database with the current schema, for trying a secret; `None` if nothing is encrypted yet.
pub async fn sample(db: &Db) -> Result<Option<Sealed>> {
    Ok(db.read(body!(async |rx| sealed::sample(rx).await)).await?)
}

/// Keeps what shows from now on whether a secret is this one, where nothing did yet.
pub async fn keep_check(db: &Db, secret: &InstanceSecret) -> Result<()> {
    let check = secret.seal(CHECK, &[])?;
    Ok(db.write(body!(async |tx| sealed::keep_check(tx, &check).await)).await?)
}

/// The same in the place of what did, because that secret was lost.
pub(crate) async fn replace_check(db: &Db, secret: &InstanceSecret) -> Result<()> {
    let check = secret.seal(CHECK, &[])?;
    Ok(db.write(body!(async |tx| sealed::replace_check(tx, &check).await)).await?)
}

/// How many accounts have a second factor whose seed a secret does not open.
pub async fn unopened_seeds(db: &Db, secret: &InstanceSecret) -> Result<usize> {
    let (mut count, mut after) = (0, UserId::from_bytes([0; 16]));
    loop {
        let seeds = db.read(body!(async |rx| sealed::seeds(rx, after, PAGE).await)).await?;
        count += seeds.iter().filter(|(user, seed)| secret.open_seed(*user, seed).is_err()).count();
        let Some((last, _)) = seeds.last() else { return Ok(count) };
        after = *last;
    }
}

/// Domains whose private keys cannot be opened with the secret. Shown as their names.
#[derive(Debug, Default)]
pub struct Unopened {
    count: usize,
    names: Vec<String>,
}

impl std::fmt::Display for Unopened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.names.join(", "))?;
        match self.count - self.names.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The domains of all projects whose private keys a secret does not open; `None` when it opens all of them.
pub async fn unopened(db: &Db, secret: &InstanceSecret) -> Result<Option<Unopened>> {
    let (mut found, mut after) = (Unopened::default(), None);
    loop {
        let (unopened, next) = next_unopened(db, secret, after).await?;
        let room = NAMED - found.names.len();
        found.count += unopened.len();
        found.names.extend(unopened.into_iter().take(room).map(|key| key.name));
        if next.is_none() {
            return Ok(Some(found).filter(|found| found.count > 0));
        }
        after = next;
    }
}

/// A domain, to go on from.
pub(crate) type Place = (ProjectNumber, DomainId);

/// Which of the next domains have private keys that a secret does not decrypt, and the domain to continue after; `None`
/// after the last.
pub(crate) async fn next_unopened(
    db: &Db,
    secret: &InstanceSecret,
    after: Option<Place>,
) -> Result<(Vec<DomainKey>, Option<Place>)> {
    let mut keys = db.read(body!(async |rx| sealed::domain_keys(rx, after, PAGE).await)).await?;
    let next = keys.last().map(|key| (key.project, key.domain));
    keys.retain(|key| secret.open(DKIM, &key.private_key).is_err());
    Ok((keys, next))
}

fn seed_purpose(user: UserId) -> String {
    format!("totp {user}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_for_its_secret_purpose_and_data() {
        let secret = InstanceSecret::new(*b"0123456789abcdef");
        let signature = secret.sign("session", b"data").unwrap();
        assert!(secret.is_signature("session", b"data", &signature));
        assert!(!secret.is_signature("other", b"data", &signature));
        assert!(!secret.is_signature("session", b"date", &signature));
        assert!(!secret.is_signature("session", b"data", &signature[1..]));
        assert!(!InstanceSecret::new(*b"another secret!!").is_signature("session", b"data", &signature));
    }

    #[test]
    fn opens_only_with_the_same_secret_and_purpose() {
        let secret = InstanceSecret::new(*b"0123456789abcdef");
        let sealed = secret.seal("dkim", b"private").unwrap();
        assert_eq!(secret.open("dkim", &sealed).unwrap(), b"private");
        assert!(secret.open("other", &sealed).is_err());
        assert!(InstanceSecret::new(*b"another secret!!").open("dkim", &sealed).is_err());
        assert!(secret.open("dkim", &sealed[..5]).is_err());
        assert_eq!(format!("{secret:?}"), "***");
    }
}
