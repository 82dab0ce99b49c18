//! Arbitrary bytes, and damaged reports: nothing panics, and what is returned is bounded.

use proptest::prelude::*;

use super::samples::{GOOGLE, MICROSOFT, YAHOO};
use super::{Member, gzip, zip};
use crate::dmarc_report::{AggregateReport, MAX_COUNT, MAX_RECORDS, MAX_RESULTS, MAX_TEXT, read, read_file};

fn check(report: &AggregateReport) {
    let short = |text: &String| text.len() <= MAX_TEXT && !text.contains(char::is_control);
    assert!([&report.org_name, &report.report_id, &report.policy.domain].into_iter().all(short));
    assert!(report.email.iter().all(short) && report.begin <= report.end && report.policy.pct <= 100);
    assert!(report.records.len() <= MAX_RECORDS);
    for record in &report.records {
        assert!(record.count <= MAX_COUNT);
        assert!(record.reasons.len() <= MAX_RESULTS);
        assert!(record.dkim.len() <= MAX_RESULTS && record.spf.len() <= MAX_RESULTS);
        assert!(record.header_from.iter().chain(&record.envelope_from).all(short));
        assert!(record.dkim.iter().all(|dkim| short(&dkim.domain) && dkim.selector.iter().all(short)));
        assert!(record.spf.iter().all(|spf| short(&spf.domain)));
        assert!(record.reasons.iter().all(|reason| reason.comment.iter().all(short)));
    }
}

/// A file of one of the samples, packed in one of the ways.
fn file() -> impl Strategy<Value = Vec<u8>> {
    (prop::sample::select(vec![GOOGLE, MICROSOFT, YAHOO]), 0..3_usize).prop_map(
        |(xml, packing)| match packing {
            0 => xml.as_bytes().to_vec(),
            1 => gzip(xml.as_bytes()),
            _ => zip(&[Member::new("a.xml", xml.as_bytes())]),
        },
    )
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        for begin in [&b""[..], b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"<feedback>", b"Content-Type: text/xml\n\n"] {
            let bytes = [begin, &bytes].concat();
            if let Some(Ok(report)) = read(&bytes) {
                check(&report);
            }
            if let Ok(report) = read_file(&bytes) {
                check(&report);
            }
        }
    }

    #[test]
    fn any_tags_are_read(pieces in prop::collection::vec(prop::sample::select(vec![
        "<record>", "</record>", "<row>", "</row>", "<count>", "</count>", "<dkim>", "</dkim>", "<domain>", "</domain>",
        "<auth_results>", "</auth_results>", "<policy_evaluated>", "</policy_evaluated>", "<reason/>", "<x:spf>",
        "</x:spf>", "&amp;", "&x;", "&#0;", "&#xffffffffff;", "&", ";", "<![CDATA[", "]]>", "<!--", "-->", "1",
        "\0", "\u{202e}",
        "a.example", "pass", "<?x?>", "<!DOCTYPE x [", "]>", "'", "\"", "<", ">",
    ]), 0..60)) {
        let xml = super::report(&pieces.concat());
        if let Ok(report) = read_file(xml.as_bytes()) {
            check(&report);
        }
    }

    #[test]
    fn damaged_reports_are_read(
        file in file(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = file;
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        if let Ok(report) = read_file(&file) {
            check(&report);
        }
    }
}
