//! What an aggregate report says.

use std::net::IpAddr;

use mailwright_core::names;
use mailwright_core::time::Timestamp;

/// How many records of a report are kept.
pub const MAX_RECORDS: usize = 10_000;
/// How many results of DKIM, results of SPF, and reasons of a record are kept, each.
pub const MAX_RESULTS: usize = 20;
/// The longest text, in bytes. What is longer is cut.
pub const MAX_TEXT: usize = 255;
/// The largest count of a record: what is larger counts as this. The sum over a report stays below 2^53.
pub const MAX_COUNT: u64 = 100_000_000_000;

/// What a receiver says of a domain's mail (RFC 7489 appendix C, RFC 9990). Texts are one line of at most [`MAX_TEXT`]
/// bytes, without control characters and without invisible ones; names of domains are in lower case, without the dot at
/// the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregateReport {
    /// Who reports. Where the report does not say it, the domain of its address; else empty.
    pub org_name: String,
    /// The address of who reports.
    pub email: Option<String>,
    /// The report's id, unique for who reports.
    pub report_id: String,
    /// When the time begins that the report is about, to the second.
    pub begin: Timestamp,
    /// When it ends, to the second; not before it begins.
    pub end: Timestamp,
    /// The policy that the receiver found.
    pub policy: PolicyPublished,
    /// What came, by address and result, in the report's order; at most [`MAX_RECORDS`].
    pub records: Vec<Record>,
    /// How many records were left out, because there are more than [`MAX_RECORDS`].
    pub omitted: u64,
    /// How many records were left out, because their address or their count cannot be read.
    pub unreadable: u64,
}

/// The policy that a domain published (RFC 7489 section 6.3), as the receiver found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyPublished {
    /// The domain that the record was found at.
    pub domain: String,
    /// How DKIM has to fit; relaxed unless it says otherwise.
    pub adkim: Alignment,
    /// How SPF has to fit; relaxed unless it says otherwise.
    pub aspf: Alignment,
    /// What is asked for the domain; nothing unless it says otherwise.
    pub p: Disposition,
    /// What is asked for its subdomains; `None` when the report does not say.
    pub sp: Option<Disposition>,
    /// What is asked for subdomains that do not exist (RFC 9990); `None` when the report does not say.
    pub np: Option<Disposition>,
    /// How many of a hundred mails the policy is for; 100 unless it says otherwise. Reports after RFC 9990 have none.
    pub pct: u8,
    /// Whether the policy is only tried out (RFC 9990).
    pub is_testing: bool,
}

names! {
    /// How a domain that SPF or DKIM vouches for has to fit that of `From` (RFC 7489 section 3.1).
    pub enum Alignment {
        /// Both belong to one organisation.
        Relaxed = "r",
        /// Both are the same.
        Strict = "s",
    }
}

names! {
    /// What a policy asks for, or what a receiver did (RFC 7489 section 6.3, RFC 9990).
    pub enum Disposition {
        /// Nothing.
        None = "none",
        /// Nothing, since the mail passed. Only what a receiver did.
        Pass = "pass",
        /// The mail is suspicious: often the spam folder.
        Quarantine = "quarantine",
        /// The mail was refused.
        Reject = "reject",
    }
}

/// Mails that came from one address with the same results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where they came from. IPv4 in IPv6 is IPv4.
    pub source_ip: IpAddr,
    /// How many, at most [`MAX_COUNT`].
    pub count: u64,
    /// What the receiver did with them; nothing when the report does not say.
    pub disposition: Disposition,
    /// Whether DKIM passed for a domain that fits.
    pub is_dkim_aligned: bool,
    /// Whether SPF passed for a domain that fits.
    pub is_spf_aligned: bool,
    /// Why the receiver did not do what the policy asks for; at most [`MAX_RESULTS`].
    pub reasons: Vec<OverrideReason>,
    /// The domain of `From`.
    pub header_from: Option<String>,
    /// The domain of the envelope's sender; `None` for the null sender, and when the report does not say.
    pub envelope_from: Option<String>,
    /// What was found of the signatures; at most [`MAX_RESULTS`].
    pub dkim: Vec<DkimResult>,
    /// What was found of SPF; at most [`MAX_RESULTS`].
    pub spf: Vec<SpfResult>,
}

/// Why a receiver did something else than the policy asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideReason {
    /// The kind of reason.
    pub kind: OverrideType,
    /// What the receiver adds.
    pub comment: Option<String>,
}

names! {
    /// Why a receiver did something else than the policy asks for (RFC 7489 section 6.7 and appendix C, RFC 9990).
    pub enum OverrideType {
        /// The mail was forwarded.
        Forwarded = "forwarded",
        /// The policy is not for all mails, and this was not among those.
        SampledOut = "sampled_out",
        /// It was forwarded by one that the receiver trusts.
        TrustedForwarder = "trusted_forwarder",
        /// A mailing list sent it.
        MailingList = "mailing_list",
        /// The receiver has rules of its own.
        LocalPolicy = "local_policy",
        /// The policy is only tried out.
        PolicyTestMode = "policy_test_mode",
        /// Something else, or a word that is not known.
        Other = "other",
    }
}

/// What was found of one signature (RFC 6376).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DkimResult {
    /// The domain that signed.
    pub domain: String,
    /// The selector of its key.
    pub selector: Option<String>,
    /// What verifying it said.
    pub result: AuthResult,
}

/// What SPF said (RFC 7208).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpfResult {
    /// The domain that was asked about.
    pub domain: String,
    /// What it said.
    pub result: AuthResult,
}

names! {
    /// What SPF or DKIM says of a mail (RFC 8601 sections 2.7.1 and 2.7.2).
    pub enum AuthResult {
        /// There is nothing to verify.
        None = "none",
        /// It passed.
        Pass = "pass",
        /// It did not pass.
        Fail = "fail",
        /// SPF: it should not come from there.
        Softfail = "softfail",
        /// The domain says nothing about it, or the signature cannot be verified.
        Neutral = "neutral",
        /// It passed, and the receiver does not accept it for that.
        Policy = "policy",
        /// It could not be found out then.
        Temperror = "temperror",
        /// It cannot be found out, since something is wrong with the record or the signature.
        Permerror = "permerror",
        /// A word that is not known, or none.
        Unknown = "unknown",
    }
}
