use super::*;

const DOMAIN: &str = "shop.example";
const KEY: &str = "v=DKIM1; k=rsa; p=MIIBIjANBg+/kq==";

fn record(purpose: Purpose, kind: RecordType, name: &str, value: &str) -> ExpectedRecord {
    let priority = (kind == RecordType::Mx).then_some(10);
    ExpectedRecord { purpose, kind, name: name.into(), value: value.into(), priority, required: false }
}

fn key() -> ExpectedRecord {
    record(Purpose::Dkim, RecordType::Txt, "mw1._domainkey.shop.example", KEY)
}

fn spf() -> ExpectedRecord {
    record(Purpose::Spf, RecordType::Txt, DOMAIN, "v=spf1 include:spf.example.net ~all")
}

fn dmarc_record() -> ExpectedRecord {
    record(Purpose::Dmarc, RecordType::Txt, "_dmarc.shop.example", "v=DMARC1; p=none")
}

fn bounce() -> ExpectedRecord {
    record(Purpose::ReturnPath, RecordType::Cname, "bounce.shop.example", "bounces.example.net")
}

fn inbound() -> ExpectedRecord {
    record(Purpose::Inbound, RecordType::Mx, DOMAIN, "mx.example.net")
}

/// What is said of values that do not serve.
fn said(record: &ExpectedRecord, found: &[&str]) -> String {
    let found: Vec<String> = found.iter().map(|value| (*value).to_owned()).collect();
    difference(record, DOMAIN, RecordStatus::Mismatch, &found, &Hints::default()).unwrap().text
}

/// What is said of a record that is missing.
fn said_of_missing(record: &ExpectedRecord, hints: &Hints) -> String {
    difference(record, DOMAIN, RecordStatus::Missing, &[], hints).unwrap().text
}

#[test]
fn nothing_is_said_of_what_is_right_and_little_of_what_is_not_known() {
    let hints = Hints::default();
    assert_eq!(difference(&key(), DOMAIN, RecordStatus::Found, &[KEY.into()], &hints), None);
    let said = difference(&key(), DOMAIN, RecordStatus::Unavailable, &[], &hints).unwrap().text;
    assert!(said.contains("gave no answer about mw1._domainkey.shop.example"), "{said}");
}

#[test]
fn a_key_that_differs_is_told_from_one_that_was_damaged() {
    for (found, expected) in [
        ("v=DKIM1; k=rsa; p=MIIBIjXNBg+/kq==", "differs from character 7 of the key"),
        ("v=DKIM1; k=rsa; p=", "the key was withdrawn"),
        ("v=DKIM1; k=ed25519; p=11qYAYKxCrf", "of the kind ed25519, and this one is of the kind rsa"),
        ("v=DKIM1; k=rsa; p=MIIBIjAN", "ends after 8 of 16 characters"),
        ("v=DKIM1; k=rsa; p=MIIBIjANBg+/kq==AA", "followed by 2 more characters"),
        ("v=DKIM1; k=rsa; p=miibijanbg+/kq==", "small and capital letters"),
        ("\"v=DKIM1; k=rsa; p=MIIBIjANBg+/kq==\"", "quotation marks or backslashes"),
        ("v=DKIM1; k=rsa; p=MIIBIjAN\" \"Bg+/kq==", "quotation marks or backslashes"),
        ("v=DKIM1\\; k=rsa\\; p=MIIBIjANBg+/kq==", "quotation marks or backslashes"),
        ("v=DKIM2; k=rsa; p=MIIBIjANBg+/kq==", "does not begin with v=DKIM1"),
        ("k=rsa; v=DKIM1; p=MIIBIjANBg+/kq==", "does not begin with v=DKIM1"),
        ("v=DKIM1; h=sha1; p=MIIBIjANBg+/kq==", "h=sha1 does not allow signatures with SHA-256"),
        ("v=DKIM1; h=sha256; s=tlsrpt; p=MIIBIjANBg+/kq==", "s=tlsrpt says that it is not for mail"),
    ] {
        let said = said(&key(), &[found]);
        assert!(said.contains(expected), "{found}: {said}");
    }
    assert!(said(&key(), &[KEY, KEY]).starts_with("There are 2 key records"));
    let long = format!("v=DKIM1; k=rsa; p={}", "A".repeat(392));
    let long = record(Purpose::Dkim, RecordType::Txt, "mw1._domainkey.shop.example", &long);
    let said = said(&long, &[&long.value[..255]]);
    assert!(said.contains("cut after 255 characters") && said.contains("quotation marks"), "{said}");
}

