//! The DNS records of a domain, and what checks found of them.

use mailwright_core::address::EmailAddress;
use mailwright_core::domain::{Domain, DomainIdentity, FurtherKey, KeyRole};
use mailwright_mail::dkim::{KeyType, dkim_record};
use mailwright_mail::domain::difference::{Difference, difference};
use mailwright_mail::domain::zone::zone_line;
use mailwright_mail::domain::{
    ExpectedRecord, Hints, Pointer, PublishedKey, Purpose, RecordCheck, RecordStatus, SenderIdentity, check,
    enforces, expected_records,
};
use mailwright_mail::ses::identity::EASY_DKIM_ZONE;
use serde_json::{Value, json};

use crate::App;
use crate::error::{Error, Result};

/// A DNS record of a domain, with what the last check found.
#[derive(Debug, Clone)]
pub struct Record {
    /// The record to create.
    pub expected: ExpectedRecord,
    /// What the last check says of it; `None` before the first one.
    pub status: Option<RecordStatus>,
    /// The values found.
    pub found: Vec<String>,
    /// What is different about the record, and what to do about it; `None` where nothing is, or nothing is known.
    pub difference: Option<Difference>,
}

/// A domain with its records.
#[derive(Debug, Clone)]
pub struct DomainWithRecords {
    /// The domain.
    pub domain: Domain,
    /// Its records, the required one first.
    pub records: Vec<Record>,
    /// Its keys beside the one that proves it.
    pub keys: Vec<FurtherKey>,
    /// What is known of it with the accounts that it is registered with.
    pub identities: Vec<DomainIdentity>,
}

impl App {
    /// Looks the records of a domain up.
    pub(super) async fn look_up(
        &self,
        domain: &Domain,
        keys: &[FurtherKey],
        identities: &[DomainIdentity],
    ) -> Result<Vec<RecordCheck>> {
        let (published, aliases) = (published(domain, keys)?, aliases(identities));
        let (pointers, reports) = (pointers(&aliases), self.dmarc_address(domain.id));
        let identity = self.identity(domain, &published, reports.as_deref(), &pointers);
        Ok(check(&self.0.dns, &identity).await)
    }

    fn identity<'a>(
        &'a self,
        domain: &'a Domain,
        keys: &'a [PublishedKey<'a>],
        dmarc_reports: Option<&'a str>,
        ses_dkim: &'a [Pointer<'a>],
    ) -> SenderIdentity<'a> {
        let settings = self.settings();
        SenderIdentity {
            domain: domain.name.as_str(),
            keys,
            spf_mechanism: settings.domains.spf.as_deref(),
            return_path: settings
                .return_path()
                .map(|host| Pointer { label: &settings.domains.return_path_label, host }),
            tracking: settings
                .tracking_host()
                .map(|host| Pointer { label: &settings.domains.tracking_label, host }),
            inbound_host: settings.inbound_host(),
            dmarc_reports,
            ses_dkim,
            mail_policy: self.served_policy(),
            tls_reports: settings.domains.tls_reports_to.as_ref().map(EmailAddress::as_str),
            shows_logo: shows_logo(&domain.last_check),
        }
    }

    /// A domain with its records. One whose key is of an unknown kind has none to create.
    pub(super) fn with_records(
        &self,
        mut domain: Domain,
        keys: Vec<FurtherKey>,
        identities: Vec<DomainIdentity>,
    ) -> DomainWithRecords {
        domain.verified = domain.may_send(self.mail_leaves());
        let records = match published(&domain, &keys) {
            Ok(published) => {
                let (reports, aliases) = (self.dmarc_address(domain.id), aliases(&identities));
                let pointers = pointers(&aliases);
                expected_records(&self.identity(&domain, &published, reports.as_deref(), &pointers))
            }
            Err(error) => {
                tracing::error!(%error, table = "domains", domain = %domain.id, "a domain is shown without records");
                Vec::new()
            }
        };
        let records = records.into_iter().map(|expected| Record::of(expected, &domain)).collect();
        DomainWithRecords { domain, records, keys, identities }
    }
}

impl Record {
    /// The record as a line of a zone file.
    pub fn zone(&self) -> String {
        zone_line(&self.expected)
    }

    /// A record with what the last check of its domain says of it.
    fn of(expected: ExpectedRecord, domain: &Domain) -> Self {
        let is_of = |finding: &&Value| {
            finding["name"] == expected.name && finding["purpose"] == expected.purpose.as_str()
        };
        let finding = domain.last_check.as_array().and_then(|findings| findings.iter().find(is_of));
        let status = finding.and_then(|finding| RecordStatus::parse(finding["status"].as_str()?));
        let found = finding.map_or_else(Vec::new, |finding| texts(&finding["found"]));
        let hints = finding.map_or_else(Hints::default, |finding| Hints {
            near: texts(&finding["near"]),
            is_doubled: finding["doubled"] == true,
        });
        let name = domain.name.as_str();
        let difference = status.and_then(|status| difference(&expected, name, status, &found, &hints));
        Self { expected, status, found, difference }
    }
}

