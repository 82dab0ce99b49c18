use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use mailwright_core::address::EmailAddress;
use mailwright_core::time::Timestamp;
use proptest::prelude::*;
use serde_json::json;
use url::Url;

use super::*;

fn mail(address: &str) -> Destination {
    Destination::Mail(EmailAddress::parse(address).unwrap())
}

fn https(url: &str) -> Destination {
    Destination::Https(Url::parse(url).unwrap())
}

#[test]
fn records_say_where_reports_go() {
    for (record, wanted) in [
        ("v=TLSRPTv1;rua=mailto:reports@acme.example", vec![mail("reports@acme.example")]),
        ("v=TLSRPTv1; rua=https://acme.example/v1/tls;", vec![https("https://acme.example/v1/tls")]),
        (
            "v=TLSRPTv1 ; x-new=1; rua=mailto:a@acme.example , https://acme.example/a%2Cb,mailto:A@acme.example ; ",
            vec![mail("a@acme.example"), https("https://acme.example/a%2Cb")],
        ),
        ("v=TLSRPTv1;rua=MAILTO:a%2Bb@acme.example?subject=x", vec![mail("a+b@acme.example")]),
        ("v=TLSRPTv1;rua=ftp://a.example/,http://a.example/,mailto:a@b.example", vec![mail("a@b.example")]),
    ] {
        assert_eq!(destinations(["v=spf1 -all", record]), Some(wanted), "{record}");
    }
    assert_eq!(record_name("acme.example"), "_smtp._tls.acme.example");
}

#[test]
fn other_records_are_none() {
    let good = "v=TLSRPTv1;rua=mailto:a@b.example";
    for records in [
        &[][..],
        &[good, good],
        &["v=TLSRPTv1"],
        &["v=TLSRPTv1;"],
        &["v=TLSRPTv1; rua"],
        &["v=TLSRPTv1; rua="],
        &["v=TLSRPTv1; x=y"],
        &["v=TLSRPTv10; rua=mailto:a@b.example"],
        &["v=tlsrptv1; rua=mailto:a@b.example"],
        &[" v=TLSRPTv1; rua=mailto:a@b.example"],
        &["rua=mailto:a@b.example; v=TLSRPTv1;"],
        &["v=TLSRPTv1; rua=mailto:a@b.example; rua=mailto:c@b.example"],
        &["v=TLSRPTv1; RUA=mailto:a@b.example"],
        &["v=TLSRPTv1; =x; rua=mailto:a@b.example"],
        &["v=TLSRPTv1;; rua=mailto:a@b.example"],
        &["v=TLSRPTv1; rua=mailto:a@b.example\u{e9}"],
        &["v=TLSRPTv1; rua=mailto:a%0D%0Ab@b.example"],
        &["v=TLSRPTv1; rua=mailto:a@b.example%0ABcc:c@d.example"],
        &["v=TLSRPTv1; rua=mailto:a@b.example!10m"],
        &["v=TLSRPTv1; rua=a@b.example"],
        &["v=TLSRPTv1; rua=https://user:word@b.example/"],
        &["v=TLSRPTv1; rua=https://"],
        &["v=TLSRPTv1; rua=http://b.example/"],
    ] {
        assert_eq!(destinations(records.iter().copied()), None, "{records:?}");
    }
}

#[test]
fn records_are_bounded() {
    let uris: Vec<String> = (0..MAX_DESTINATIONS + 5).map(|nth| format!("mailto:a{nth}@b.example")).collect();
    let record = format!("v=TLSRPTv1;rua={}", uris.join(","));
    assert_eq!(destinations([record.as_str()]).unwrap().len(), MAX_DESTINATIONS);
    let long = format!("v=TLSRPTv1;rua=mailto:a@b.example;x={}", "x".repeat(MAX_RECORD));
    assert_eq!(destinations([long.as_str()]), None);
    let url = format!("v=TLSRPTv1;rua=https://b.example/{}", "x".repeat(1000));
    assert_eq!(destinations([url.as_str()]), None);
}

fn detail(count: u64) -> FailureDetail {
    FailureDetail {
        result_type: ResultType::CertificateExpired,
        sending_mta_ip: Some("2001:db8::1".parse().unwrap()),
        receiving_mx_hostname: Some("mx1.acme.example".to_owned()),
        receiving_mx_helo: None,
        receiving_ip: Some("192.0.2.1".parse().unwrap()),
        failed_session_count: count,
        additional_information: None,
        failure_reason_code: Some("certificate has expired".to_owned()),
    }
}

