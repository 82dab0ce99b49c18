//! Reports in the shapes of those that receivers send. Names and addresses are made up.

use std::net::IpAddr;

use mailwright_core::time::Timestamp;

use super::{gzip, record, report};
use crate::dmarc_report::{
    AggregateReport, Alignment, AuthResult, Disposition, DkimResult, DmarcReportError, OverrideReason,
    OverrideType, PolicyPublished, Record, SpfResult, read_file,
};

/// Indented, with the contact and several results.
pub(super) const GOOGLE: &str = r#"<?xml version="1.0" encoding="UTF-8" ?>
<feedback>
  <version>1.0</version>
  <report_metadata>
    <org_name>google.com</org_name>
    <email>noreply-dmarc-support@google.com</email>
    <extra_contact_info>https://support.google.com/a/answer/2466580</extra_contact_info>
    <report_id>9391651994964116463</report_id>
    <date_range>
      <begin>1699920000</begin>
      <end>1700006399</end>
    </date_range>
  </report_metadata>
  <policy_published>
    <domain>acme.example</domain>
    <adkim>r</adkim>
    <aspf>s</aspf>
    <p>quarantine</p>
    <sp>reject</sp>
    <pct>50</pct>
    <np>reject</np>
  </policy_published>
  <record>
    <row>
      <source_ip>192.0.2.10</source_ip>
      <count>1207</count>
      <policy_evaluated>
        <disposition>none</disposition>
        <dkim>pass</dkim>
        <spf>fail</spf>
      </policy_evaluated>
    </row>
    <identifiers>
      <header_from>News.Acme.Example</header_from>
    </identifiers>
    <auth_results>
      <dkim>
        <domain>acme.example</domain>
        <result>pass</result>
        <selector>mw1</selector>
      </dkim>
      <dkim>
        <domain>relay.example</domain>
        <result>fail</result>
        <selector>s2024</selector>
      </dkim>
      <spf>
        <domain>bounces.relay.example</domain>
        <result>pass</result>
      </spf>
    </auth_results>
  </record>
  <record>
    <row>
      <source_ip>2001:db8:4860::1:2</source_ip>
      <count>3</count>
      <policy_evaluated>
        <disposition>none</disposition>
        <dkim>fail</dkim>
        <spf>fail</spf>
        <reason>
          <type>local_policy</type>
          <comment>arc=pass</comment>
        </reason>
        <reason>
          <type>mailing_list</type>
          <comment></comment>
        </reason>
      </policy_evaluated>
    </row>
    <identifiers>
      <header_from>acme.example</header_from>
    </identifiers>
    <auth_results>
      <spf>
        <domain>lists.example</domain>
        <result>softfail</result>
      </spf>
    </auth_results>
  </record>
</feedback>
"#;

/// In one line, with namespaces, an envelope, `fo`, and a signature's result without a domain.
pub(super) const MICROSOFT: &str = concat!(
    r#"<?xml version="1.0"?><feedback xmlns:xsd="http://www.w3.org/2001/XMLSchema" "#,
    r#"xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><version>1.0</version><report_metadata>"#,
    "<org_name>Enterprise Outlook</org_name><email>dmarcreport@microsoft.com</email>",
    "<report_id>3d1b4d2cf27a4be6a1cb2b3fdc4c1b6d</report_id><date_range><begin>1699920000</begin>",
    "<end>1700006400</end></date_range></report_metadata><policy_published><domain>acme.example</domain>",
    "<adkim>r</adkim><aspf>r</aspf><p>reject</p><sp>reject</sp><pct>100</pct><fo>0</fo></policy_published>",
    "<record><row><source_ip>192.0.2.11</source_ip><count>2</count><policy_evaluated>",
    "<disposition>reject</disposition><dkim>fail</dkim><spf>fail</spf></policy_evaluated></row><identifiers>",
    "<envelope_to>contoso.example</envelope_to><envelope_from>mail.forged.example</envelope_from>",
    "<header_from>acme.example</header_from></identifiers><auth_results><dkim><domain></domain>",
    "<result>none</result></dkim><spf><domain>mail.forged.example</domain><scope>mfrom</scope>",
    "<result>none</result></spf></auth_results></record></feedback>"
);

