//! XML that is made to cost much, or to read what it should not.

use std::time::{Duration, Instant};

use super::{record, report};
use crate::dmarc_report::{
    DmarcReportError, MAX_COUNT, MAX_RECORDS, MAX_RESULTS, MAX_TEXT, MAX_XML, read_file,
};

/// Far more than a build without optimisation needs on a busy machine.
const MOST: Duration = Duration::from_secs(30);

#[test]
fn entities_are_not_expanded() {
    let names: Vec<String> = (1..10)
        .map(|nth| format!("<!ENTITY lol{nth} \"{}\">", format!("&lol{};", nth - 1).repeat(10)))
        .collect();
    let laughs = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE feedback [<!ENTITY lol0 \"lol\">{}<!ENTITY file SYSTEM \
         \"file:///etc/passwd\">]>{}",
        names.concat(),
        report("").trim_start_matches("<?xml version=\"1.0\"?>").replace(">Org<", ">a&lol9;&file;b<")
    );
    assert_eq!(read_file(laughs.as_bytes()).unwrap().org_name, "ab");
}

#[test]
fn depth_is_bounded() {
    let deep = format!("<feedback>{}", "<a>".repeat(1_000_000));
    assert_eq!(read_file(deep.as_bytes()), Err(DmarcReportError::TooDeep));
    let extension = format!("<extensions>{}{}</extensions>", "<a>".repeat(20), "</a>".repeat(20));
    assert!(read_file(report(&extension).as_bytes()).is_ok());
}

#[test]
fn records_beyond_the_bound_are_counted() {
    let many = report(&record("", "").repeat(MAX_RECORDS + 7));
    let read = read_file(many.as_bytes()).unwrap();
    assert_eq!((read.records.len(), read.omitted, read.unreadable), (MAX_RECORDS, 7, 0));
}

#[test]
fn lists_and_texts_are_bounded() {
    let long = "x".repeat(10_000);
    let reason = format!("<reason><type>other</type><comment>{long}</comment></reason>").repeat(50);
    let dkim = format!("<dkim><domain>{long}</domain><selector>{long}</selector></dkim>").repeat(50);
    let spf = format!("<spf><domain>ü{}</domain></spf>", "ü".repeat(10_000)).repeat(50);
    let read = read_file(
        report(&record(
            &format!("<policy_evaluated>{reason}</policy_evaluated>"),
            &format!("<auth_results>{dkim}{spf}</auth_results>"),
        ))
        .as_bytes(),
    )
    .unwrap();
    let record = &read.records[0];
    assert_eq!([record.reasons.len(), record.dkim.len(), record.spf.len()], [MAX_RESULTS; 3]);
    assert_eq!(record.reasons[0].comment.as_ref().unwrap().len(), MAX_TEXT);
    assert_eq!(record.dkim[0].domain.len(), MAX_TEXT);
    assert_eq!(record.spf[0].domain.len(), MAX_TEXT - 1);
}

#[test]
fn counts_and_addresses_that_cannot_be_read_leave_their_record_out() {
    let row = |ip: &str, count: &str| {
        format!("<record><row><source_ip>{ip}</source_ip><count>{count}</count></row></record>")
    };
    let huge = "9".repeat(200);
    let rows = [
        ("192.0.2.1", "0", Some(0)),
        ("192.0.2.1", " 12 ", Some(12)),
        ("2001:db8::1", &huge, Some(MAX_COUNT)),
        ("::ffff:192.0.2.1", "18446744073709551615", Some(MAX_COUNT)),
        ("192.0.2.1", "-5", None),
        ("192.0.2.1", "+5", None),
        ("192.0.2.1", "", None),
        ("192.0.2.1", "many", None),
        ("192.0.2.300", "1", None),
        ("", "1", None),
    ];
    let records: String = rows.iter().map(|(ip, count, _)| row(ip, count)).collect();
    let read = read_file(report(&records).as_bytes()).unwrap();
    let counts: Vec<u64> = read.records.iter().map(|record| record.count).collect();
    assert_eq!(counts, rows.iter().filter_map(|row| row.2).collect::<Vec<_>>());
    assert_eq!((read.unreadable, read.omitted), (6, 0));
    assert!(read.records[3].source_ip.is_ipv4());
}

#[test]
fn broken_xml_is_refused() {
    let whole = report(&record("", ""));
    for xml in [
        whole.replace("</record>", "</row>"),
        whole.replace("</feedback>", ""),
        whole.replace("<record>", "<record><!--"),
        whole.replace("<record>", "<record"),
        whole[..whole.len() - 3].to_owned(),
    ] {
        let found = read_file(xml.as_bytes());
        assert!(matches!(found, Err(DmarcReportError::Malformed { .. })), "{xml}: {found:?}");
    }
    for xml in ["", " ", "{}", "text", "<a></a>", "<!DOCTYPE feedback>", "<html><feedback/></html>"] {
        assert_eq!(read_file(xml.as_bytes()), Err(DmarcReportError::NoFeedback), "{xml}");
    }
    // what is behind the report is nothing
    assert!(read_file(format!("{whole}</x><<&").as_bytes()).is_ok());
}

#[test]
fn what_is_as_large_as_can_be_costs_no_time() {
    for (name, piece) in [
        ("tags", "<a/>"),
        ("known tags", "<source_ip/>"),
        ("records", "<record></record>"),
        ("ampersands", "&"),
        ("references", "&a;"),
        ("characters", "&#65;"),
        ("comments", "<!---->"),
        ("instructions", "<?a?>"),
        ("sections", "<![CDATA[a]]>"),
        ("attributes", "<a b=\"c\" b=\"c\"/>"),
        ("texts", "a <a/>"),
        ("spaces", " "),
        ("openings", "<"),
        ("dashes", "<!--"),
    ] {
        let mut xml = report("").replace("</feedback>", "");
        let times = (MAX_XML / 4 - xml.len() - 20) / piece.len();
        xml.push_str(&piece.repeat(times));
        xml.push_str("</feedback>");
        let begin = Instant::now();
        let is_read = read_file(xml.as_bytes()).is_ok();
        println!("{name}: {} bytes, read {is_read}, {:?}", xml.len(), begin.elapsed());
        assert!(begin.elapsed() < MOST, "{name} took {:?}", begin.elapsed());
    }
}
