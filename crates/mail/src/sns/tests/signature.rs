use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use mailwright_core::time::Timestamp;
use rcgen::{CertificateParams, KeyPair, PKCS_RSA_SHA256, PublicKeyData, date_time_ymd};
use ring::digest;
use rsa::pkcs1v15::Pkcs1v15Sign;
use rsa::pkcs8::EncodePrivateKey;
use rsa::rand_core::OsRng;
use rsa::{BigUint, RsaPrivateKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::{Value, json};

use super::{at, envelope, fixture, json as fixture_json};
use crate::sns::{Envelope, SignatureError, SignatureVersion, verify};

/// The algorithms before the hash in a signature (RFC 8017 section 9.2).
const SHA1: &[u8] =
    &[0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14];
const SHA256: &[u8] = &[
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
    0x04, 0x20,
];

const OPENSSL: &str = include_str!("../fixtures/openssl.pem");
const OPENSSL_SMALL: &str = include_str!("../fixtures/openssl_small.pem");

struct Signer {
    key: RsaPrivateKey,
    pair: KeyPair,
    certificate: String,
}

impl Signer {
    fn new() -> Self {
        let key = RsaPrivateKey::new_with_exp(&mut OsRng, 2048, &BigUint::from(65_537_u32)).unwrap();
        let der = key.to_pkcs8_der().unwrap();
        let der = PrivatePkcs8KeyDer::from(der.as_bytes().to_vec());
        let pair = KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_RSA_SHA256).unwrap();
        let certificate = certificate(&pair);
        Self { key, pair, certificate }
    }

    fn sign(&self, text: &str, version: SignatureVersion) -> String {
        let (algorithm, prefix) = match version {
            SignatureVersion::One => (&digest::SHA1_FOR_LEGACY_USE_ONLY, SHA1),
            SignatureVersion::Two => (&digest::SHA256, SHA256),
        };
        let hash = digest::digest(algorithm, text.as_bytes());
        let padding = Pkcs1v15Sign { hash_len: Some(hash.as_ref().len()), prefix: prefix.into() };
        BASE64.encode(self.key.sign(padding, hash.as_ref()).unwrap())
    }

    /// A fixture that this key signed.
    fn signed(&self, name: &str, version: SignatureVersion) -> Value {
        let mut document = fixture_json(name);
        document["SignatureVersion"] = json!(version.as_str());
        document["Signature"] = json!(self.sign(&signed_text(&document), version));
        document
    }
}