#[test]
fn it_is_told_which_spf_record_to_write() {
    for (found, why, fixed) in [
        ("v=spf1 mx -all", "does not contain", "v=spf1 mx include:spf.example.net -all"),
        ("v=spf1", "does not contain", "v=spf1 include:spf.example.net"),
        (
            "v=spf1 redirect=x.example",
            "does not contain",
            "v=spf1 include:spf.example.net redirect=x.example",
        ),
        ("v=spf1 mx ~all include:spf.example.net", "behind all", "v=spf1 mx include:spf.example.net ~all"),
        (
            "v=spf1 ?include:spf.example.net -all",
            "?include:spf.example.net does not let the mail pass",
            "v=spf1 include:spf.example.net -all",
        ),
    ] {
        let said = said(&spf(), &[found]);
        assert!(said.contains(why) && said.ends_with(&format!("Write instead: {fixed}")), "{found}: {said}");
    }
    let two = said(&spf(), &["v=spf1 mx -all", "v=spf1 a -all"]);
    assert!(two.starts_with("There are 2 SPF records") && two.contains("include:spf.example.net"), "{two}");
    let many = format!("v=spf1 {}-all", "a:x.example ".repeat(10));
    let said = said(&spf(), &[&many]);
    assert!(said.contains("It has 11 terms that receivers look up"), "{said}");
    let both = record(Purpose::Spf, RecordType::Txt, DOMAIN, "v=spf1 include:a.example ip4:192.0.2.1 ~all");
    let said = super::difference(
        &both,
        DOMAIN,
        RecordStatus::Mismatch,
        &["v=spf1 include:a.example -all".into()],
        &Hints::default(),
    );
    assert_eq!(
        said.as_ref().map(|said| said.text.as_str()),
        Some(
            "The record does not contain ip4:192.0.2.1. Write instead: v=spf1 include:a.example ip4:192.0.2.1 -all"
        )
    );
}

#[test]
fn a_policy_that_receivers_do_not_know_is_named() {
    for (found, expected) in [
        ("v=dmarc1; p=none", "begins with v=dmarc1"),
        ("v=DMARC1; rua=mailto:a@shop.example", "has no p"),
        ("v=DMARC1; p=drop", "says p=drop"),
    ] {
        let said = said(&dmarc_record(), &[found]);
        assert!(said.contains(expected), "{found}: {said}");
    }
    assert!(
        said(&dmarc_record(), &["v=DMARC1; p=none", "v=DMARC1; p=none"]).starts_with("There are 2 DMARC")
    );
}

#[test]
fn names_that_lead_elsewhere_are_named() {
    assert_eq!(
        said(&bounce(), &["mail.elsewhere.example"]),
        "bounce.shop.example points to mail.elsewhere.example, and has to point to bounces.example.net."
    );
    let doubled = said(&bounce(), &["bounces.example.net.shop.example"]);
    assert!(doubled.ends_with("with a dot at its end, as bounces.example.net."), "{doubled}");
    let elsewhere = said(&inbound(), &["a.example", "b.example"]);
    assert!(
        elsewhere.contains("goes to a.example, b.example.") && elsewhere.contains("mx.example.net"),
        "{elsewhere}"
    );
    assert!(said(&inbound(), &[""]).contains("takes no mail (a null MX record)"));
    assert!(said(&inbound(), &["mx.example.net.shop.example"]).contains("the DNS service added the domain"));
}

