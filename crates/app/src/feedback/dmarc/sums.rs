//! What is kept of a report: sums by source and outcome, within bounds.

use std::collections::HashMap;
use std::time::Duration;

use mailwright_core::time::Timestamp;
use mailwright_mail::dmarc_report::{AggregateReport, AuthResult, Record};
use mailwright_store::feedback::dmarc::{Outcome, day};

/// The most mails that a report counts for: more than a receiver gets from a domain in a day. Sums of all reports that
/// are kept stay far below 2^63.
const MOST_OF_REPORT: u64 = 100_000_000;
/// How far ahead of our clock a report may end.
const AHEAD: Duration = Duration::from_hours(24);
/// How many days of reports are kept, and so how old one may be that comes in.
pub(super) const KEPT_DAYS: i64 = 90;

/// What tells mails of this service from others.
#[derive(Debug)]
pub(super) struct Ours<'a> {
    /// The domain.
    pub(super) domain: &'a str,
    /// The selectors of its keys, those of former ones too.
    pub(super) selectors: Vec<&'a str>,
    /// The domains of envelope senders.
    pub(super) return_paths: Vec<String>,
}

impl Ours<'_> {
    /// Whether mails were signed with a key of the domain, even where the signature broke on the way, or came with an
    /// envelope sender of ours from where such mail may come.
    fn has(&self, record: &Record) -> bool {
        let signed = record.dkim.iter().any(|found| {
            found.domain == self.domain
                && found.selector.as_deref().is_some_and(|selector| self.selectors.contains(&selector))
        });
        let is_ours = |domain: &str| self.return_paths.iter().any(|ours| ours.eq_ignore_ascii_case(domain));
        signed || record.spf.iter().any(|found| found.result == AuthResult::Pass && is_ours(&found.domain))
    }
}

/// Whether a report is about days that are kept, and not about the future.
pub(super) fn is_timely(report: &AggregateReport, now: Timestamp) -> bool {
    day(report.begin) >= oldest_day(now) && report.end <= now.plus(AHEAD)
}

/// The first day that is kept.
pub(super) fn oldest_day(now: Timestamp) -> i64 {
    day(now) - KEPT_DAYS
}

/// The sums of a report, those of the most mails first, of at most [`MOST_OF_REPORT`] mails: what is beyond it is left
/// out.
pub(super) fn sums(report: &AggregateReport, ours: &Ours<'_>) -> Vec<(Outcome, i64)> {
    let mut sums: HashMap<Outcome, u64> = HashMap::new();
    for record in &report.records {
        let outcome = Outcome {
            source: record.source_ip.to_string(),
            header_from: record.header_from.clone().unwrap_or_default(),
            disposition: record.disposition.as_str().to_owned(),
            dkim: record.is_dkim_aligned,
            spf: record.is_spf_aligned,
            ours: ours.has(record),
        };
        let sum = sums.entry(outcome).or_default();
        *sum = sum.saturating_add(record.count);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable_by(|(one, first), (other, second)| second.cmp(first).then_with(|| one.cmp(other)));
    let mut left = MOST_OF_REPORT;
    let mut bounded = Vec::with_capacity(sums.len());
    for (outcome, count) in sums {
        let counted = count.min(left);
        left -= counted;
        // a record of no mails says what it says
        if counted > 0 || count == 0 {
            bounded.push((outcome, counted as i64));
        }
    }
    bounded
}

#[cfg(test)]
mod tests {
    use mailwright_mail::dmarc_report::read_file;

    use super::*;

    fn report(records: &str) -> AggregateReport {
        let xml = format!(
            "<feedback><report_metadata><org_name>Org</org_name><report_id>1</report_id><date_range>\
             <begin>1700000000</begin><end>1700086399</end></date_range></report_metadata>\
             <policy_published><domain>shop.example</domain><p>none</p></policy_published>{records}</feedback>"
        );
        read_file(xml.as_bytes()).unwrap()
    }

    fn record(count: u64, dkim: (&str, &str, &str), spf: (&str, &str)) -> String {
        format!(
            "<record><row><source_ip>192.0.2.1</source_ip><count>{count}</count></row><identifiers>\
             <header_from>shop.example</header_from></identifiers><auth_results><dkim><domain>{}</domain>\
             <selector>{}</selector><result>{}</result></dkim><spf><domain>{}</domain><result>{}</result></spf>\
             </auth_results></record>",
            dkim.0, dkim.1, dkim.2, spf.0, spf.1
        )
    }

    #[test]
    fn mails_of_ours_are_told_by_their_key_or_envelope() {
        let ours = Ours {
            domain: "shop.example",
            selectors: vec!["mw1", "mw2"],
            return_paths: vec!["bounce.shop.example".into(), "Bounces.example.net".into()],
        };
        let none = ("other.example", "pass");
        for (dkim, spf, expected) in [
            (("shop.example", "mw2", "pass"), none, true),
            (("shop.example", "mw1", "fail"), none, true),
            (("shop.example", "google", "pass"), none, false),
            (("other.example", "mw1", "pass"), none, false),
            (("other.example", "x", "pass"), ("bounces.example.net", "pass"), true),
            (("other.example", "x", "pass"), ("bounce.shop.example", "pass"), true),
            (("other.example", "x", "pass"), ("bounces.example.net", "softfail"), false),
        ] {
            let report = report(&record(1, dkim, spf));
            assert_eq!(sums(&report, &ours)[0].0.ours, expected, "{dkim:?} {spf:?}");
        }
    }

    #[test]
    fn records_with_one_outcome_are_summed_and_the_largest_is_first() {
        let ours = Ours { domain: "shop.example", selectors: vec!["mw1"], return_paths: Vec::new() };
        let (one, other) = (("shop.example", "mw1", "pass"), ("x.example", "x", "pass"));
        let spf = ("x.example", "fail");
        let most = MOST_OF_REPORT;
        for (large, expected) in [
            (5, vec![(true, 7), (false, 1)]),
            // what a report may count for is used up by what it has the most of
            (most - 2, vec![(true, most as i64)]),
            (u64::MAX, vec![(true, most as i64)]),
        ] {
            let records = [record(1, other, spf), record(2, one, spf), record(large, one, spf)].concat();
            let sums = sums(&report(&records), &ours);
            let counts: Vec<_> = sums.iter().map(|(outcome, count)| (outcome.ours, *count)).collect();
            assert_eq!(counts, expected, "{large}");
        }
    }

    #[test]
    fn reports_of_the_future_and_of_long_ago_are_not_timely() {
        let report = report("");
        let day = Duration::from_hours(24);
        let end = report.end;
        assert!(is_timely(&report, end) && is_timely(&report, end.minus(day)));
        assert!(!is_timely(&report, end.minus(day + Duration::from_secs(1))));
        assert!(
            is_timely(&report, report.begin.plus(day * 89))
                && !is_timely(&report, report.begin.plus(day * 91))
        );
    }
}