fn report() -> TlsReport {
    TlsReport {
        organization_name: "Mailwright".to_owned(),
        date_range: DateRange {
            start_datetime: Timestamp::parse("2023-11-14T00:00:00Z").unwrap(),
            end_datetime: Timestamp::parse("2023-11-14T23:59:59Z").unwrap(),
        },
        contact_info: "postmaster@mailwright.example".to_owned(),
        report_id: "20231114.acme.example@mailwright.example".to_owned(),
        policies: vec![
            PolicyResult {
                policy: Policy {
                    policy_type: PolicyType::Sts,
                    policy_string: vec!["version: STSv1".to_owned(), "mode: testing".to_owned()],
                    policy_domain: "acme.example".to_owned(),
                    mx_host: vec!["*.acme.example".to_owned()],
                },
                summary: Summary { total_successful_session_count: 5326, total_failure_session_count: 303 },
                failure_details: vec![detail(100)],
            },
            PolicyResult {
                policy: Policy {
                    policy_type: PolicyType::NoPolicyFound,
                    policy_string: Vec::new(),
                    policy_domain: "news.acme.example".to_owned(),
                    mx_host: Vec::new(),
                },
                summary: Summary::default(),
                failure_details: Vec::new(),
            },
        ],
    }
}

#[test]
fn a_report_is_the_json_of_the_rfc() {
    let wanted = json!({
        "organization-name": "Mailwright",
        "date-range": {
            "start-datetime": "2023-11-14T00:00:00.000Z",
            "end-datetime": "2023-11-14T23:59:59.000Z"
        },
        "contact-info": "postmaster@mailwright.example",
        "report-id": "20231114.acme.example@mailwright.example",
        "policies": [
            {
                "policy": {
                    "policy-type": "sts",
                    "policy-string": ["version: STSv1", "mode: testing"],
                    "policy-domain": "acme.example",
                    "mx-host": ["*.acme.example"]
                },
                "summary": { "total-successful-session-count": 5326, "total-failure-session-count": 303 },
                "failure-details": [{
                    "result-type": "certificate-expired",
                    "sending-mta-ip": "2001:db8::1",
                    "receiving-mx-hostname": "mx1.acme.example",
                    "receiving-ip": "192.0.2.1",
                    "failed-session-count": 100,
                    "failure-reason-code": "certificate has expired"
                }]
            },
            {
                "policy": { "policy-type": "no-policy-found", "policy-domain": "news.acme.example" },
                "summary": { "total-successful-session-count": 0, "total-failure-session-count": 0 }
            }
        ]
    });
    assert_eq!(serde_json::to_value(report()).unwrap(), wanted);
    assert_eq!(TlsReport::from_gzip(&report().to_gzip()).unwrap(), report());
}

#[test]
fn names_are_the_same_in_json() {
    for kind in ResultType::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), json!(kind.as_str()));
    }
    for kind in PolicyType::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), json!(kind.as_str()));
    }
}

/// After the example in appendix B of RFC 8460.
#[test]
fn the_report_of_the_rfc_is_read() {
    let file = gzip(
        br#"{ "organization-name": "Company-X",
          "date-range": { "start-datetime": "2016-04-01T00:00:00Z", "end-datetime": "2016-04-01T23:59:59Z" },
          "contact-info": "sts-reporting@company-x.example", "report-id": "5065427c-23d3-47ca-b6e0-946ea0e8c4be",
          "policies": [{ "policy": { "policy-type": "sts",
            "policy-string": ["version: STSv1", "mode: testing", "mx: *.mail.company-y.example", "max_age: 86400"],
            "policy-domain": "company-y.example", "mx-host": ["*.mail.company-y.example"] },
            "summary": { "total-successful-session-count": 5326, "total-failure-session-count": 303 },
            "failure-details": [
              { "result-type": "certificate-expired", "sending-mta-ip": "2001:db8:abcd:0012::1",
                "receiving-mx-hostname": "mx1.mail.company-y.example", "failed-session-count": 100 },
              { "result-type": "starttls-not-supported", "sending-mta-ip": "2001:db8:abcd:0013::1",
                "receiving-mx-hostname": "mx2.mail.company-y.example", "receiving-ip": "203.0.113.56",
                "failed-session-count": 200, "additional-information": "https://reports.company-x.example/x" },
              { "result-type": "validation-failure", "sending-mta-ip": "198.51.100.62",
                "receiving-ip": "203.0.113.58", "receiving-mx-hostname": "mx-backup.mail.company-y.example",
                "failed-session-count": 3, "failure-reason-code": "X509_V_ERR_PROXY_PATH_LENGTH_EXCEEDED" }
            ] }] }"#,
    );
    let read = TlsReport::from_gzip(&file).unwrap();
    let details = &read.policies[0].failure_details;
    assert_eq!(details.iter().map(|detail| detail.failed_session_count).sum::<u64>(), 303);
    assert_eq!(details[1].result_type, ResultType::StarttlsNotSupported);
    assert_eq!(TlsReport::from_gzip(&read.to_gzip()).unwrap(), read);
}