/// Without `sp`, `pct` and `adkim`, with spaces within elements, and CRLF.
pub(super) const YAHOO: &str = concat!(
    "<?xml version=\"1.0\"?>\r\n<feedback>\r\n<report_metadata>\r\n<org_name>Yahoo &amp; Co</org_name>\r\n",
    "<email>dmarchelp@yahooinc.com</email>\r\n<report_id>1700010000.123456</report_id>\r\n<date_range>\r\n",
    "<begin>1699920000 </begin>\r\n<end>1700006399 </end>\r\n</date_range>\r\n</report_metadata>\r\n",
    "<policy_published>\r\n<domain>acme.example</domain>\r\n<p>none</p>\r\n</policy_published>\r\n<record>\r\n",
    "<row>\r\n<source_ip>192.0.2.12</source_ip>\r\n<count>1</count>\r\n<policy_evaluated>\r\n",
    "<disposition>none</disposition>\r\n<dkim>pass</dkim>\r\n<spf>pass</spf>\r\n</policy_evaluated>\r\n</row>\r\n",
    "<identifiers>\r\n<header_from>acme.example</header_from>\r\n</identifiers>\r\n<auth_results>\r\n<dkim>\r\n",
    "<domain>acme.example</domain>\r\n<selector>mw1</selector>\r\n<result>pass</result>\r\n</dkim>\r\n<spf>\r\n",
    "<domain>acme.example</domain>\r\n<result>pass</result>\r\n</spf>\r\n</auth_results>\r\n</record>\r\n",
    "</feedback>\r\n"
);

/// Elements in another order and upper case words, the policy in words, dates the other way round and with fractions.
const MAIL_RU: &str = concat!(
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feedback><record><auth_results><spf><scope>mfrom</scope>",
    "<domain>acme.example</domain><result>Pass</result></spf><dkim><result>hardfail</result>",
    "<domain>acme.example.</domain></dkim></auth_results><identifiers><header_from>acme.example</header_from>",
    "<envelope_from>bounce@acme.example</envelope_from></identifiers><row><count>4</count><policy_evaluated>",
    "<spf>PASS</spf><disposition>Quarantine</disposition><reason><type>new_reason</type></reason>",
    "</policy_evaluated><source_ip>192.0.2.13</source_ip></row></record><policy_published>",
    "<adkim>strict</adkim><aspf>?</aspf><p>monitor</p><pct>150</pct><domain>ACME.example</domain>",
    "</policy_published><report_metadata><report_id>28\n\t11</report_id><date_range><end>1699920000.5</end>",
    "<begin>1700006399.0</begin></date_range><email>dmarc_support@corp.mail.ru</email></report_metadata></feedback>"
);

/// The form of RFC 9990: a namespace with a prefix, no `pct`, `testing`, extensions.
const RFC_9990: &str = r#"<?xml version="1.0"?>
<d:feedback xmlns:d="urn:ietf:params:xml:ns:dmarc-2.0">
  <d:version>1.0</d:version>
  <d:report_metadata>
    <d:org_name><![CDATA[Sample & Reporter]]></d:org_name><d:email>r@reporter.example</d:email>
    <d:report_id>3v98abbp8ya9n3va8yr8oa3ya</d:report_id>
    <d:date_range><d:begin>1699920000</d:begin><d:end>1700006399</d:end></d:date_range>
    <d:generator>Example DMARC 1.2</d:generator>
  </d:report_metadata>
  <d:policy_published>
    <d:domain>acme.example</d:domain><d:p>quarantine</d:p><d:sp>none</d:sp><d:np>none</d:np>
    <d:testing>y</d:testing><d:discovery_method>treewalk</d:discovery_method>
  </d:policy_published>
  <d:extensions><e:x xmlns:e="urn:x" count="1"><e:domain>other.example</e:domain></e:x></d:extensions>
  <d:record>
    <d:row>
      <d:source_ip>192.0.2.14</d:source_ip><d:count>123</d:count>
      <d:policy_evaluated>
        <d:disposition>pass</d:disposition><d:dkim>pass</d:dkim><d:spf>fail</d:spf>
        <d:reason><d:type>policy_test_mode</d:type></d:reason>
      </d:policy_evaluated>
    </d:row>
    <d:identifiers><d:envelope_from/><d:header_from>acme.example</d:header_from></d:identifiers>
    <d:auth_results>
      <d:dkim><d:domain>acme.example</d:domain><d:selector>a</d:selector><d:result>pass</d:result></d:dkim>
      <d:spf><d:domain>mx.acme.example</d:domain><d:result>fail</d:result></d:spf>
    </d:auth_results>
  </d:record>
