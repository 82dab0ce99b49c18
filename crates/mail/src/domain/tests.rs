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
            "ses_dkim CNAME abc._domainkey.example.com abc.dkim.amazonses.com false",
        ]
    );
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