/// The CNAME records that Amazon SES looks for where it signs with keys of its own: what each name begins with, and the
/// host that it is to lead to. Several transports may lead to one account.
fn aliases(identities: &[DomainIdentity]) -> Vec<(String, String)> {
    let mut aliases = Vec::new();
    for identity in identities {
        let zone = identity.hosted_zone.as_deref().unwrap_or(EASY_DKIM_ZONE);
        for token in &identity.tokens {
            let alias = (format!("{token}._domainkey"), format!("{token}.{zone}"));
            if !aliases.contains(&alias) {
                aliases.push(alias);
            }
        }
    }
    aliases
}

fn pointers(aliases: &[(String, String)]) -> Vec<Pointer<'_>> {
    aliases.iter().map(|(label, host)| Pointer { label, host }).collect()
}

/// The texts in a list.
fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

/// Whether the domain may send after a check. If a required record could not be looked up, the result of the earlier
/// check stays: a failure of a name server must not stop a project's mail.
pub(super) fn is_proven(checks: &[RecordCheck], was_proven: bool) -> bool {
    checks.iter().filter(|c| c.record.required).all(|c| match c.status {
        RecordStatus::Found => true,
        RecordStatus::Unavailable => was_proven,
        RecordStatus::Missing | RecordStatus::Mismatch => false,
    })
}

/// Whether mail for the domain comes here after a check; `None` when that could not be looked up.
pub(super) fn receives(checks: &[RecordCheck]) -> Option<bool> {
    // a process that does not listen leaves what those found that do
    let check = checks.iter().find(|check| check.record.purpose == Purpose::Inbound)?;
    match check.status {
        RecordStatus::Found => Some(true),
        RecordStatus::Missing | RecordStatus::Mismatch => Some(false),
        RecordStatus::Unavailable => None,
    }
}

/// What is kept of a check. Where a record could not be looked up, it is kept too whether it was there before.
pub(super) fn findings(checks: &[RecordCheck], before: &Value) -> Value {
    checks
        .iter()
        .map(|c| {
            json!({
                "name": c.record.name,
                "purpose": c.record.purpose.as_str(),
                "status": c.status.as_str(),
                "found": c.found,
                "near": c.hints.near,
                "doubled": c.hints.is_doubled,
                "was_found": c.status == RecordStatus::Unavailable
                    && any_found(before, |finding| finding["name"] == c.record.name && is_of(finding, c.record.purpose)),
            })
        })
        .collect()
}

/// What the last check found of a domain's DMARC record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FoundPolicy {
    /// This record.
    Record(String),
    /// None.
    Missing,
    /// Something that receivers do not understand.
    Mismatch,
    /// Nothing is known: it was not looked up, or the name server gave no answer.
    Unknown,
}

impl FoundPolicy {
    /// Reads it from the findings.
    pub(crate) fn of(findings: &Value) -> Self {
        let finding = findings.as_array().into_iter().flatten().find(|found| is_of(found, Purpose::Dmarc));
        let status = finding.and_then(|finding| RecordStatus::parse(finding["status"].as_str()?));
        let record = finding.and_then(|finding| finding["found"][0].as_str());
        match (status, record) {
            (Some(RecordStatus::Found), Some(record)) => Self::Record(record.to_owned()),
            (Some(RecordStatus::Missing), _) => Self::Missing,
            (Some(RecordStatus::Found | RecordStatus::Mismatch), _) => Self::Mismatch,
            (Some(RecordStatus::Unavailable) | None, _) => Self::Unknown,
        }
    }
}

/// Whether the DMARC policy that the last check found is one with which mail programs show the domain's logo.
fn shows_logo(findings: &Value) -> bool {
    matches!(FoundPolicy::of(findings), FoundPolicy::Record(record) if enforces(&record))
}

/// Whether a check found the record of a purpose, or the last one did that could look it up.
pub(crate) fn has_record(findings: &Value, purpose: Purpose) -> bool {
    any_found(findings, |finding| is_of(finding, purpose))
}

/// The same for the record of the key with a selector.
pub(crate) fn has_key(findings: &Value, selector: &str) -> bool {
    let is_its =
        |name: &str| name.strip_prefix(selector).is_some_and(|rest| rest.starts_with("._domainkey."));
    any_found(findings, |finding| {
        is_of(finding, Purpose::Dkim) && finding["name"].as_str().is_some_and(is_its)
    })
}

/// What a check says of the record of a purpose; nothing where it was not looked up.
pub(crate) fn status_of(findings: &Value, purpose: Purpose) -> Option<RecordStatus> {
    let mut found = findings.as_array().into_iter().flatten().filter(|finding| is_of(finding, purpose));
    RecordStatus::parse(found.next()?["status"].as_str()?)
}

/// The values that a check found for a purpose.
pub(crate) fn values_of(findings: &Value, purpose: Purpose) -> impl Iterator<Item = &str> {
    let found = findings.as_array().into_iter().flatten().filter(move |finding| is_of(finding, purpose));
    found.filter_map(|finding| finding["found"].as_array()).flatten().filter_map(Value::as_str)
}

