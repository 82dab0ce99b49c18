//! Sender domains.

use crate::address::DomainName;
use crate::ids::DomainId;
use crate::names;
use crate::time::Timestamp;

names! {
    /// What a key of a domain is there for, beside the one that proves the domain.
    pub enum KeyRole {
        /// It is of the other kind, and signs too once its record is found.
        Second = "second",
        /// It takes the place of the key of its kind once its record is found.
        Next = "next",
        /// It was replaced. Receivers still look its record up for mail that is under way.
        Former = "former",
    }
}

/// A key of a domain beside the one that proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FurtherKey {
    /// Selector (RFC 6376 section 3.1).
    pub selector: String,
    /// `rsa` or `ed25519`.
    pub key_type: String,
    /// Public key as the `p=` tag shows it.
    pub public_key: String,
    /// What it is there for.
    pub role: KeyRole,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on the record of a former key is not needed any more.
    pub remove_after: Option<Timestamp>,
}

/// A domain that a project may send from once it is verified.
#[derive(Debug, Clone, PartialEq)]
pub struct Domain {
    /// Identifier.
    pub id: DomainId,
    /// The name.
    pub name: DomainName,
    /// Whether the project may send from it.
    pub verified: bool,
    /// Whether the operator vouches for it: it then stays verified whatever its DNS has.
    pub vouched: bool,
    /// Selector of the DKIM key (RFC 6376 section 3.1).
    pub selector: String,
    /// Kind of the DKIM key: `rsa` or `ed25519`.
    pub key_type: String,
    /// Public key as the `p=` tag shows it.
    pub public_key: String,
    /// What the last check found, as JSON; null before the first.
    pub last_check: serde_json::Value,
    /// When the key was made.
    pub key_created_at: Timestamp,
    /// When the domain was added.
    pub created_at: Timestamp,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
}

impl Domain {
    /// Whether the project may send from it. Where mail `leaves` the machine, what was verified without a look at the
    /// DNS, while mail was captured, counts for nothing.
    pub fn may_send(&self, leaves: bool) -> bool {
        self.verified && (self.vouched || !leaves || !self.last_check.is_null())
    }
}
