//! The DNS records that let a domain send, and whether they are there.
//!
//! Only the DKIM key decides whether a domain is verified: it alone proves that the project controls the domain. The
//! other records make receivers trust the mail and are reported the same way.

pub mod difference;
pub mod lookalike;
mod parts;
mod status;
mod values;
pub mod zone;

use futures_util::future::join_all;
use mailwright_core::dmarc::{self, DmarcPolicy};

pub use self::parts::{Pointer, PublishedKey, ServedPolicy};
pub use self::status::RecordStatus;
use self::values::{allows, has_logo, is_policy, serves_for_mail, tag};
pub use self::values::{enforces, policy, same_host};
use crate::dns::{Dns, DnsError};
use crate::mta_sts;
use crate::tls_report::{destinations, record_name};

/// Most values that are kept because they may be what was meant for a record.
const MOST_NEAR: usize = 3;
/// Most bytes of such a value.
const MAX_NEAR: usize = 512;
/// Most values of a record that are kept, and most bytes of each: whoever owns the domain can publish any number.
const MOST_FOUND: usize = 10;
const MAX_FOUND: usize = 1024;

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
    /// That there is a policy about TLS to that host (RFC 8461).
    MtaSts,
    /// The host that serves the policy.
    MtaStsHost,
    /// Where reports about TLS to that host go (RFC 8460).
    TlsReports,
    /// The logo that mail programs show beside mail of the domain.
    Bimi,
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
            Self::MtaSts => "mta_sts",
            Self::MtaStsHost => "mta_sts_host",
            Self::TlsReports => "tls_reports",
            Self::Bimi => "bimi",
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

impl ExpectedRecord {
    /// The name that it has where a DNS service adds the domain to names that end with it already.
    pub fn doubled_name(&self, domain: &str) -> String {
        format!("{}.{domain}", self.name)
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
    /// What tells why it is missing.
    pub hints: Hints,
}

/// What a check notes of a record that is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// TXT records at the name that may be meant for it and are nothing that receivers read, shortened.
    pub near: Vec<String>,
    /// Whether it is at the name with the domain twice, as DNS services make it that add the domain themselves.
    pub is_doubled: bool,
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
    /// The policy about mail for the domain. Without a host that takes it there is none.
    pub mail_policy: Option<ServedPolicy<'a>>,
    /// The address that takes reports about TLS to that host.
    pub tls_reports: Option<&'a str>,
    /// Whether the domain has a DMARC policy with which mail programs show its logo.
    pub shows_logo: bool,
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
        if let Some(ServedPolicy { id, host }) = id.mail_policy {
            records.push(txt(Purpose::MtaSts, format!("_mta-sts.{domain}"), format!("v=STSv1; id={id}")));
            let cname = txt(Purpose::MtaStsHost, format!("mta-sts.{domain}"), host.to_owned());
            records.push(ExpectedRecord { kind: RecordType::Cname, ..cname });
        }
        if let Some(address) = id.tls_reports {
            let value = format!("v=TLSRPTv1; rua=mailto:{address}");
            records.push(txt(Purpose::TlsReports, record_name(domain), value));
        }
    }
    if id.shows_logo {
        let value = format!("v=BIMI1; l=https://{domain}/logo.svg");
        records.push(txt(Purpose::Bimi, format!("default._bimi.{domain}"), value));
    }
    records.extend(id.ses_dkim.iter().map(|pointer| cname(Purpose::SesDkim, *pointer)));
    records
}

/// Looks all the records up, side by side, and compares.
pub async fn check(dns: &Dns, id: &SenderIdentity<'_>) -> Vec<RecordCheck> {
    join_all(expected_records(id).into_iter().map(|record| check_record(dns, id, record))).await
}

