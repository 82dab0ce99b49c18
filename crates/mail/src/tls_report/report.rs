//! A report, as its JSON has it (RFC 8460 section 4).

use std::cmp::Reverse;
use std::io::Read;
use std::net::IpAddr;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use mailwright_core::names;
use mailwright_core::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::report::fields::one_line;

/// The most policies of a report that is packed.
pub const MAX_POLICIES: usize = 10;
/// The most failures of a policy in a report that is packed.
pub const MAX_DETAILS: usize = 1000;
/// The most lines of a policy, and the most patterns of mail servers, in a report that is packed.
pub const MAX_STRINGS: usize = 200;
/// The longest text in a report that is packed, in bytes. What is longer is cut.
pub const MAX_TEXT: usize = 500;
/// The largest report that is read back, in bytes of JSON.
pub const MAX_JSON: usize = 16 * 1024 * 1024;

/// What a sender saw of a domain's TLS in a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TlsReport {
    /// Who reports.
    pub organization_name: String,
    /// The day.
    pub date_range: DateRange,
    /// Whom to ask: an address, or a URL.
    pub contact_info: String,
    /// The report's id, as in [`super::subject`].
    pub report_id: String,
    /// What happened, by policy.
    #[serde(default)]
    pub policies: Vec<PolicyResult>,
}

/// The time of a report: a day of UTC (section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DateRange {
    /// Its first instant.
    pub start_datetime: Timestamp,
    /// Its last one, which is still in it.
    pub end_datetime: Timestamp,
}

/// What happened under a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PolicyResult {
    /// The policy.
    pub policy: Policy,
    /// How many sessions there were.
    pub summary: Summary,
    /// What failed, by reason and host. It need not stand for all failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure_details: Vec<FailureDetail>,
}

/// A policy as the sender found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Policy {
    /// The kind of policy.
    pub policy_type: PolicyType,
    /// The policy itself: the lines of that of MTA-STS, or the TLSA records in their form of text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy_string: Vec<String>,
    /// The domain that it is for; its A-labels. Some leave it out where there is no policy.
    #[serde(default)]
    pub policy_domain: String,
    /// The mail servers that it names; only of MTA-STS. A text alone is read as well, as others write it.
    #[serde(default, deserialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub mx_host: Vec<String>,
}

names! {
    /// Kinds of policies (section 4.2).
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum PolicyType {
        /// DANE (RFC 7672).
        Tlsa = "tlsa",
        /// MTA-STS (RFC 8461).
        Sts = "sts",
        /// The domain has neither.
        NoPolicyFound = "no-policy-found",
    }
}

/// How many sessions there were (section 4.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Summary {
    /// Sessions whose TLS was as the policy asks for.
    pub total_successful_session_count: u64,
    /// Sessions that failed, or went on without.
    pub total_failure_session_count: u64,
}

/// Sessions that failed for the same reason at the same host (section 4.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FailureDetail {
    /// The reason.
    pub result_type: ResultType,
    /// The address that was connected from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending_mta_ip: Option<IpAddr>,
    /// The name of the mail server, as MX records have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiving_mx_hostname: Option<String>,
    /// What it called itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiving_mx_helo: Option<String>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiving_ip: Option<IpAddr>,
    /// How many sessions failed.
    pub failed_session_count: u64,
    /// A URL with more about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_information: Option<String>,
    /// The reason in the words of the sender's software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason_code: Option<String>,
}