</d:feedback>"#;

fn read(xml: &str) -> AggregateReport {
    read_file(xml.as_bytes()).unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn dkim(domain: &str, selector: Option<&str>, result: AuthResult) -> DkimResult {
    DkimResult { domain: domain.to_owned(), selector: selector.map(str::to_owned), result }
}

fn spf(domain: &str, result: AuthResult) -> SpfResult {
    SpfResult { domain: domain.to_owned(), result }
}

const BEGIN: Timestamp = Timestamp(1_699_920_000_000);
const END: Timestamp = Timestamp(1_700_006_399_000);

#[test]
fn a_report_of_google_is_read() {
    let first = Record {
        source_ip: ip("192.0.2.10"),
        count: 1207,
        disposition: Disposition::None,
        is_dkim_aligned: true,
        is_spf_aligned: false,
        reasons: Vec::new(),
        header_from: Some("news.acme.example".to_owned()),
        envelope_from: None,
        dkim: vec![
            dkim("acme.example", Some("mw1"), AuthResult::Pass),
            dkim("relay.example", Some("s2024"), AuthResult::Fail),
        ],
        spf: vec![spf("bounces.relay.example", AuthResult::Pass)],
    };
    let second = Record {
        source_ip: ip("2001:db8:4860::1:2"),
        count: 3,
        is_dkim_aligned: false,
        reasons: vec![
            OverrideReason { kind: OverrideType::LocalPolicy, comment: Some("arc=pass".to_owned()) },
            OverrideReason { kind: OverrideType::MailingList, comment: None },
        ],
        header_from: Some("acme.example".to_owned()),
        dkim: Vec::new(),
        spf: vec![spf("lists.example", AuthResult::Softfail)],
        ..first.clone()
    };
    let wanted = AggregateReport {
        org_name: "google.com".to_owned(),
        email: Some("noreply-dmarc-support@google.com".to_owned()),
        report_id: "9391651994964116463".to_owned(),
        begin: BEGIN,
        end: END,
        policy: PolicyPublished {
            domain: "acme.example".to_owned(),
            adkim: Alignment::Relaxed,
            aspf: Alignment::Strict,
            p: Disposition::Quarantine,
            sp: Some(Disposition::Reject),
            np: Some(Disposition::Reject),
            pct: 50,
            is_testing: false,
        },
        records: vec![first, second],
        omitted: 0,
        unreadable: 0,
    };
    assert_eq!(read(GOOGLE), wanted);
}

#[test]
fn a_report_of_microsoft_is_read_with_its_byte_order_mark() {
    let report = read_file(&gzip(format!("\u{feff}{MICROSOFT}").as_bytes())).unwrap();
    assert_eq!((report.org_name.as_str(), report.policy.p), ("Enterprise Outlook", Disposition::Reject));
    let [record] = &report.records[..] else { panic!("{report:?}") };
    assert_eq!((record.disposition, record.count), (Disposition::Reject, 2));
    assert_eq!(record.envelope_from.as_deref(), Some("mail.forged.example"));
    assert_eq!(record.dkim, []);
    assert_eq!(record.spf, [spf("mail.forged.example", AuthResult::None)]);
}

#[test]
fn a_report_of_yahoo_has_what_its_policy_does_not_say() {
    let report = read(YAHOO);
    assert_eq!((report.org_name.as_str(), report.begin, report.end), ("Yahoo & Co", BEGIN, END));
    let policy = &report.policy;
    assert_eq!((policy.adkim, policy.aspf, policy.pct), (Alignment::Relaxed, Alignment::Relaxed, 100));
    assert_eq!((policy.p, policy.sp, policy.np), (Disposition::None, None, None));
    assert!(report.records[0].is_dkim_aligned && report.records[0].is_spf_aligned);
}

#[test]
fn a_report_in_another_order_is_read() {
    let report = read(MAIL_RU);
    assert_eq!((report.org_name.as_str(), report.report_id.as_str()), ("corp.mail.ru", "28 11"));
    assert_eq!((report.begin, report.end), (BEGIN, END));
    let policy = &report.policy;
    assert_eq!((policy.domain.as_str(), policy.adkim, policy.pct), ("acme.example", Alignment::Strict, 100));
    assert_eq!((policy.aspf, policy.p), (Alignment::Relaxed, Disposition::None));
    let [record] = &report.records[..] else { panic!("{report:?}") };
    assert_eq!((record.source_ip, record.count), (ip("192.0.2.13"), 4));
    assert_eq!((record.is_dkim_aligned, record.is_spf_aligned), (false, true));
    assert_eq!(record.disposition, Disposition::Quarantine);
    assert_eq!(record.envelope_from.as_deref(), Some("acme.example"));
    assert_eq!(record.reasons, [OverrideReason { kind: OverrideType::Other, comment: None }]);
    assert_eq!(record.dkim, [dkim("acme.example", None, AuthResult::Fail)]);
    assert_eq!(record.spf, [spf("acme.example", AuthResult::Pass)]);
}

#[test]
fn a_report_of_the_newer_form_is_read() {
    let report = read(RFC_9990);
    assert_eq!(report.org_name, "Sample & Reporter");
    assert!(report.policy.is_testing && report.policy.np == Some(Disposition::None));
    assert_eq!(report.policy.domain, "acme.example");
    let [record] = &report.records[..] else { panic!("{report:?}") };
    assert_eq!((record.disposition, record.count), (Disposition::Pass, 123));
    assert_eq!(record.reasons[0].kind, OverrideType::PolicyTestMode);
    assert_eq!((record.envelope_from.as_deref(), record.dkim.len(), record.spf.len()), (None, 1, 1));
}

#[test]
fn texts_are_as_people_read_them() {
    let named = |name: &str| read(&report("").replace(">Org<", &format!(">{name}<"))).org_name;
    for (name, wanted) in [
        ("A &amp; B &lt;c&gt; &quot;&apos;", "A & B <c> \"'"),
        ("A & B", "A & B"),
        ("&#77;&#x61;il", "Mail"),
        ("&#0;&#xd800;&unknown;a", "a"),
        (" \n a <!-- b --> c\u{202e}\u{7f} ", "a c"),
        ("", "org.example"),
    ] {
        assert_eq!(named(name), wanted, "{name}");
    }
    // a report that says UTF-8 and is Latin 1
    let latin = report("").replace(">Org<", ">M\u{1}ller<").into_bytes();
    let latin: Vec<u8> = latin.iter().map(|byte| if *byte == 1 { 0xfc } else { *byte }).collect();
    assert_eq!(read_file(&latin).unwrap().org_name, "M\u{fffd}ller");
}

#[test]
fn a_report_behind_the_begin_of_its_schema_is_read() {
    let schema = "<?xml version=\"1.0\"?><xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">";
    let xml = report(&record("", "")).replace("<?xml version=\"1.0\"?>", schema);
    assert_eq!(read(&xml), read(&report(&record("", ""))));
    let closed = format!("<schema/>{}", report(""));
    assert_eq!(read(&closed.replace("<?xml version=\"1.0\"?>", "")), read(&report("")));
    assert_eq!(read_file(schema.as_bytes()), Err(DmarcReportError::NoFeedback));
}

#[test]
fn what_makes_a_report_one_has_to_be_there() {
    let whole = report(&record("", ""));
    for name in ["report_id", "begin", "end", "domain"] {
        let (begin, end) =
            (whole.find(&format!("<{name}>")).unwrap(), whole.find(&format!("</{name}>")).unwrap());
        let empty = format!("{}<{name}>{}", &whole[..begin], &whole[end..]);
        assert_eq!(read_file(empty.as_bytes()), Err(DmarcReportError::Missing(name)));
    }
    for time in ["1e9", "-", "99999999999999999999", "9999999999999999", "now"] {
        let strange = whole.replace("1700000000", time);
        assert_eq!(read_file(strange.as_bytes()), Err(DmarcReportError::Missing("begin")), "{time}");
    }
}