fn is_of(finding: &Value, purpose: Purpose) -> bool {
    finding["purpose"] == purpose.as_str()
}

fn any_found(findings: &Value, which: impl Fn(&Value) -> bool) -> bool {
    let is_found =
        |finding: &Value| finding["status"] == RecordStatus::Found.as_str() || finding["was_found"] == true;
    findings.as_array().into_iter().flatten().any(|finding| is_found(finding) && which(finding))
}

/// The keys of a domain that should have records: that which proves it first. A further key of a kind that this version
/// does not know is left out.
fn published<'a>(domain: &'a Domain, keys: &'a [FurtherKey]) -> Result<Vec<PublishedKey<'a>>> {
    let unknown =
        || Error::Internal(format!("the key of a domain is of the unknown kind {}", domain.key_type));
    let kind = KeyType::parse(&domain.key_type).ok_or_else(unknown)?;
    let record = dkim_record(kind, &domain.public_key);
    let mut published = vec![PublishedKey { selector: &domain.selector, record }];
    let further = keys.iter().filter(|key| key.role != KeyRole::Former).filter_map(|key| {
        let record = dkim_record(KeyType::parse(&key.key_type)?, &key.public_key);
        Some(PublishedKey { selector: &key.selector, record })
    });
    published.extend(further);
    Ok(published)
}

#[cfg(test)]
mod tests {
    use mailwright_core::address::DomainName;
    use mailwright_core::ids::DomainId;
    use mailwright_core::time::Timestamp;

    use super::*;

    fn checks(status: RecordStatus) -> Vec<RecordCheck> {
        let identity = SenderIdentity {
            domain: "example.com",
            keys: &[PublishedKey { selector: "mw1", record: "v=DKIM1".into() }],
            spf_mechanism: None,
            return_path: None,
            tracking: None,
            inbound_host: None,
            dmarc_reports: None,
            ses_dkim: &[],
            mail_policy: None,
            tls_reports: None,
            shows_logo: false,
        };
        let records = expected_records(&identity);
        let check = |record| RecordCheck { record, status, found: Vec::new(), hints: Hints::default() };
        records.into_iter().map(check).collect()
    }

    #[test]
    fn an_answer_that_does_not_come_keeps_only_what_was_proved() {
        for (status, was_proven, expected) in [
            (RecordStatus::Found, false, true),
            (RecordStatus::Unavailable, true, true),
            (RecordStatus::Unavailable, false, false),
            (RecordStatus::Missing, true, false),
            (RecordStatus::Mismatch, true, false),
        ] {
            assert_eq!(is_proven(&checks(status), was_proven), expected, "{status:?}, {was_proven}");
        }
    }

    /// A domain of which a check found this.
    fn domain(last_check: Value) -> Domain {
        let now = Timestamp(0);
        Domain {
            id: DomainId::new(now, [1; 10]),
            name: DomainName::parse("example.com").unwrap(),
            verified: false,
            vouched: false,
            selector: "mw1".into(),
            key_type: "rsa".into(),
            public_key: "p1".into(),
            last_check,
            key_created_at: now,
            created_at: now,
            updated_at: now,
        }
    }

    #[test]
    fn what_a_check_found_is_read_back() {
        for status in RecordStatus::ALL {
            let mut checks = checks(status);
            checks[0].hints.is_doubled = true;
            let domain = domain(findings(&checks, &Value::Null));
            let read: Vec<_> = checks.into_iter().map(|check| Record::of(check.record, &domain)).collect();
            assert!(read.iter().all(|read| read.status == Some(status)), "{status:?}");
            assert_eq!(read[0].difference.is_some(), status != RecordStatus::Found, "{:?}", read[0]);
            let is_told =
                read[0].difference.as_ref().is_some_and(|told| told.text.contains("example.com.example.com"));
            assert_eq!(is_told, status == RecordStatus::Missing);
        }
        let (mut found, policy) = (checks(RecordStatus::Found), "v=DMARC1; p=reject");
        found[1].found = vec![policy.to_owned()];
        let of = |checks: &[RecordCheck]| FoundPolicy::of(&findings(checks, &Value::Null));
        assert_eq!(of(&found), FoundPolicy::Record(policy.to_owned()));
        assert!(shows_logo(&findings(&found, &Value::Null)));
        found[1].found = vec!["v=DMARC1; p=none".to_owned()];
        assert!(!shows_logo(&findings(&found, &Value::Null)));
        assert_eq!(of(&checks(RecordStatus::Missing)), FoundPolicy::Missing);
        assert_eq!(of(&checks(RecordStatus::Mismatch)), FoundPolicy::Mismatch);
        assert_eq!(of(&checks(RecordStatus::Unavailable)), FoundPolicy::Unknown);
        assert_eq!(FoundPolicy::of(&Value::Null), FoundPolicy::Unknown);
        let unchecked = checks(RecordStatus::Found).remove(0).record;
        let unchecked = Record::of(unchecked, &domain(Value::Null));
        assert_eq!((unchecked.status, unchecked.difference), (None, None));
    }
}