names! {
    /// Why a session failed (section 4.3).
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ResultType {
        /// The server does not offer STARTTLS.
        StarttlsNotSupported = "starttls-not-supported",
        /// The certificate is not for the server's name.
        CertificateHostMismatch = "certificate-host-mismatch",
        /// The certificate is not valid any more.
        CertificateExpired = "certificate-expired",
        /// Nobody who is trusted vouches for the certificate.
        CertificateNotTrusted = "certificate-not-trusted",
        /// Something else.
        ValidationFailure = "validation-failure",
        /// The TLSA records are broken, or do not fit the certificate.
        TlsaInvalid = "tlsa-invalid",
        /// The resolver found the signatures of DNSSEC wrong.
        DnssecInvalid = "dnssec-invalid",
        /// The sender asks for DANE, and there are no TLSA records.
        DaneRequired = "dane-required",
        /// The policy of MTA-STS cannot be fetched.
        StsPolicyFetchError = "sts-policy-fetch-error",
        /// The policy of MTA-STS cannot be read.
        StsPolicyInvalid = "sts-policy-invalid",
        /// The certificate of the server that the policy is fetched from is not valid.
        StsWebpkiInvalid = "sts-webpki-invalid",
    }
}

/// Why a report cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsReportError {
    /// It is more than [`MAX_JSON`] bytes when it is unpacked.
    #[error("the report is larger than {MAX_JSON} bytes")]
    TooLarge,
    /// The gzip is broken.
    #[error("the report cannot be unpacked")]
    Archive,
    /// The JSON is broken, or is no report. With the words of the parser.
    #[error("the report's JSON cannot be read: {0}")]
    Json(String),
}

impl TlsReport {
    /// The report as JSON, packed with gzip, within the bounds of [`super`].
    pub fn to_gzip(&self) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        serde_json::to_writer(&mut encoder, &self.bounded()).expect("a report is JSON, and memory takes it");
        encoder.finish().expect("memory takes it")
    }

    /// Reads what [`TlsReport::to_gzip`] writes, and what others write. Fields that are not known are nothing; types of
    /// policies and of results that are not known are an error.
    pub fn from_gzip(file: &[u8]) -> Result<Self, TlsReportError> {
        let mut json = Vec::new();
        let mut reader = GzDecoder::new(file).take(MAX_JSON as u64 + 1);
        reader.read_to_end(&mut json).map_err(|_| TlsReportError::Archive)?;
        if json.len() > MAX_JSON {
            return Err(TlsReportError::TooLarge);
        }
        serde_json::from_slice(&json).map_err(|error| TlsReportError::Json(cut(&error.to_string())))
    }

    fn bounded(&self) -> Self {
        Self {
            organization_name: cut(&self.organization_name),
            date_range: self.date_range,
            contact_info: cut(&self.contact_info),
            report_id: cut(&self.report_id),
            policies: self.policies.iter().take(MAX_POLICIES).map(PolicyResult::bounded).collect(),
        }
    }
}

impl PolicyResult {
    fn bounded(&self) -> Self {
        let strings = |texts: &[String]| texts.iter().take(MAX_STRINGS).map(|text| cut(text)).collect();
        let mut details: Vec<&FailureDetail> = self.failure_details.iter().collect();
        if details.len() > MAX_DETAILS {
            details.sort_by_key(|detail| Reverse(detail.failed_session_count));
            details.truncate(MAX_DETAILS);
        }
        Self {
            policy: Policy {
                policy_type: self.policy.policy_type,
                policy_string: strings(&self.policy.policy_string),
                policy_domain: cut(&self.policy.policy_domain),
                mx_host: strings(&self.policy.mx_host),
            },
            summary: self.summary,
            failure_details: details.into_iter().map(FailureDetail::bounded).collect(),
        }
    }
}

impl FailureDetail {
    fn bounded(&self) -> Self {
        let text = |text: &Option<String>| text.as_deref().map(cut);
        Self {
            receiving_mx_hostname: text(&self.receiving_mx_hostname),
            receiving_mx_helo: text(&self.receiving_mx_helo),
            additional_information: text(&self.additional_information),
            failure_reason_code: text(&self.failure_reason_code),
            ..*self
        }
    }
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Texts::deserialize(deserializer)? {
        Texts::One(text) => vec![text],
        Texts::Many(texts) => texts,
    })
}

/// One line of at most [`MAX_TEXT`] bytes.
fn cut(text: &str) -> String {
    let mut line = one_line(text);
    line.truncate(line.floor_char_boundary(MAX_TEXT));
    line
}
