use super::values::same_key;
use super::*;

const KEY: &str = "v=DKIM1; k=rsa; p=MIIBIjANBg+/kq==";

#[test]
fn the_records_to_create_are_listed() {
    let keys = [("mw1", KEY), ("mw2", "v=DKIM1; k=ed25519; p=11q")]
        .map(|(selector, record)| PublishedKey { selector, record: record.into() });
    let mut id = SenderIdentity {
        domain: "example.com",
        keys: &keys,
        spf_mechanism: Some("include:spf.example.net"),
        return_path: Some(Pointer { label: "bounce", host: "bounces.example.net" }),
        tracking: Some(Pointer { label: "track", host: "mail.example.net" }),
        inbound_host: Some("mx.example.net"),
        dmarc_reports: Some("dmarc-x@bounces.example.net"),
        ses_dkim: &[Pointer { label: "abc._domainkey", host: "abc.dkim.amazonses.com" }],
        mail_policy: Some(ServedPolicy { id: "0a1b", host: "mail.example.net" }),
        tls_reports: Some("tls@example.net"),
        shows_logo: true,
    };
    let shown: Vec<_> = expected_records(&id)
        .into_iter()
        .map(|r| format!("{} {} {} {} {}", r.purpose.as_str(), r.kind.as_str(), r.name, r.value, r.required))
        .collect();
    assert_eq!(
        shown,
        [
            &format!("dkim TXT mw1._domainkey.example.com {KEY} true"),
            "dkim TXT mw2._domainkey.example.com v=DKIM1; k=ed25519; p=11q false",
            "spf TXT example.com v=spf1 include:spf.example.net ~all false",
            "dmarc TXT _dmarc.example.com v=DMARC1; p=none; rua=mailto:dmarc-x@bounces.example.net false",
            "return_path CNAME bounce.example.com bounces.example.net false",
            "tracking CNAME track.example.com mail.example.net false",
            "inbound MX example.com mx.example.net false",
            "mta_sts TXT _mta-sts.example.com v=STSv1; id=0a1b false",
            "mta_sts_host CNAME mta-sts.example.com mail.example.net false",
            "tls_reports TXT _smtp._tls.example.com v=TLSRPTv1; rua=mailto:tls@example.net false",
            "bimi TXT default._bimi.example.com v=BIMI1; l=https://example.com/logo.svg false",
            "ses_dkim CNAME abc._domainkey.example.com abc.dkim.amazonses.com false",
        ]
    );
    id.shows_logo = false;
    (id.spf_mechanism, id.return_path, id.tracking, id.inbound_host) = (None, None, None, None);
    id.ses_dkim = &[];
    assert_eq!(expected_records(&id).len(), 3);
    id.dmarc_reports = None;
    assert_eq!(expected_records(&id)[2].value, "v=DMARC1; p=none");
}

#[test]
fn keys_are_compared_by_their_tags() {
    for (found, same) in [
        (KEY, true),
        ("k=rsa;p=MIIBIjANBg+/kq==", true),
        (" v = DKIM1 ; k=rsa;p=MIIBIjANBg+/kq==", true),
        ("k=rsa; v=DKIM1; p=MIIBIjANBg+/kq==", false),
        ("p=MIIBIjANBg+/kq==", true),
        (" v = DKIM1 ; k = RSA ; t=s; p = MIIB IjAN\tBg+/kq== ;", true),
        ("v=DKIM1; k=rsa; p=MIIBIjANBg+/kR==", false),
        ("v=DKIM1; k=rsa; p=miibijanbg+/kq==", false),
        ("v=DKIM1; k=ed25519; p=MIIBIjANBg+/kq==", false),
        ("v=DKIM2; p=MIIBIjANBg+/kq==", false),
        ("v=DKIM1; p=", false),
        ("v=DKIM1", false),
        ("", false),
    ] {
        assert_eq!(same_key(found, KEY), same, "{found}");
    }
    assert!(!same_key("p=", "p="));
}

#[test]
fn a_key_serves_that_receivers_accept_for_mail() {
    for (more, serves) in [
        ("", true),
        (" h=sha256;", true),
        (" h=sha1:sha256;", true),
        (" h=sha1;", false),
        (" s=*;", true),
        (" s=other:email;", true),
        (" s=other;", false),
        (" t=y:s; n=a note;", true),
    ] {
        let found = format!("v=DKIM1; k=rsa;{more} p=MIIBIjANBg+/kq==");
        assert_eq!(serves_for_mail(&found, KEY), serves, "{found}");
    }
}

#[test]
fn a_policy_is_one_that_receivers_know() {
    for (record, serves) in [
        ("v=DMARC1; p=none", true),
        ("v=DMARC1;p=Quarantine; rua=mailto:a@example.com", true),
        (" v=DMARC1 ; p = reject", true),
        ("v=DMARC1; p=foo", false),
        ("v=DMARC1; rua=mailto:a@example.com", false),
        ("v=dmarc1; p=none", false),
    ] {
        assert_eq!(is_policy(record), serves, "{record}");
    }
}

