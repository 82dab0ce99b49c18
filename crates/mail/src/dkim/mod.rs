//! DKIM signatures (RFC 6376, RFC 8463; relaxed/relaxed) and the keys for them.
//!
//! The signer is our own, on `ring`: the time is a parameter, and the DNSSEC and TLS stacks of a complete library stay
//! out of the build. The tests verify signatures with such a library, `mail-auth`, and with dkimpy. The crate `rsa`
//! only makes keys and signs nothing, so RUSTSEC-2023-0071 (timing of private keys) cannot be reached.

mod canonical;

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use mailwright_core::time::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use ring::{digest, error::KeyRejected};
use rsa::pkcs8::{EncodePrivateKey, EncodePublicKey};

/// The headers that are listed once more than they occur, so that one added on the way breaks the signature (RFC 6376
/// section 8.15): what a reader is shown, and what a program acts on.
const OVERSIGNED: [&str; 9] = [
    "From",
    "To",
    "Cc",
    "Subject",
    "Date",
    "Reply-To",
    "Content-Type",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
];
/// The headers that are signed when present.
const SIGNED: [&str; 16] = [
    "Message-ID",
    "MIME-Version",
    "Sender",
    "In-Reply-To",
    "References",
    "List-Id",
    "List-Help",
    "List-Subscribe",
    "List-Post",
    "List-Owner",
    "List-Archive",
    "Feedback-ID",
    "Precedence",
    "Auto-Submitted",
    "TLS-Report-Domain",
    "TLS-Report-Submitter",
];
/// Where the lines of a signature are folded; well under the 78 of RFC 5322 section 2.1.1.
const FOLD: usize = 72;

/// The two kinds of keys that receivers know (RFC 8301, RFC 8463).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// RSA with 2048 bits, which every receiver verifies; about 2,400 signatures a second and core.
    Rsa2048,
    /// Ed25519: ten times as fast, a short record, but not every receiver knows it yet.
    Ed25519,
}

impl KeyType {
    /// The kind of a name; `None` for a name that there is not.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Rsa2048, Self::Ed25519].into_iter().find(|kind| kind.as_str() == name)
    }

    /// The other kind.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Rsa2048 => Self::Ed25519,
            Self::Ed25519 => Self::Rsa2048,
        }
    }

    /// The name in the `k=` tag of the record and, before `-sha256`, in the `a=` tag of the signature.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rsa2048 => "rsa",
            Self::Ed25519 => "ed25519",
        }
    }
}

/// Why a key could not be made or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DkimError {
    /// The system could not make a key.
    #[error("the key could not be generated: {0}")]
    Generate(String),
    /// The bytes are not a private key of the kind that was named, in DER.
    #[error("the private key cannot be read: {0}")]
    Key(String),
    /// The domain or the selector is not a DNS name.
    #[error("{0:?} cannot be the domain or the selector of a signature")]
    Name(String),
    /// The key refused to sign.
    #[error("the message could not be signed")]
    Sign,
}

impl From<KeyRejected> for DkimError {
    fn from(error: KeyRejected) -> Self {
        Self::Key(error.to_string())
    }
}

/// A private key, read and checked. Cheap to clone.
#[derive(Clone)]
pub struct SigningKey(Arc<Key>);

enum Key {
    Rsa(RsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.kind()).finish()
    }
}

impl SigningKey {
    /// Makes a new key: the private key as PKCS #8 DER, which [`SigningKey::from_der`] takes, and the public key in
    /// base64 as it stands in the record's `p=` tag.
    ///
    /// Takes up to seconds for RSA: call it where blocking is allowed.
    pub fn generate(kind: KeyType) -> Result<(Vec<u8>, String), DkimError> {
        match kind {
            KeyType::Rsa2048 => generate_rsa(),
            KeyType::Ed25519 => generate_ed25519(),
        }
    }

    /// Reads a private key: PKCS #8 for both kinds, PKCS #1 for RSA as well. RSA keys have 2048 to 4096 bits.
    pub fn from_der(kind: KeyType, der: &[u8]) -> Result<Self, DkimError> {
        let key = match kind {
            KeyType::Rsa2048 => Key::Rsa(RsaKeyPair::from_pkcs8(der).or_else(|_| RsaKeyPair::from_der(der))?),
            // The second form, with the private key alone, is what OpenSSL writes.
            KeyType::Ed25519 => Key::Ed25519(Ed25519KeyPair::from_pkcs8_maybe_unchecked(der)?),
        };
        Ok(Self(Arc::new(key)))
    }

    /// Which kind of key this is.
    pub fn kind(&self) -> KeyType {
        match *self.0 {
            Key::Rsa(_) => KeyType::Rsa2048,
            Key::Ed25519(_) => KeyType::Ed25519,
        }
    }

