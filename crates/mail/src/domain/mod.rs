//! The DNS records that let a domain send, and whether they are there.
//!
//! Only the DKIM key decides whether a domain is verified: it alone proves that the project controls the domain. The
//! other records make receivers trust the mail and are reported the same way.

use futures_util::future::join_all;
use mailwright_core::dmarc::{self, DmarcPolicy};

use crate::dns::{Dns, DnsError};

/// The purpose of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The public key of signatures (RFC 6376 section 3.6.2).
    Dkim,
    /// Which servers may send for the domain (RFC 7208).
    Spf,
    /// What receivers do with mail that fails the other two (RFC 7489).
    Dmarc,
    /// The host to which bounces return.
    ReturnPath,
    /// The host of tracked links and pictures.
    Tracking,
    /// The host that takes mail for the domain.
    Inbound,
    /// A key of Amazon SES, which signs with keys of its own (Easy DKIM).
    SesDkim,
}

impl Purpose {
    /// The name in answers of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dkim => "dkim",
            Self::Spf => "spf",
            Self::Dmarc => "dmarc",
            Self::ReturnPath => "return_path",
            Self::Tracking => "tracking",
            Self::Inbound => "inbound",
            Self::SesDkim => "ses_dkim",
        }
    }
}

/// The type of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordType {
    /// A text.
    Txt,
    /// The name of another host.
    Cname,
    /// The host that takes mail.
    Mx,
}

impl RecordType {
    /// The name, as DNS has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Txt => "TXT",
            Self::Cname => "CNAME",
            Self::Mx => "MX",
        }
    }
}

/// A record to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedRecord {
    /// Its purpose.
    pub purpose: Purpose,
    /// Its type.
    pub kind: RecordType,
    /// The complete name, without the final dot.
    pub name: String,
    /// The value, without quotes; a host without the final dot.
    pub value: String,
    /// The preference of an MX record.
    pub priority: Option<u16>,
    /// Whether the domain is verified only with it.
    pub required: bool,
}

/// The result of looking up an expected record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordStatus {
    /// The record, or one that serves as well.
    Found,
    /// No record of this purpose.
    Missing,
    /// A record of this purpose that does not serve.
    Mismatch,
    /// The name server gave no answer; nothing is known.
    Unavailable,
}

impl RecordStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Found, Self::Missing, Self::Mismatch, Self::Unavailable];

    /// The status of a name; `None` for a name that there is not.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// The name in answers of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Missing => "missing",
            Self::Mismatch => "mismatch",
            Self::Unavailable => "unavailable",
        }
    }
}

/// A record, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordCheck {
    /// The expected record.
    pub record: ExpectedRecord,
    /// Whether it is there.
    pub status: RecordStatus,
    /// The values found at the name, those of other purposes left out.
    pub found: Vec<String>,
}

/// A DKIM key, as it is published.
#[derive(Debug, Clone)]
pub struct PublishedKey<'a> {
    /// The selector.
    pub selector: &'a str,
    /// The value of the record, as [`crate::dkim::dkim_record`] makes it.
    pub record: String,
}

impl PublishedKey<'_> {
    /// The name of its record.
    pub fn name(&self, domain: &str) -> String {
        format!("{}._domainkey.{domain}", self.selector)
    }
}

/// How a domain sends.
#[derive(Debug, Clone, Copy)]
pub struct SenderIdentity<'a> {
    /// The domain of the sender's address.
    pub domain: &'a str,
    /// The keys: that which proves the domain first.
    pub keys: &'a [PublishedKey<'a>],
    /// What an SPF record has to contain, such as `include:spf.example.net`; `None` when SPF does not matter, as with a
    /// return path under another domain.
    pub spf_mechanism: Option<&'a str>,
    /// The name under the domain that bounces return to, and the host that takes them, to which it is to point. The
    /// envelope's sender is under that name then, so that SPF passes for the domain.
    pub return_path: Option<Pointer<'a>>,
    /// The name under the domain that tracked links have, and the host that answers them.
    pub tracking: Option<Pointer<'a>>,
    /// The host that takes mail for the domain.
    pub inbound_host: Option<&'a str>,
    /// The address that takes reports about the domain's mail.
    pub dmarc_reports: Option<&'a str>,
    /// The names under the domain at which Amazon SES looks for its keys, and the hosts that have them.
    pub ses_dkim: &'a [Pointer<'a>],
}

