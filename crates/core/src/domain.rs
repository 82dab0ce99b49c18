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

names! {
    /// What a service signs the mail of a domain with that is registered with it.
    pub enum IdentityWay {
        /// The domain's own RSA key, which it was given.
        OwnKey = "own_key",
        /// Keys of its own, to which CNAME records of the domain lead.
        EasyDkim = "easy_dkim",
    }
}

names! {
    /// Who had a service sign for a domain as it does.
    pub enum IdentityHolder {
        /// Nobody, as far as is known: the domain is not registered.
        Nobody = "nobody",
        /// This domain of this project.
        Domain = "domain",
        /// Somebody else, such as the operator by hand, or another project that has the domain too.
        Others = "others",
    }
}

names! {
    /// What a service says of a domain that is, or is to be, registered with it.
    pub enum IdentityStatus {
        /// It has not verified the domain yet, or was not asked yet.
        Pending = "pending",
        /// It takes mail from the domain.
        Verified = "verified",
        /// It has given up looking for the records of the domain.
        Failed = "failed",
        /// The operator's key may not register domains.
        Denied = "denied",
        /// It was asked too often.
        Throttled = "throttled",
        /// The account has as many domains as it may have.
        Limited = "limited",
        /// It does not accept the request.
        Refused = "refused",
        /// It gave no answer that means something.
        Unavailable = "unavailable",
    }
}

names! {
    /// Why the last request about a domain came to nothing, or is not made yet.
    pub enum IdentityTrouble {
        /// The service did not have the domain, which is registered again.
        Missing = "missing",
        /// The operator's key may not register domains.
        Denied = "denied",
        /// It was asked too often.
        Throttled = "throttled",
        /// The account has as many domains as it may have.
        Limited = "limited",
        /// It does not accept the request.
        Refused = "refused",
        /// It gave no answer that means something, or none at all.
        Unavailable = "unavailable",
        /// The key of the domain cannot be decrypted.
        KeyUnreadable = "key_unreadable",
        /// The domain waits for the record of its RSA key.
        KeyUnpublished = "key_unpublished",
        /// The project had as many domains registered in 24 hours as it may.
        DayUsedUp = "day_used_up",
        /// Domains that nobody has any more have to be removed from the account first.
        RemovalsWait = "removals_wait",
    }
}

/// A sender domain as it is registered with the service that a transport leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainIdentity {
    /// The transport's name.
    pub transport: String,
    /// Who had the service sign as it does.
    pub holder: IdentityHolder,
    /// What it signs with; `None` where that is not known.
    pub way: Option<IdentityWay>,
    /// The selector of the key that it was given for this domain of this project.
    pub selector: Option<String>,
    /// What it said last. A domain that was verified stays so while the service gives no other answer.
    pub status: IdentityStatus,
    /// The labels of the CNAME records that it looks for, with keys of its own.
    pub tokens: Vec<String>,
    /// The domain in which these records lead to the same labels; `None` for the usual one.
    pub hosted_zone: Option<String>,
    /// Why the last request came to nothing, in a sentence.
    pub error: Option<String>,
    /// The same, for programs. `None` also where an earlier version noted the error.
    pub trouble: Option<IdentityTrouble>,
    /// When it was asked last.
    pub checked_at: Option<Timestamp>,
    /// From when on it is to be asked; `None` until the next check of the domain.
    pub due_at: Option<Timestamp>,
}

impl DomainIdentity {
    /// One of which nothing is known yet.
    pub fn new(transport: impl Into<String>) -> Self {
        Self {
            transport: transport.into(),
            holder: IdentityHolder::Nobody,
            way: None,
            selector: None,
            status: IdentityStatus::Pending,
            tokens: Vec::new(),
            hosted_zone: None,
            error: None,
            trouble: None,
            checked_at: None,
            due_at: None,
        }
    }
}

names! {
    /// Which of the usual mistakes with a DNS record it is. After each stand the names of the values that are told with it.
    pub enum DifferenceKind {
        /// The name server gave no answer.
        Unavailable = "unavailable",
        /// There is no record.
        Missing = "missing",
        /// The record is at its name with the domain once more behind it. `at`, `enter`: what to enter as the name.
        Doubled = "doubled",
        /// The value has quotation marks or backslashes in it.
        Wrapped = "wrapped",
        /// The value is the key alone. `begin`: what it has to begin with.
        KeyAlone = "key_alone",
        /// The value is no key. `begin`, `found`.
        NoKey = "no_key",
        /// The value does not begin as receivers want it. `begin`, `found`.
        Unread = "unread",
        /// There is more than one record. `count`, and for SPF `mechanisms`: what the one that stays has to contain.
        Several = "several",
        /// The record has another value, of which no more can be told.
        Other = "other",
        /// A name leads elsewhere. `found`.
        Elsewhere = "elsewhere",
        /// A name leads to the right one with the domain behind it. `found`, `enter`.
        WithDomain = "with_domain",
        /// The domain says that it takes no mail.
        NullMx = "null_mx",
        /// Mail for the domain goes elsewhere. `found`: the hosts.
        OtherMx = "other_mx",
        /// The key was withdrawn.
        KeyWithdrawn = "key_withdrawn",
        /// The key is of another kind. `found`, `wanted`.
        KeyKind = "key_kind",
        /// The key is right, and the record does not begin with its version.
        KeyVersion = "key_version",
        /// The key is right, and not for signatures with SHA-256. `found`.
        KeyHash = "key_hash",
        /// The key is right, and not for mail. `found`.
        KeyService = "key_service",
        /// The value was cut after one string of a TXT record. `characters`.
        KeyCut = "key_cut",
        /// The key ends too early. `characters`, `wanted`: how many it has, and should have.
        KeyIncomplete = "key_incomplete",
        /// The key goes on behind its end. `characters`: how many there are too many.
        KeyLonger = "key_longer",
        /// The key has other small and capital letters.
        KeyCase = "key_case",
        /// It is another key. `position`: of the first character that differs, counted from 1.
        KeyOther = "key_other",
        /// An SPF term is missing. `wanted`, `instead`: the record to write; `lookUps` where these are too many.
        SpfLacks = "spf_lacks",
        /// An SPF term stands behind `all`. `wanted`, `instead`, `lookUps`.
        SpfBehindAll = "spf_behind_all",
        /// An SPF term does not let the mail pass. `found`, `wanted`, `instead`, `lookUps`.
        SpfRefuses = "spf_refuses",
        /// A DMARC record does not begin with its version. `found`.
        DmarcVersion = "dmarc_version",
        /// A DMARC record has no policy.
        DmarcNoPolicy = "dmarc_no_policy",
        /// A DMARC record has a policy that receivers do not know. `found`.
        DmarcPolicy = "dmarc_policy",
        /// An MTA-STS record has no id.
        MtaStsNoId = "mta_sts_no_id",
        /// An MTA-STS record has the id of another policy. `found`, `wanted`.
        MtaStsId = "mta_sts_id",
        /// Reports about TLS cannot go to the address. `found`.
        ReportsAddress = "reports_address",
        /// The record does not say where reports about TLS go.
        ReportsNowhere = "reports_nowhere",
        /// The logo is not at an `https://` address. `found`.
        LogoAddress = "logo_address",
        /// The record does not say where the logo is.
        NoLogo = "no_logo",
    }
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