async fn check_record(dns: &Dns, id: &SenderIdentity<'_>, record: ExpectedRecord) -> RecordCheck {
    let values = match look_up(dns, record.kind, &record.name).await {
        Ok(values) => values,
        Err(DnsError::NotFound) => Vec::new(),
        Err(DnsError::Unavailable(_)) => {
            let (status, found, hints) = (RecordStatus::Unavailable, Vec::new(), Hints::default());
            return RecordCheck { record, status, found, hints };
        }
    };
    // Other TXT records at the name, such as those that prove ownership to others, have nothing to do with this.
    let (found, others): (Vec<_>, Vec<_>) =
        values.into_iter().partition(|value| is_of(record.purpose, value));
    let status = match (serves(&record, id, &found), found.is_empty()) {
        (true, _) => RecordStatus::Found,
        (false, true) => RecordStatus::Missing,
        (false, false) => RecordStatus::Mismatch,
    };
    let mut hints = Hints::default();
    if status == RecordStatus::Missing {
        hints.near = near(record.purpose, others);
        hints.is_doubled = hints.near.is_empty() && is_doubled(dns, id, &record).await;
    }
    let found = found.into_iter().take(MOST_FOUND).map(|value| shortened(value, MAX_FOUND)).collect();
    RecordCheck { record, status, found, hints }
}

/// The values of the records of a name.
async fn look_up(dns: &Dns, kind: RecordType, name: &str) -> Result<Vec<String>, DnsError> {
    match kind {
        RecordType::Txt => dns.txt(name).await,
        RecordType::Cname => dns.cname(name).await.map(|target| vec![target]),
        RecordType::Mx => {
            let hosts = dns.mx(name).await;
            hosts.map(|hosts| hosts.into_iter().map(|(_, host)| host).collect())
        }
    }
}

/// Whether what was found does what the record should do.
fn serves(record: &ExpectedRecord, id: &SenderIdentity<'_>, found: &[String]) -> bool {
    // Of several records receivers take any, or none (RFC 6376 section 3.6.2.2, RFC 7208 section 4.5, RFC 7489
    // section 6.6.3).
    let only = if let [only] = found { only.as_str() } else { "" };
    match record.purpose {
        Purpose::Dkim => serves_for_mail(only, &record.value),
        Purpose::Spf => id.spf_mechanism.is_some_and(|wanted| allows(only, wanted)),
        Purpose::Dmarc => is_policy(only),
        Purpose::MtaSts => {
            let version = mta_sts::version(found.iter().map(String::as_str));
            version.is_some() && version == mta_sts::version([record.value.as_str()])
        }
        Purpose::TlsReports => destinations(found.iter().map(String::as_str)).is_some(),
        Purpose::Bimi => has_logo(only),
        Purpose::ReturnPath
        | Purpose::Tracking
        | Purpose::MtaStsHost
        | Purpose::Inbound
        | Purpose::SesDkim => found.iter().any(|target| same_host(target, &record.value)),
    }
}

/// Whether the record is where DNS services put it that add the domain to names that have it already.
async fn is_doubled(dns: &Dns, id: &SenderIdentity<'_>, record: &ExpectedRecord) -> bool {
    let found = look_up(dns, record.kind, &record.doubled_name(id.domain)).await.unwrap_or_default();
    let found: Vec<_> = found.into_iter().filter(|value| is_of(record.purpose, value)).collect();
    serves(record, id, &found)
}

/// Those of the other values at a name that may be meant for a purpose.
fn near(purpose: Purpose, others: Vec<String>) -> Vec<String> {
    // what else is at the name of the domain itself is for others
    let may_be = |value: &String| purpose != Purpose::Spf || value.to_ascii_lowercase().contains("spf1");
    others.into_iter().filter(may_be).take(MOST_NEAR).map(|value| shortened(value, MAX_NEAR)).collect()
}

fn shortened(mut value: String, most: usize) -> String {
    value.truncate(value.floor_char_boundary(most));
    value
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
        Purpose::MtaSts => begins("v=STSv1"),
        Purpose::TlsReports => begins("v=TLSRPTv1"),
        Purpose::Bimi => begins("v=BIMI1"),
        Purpose::ReturnPath
        | Purpose::Tracking
        | Purpose::MtaStsHost
        | Purpose::Inbound
        | Purpose::SesDkim => true,
    }
}

#[cfg(test)]
mod tests;