/// A name under a domain that is to point to a host.
#[derive(Debug, Clone, Copy)]
pub struct Pointer<'a> {
    /// What the name begins with, before the domain: a label, or several.
    pub label: &'a str,
    /// The host.
    pub host: &'a str,
}

impl Pointer<'_> {
    /// The whole name.
    pub fn name(&self, domain: &str) -> String {
        format!("{}.{domain}", self.label)
    }
}

/// The records to create: the required one first.
pub fn expected_records(id: &SenderIdentity<'_>) -> Vec<ExpectedRecord> {
    let SenderIdentity { domain, .. } = id;
    let txt = |purpose, name: String, value: String| ExpectedRecord {
        purpose,
        kind: RecordType::Txt,
        name,
        value,
        priority: None,
        required: false,
    };
    let mut records: Vec<_> =
        id.keys.iter().map(|key| txt(Purpose::Dkim, key.name(domain), key.record.clone())).collect();
    if let Some(first) = records.first_mut() {
        first.required = true;
    }
    if let Some(mechanism) = id.spf_mechanism {
        records.push(txt(Purpose::Spf, (*domain).to_owned(), format!("v=spf1 {mechanism} ~all")));
    }
    let policy = dmarc::record_with(None, DmarcPolicy::None, id.dmarc_reports);
    records.push(txt(Purpose::Dmarc, format!("_dmarc.{domain}"), policy));
    let cname = |purpose, pointer: Pointer<'_>| {
        let pointing = txt(purpose, pointer.name(domain), pointer.host.to_owned());
        ExpectedRecord { kind: RecordType::Cname, ..pointing }
    };
    records.extend(id.return_path.map(|pointer| cname(Purpose::ReturnPath, pointer)));
    records.extend(id.tracking.map(|pointer| cname(Purpose::Tracking, pointer)));
    if let Some(host) = id.inbound_host {
        let mx = txt(Purpose::Inbound, (*domain).to_owned(), host.to_owned());
        records.push(ExpectedRecord { kind: RecordType::Mx, priority: Some(10), ..mx });
    }
    records.extend(id.ses_dkim.iter().map(|pointer| cname(Purpose::SesDkim, *pointer)));
    records
}

/// Looks all the records up, side by side, and compares.
pub async fn check(dns: &Dns, id: &SenderIdentity<'_>) -> Vec<RecordCheck> {
    join_all(expected_records(id).into_iter().map(|record| check_record(dns, id, record))).await
}

async fn check_record(dns: &Dns, id: &SenderIdentity<'_>, record: ExpectedRecord) -> RecordCheck {
    let answer = match record.purpose {
        Purpose::ReturnPath | Purpose::Tracking | Purpose::SesDkim => {
            dns.cname(&record.name).await.map(|target| vec![target])
        }
        Purpose::Inbound => {
            let hosts = dns.mx(&record.name).await;
            hosts.map(|hosts| hosts.into_iter().map(|(_, host)| host).collect())
        }
        Purpose::Dkim | Purpose::Spf | Purpose::Dmarc => dns.txt(&record.name).await,
    };
    let mut found = match answer {
        Ok(found) => found,
        Err(DnsError::NotFound) => Vec::new(),
        Err(DnsError::Unavailable(_)) => {
            return RecordCheck { record, status: RecordStatus::Unavailable, found: Vec::new() };
        }
    };
    // Other TXT records at the name, such as those that prove ownership to others, have nothing to do with this.
    found.retain(|value| is_of(record.purpose, value));
    let serves = match record.purpose {
        // Of several records receivers take any, or none (RFC 6376 section 3.6.2.2, RFC 7208 section 4.5, RFC 7489
        // section 6.6.3).
        Purpose::Dkim => found.len() == 1 && serves_for_mail(&found[0], &record.value),
        Purpose::Spf => found.len() == 1 && id.spf_mechanism.is_some_and(|wanted| allows(&found[0], wanted)),
        Purpose::Dmarc => found.len() == 1 && is_policy(&found[0]),
        Purpose::ReturnPath | Purpose::Tracking | Purpose::Inbound | Purpose::SesDkim => {
            found.iter().any(|target| same_host(target, &record.value))
        }
    };
    let status = match (serves, found.is_empty()) {
        (true, _) => RecordStatus::Found,
        (false, true) => RecordStatus::Missing,
        (false, false) => RecordStatus::Mismatch,
    };
    RecordCheck { record, status, found }
}

