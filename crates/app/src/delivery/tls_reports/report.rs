//! Makes a report of what was counted (RFC 8460 section 4).

use mailwright_core::time::Timestamp;
use mailwright_mail::tls_report::{
    DateRange, FailureDetail, Policy, PolicyResult, PolicyType, ResultType, Summary, TlsReport,
};
use mailwright_store::delivery::tls_report::{PolicyRow, SessionRow, begin};

use crate::settings::TlsReportSettings;

/// The report of a day to a domain, from the domain `submitter`; `None` where there is nothing to report. The same rows make
/// the same report.
pub(super) fn report(
    settings: &TlsReportSettings,
    submitter: &str,
    (day, domain): (i64, &str),
    policies: &[PolicyRow],
    sessions: &[SessionRow],
) -> Option<TlsReport> {
    let results: Vec<_> = policies.iter().filter_map(|policy| result(policy, sessions)).collect();
    if results.is_empty() {
        return None;
    }
    let (start, end) = (begin(day), Timestamp(begin(day + 1).0 - 1000));
    Some(TlsReport {
        organization_name: settings.organization.clone(),
        date_range: DateRange { start_datetime: start, end_datetime: end },
        contact_info: settings.contact.clone(),
        report_id: format!("{}.{domain}@{submitter}", start.0 / 1000),
        policies: results,
    })
}

/// What happened under a policy; `None` where nothing did, or where a newer program stored what this one does not know.
fn result(policy: &PolicyRow, sessions: &[SessionRow]) -> Option<PolicyResult> {
    let lines = |text: &str| text.lines().map(str::to_owned).collect();
    let sessions: Vec<_> = sessions.iter().filter(|row| row.policy == policy.policy).collect();
    let sum = |failed: bool| -> u64 {
        sessions.iter().filter(|row| row.result.is_empty() != failed).map(|row| count(row)).sum()
    };
    let summary =
        Summary { total_successful_session_count: sum(false), total_failure_session_count: sum(true) };
    if summary == Summary::default() {
        return None;
    }
    Some(PolicyResult {
        policy: Policy {
            policy_type: PolicyType::from_name(&policy.kind)?,
            policy_string: lines(&policy.lines),
            policy_domain: policy.domain.clone(),
            mx_host: lines(&policy.servers),
        },
        summary,
        failure_details: sessions.into_iter().filter_map(detail).collect(),
    })
}

fn detail(row: &SessionRow) -> Option<FailureDetail> {
    let told = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Some(FailureDetail {
        result_type: ResultType::from_name(&row.result)?,
        sending_mta_ip: row.source.parse().ok(),
        receiving_mx_hostname: told(&row.host),
        receiving_mx_helo: None,
        receiving_ip: row.receiver.parse().ok(),
        failed_session_count: count(row),
        additional_information: None,
        failure_reason_code: told(&row.reason),
    })
}

fn count(row: &SessionRow) -> u64 {
    u64::try_from(row.sessions).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(name: &str, kind: &str) -> PolicyRow {
        PolicyRow {
            domain: "one.example".into(),
            policy: name.into(),
            kind: kind.into(),
            lines: "version: STSv1\nmode: testing".into(),
            servers: "*.one.example".into(),
        }
    }

    fn session(policy: &str, result: &str, sessions: i64) -> SessionRow {
        SessionRow {
            domain: "one.example".into(),
            policy: policy.into(),
            result: result.into(),
            host: "mx.one.example".into(),
            receiver: "192.0.2.1".into(),
            source: String::new(),
            reason: "it has expired".into(),
            sessions,
        }
    }

    fn made(policies: &[PolicyRow], sessions: &[SessionRow]) -> Option<TlsReport> {
        let settings = TlsReportSettings { organization: "Org".into(), contact: "tls@org.example".into() };
        report(&settings, "org.example", (20_000, "one.example"), policies, sessions)
    }

    #[test]
    fn sums_and_details_are_of_their_policy() {
        let policies = [policy("a", "sts"), policy("b", "no-policy-found"), policy("c", "sts")];
        let sessions =
            [session("a", "", 7), session("a", "certificate-expired", 2), session("b", "later-kind", 1)];
        let report = made(&policies, &sessions).unwrap();
        assert_eq!(report.report_id, "1728000000.one.example@org.example");
        assert_eq!(report.date_range.start_datetime.to_string(), "2024-10-04T00:00:00.000Z");
        assert_eq!(report.date_range.end_datetime.to_string(), "2024-10-04T23:59:59.000Z");
        assert_eq!(report.policies.len(), 2, "nothing happened under the third");
        let first = &report.policies[0];
        let sums = (first.summary.total_successful_session_count, first.summary.total_failure_session_count);
        assert_eq!((sums, first.failure_details.len()), ((7, 2), 1));
        assert_eq!(first.policy.mx_host, ["*.one.example"]);
        let detail = &first.failure_details[0];
        assert_eq!((detail.result_type, detail.failed_session_count), (ResultType::CertificateExpired, 2));
        assert_eq!((detail.receiving_ip, detail.sending_mta_ip), (Some([192, 0, 2, 1].into()), None));
        // what is not known counts all the same
        let second = &report.policies[1];
        assert_eq!((second.summary.total_failure_session_count, second.failure_details.len()), (1, 0));
    }

    #[test]
    fn nothing_is_no_report() {
        assert_eq!(made(&[policy("a", "sts")], &[]), None);
        assert_eq!(made(&[], &[session("a", "", 1)]), None);
        assert_eq!(made(&[policy("a", "later-kind")], &[session("a", "", 1)]), None);
    }
}
