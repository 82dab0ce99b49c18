//! One record of a report, and what its values are made of.

use std::net::IpAddr;

use mailwright_core::time::Timestamp;

use super::model::{
    Alignment, AuthResult, Disposition, DkimResult, MAX_COUNT, MAX_RESULTS, MAX_TEXT, OverrideReason,
    OverrideType, Record, SpfResult,
};
use crate::report::fields::one_line;

/// What has been read of a record.
#[derive(Default)]
pub(super) struct RecordDraft {
    source_ip: Option<IpAddr>,
    count: Option<u64>,
    disposition: Option<Disposition>,
    is_dkim_aligned: bool,
    is_spf_aligned: bool,
    header_from: Option<String>,
    envelope_from: Option<String>,
    reasons: Vec<OverrideReason>,
    dkim: Vec<DkimResult>,
    spf: Vec<SpfResult>,
    /// Of the reason that is open.
    kind: Option<OverrideType>,
    comment: Option<String>,
    /// Of the result that is open.
    domain: Option<String>,
    selector: Option<String>,
    result: Option<AuthResult>,
}

impl RecordDraft {
    /// Takes an element that is complete; `path` begins within the record.
    pub(super) fn take(&mut self, path: &[&str], text: &str) {
        match path {
            ["row", "source_ip"] => self.source_ip = address(text),
            ["row", "count"] => self.count = count(text),
            ["row", "policy_evaluated", "disposition"] => {
                self.disposition = Disposition::from_name(&word(text));
            }
            ["row", "policy_evaluated", "dkim"] => self.is_dkim_aligned = word(text) == "pass",
            ["row", "policy_evaluated", "spf"] => self.is_spf_aligned = word(text) == "pass",
            ["row", "policy_evaluated", "reason", "type"] => {
                self.kind = Some(OverrideType::from_name(&word(text)).unwrap_or(OverrideType::Other));
            }
            ["row", "policy_evaluated", "reason", "comment"] => self.comment = line(text),
            ["row", "policy_evaluated", "reason"] => self.close_reason(),
            ["identifiers", "header_from"] => self.header_from = domain(text),
            ["identifiers", "envelope_from"] => self.envelope_from = domain(text),
            ["auth_results", "dkim" | "spf", "domain"] => self.domain = domain(text),
            ["auth_results", "dkim", "selector"] => self.selector = line(text),
            ["auth_results", "dkim" | "spf", "result"] => self.result = Some(auth_result(text)),
            ["auth_results", "dkim"] => self.close_dkim(),
            ["auth_results", "spf"] => self.close_spf(),
            _ => {}
        }
    }

    fn close_reason(&mut self) {
        let (kind, comment) = (self.kind.take(), self.comment.take());
        if (kind.is_some() || comment.is_some()) && self.reasons.len() < MAX_RESULTS {
            self.reasons.push(OverrideReason { kind: kind.unwrap_or(OverrideType::Other), comment });
        }
    }

    fn close_dkim(&mut self) {
        let (domain, selector) = (self.domain.take(), self.selector.take());
        let result = self.result.take().unwrap_or(AuthResult::Unknown);
        // without a domain it says that there is no signature
        if let Some(domain) = domain.filter(|_| self.dkim.len() < MAX_RESULTS) {
            self.dkim.push(DkimResult { domain, selector, result });
        }
    }

    fn close_spf(&mut self) {
        let domain = self.domain.take();
        let result = self.result.take().unwrap_or(AuthResult::Unknown);
        if let Some(domain) = domain.filter(|_| self.spf.len() < MAX_RESULTS) {
            self.spf.push(SpfResult { domain, result });
        }
    }

    /// The record; `None` without an address or a count.
    pub(super) fn finish(self) -> Option<Record> {
        Some(Record {
            source_ip: self.source_ip?,
            count: self.count?,
            disposition: self.disposition.unwrap_or(Disposition::None),
            is_dkim_aligned: self.is_dkim_aligned,
            is_spf_aligned: self.is_spf_aligned,
            reasons: self.reasons,
            header_from: self.header_from,
            envelope_from: self.envelope_from,
            dkim: self.dkim,
            spf: self.spf,
        })
    }
}

/// One line of at most [`MAX_TEXT`] bytes; `None` when it is empty.
pub(super) fn line(text: &str) -> Option<String> {
    let mut line = one_line(text);
    line.truncate(line.floor_char_boundary(MAX_TEXT));
    (!line.is_empty()).then_some(line)
}

/// A domain in lower case, without the dot at the end. Of an address, which some write, its domain.
pub(super) fn domain(text: &str) -> Option<String> {
    let line = line(text)?.to_ascii_lowercase();
    let domain = line.rsplit('@').next().unwrap_or_default().trim_end_matches(['.', '>']);
    (!domain.is_empty()).then(|| domain.to_owned())
}

/// A word in lower case.
pub(super) fn word(text: &str) -> String {
    text.trim().to_ascii_lowercase()
}

/// Alignment by its letter, or by its name, which some write.
pub(super) fn alignment(text: &str) -> Option<Alignment> {
    match word(text).as_str() {
        "r" | "relaxed" => Some(Alignment::Relaxed),
        "s" | "strict" => Some(Alignment::Strict),
        _ => None,
    }
}

/// Seconds since the Unix epoch; a fraction, which some write, is dropped.
pub(super) fn seconds(text: &str) -> Option<Timestamp> {
    let whole: i64 = text.trim().split('.').next()?.parse().ok()?;
    Timestamp::from_millis(whole.checked_mul(1000)?)
}

/// A count, at most [`MAX_COUNT`]. `None` when it is none, such as a negative one.
fn count(text: &str) -> Option<u64> {
    let digits = text.trim();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // the only number that cannot be read is one that is too large
    is_number.then(|| digits.parse().map_or(MAX_COUNT, |count: u64| count.min(MAX_COUNT)))
}

fn address(text: &str) -> Option<IpAddr> {
    text.trim().parse().ok().map(|address: IpAddr| address.to_canonical())
}

/// A result by its name, or by one that it had before RFC 7489.
fn auth_result(text: &str) -> AuthResult {
    match word(text).as_str() {
        "hardfail" => AuthResult::Fail,
        "error" => AuthResult::Temperror,
        name => AuthResult::from_name(name).unwrap_or(AuthResult::Unknown),
    }
}
