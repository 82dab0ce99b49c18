//! Who is proved to have sent a mail, against a name server of a test.

use std::net::{IpAddr, Ipv4Addr};

use mailwright_core::time::Timestamp;
use mailwright_mail::authentication::{Origin, proven_organisation};
use mailwright_mail::dkim::{KeyType, SigningKey, dkim_record};
use mailwright_mail::dns::Dns;
use mailwright_testkit::dns::FakeDns;

const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const STRANGE: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));

fn origin(client: IpAddr, mail_from: Option<&str>) -> Origin<'_> {
    Origin { client, client_name: "mx.one.test", mail_from, our_name: "mx.mail.test" }
}

fn mail(from: &str) -> String {
    format!("From: {from}\r\nTo: b@mail.test\r\nSubject: x\r\n\r\nHello\r\n")
}

#[tokio::test]
async fn the_sender_of_the_envelope_proves_its_organisation() {
    let zone = FakeDns::start().await;
    for name in ["one.test", "bounces.one.test", "mx.one.test", "two.test"] {
        zone.set_txt(name, ["v=spf1 ip4:192.0.2.1 -all"]);
    }
    let dns = Dns::with_server(zone.addr);
    for (client, mail_from, from, expected) in [
        (OURS, Some("a@one.test"), "a@one.test", Some("one.test")),
        (OURS, Some("a@bounces.one.test"), "Reports <a@News.One.test>", Some("one.test")),
        (OURS, None, "a@one.test", Some("one.test")),
        (STRANGE, Some("a@one.test"), "a@one.test", None),
        (OURS, Some("a@two.test"), "a@one.test", None),
        (OURS, Some("a@silent.test"), "a@silent.test", None),
        (OURS, Some("a@one.test"), "a@one.test, b@one.test", None),
        (OURS, Some("a@one.test"), "nobody", None),
    ] {
        let proven = proven_organisation(&dns, origin(client, mail_from), mail(from).as_bytes()).await;
        assert_eq!(proven.as_deref(), expected, "{mail_from:?} {from}");
    }
    let two = format!("From: a@one.test\r\n{}", mail("b@two.test"));
    assert_eq!(proven_organisation(&dns, origin(OURS, Some("a@one.test")), two.as_bytes()).await, None);
}

#[tokio::test]
async fn a_signature_proves_the_organisation_that_signed() {
    let zone = FakeDns::start().await;
    let (private, public) = SigningKey::generate(KeyType::Ed25519).unwrap();
    let key = SigningKey::from_der(KeyType::Ed25519, &private).unwrap();
    let record = dkim_record(KeyType::Ed25519, &public);
    for name in ["s1._domainkey.mail.one.test", "s1._domainkey.two.test"] {
        zone.set_txt(name, [&record]);
    }
    let dns = Dns::with_server(zone.addr);
    let origin = origin(STRANGE, Some("a@relay.test"));
    let signed = |domain: &str, from: &str| {
        let mail = mail(from);
        let signature = key.sign(domain, "s1", mail.as_bytes(), Timestamp(1_767_322_801_999)).unwrap();
        format!("{signature}{mail}")
    };
    for (domain, from, expected) in [
        ("mail.one.test", "a@one.test", Some("one.test")),
        ("two.test", "a@one.test", None),
        // there is no key
        ("one.test", "a@one.test", None),
    ] {
        let proven = proven_organisation(&dns, origin, signed(domain, from).as_bytes()).await;
        assert_eq!(proven.as_deref(), expected, "{domain} for {from}");
    }
    let changed = signed("mail.one.test", "a@one.test").replace("Hello", "Other");
    assert_eq!(proven_organisation(&dns, origin, changed.as_bytes()).await, None);
}