#[test]
fn reports_that_leave_something_out_are_read() {
    let file = gzip(
        br#"{ "organization-name": "Org", "x-new": [1], "contact-info": "a@b.example", "report-id": "1",
          "date-range": { "start-datetime": "2016-04-01T00:00:00Z", "end-datetime": "2016-04-01T23:59:59Z" },
          "policies": [
            { "policy": { "policy-type": "no-policy-found" }, "summary": { "total-successful-session-count": 2 } },
            { "policy": { "policy-type": "sts", "policy-domain": "a.example", "mx-host": "*.a.example" },
              "summary": {} }
          ] }"#,
    );
    let policies = TlsReport::from_gzip(&file).unwrap().policies;
    assert_eq!(
        (policies[0].summary.total_successful_session_count, policies[0].policy.policy_domain.as_str()),
        (2, "")
    );
    assert_eq!(policies[1].policy.mx_host, ["*.a.example"]);
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn what_is_no_report_is_refused() {
    let whole = report().to_gzip();
    assert_eq!(TlsReport::from_gzip(&whole[..whole.len() / 2]), Err(TlsReportError::Archive));
    assert_eq!(TlsReport::from_gzip(b"{}"), Err(TlsReportError::Archive));
    assert_eq!(TlsReport::from_gzip(&gzip(&vec![b' '; MAX_JSON + 1])), Err(TlsReportError::TooLarge));
    for text in ["", "{}", "[]", &"[".repeat(100_000)] {
        assert!(matches!(TlsReport::from_gzip(&gzip(text.as_bytes())), Err(TlsReportError::Json(_))));
    }
}

#[test]
fn what_is_packed_is_bounded() {
    let mut large = report();
    large.organization_name = format!("ü\r\n{}", "ü".repeat(MAX_TEXT));
    large.policies[0].failure_details = (0..3 * MAX_DETAILS as u64).map(detail).collect();
    large.policies[0].policy.policy_string = vec!["x".repeat(2 * MAX_TEXT); 2 * MAX_STRINGS];
    large.policies[0].policy.mx_host = vec!["x".to_owned(); 2 * MAX_STRINGS];
    large.policies.resize(2 * MAX_POLICIES, large.policies[1].clone());
    let read = TlsReport::from_gzip(&large.to_gzip()).unwrap();
    assert_eq!(read.policies.len(), MAX_POLICIES);
    let first = &read.policies[0];
    assert_eq!((first.failure_details.len(), first.summary), (MAX_DETAILS, large.policies[0].summary));
    // the greatest are kept
    let least = first.failure_details.iter().map(|detail| detail.failed_session_count).min();
    assert_eq!(least, Some(2 * MAX_DETAILS as u64));
    assert_eq!((first.policy.policy_string.len(), first.policy.mx_host.len()), (MAX_STRINGS, MAX_STRINGS));
    assert!(first.policy.policy_string.iter().all(|text| text.len() == MAX_TEXT));
    assert!(read.organization_name.len() <= MAX_TEXT && read.organization_name.starts_with("ü ü"));
}

#[test]
fn the_mail_is_named_after_the_report() {
    let report = report();
    assert_eq!(
        subject("acme.example", "mailwright.example", &report.report_id),
        "Report Domain: acme.example Submitter: mailwright.example Report-ID: \
         <20231114.acme.example@mailwright.example>"
    );
    assert_eq!(
        file_name("mailwright.example", "acme.example", &report.date_range),
        "mailwright.example!acme.example!1699920000!1700006399.json.gz"
    );
    assert_eq!(subject("a\r\nBcc: x", "b", "1"), "Report Domain: a Bcc: x Submitter: b Report-ID: <1>");
    assert!(file_name("a/../b", "c!\"d", &report.date_range).starts_with("a..b!cd!"));
}

proptest! {
    #[test]
    fn any_record_and_any_file_are_read(
        record in "(v=TLSRPTv1;)?( ?(rua|x)=(mailto:|https:|//|a|@|%0[AD]|,| |\\.example|é|!){0,12};?){0,3}",
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        for destination in destinations([record.as_str()]).unwrap_or_default() {
            match destination {
                Destination::Mail(address) => prop_assert!(!address.as_str().contains(char::is_control)),
                Destination::Https(url) => prop_assert!(url.has_host()),
            }
        }
        let _ = TlsReport::from_gzip(&bytes);
        let _ = TlsReport::from_gzip(&gzip(&bytes));
    }
}
