//! TLS reports (RFC 8460): what a sender tells a domain of how its mail servers' TLS fared in a day.
//!
//! - [`destinations`] reads from DNS where a domain wants such reports.
//! - [`TlsReport`] is a report: it is written as JSON and packed with gzip, and read back from there.
//! - [`subject`] and [`file_name`] are what the mail that brings it has.
//!
//! # Bounds
//!
//! Records of more than [`MAX_RECORD`] bytes are none, and at most [`MAX_DESTINATIONS`] destinations are taken. A report
//! is packed with at most [`MAX_POLICIES`] policies, and with [`MAX_DETAILS`] failures of each, those that concern most
//! sessions; its totals stay those of all. What is read back is at most [`MAX_JSON`] bytes when it is unpacked.

mod record;
mod report;
#[cfg(test)]
mod tests;

pub use self::record::{Destination, MAX_DESTINATIONS, MAX_RECORD, destinations, record_name};
pub use self::report::{
    DateRange, FailureDetail, MAX_DETAILS, MAX_JSON, MAX_POLICIES, MAX_STRINGS, MAX_TEXT, Policy,
    PolicyResult, PolicyType, ResultType, Summary, TlsReport, TlsReportError,
};
use crate::report::fields::one_line;
use mailwright_core::time::Timestamp;

/// The field that names the domain that a report is about (RFC 8460 section 5.3).
pub const DOMAIN_FIELD: &str = "TLS-Report-Domain";
/// The field that names who sends a report (RFC 8460 section 5.3).
pub const SUBMITTER_FIELD: &str = "TLS-Report-Submitter";
/// The type of the mail's second part, and of what is sent by HTTPS (RFC 8460 section 6.4).
pub const MEDIA_TYPE: &str = "application/tlsrpt+gzip";
/// The type of the mail as a report (RFC 8460 section 5.3): it is `multipart/report; report-type="tlsrpt"`.
pub const REPORT_TYPE: &str = "tlsrpt";

/// The subject of the mail (RFC 8460 section 5.3). `domain` is what the report is about, `submitter` the domain that
/// sends it. `report_id` has the form of a `Message-ID` without its angle brackets. One line.
pub fn subject(domain: &str, submitter: &str, report_id: &str) -> String {
    one_line(&format!("Report Domain: {domain} Submitter: {submitter} Report-ID: <{report_id}>"))
}

/// The name of the file (RFC 8460 section 5.1), such as `acme.example!beta.example!1700000000!1700086399.json.gz`. What
/// a name of a domain does not consist of is left out.
pub fn file_name(submitter: &str, domain: &str, range: &DateRange) -> String {
    let seconds = |instant: Timestamp| instant.0.max(0) / 1000;
    let (begin, end) = (seconds(range.start_datetime), seconds(range.end_datetime));
    format!("{}!{}!{begin}!{end}.json.gz", name_only(submitter), name_only(domain))
}

fn name_only(domain: &str) -> String {
    domain.chars().filter(|c| c.is_ascii_alphanumeric() || ".-_".contains(*c)).collect()
}
