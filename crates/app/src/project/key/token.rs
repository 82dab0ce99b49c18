//! What keys and the tokens of links look like.

use mailwright_core::ids::ApiKeyId;
use mailwright_core::role::Scopes;
use mailwright_core::time::Timestamp;
use mailwright_store::project::api_key::{KeyHash, KeyKind, NewKey};
use sha2::{Digest, Sha256};

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

    /// SHA-256 of the key.
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

/// SHA-256 of a token.
pub(crate) fn hash(token: &str) -> KeyHash {
    Sha256::digest(token.as_bytes()).into()
}