#[test]
fn spf_records_are_searched_for_the_mechanism() {
    for (record, serves) in [
        ("v=spf1 include:spf.example.net ~all", true),
        ("v=spf1 mx a:x.example +INCLUDE:spf.Example.net -all", true),
        ("v=spf1 include:spf.example.net.evil.example ~all", false),
        ("v=spf1 ?include:spf.example.net ~all", false),
        ("v=spf1 -include:spf.example.net ~all", false),
        ("v=spf1 redirect=spf.example.net", false),
        ("v=spf1 -all include:spf.example.net", false),
        ("v=spf1 ALL include:spf.example.net", false),
        ("v=spf1 include:all.example include:spf.example.net -all", true),
    ] {
        assert_eq!(allows(record, "include:spf.example.net"), serves, "{record}");
    }
    let both = "v=spf1 ip4:192.0.2.1 a mx include:spf.example.net ~all";
    assert!(allows(both, "include:spf.example.net +ip4:192.0.2.1"));
    assert!(!allows(both, "include:spf.example.net ip4:192.0.2.2"));
}

#[test]
fn records_of_other_purposes_are_passed_over() {
    for (purpose, value, is) in [
        (Purpose::Spf, "v=spf1", true),
        (Purpose::Spf, "V=SPF1 -all", true),
        (Purpose::Spf, "v=spf10 -all", false),
        (Purpose::Spf, "google-site-verification=x", false),
        (Purpose::Dmarc, "v=DMARC1;p=reject", true),
        (Purpose::Dmarc, "v=DMARC12", false),
        (Purpose::Dkim, "v=DKIM1; p=", true),
        (Purpose::Dkim, "v=spf1", false),
        (Purpose::Spf, "v=sp\u{20ac}", false),
    ] {
        assert_eq!(is_of(purpose, value), is, "{value}");
    }
}

#[test]
fn the_policy_of_a_record_is_read() {
    for (record, expected) in [
        ("v=DMARC1; p=Quarantine; sp=none", Some("quarantine")),
        ("v=DMARC1;p=none", Some("none")),
        ("v=DMARC1; p=drop", None),
        ("v=spf1 p=none", None),
    ] {
        assert_eq!(policy(record).as_deref(), expected, "{record}");
    }
}

#[test]
fn a_logo_needs_a_policy_that_spares_nothing() {
    for (record, shows) in [
        ("v=DMARC1; p=reject", true),
        ("v=DMARC1; p=Quarantine; pct=100; sp=reject", true),
        ("v=DMARC1; p=none", false),
        ("v=DMARC1; p=reject; pct=50", false),
        ("v=DMARC1; p=reject; sp=none", false),
        ("v=DMARC1; p=drop", false),
    ] {
        assert_eq!(enforces(record), shows, "{record}");
    }
    for (record, has) in [
        ("v=BIMI1; l=https://example.com/logo.svg; a=https://example.com/mark.pem", true),
        ("v=BIMI1;l=HTTPS://example.com/logo.svg", true),
        ("v=BIMI1; l=http://example.com/logo.svg", false),
        ("v=BIMI1; l=; a=", false),
        ("v=BIMI1", false),
    ] {
        assert_eq!(has_logo(record), has, "{record}");
    }
}

/// Whether values serve for a record of mail that comes in.
fn serves_as(purpose: Purpose, found: &[&str]) -> bool {
    let id = SenderIdentity {
        domain: "example.com",
        keys: &[],
        spf_mechanism: None,
        return_path: None,
        tracking: None,
        inbound_host: Some("mx.example.net"),
        dmarc_reports: None,
        ses_dkim: &[],
        mail_policy: Some(ServedPolicy { id: "0a1b", host: "mail.example.net" }),
        tls_reports: Some("tls@example.net"),
        shows_logo: true,
    };
    let records = expected_records(&id);
    let record = records.iter().find(|record| record.purpose == purpose).unwrap();
    let found: Vec<String> = found.iter().map(|value| (*value).to_owned()).collect();
    assert!(serves(record, &id, std::slice::from_ref(&record.value)), "its own value");
    found.iter().all(|value| is_of(purpose, value)) && serves(record, &id, &found)
}

#[test]
fn policies_and_reports_are_compared_by_what_they_say() {
    for (purpose, found, serves) in [
        (Purpose::MtaSts, &["v=STSv1;id=0a1b;"][..], true),
        (Purpose::MtaSts, &["v=STSv1; id=0a1c"], false),
        (Purpose::MtaSts, &["v=STSv1; id=0a1b", "v=STSv1; id=0a1b"], false),
        (Purpose::MtaSts, &["v=STSv2; id=0a1b"], false),
        (Purpose::MtaStsHost, &["MAIL.example.net"], true),
        (Purpose::TlsReports, &["v=TLSRPTv1;rua=mailto:other@example.org"], true),
        (Purpose::TlsReports, &["v=TLSRPTv1; rua=https://example.org/tls"], true),
        (Purpose::TlsReports, &["v=TLSRPTv1; rua=ftp://example.org"], false),
        (
            Purpose::TlsReports,
            &["v=TLSRPTv1; rua=mailto:a@b.example", "v=TLSRPTv1; rua=mailto:a@b.example"],
            false,
        ),
        (Purpose::Bimi, &["v=BIMI1; l=https://elsewhere.example/a.svg"], true),
        (Purpose::Bimi, &["v=BIMI1; l="], false),
    ] {
        assert_eq!(serves_as(purpose, found), serves, "{found:?}");
    }
}