/// Whether a value is meant for the purpose at all.
pub fn is_of(purpose: Purpose, value: &str) -> bool {
    let value = value.trim_start();
    let begins = |version: &str| {
        let start = value.get(..version.len()).filter(|start| start.eq_ignore_ascii_case(version));
        start.is_some() && !value[version.len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    match purpose {
        Purpose::Dkim => tag(value, "p").is_some(),
        Purpose::Spf => begins("v=spf1"),
        Purpose::Dmarc => begins("v=DMARC1"),
        Purpose::ReturnPath | Purpose::Tracking | Purpose::Inbound | Purpose::SesDkim => true,
    }
}

/// The value of a tag in a list such as `v=DKIM1; k=rsa; p=...` (RFC 6376 section 3.2), without any white space: keys
/// are pasted in pieces.
fn tag(record: &str, wanted: &str) -> Option<String> {
    record.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        (name.trim() == wanted).then(|| value.split_whitespace().collect())
    })
}

/// Whether two records hold the same key. An empty one is a key that was withdrawn, which never serves.
fn same_key(found: &str, expected: &str) -> bool {
    let kind = |record| tag(record, "k").unwrap_or_else(|| "rsa".to_owned()).to_ascii_lowercase();
    let key = tag(found, "p").filter(|key| !key.is_empty());
    // where there is a version, it comes first (RFC 6376 section 3.6.1)
    let version =
        tag(found, "v").is_none_or(|version| version == "DKIM1" && found.trim_start().starts_with('v'));
    version && key.is_some() && key == tag(expected, "p") && kind(found) == kind(expected)
}

/// Whether a key's record holds the expected key, and lets it sign mail as we do: with SHA-256 (`h`), and mail (`s`).
fn serves_for_mail(found: &str, expected: &str) -> bool {
    let lists = |wanted: &str, of: &[&str]| {
        tag(found, wanted)
            .is_none_or(|list| list.split(':').any(|item| of.contains(&&*item.to_ascii_lowercase())))
    };
    same_key(found, expected) && lists("h", &["sha256"]) && lists("s", &["*", "email"])
}

/// What a DMARC record asks receivers to do with mail that fails: `none`, `quarantine` or `reject`. Nothing where it is no
/// record that they heed.
pub fn policy(record: &str) -> Option<String> {
    is_policy(record).then(|| tag(record, "p"))?.map(|policy| policy.to_ascii_lowercase())
}

/// Whether a DMARC record says what receivers should do; they read the version as it is written (RFC 7489 section 6.3).
fn is_policy(record: &str) -> bool {
    record.trim_start().starts_with("v=DMARC1") && DmarcPolicy::of_record(record).is_some()
}

/// Whether an SPF record contains the mechanism, and lets pass what matches it. Nothing after `all` is looked at.
fn allows(record: &str, mechanism: &str) -> bool {
    let wanted = mechanism.trim().trim_start_matches('+');
    let is_all = |term: &str| term.trim_start_matches(['+', '-', '~', '?']).eq_ignore_ascii_case("all");
    record
        .split_whitespace()
        .take_while(|term| !is_all(term))
        .any(|term| term.strip_prefix('+').unwrap_or(term).eq_ignore_ascii_case(wanted))
}

/// Whether two names are those of one host: upper and lower case, and a final dot, are nothing.
pub fn same_host(a: &str, b: &str) -> bool {
    a.trim_end_matches('.').eq_ignore_ascii_case(b.trim_end_matches('.'))
}

#[cfg(test)]
mod tests;