#[test]
fn it_is_told_why_a_record_is_missing() {
    let plain = said_of_missing(&bounce(), &Hints::default());
    assert!(plain.starts_with("There is no CNAME record at bounce.shop.example."), "{plain}");
    let doubled = Hints { is_doubled: true, ..Hints::default() };
    for (record, at, short) in [
        (key(), "mw1._domainkey.shop.example.shop.example", "as mw1._domainkey there"),
        (inbound(), "shop.example.shop.example", "as @ there"),
    ] {
        let said = said_of_missing(&record, &doubled);
        assert!(said.contains(at) && said.contains(short), "{said}");
    }
    for (record, value, expected) in [
        (dmarc_record(), "\"v=DMARC1; p=none\"", "quotation marks or backslashes"),
        (dmarc_record(), "DMARC1; p=none", "does not begin with v=DMARC1"),
        (spf(), "spf1 mx -all", "does not begin with v=spf1"),
        (key(), "MIIBIjANBg+/kq==", "has the key alone"),
        (key(), "v=DKIM1", "it has no p="),
    ] {
        let hints = Hints { near: vec![value.into()], is_doubled: false };
        let said = said_of_missing(&record, &hints);
        assert!(said.contains(expected), "{value}: {said}");
    }
    let hints = Hints { near: vec!["x".repeat(300)], is_doubled: false };
    assert!(said_of_missing(&dmarc_record(), &hints).len() < 300, "long values are shortened");
}

#[test]
fn policies_reports_and_logos_are_told_what_they_lack() {
    let policy = record(Purpose::MtaSts, RecordType::Txt, "_mta-sts.shop.example", "v=STSv1; id=0a1b");
    let reports = record(
        Purpose::TlsReports,
        RecordType::Txt,
        "_smtp._tls.shop.example",
        "v=TLSRPTv1; rua=mailto:a@b.example",
    );
    let logo = record(
        Purpose::Bimi,
        RecordType::Txt,
        "default._bimi.shop.example",
        "v=BIMI1; l=https://x.example/l.svg",
    );
    for (record, found, expected) in [
        (&policy, &["v=STSv1; id=9"][..], "has the id 9, and that of the policy is 0a1b"),
        (&policy, &["v=STSv1"], "has no id"),
        (&policy, &["v=STSv1; id=0a1b", "v=STSv1; id=0a1b"], "There are 2 MTA-STS records"),
        (&reports, &["v=TLSRPTv1; rua=ftp://b.example"], "No report can go to ftp://b.example"),
        (&reports, &["v=TLSRPTv1"], "does not say where reports go"),
        (&logo, &["v=BIMI1; l=http://x.example/l.svg"], "has to be at an https:// address"),
        (&logo, &["v=BIMI1; l="], "does not say where the logo is"),
    ] {
        let said = said(record, found);
        assert!(said.contains(expected), "{found:?}: {said}");
    }
}

#[test]
fn programs_get_a_name_and_the_values() {
    let told = |record: &ExpectedRecord, found: &[&str]| {
        let found: Vec<String> = found.iter().map(|value| (*value).to_owned()).collect();
        let told = difference(record, DOMAIN, RecordStatus::Mismatch, &found, &Hints::default()).unwrap();
        let details: Vec<String> =
            told.details.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} {}", told.kind, details.join(" ")).trim_end().to_owned()
    };
    for (record, found, expected) in [
        (key(), &["v=DKIM1; k=rsa; p=MIIBIjXNBg+/kq=="][..], "key_other position=7"),
        (key(), &["v=DKIM1; k=rsa; p=MIIBIjAN"], "key_incomplete characters=8 wanted=16"),
        (key(), &["v=DKIM1; h=sha1; p=MIIBIjANBg+/kq=="], "key_hash found=h=sha1"),
        (key(), &[KEY, KEY], "several count=2"),
        (
            spf(),
            &["v=spf1 ?include:spf.example.net -all"],
            "spf_refuses wanted=include:spf.example.net found=?include:spf.example.net instead=v=spf1 \
             include:spf.example.net -all",
        ),
        (spf(), &["v=spf1 mx -all", "v=spf1 -all"], "several count=2 mechanisms=include:spf.example.net"),
        (dmarc_record(), &["v=DMARC1; p=drop"], "dmarc_policy found=p=drop"),
        (bounce(), &["a.example"], "elsewhere found=a.example"),
        (
            bounce(),
            &["bounces.example.net.shop.example"],
            "with_domain found=bounces.example.net.shop.example enter=bounces.example.net.",
        ),
    ] {
        assert_eq!(told(&record, found), expected, "{found:?}");
    }
    let doubled = Hints { is_doubled: true, ..Hints::default() };
    let told = difference(&key(), DOMAIN, RecordStatus::Missing, &[], &doubled).unwrap();
    let at = "mw1._domainkey.shop.example.shop.example".to_owned();
    assert_eq!(told.kind, DifferenceKind::Doubled);
    assert_eq!(told.details, [("at", at), ("enter", "mw1._domainkey".to_owned())]);
}
