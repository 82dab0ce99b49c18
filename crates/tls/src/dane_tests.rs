use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PublicKeyData, date_time_ymd,
};

use super::*;

/// A certificate as a server has it.
struct Made {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).unwrap()
}

fn self_signed(params: &CertificateParams) -> Made {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    Made { certificate, key: key.subject_public_key_info() }
}

/// A certificate, and the one of its issuer.
fn issued(params: &CertificateParams) -> (Made, Made) {
    let mut of_issuer = CertificateParams::default();
    of_issuer.distinguished_name.push(DnType::CommonName, "an issuer");
    of_issuer.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer_key = KeyPair::generate().unwrap();
    let issuer = Made {
        certificate: of_issuer.self_signed(&issuer_key).unwrap().der().clone(),
        key: issuer_key.subject_public_key_info(),
    };
    let key = KeyPair::generate().unwrap();
    let signed = params.signed_by(&key, &Issuer::new(of_issuer, issuer_key)).unwrap();
    (Made { certificate: signed.der().clone(), key: key.subject_public_key_info() }, issuer)
}

/// The record that names a certificate.
fn record(usage: u8, selector: u8, matching: u8, of: &Made) -> Tlsa {
    let selected = if selector == 0 { of.certificate.to_vec() } else { of.key.clone() };
    let data = match matching {
        1 => hash(&SHA256, &selected),
        2 => hash(&SHA512, &selected),
        _ => selected,
    };
    Tlsa { usage, selector, matching, data }
}

/// What a certificate turns out to be that a server for `mx.one.test` shows with others.
fn verdict(records: &[Tlsa], certificate: &Made, others: &[&Made]) -> Verdict {
    let dane = Dane::new(records.to_vec(), "mx.one.test", "mx.one.test", "one.test");
    let verifier =
        Verifier { dane: dane.clone(), provider: Arc::new(rustls::crypto::ring::default_provider()) };
    let others: Vec<_> = others.iter().map(|made| made.certificate.clone()).collect();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(1_750_000_000));
    let name = ServerName::try_from("mx.one.test").unwrap();
    let result = verifier.verify_server_cert(&certificate.certificate, &others, &name, &[], now);
    let verdict = dane.verdict().unwrap();
    assert_eq!(result.is_err(), matches!(verdict, Verdict::Refused(_)));
    verdict
}

fn refusal(verdict: Verdict) -> String {
    match verdict {
        Verdict::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_certificate_that_a_record_names_is_the_servers() {
    let made = self_signed(&params(&["elsewhere.test"]));
    for (selector, matching) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
        let named = record(DANE_EE, selector, matching, &made);
        assert!(named.is_usable(), "3 {selector} {matching}");
        let of_another = record(DANE_EE, selector, matching, &self_signed(&params(&["mx.one.test"])));
        assert_eq!(verdict(std::slice::from_ref(&named), &made, &[]), Verdict::OfServer, "{named:?}");
        assert_eq!(
            refusal(verdict(std::slice::from_ref(&of_another), &made, &[])),
            "its certificate is none that its TLSA records name"
        );
        assert_eq!(verdict(&[of_another, named], &made, &[]), Verdict::OfServer, "one is enough");
    }
}

#[test]
fn what_a_record_names_for_itself_may_have_expired() {
    let mut old = params(&["elsewhere.test"]);
    old.not_before = date_time_ymd(2001, 1, 1);
    old.not_after = date_time_ymd(2002, 1, 1);
    let made = self_signed(&old);
    assert_eq!(verdict(&[record(DANE_EE, 1, 1, &made)], &made, &[]), Verdict::OfServer);
    let (made, issuer) = issued(&old);
    assert!(
        refusal(verdict(&[record(DANE_TA, 1, 1, &issuer)], &made, &[&issuer]))
            .contains("certificate expired")
    );
}

#[test]
fn a_certificate_of_an_issuer_that_a_record_names_is_valid_for_its_names() {
    let (made, issuer) = issued(&params(&["mx.one.test"]));
    for (selector, matching) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
        let named = record(DANE_TA, selector, matching, &issuer);
        assert_eq!(verdict(&[named], &made, &[&issuer]), Verdict::OfServer, "2 {selector} {matching}");
    }
    // the whole issuer in the record need not be shown; of a digest there is nothing to check with
    assert_eq!(verdict(&[record(DANE_TA, 0, 0, &issuer)], &made, &[]), Verdict::OfServer);
    let unshown = verdict(&[record(DANE_TA, 0, 1, &issuer)], &made, &[]);
    assert_eq!(refusal(unshown), "its certificate is none that its TLSA records name");
    let (of_domain, issuer) = issued(&params(&["one.test"]));
    assert_eq!(verdict(&[record(DANE_TA, 1, 1, &issuer)], &of_domain, &[&issuer]), Verdict::OfDomain);
    let (of_others, issuer) = issued(&params(&["mx.two.test"]));
    assert_eq!(
        refusal(verdict(&[record(DANE_TA, 0, 1, &issuer)], &of_others, &[&issuer])),
        "its certificate is valid neither for mx.one.test nor for one.test"
    );
}

#[test]
fn an_issuer_that_did_not_make_the_certificate_proves_nothing() {
    let (made, _) = issued(&params(&["mx.one.test"]));
    let (_, other) = issued(&params(&["mx.one.test"]));
    let why = refusal(verdict(&[record(DANE_TA, 0, 1, &other)], &made, &[&other]));
    assert!(why.contains("not valid under the issuer that its TLSA records name"), "{why}");
}

#[test]
fn records_that_cannot_be_used_are_known() {
    let made = self_signed(&params(&["mx.one.test"]));
    let good = record(DANE_EE, 1, 1, &made);
    for changed in [
        Tlsa { usage: 0, ..good.clone() },
        Tlsa { usage: 1, ..good.clone() },
        Tlsa { usage: 4, ..good.clone() },
        Tlsa { selector: 2, ..good.clone() },
        Tlsa { matching: 3, ..good.clone() },
        Tlsa { matching: 2, ..good.clone() },
        Tlsa { data: good.data[1..].to_vec(), ..good.clone() },
        Tlsa { matching: 0, data: Vec::new(), ..good.clone() },
    ] {
        assert!(!changed.is_usable(), "{changed:?}");
    }
}