/// A certificate that is valid through the years 2020 to 2039.
fn certificate(pair: &KeyPair) -> String {
    let mut params = CertificateParams::new(["sns.amazonaws.com".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2040, 1, 1);
    pem("CERTIFICATE", params.self_signed(pair).unwrap().der())
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// The fields in the order of Amazon's documentation.
fn signed_text(document: &Value) -> String {
    let fields: &[&str] = match document["Type"].as_str() {
        Some("Notification") => &["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
        _ => &["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
    };
    let lines = fields.iter().filter_map(|name| Some(format!("{name}\n{}\n", document[name].as_str()?)));
    lines.collect()
}

static SIGNER: LazyLock<Signer> = LazyLock::new(Signer::new);
static OTHER: LazyLock<Signer> = LazyLock::new(Signer::new);
const NAMES: [&str; 3] = ["envelope_notification", "envelope_subscription", "envelope_unsubscription"];

fn now() -> Timestamp {
    at("2026-03-02T09:00:00Z")
}

fn check(document: &Value) -> Result<(), SignatureError> {
    verify(&envelope(document), SIGNER.certificate.as_bytes(), now())
}

#[test]
fn both_versions_are_verified() {
    for name in NAMES {
        for version in SignatureVersion::ALL {
            let mut document = SIGNER.signed(name, version);
            assert_eq!(check(&document), Ok(()), "{name}, {version}");
            let fields = document.as_object_mut().unwrap();
            if fields.remove("Subject").is_some() {
                assert_eq!(check(&document), Err(SignatureError::Mismatch));
                document["Signature"] = json!(SIGNER.sign(&signed_text(&document), version));
                assert_eq!(check(&document), Ok(()), "without a subject");
            }
            document["SignatureVersion"] = json!(if version == SignatureVersion::One { "2" } else { "1" });
            assert_eq!(check(&document), Err(SignatureError::Mismatch), "the other version");
        }
    }
}

#[test]
fn what_openssl_signed_is_verified() {
    let now = at("2030-01-01");
    for name in [
        "openssl_notification_1",
        "openssl_notification_2",
        "openssl_subscription_1",
        "openssl_subscription_2",
    ] {
        let mut envelope = Envelope::parse(fixture(name).as_bytes()).unwrap();
        assert_eq!(verify(&envelope, OPENSSL.as_bytes(), now), Ok(()), "{name}");
        envelope.message.push('.');
        assert_eq!(verify(&envelope, OPENSSL.as_bytes(), now), Err(SignatureError::Mismatch), "{name}");
    }
}

#[test]
fn a_change_of_any_field_breaks_it() {
    for name in NAMES {
        for version in SignatureVersion::ALL {
            let signed = SIGNER.signed(name, version);
            let mut broken = 0;
            for field in signed.as_object().unwrap().keys() {
                let mut document = signed.clone();
                let value = document[field].as_str().unwrap().to_owned();
                let other = match field.as_str() {
                    "Type" if value == "SubscriptionConfirmation" => "UnsubscribeConfirmation".to_owned(),
                    "Type" if value == "UnsubscribeConfirmation" => "SubscriptionConfirmation".to_owned(),
                    "Type" => {
                        document["Token"] = json!("x");
                        document["SubscribeURL"] = json!("x");
                        "SubscriptionConfirmation".to_owned()
                    }
                    "Timestamp" => value.replacen("2026", "2027", 1),
                    "SignatureVersion" => (if value == "1" { "2" } else { "1" }).to_owned(),
                    "Signature" => SIGNER.sign("another text", version),
                    "SigningCertURL" | "UnsubscribeURL" => continue,
                    _ => format!("{value}x"),
                };
                document[field] = json!(other);
                assert_eq!(check(&document), Err(SignatureError::Mismatch), "{name}, {version}: {field}");
                broken += 1;
            }
            assert_eq!(broken, if name == "envelope_notification" { 8 } else { 9 });
        }
    }
}

#[test]
fn a_subject_or_a_line_cannot_be_moved() {
    let mut document = SIGNER.signed("envelope_notification", SignatureVersion::Two);
    document["Subject"] = Value::Null;
    let signature = SIGNER.sign(&signed_text(&document), SignatureVersion::Two);
    document["Signature"] = json!(signature);
    assert_eq!(check(&document), Ok(()));
    document["Subject"] = json!("x");
    assert_eq!(check(&document), Err(SignatureError::Mismatch), "a subject was added");

    // A publisher writes what looks like the next fields. Divided otherwise, the same text would have another id.
    let mut document = fixture_json("envelope_notification");
    document["Message"] = json!("evil\nMessageId\nfresh\nSubject\nx");
    let text = signed_text(&document);
    document["Message"] = json!("evil");
    document["MessageId"] = json!("fresh");
    document["Subject"] = json!(
        "x\nMessageId\n22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324\nSubject\nAmazon SES Email Event Notification"
    );
    assert_eq!(signed_text(&document), text, "the same text");
    assert!(Envelope::parse(document.to_string().as_bytes()).is_err());
}

#[test]
fn bad_signatures_are_refused() {
    let signed = SIGNER.signed("envelope_notification", SignatureVersion::Two);
    let good = BASE64.decode(signed["Signature"].as_str().unwrap()).unwrap();
    let mut document = signed.clone();
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        document["Signature"] = json!(BASE64.encode(bad));
        assert_eq!(check(&document), Err(SignatureError::Mismatch), "bit {bit}");
    }
    for bad in [vec![0; 256], vec![0xff; 256], vec![1], good[1..].to_vec(), [&good[..], &[0]].concat()] {
        document["Signature"] = json!(BASE64.encode(bad));
        assert_eq!(check(&document), Err(SignatureError::Mismatch));
    }
    for bad in ["EXAMPLE", "?", "AAAA AAAA", "====", "-_-_"] {
        document["Signature"] = json!(bad);
        assert_eq!(check(&document), Err(SignatureError::Encoding), "{bad}");
    }
    document["Type"] = json!("Unknown");
    assert_eq!(check(&document), Err(SignatureError::Type));
}

#[test]
fn the_first_certificate_counts() {
    let envelope = envelope(&SIGNER.signed("envelope_notification", SignatureVersion::Two));
    let (right, wrong) = (&SIGNER.certificate, &OTHER.certificate);
    assert_eq!(verify(&envelope, wrong.as_bytes(), now()), Err(SignatureError::Mismatch));
    assert_eq!(verify(&envelope, format!("{right}{wrong}").as_bytes(), now()), Ok(()));
    let chain = format!("{wrong}{right}");
    assert_eq!(verify(&envelope, chain.as_bytes(), now()), Err(SignatureError::Mismatch));
    let after_others =
        format!("Bag Attributes\n{}{right}", pem("PUBLIC KEY", &SIGNER.pair.subject_public_key_info()));
    assert_eq!(verify(&envelope, after_others.as_bytes(), now()), Ok(()));
}

#[test]
fn certificates_have_their_time() {
    let envelope = envelope(&SIGNER.signed("envelope_notification", SignatureVersion::Two));
    for (now, expected) in [
        ("2019-12-31T23:59:59.999Z", Err(SignatureError::Validity)),
        ("2020-01-01T00:00:00Z", Ok(())),
        ("2040-01-01T00:00:00.999Z", Ok(())),
        ("2040-01-01T00:00:01Z", Err(SignatureError::Validity)),
    ] {
        assert_eq!(verify(&envelope, SIGNER.certificate.as_bytes(), at(now)), expected, "{now}");
    }
    for now in [Timestamp(i64::MIN), Timestamp(i64::MAX)] {
        let refused = verify(&envelope, SIGNER.certificate.as_bytes(), now);
        assert_eq!(refused, Err(SignatureError::Validity));
    }
}

#[test]
fn other_certificates_are_refused() {
    let envelope = envelope(&SIGNER.signed("envelope_notification", SignatureVersion::Two));
    let elliptic = certificate(&KeyPair::generate().unwrap());
    assert_eq!(verify(&envelope, elliptic.as_bytes(), now()), Err(SignatureError::Key));
    let small = verify(&envelope, OPENSSL_SMALL.as_bytes(), at("2030-01-01"));
    assert_eq!(small, Err(SignatureError::Key));
    let whole = SIGNER.certificate.as_str();
    let padded = format!("{}{whole}", "#\n".repeat(40_000));
    for bad in [
        "",
        "x",
        "<html></html>",
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n",
        &whole[..whole.len() / 2],
        &pem("PUBLIC KEY", &SIGNER.pair.subject_public_key_info()),
        &padded,
    ] {
        let refused = verify(&envelope, bad.as_bytes(), now());
        assert!(matches!(refused, Err(SignatureError::Certificate(_))), "{refused:?} for {bad:.60}");
    }
}

#[test]
fn a_damaged_certificate_harms_nobody() {
    let envelope = envelope(&SIGNER.signed("envelope_notification", SignatureVersion::Two));
    let pem = SIGNER.certificate.as_bytes();
    for at in 0..pem.len() {
        let mut damaged = pem.to_vec();
        damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
        // what is not looked at, such as the name, may be anything
        let _ = verify(&envelope, &damaged, now());
    }
}