    /// Signs a message: the complete `DKIM-Signature` header with its line end, to be put before the message.
    ///
    /// Canonicalisation is relaxed/relaxed. A bare CR or LF in `raw` counts as the CRLF it is sent as.
    pub fn sign(
        &self,
        domain: &str,
        selector: &str,
        raw: &[u8],
        now: Timestamp,
    ) -> Result<String, DkimError> {
        for name in [domain, selector] {
            if !is_dns_name(name) {
                return Err(DkimError::Name(name.to_owned()));
            }
        }
        let (fields, body) = canonical::split(raw);
        let (names, mut signed) = select(&fields);
        let mut header = format!(
            "DKIM-Signature: v=1; a={}-sha256; c=relaxed/relaxed; d={domain};\r\n\ts={selector}; t={};\r\n\th=",
            self.kind().as_str(),
            now.0.div_euclid(1000).max(0),
        );
        fold(&mut header, names.split_inclusive(':'));
        header.push_str(";\r\n\tbh=");
        header.push_str(&BASE64.encode(canonical::body_hash(body)));
        header.push_str(";\r\n\tb=");

        // The signature covers its own header with an empty `b=` and without the final CRLF (section 3.7).
        let (name, value) = header.split_at("DKIM-Signature".len());
        canonical::relax_header(name.as_bytes(), &value.as_bytes()[1..], &mut signed);
        let signature = BASE64.encode(self.signature(&signed)?);
        fold(
            &mut header,
            signature.as_bytes().chunks(FOLD - 2).filter_map(|chunk| std::str::from_utf8(chunk).ok()),
        );
        header.push_str("\r\n");
        Ok(header)
    }

    fn signature(&self, data: &[u8]) -> Result<Vec<u8>, DkimError> {
        match &*self.0 {
            Key::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                // The randomness only blinds the computation; the signature is the same every time.
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), data, &mut signature)
                    .map_err(|_| DkimError::Sign)?;
                Ok(signature)
            }
            // RFC 8463 section 3: what is signed is the hash.
            Key::Ed25519(key) => {
                Ok(key.sign(digest::digest(&digest::SHA256, data).as_ref()).as_ref().to_vec())
            }
        }
    }
}

/// The value of the TXT record at `<selector>._domainkey.<domain>` (RFC 6376 section 3.6.1).
pub fn dkim_record(kind: KeyType, public_key: &str) -> String {
    format!("v=DKIM1; k={}; p={public_key}", kind.as_str())
}

fn generate_rsa() -> Result<(Vec<u8>, String), DkimError> {
    let failed = |error: &dyn fmt::Display| DkimError::Generate(error.to_string());
    let key = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 2048).map_err(|e| failed(&e))?;
    let private = key.to_pkcs8_der().map_err(|e| failed(&e))?;
    let public = key.to_public_key().to_public_key_der().map_err(|e| failed(&e))?;
    Ok((private.as_bytes().to_vec(), BASE64.encode(public.as_bytes())))
}

fn generate_ed25519() -> Result<(Vec<u8>, String), DkimError> {
    let private = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
        .map_err(|_| DkimError::Generate("the system gives no random numbers".into()))?;
    let public = Ed25519KeyPair::from_pkcs8(private.as_ref())?;
    // RFC 8463 section 4.2: the bare 32 bytes, where RSA has a SubjectPublicKeyInfo.
    Ok((private.as_ref().to_vec(), BASE64.encode(public.public_key().as_ref())))
}

/// The names for `h=` and the canonical form of the headers they stand for.
fn select(fields: &[canonical::Field<'_>]) -> (String, Vec<u8>) {
    let mut names = String::new();
    let mut signed = Vec::with_capacity(2048);
    for name in OVERSIGNED.into_iter().chain(SIGNED) {
        // Of several with the same name the last one is signed first (section 5.4.2).
        for field in fields.iter().rev().filter(|field| field.name.eq_ignore_ascii_case(name.as_bytes())) {
            names.push_str(name);
            names.push(':');
            canonical::relax_header(field.name, field.value, &mut signed);
            signed.extend_from_slice(b"\r\n");
        }
        if OVERSIGNED.contains(&name) {
            names.push_str(name);
            names.push(':');
        }
    }
    names.pop();
    (names, signed)
}

/// Appends `pieces`, a new line before each that would pass [`FOLD`].
fn fold<'a>(header: &mut String, pieces: impl Iterator<Item = &'a str>) {
    let mut column = header.rfind('\n').map_or(header.len(), |at| header.len() - at);
    for piece in pieces {
        if column + piece.len() > FOLD {
            header.push_str("\r\n\t ");
            column = 2;
        }
        header.push_str(piece);
        column += piece.len();
    }
}

fn is_dns_name(name: &str) -> bool {
    (1..=253).contains(&name.len())
        && name.split('.').all(|label| {
            !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        })
}
