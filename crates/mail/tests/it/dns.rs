//! Lookups and domain checks against a name server of a few lines.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use mailwright_mail::dns::{Dns, DnsError};
use mailwright_mail::domain::{Pointer, PublishedKey, RecordCheck, RecordStatus, SenderIdentity, check};
use tokio::net::UdpSocket;

const A: u16 = 1;
const NS: u16 = 2;
const CNAME: u16 = 5;
const SOA: u16 = 6;
const MX: u16 = 15;
const TXT: u16 = 16;
const AAAA: u16 = 28;

/// The records of a zone: the data of each name and type. A name that is not there does not exist.
type Zone = Arc<Mutex<HashMap<(String, u16), Vec<Vec<u8>>>>>;

fn txt(strings: &[&str]) -> Vec<u8> {
    strings.iter().flat_map(|text| [&[text.len() as u8], text.as_bytes()].concat()).collect()
}

fn name(text: &str) -> Vec<u8> {
    let labels = text.split('.').filter(|label| !label.is_empty());
    labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).chain([0]).collect()
}

fn mx(preference: u16, host: &str) -> Vec<u8> {
    [&preference.to_be_bytes()[..], &name(host)].concat()
}

/// The name and the type of the question, and where it ends.
fn question(query: &[u8]) -> (String, u16, usize) {
    let mut at = 12;
    let mut labels = Vec::new();
    while query[at] != 0 {
        let length = usize::from(query[at]);
        labels.push(String::from_utf8(query[at + 1..=at + length].to_vec()).unwrap().to_lowercase());
        at += length + 1;
    }
    (labels.join("."), u16::from_be_bytes([query[at + 1], query[at + 2]]), at + 5)
}

fn answer(query: &[u8], zone: &Zone) -> Option<Vec<u8>> {
    let (asked, kind, end) = question(query);
    if asked == "silent.test" {
        return None;
    }
    let zone = zone.lock().unwrap();
    let exists = zone.keys().any(|(name, _)| *name == asked);
    let data = zone.get(&(asked.clone(), kind)).map(Vec::as_slice).unwrap_or_default();
    let code = match (asked.as_str(), exists) {
        ("broken.test", _) => 2,
        (_, true) => 0,
        (_, false) => 3,
    };
    let mut out = query[..2].to_vec();
    out.extend([0x81, 0x80 | code, 0, 1, 0, data.len() as u8, 0, 0, 0, 0]);
    out.extend_from_slice(&query[12..end]);
    for data in data {
        out.extend([0xc0, 12]);
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend([0, 1, 0, 0, 0x0e, 0x10]);
        out.extend_from_slice(&(data.len() as u16).to_be_bytes());
        out.extend_from_slice(data);
    }
    Some(out)
}

async fn serve(records: &[(&str, u16, Vec<Vec<u8>>)]) -> (Dns, Zone) {
    let zone: Zone = Arc::default();
    for (name, kind, data) in records {
        zone.lock().unwrap().insert(((*name).to_owned(), *kind), data.clone());
    }
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address: SocketAddr = socket.local_addr().unwrap();
    let records = zone.clone();
    tokio::spawn(async move {
        let mut query = [0; 4096];
        while let Ok((length, from)) = socket.recv_from(&mut query).await {
            if let Some(answer) = answer(&query[..length], &records) {
                socket.send_to(&answer, from).await.unwrap();
            }
        }
    });
    (Dns::with_server(address), zone)
}

#[tokio::test]
async fn records_are_read() {
    let (dns, _zone) = serve(&[
        ("example.test", TXT, vec![txt(&["v=spf1 ", "-all"]), txt(&["other"]), vec![2, 0xff, b'x']]),
        ("example.test", MX, vec![mx(20, "MX2.example.test"), mx(10, "mx1.example.test")]),
        ("null.test", MX, vec![mx(0, "")]),
        ("alias.test", CNAME, vec![name("Target.example.test")]),
        ("example.test", NS, vec![name("ns1.example.test")]),
        ("example.test", SOA, vec![[name("ns1.x"), name("h.x"), vec![0; 20]].concat()]),
        ("example.test", A, vec![vec![192, 0, 2, 1]]),
        ("example.test", AAAA, vec![[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1].to_vec()]),
    ])
    .await;
    assert_eq!(dns.txt("example.test").await.unwrap(), ["v=spf1 -all", "other", "\u{fffd}x"]);
    assert_eq!(dns.txt("Example.Test.").await.unwrap().len(), 3);
    let mx = |preference, host: &str| (preference, host.to_owned());
    assert_eq!(
        dns.mx("example.test").await.unwrap(),
        [mx(10, "mx1.example.test"), mx(20, "mx2.example.test")]
    );
    assert_eq!(dns.mx("null.test").await.unwrap(), [mx(0, "")]);
    assert_eq!(dns.cname("alias.test").await.unwrap(), "target.example.test");
    assert_eq!(dns.ns("example.test").await.unwrap(), ["ns1.example.test"]);
    assert!(dns.soa_exists("example.test").await.unwrap());
    assert!(!dns.soa_exists("alias.test").await.unwrap());
    assert_eq!(dns.a("example.test").await.unwrap(), ["192.0.2.1".parse::<std::net::Ipv4Addr>().unwrap()]);
    assert_eq!(
        dns.aaaa("example.test").await.unwrap(),
        ["2001:db8::1".parse::<std::net::Ipv6Addr>().unwrap()]
    );
}

#[tokio::test]
async fn nothing_and_no_answer_are_told_apart() {
    let (dns, _zone) = serve(&[("example.test", A, vec![vec![192, 0, 2, 1]])]).await;
    for missing in ["example.test", "nowhere.test", "not..a.name", "", &"x".repeat(300)] {
        assert_eq!(dns.txt(missing).await, Err(DnsError::NotFound), "{missing}");
    }
    assert!(matches!(dns.txt("broken.test").await, Err(DnsError::Unavailable(_))));
    assert!(matches!(dns.soa_exists("broken.test").await, Err(DnsError::Unavailable(_))));
}

#[tokio::test]
async fn a_silent_server_is_given_up_in_time() {
    let (dns, _zone) = serve(&[]).await;
    let started = tokio::time::Instant::now();
    assert!(matches!(dns.mx("silent.test").await, Err(DnsError::Unavailable(_))));
    assert!(started.elapsed() < std::time::Duration::from_secs(6));
}

#[tokio::test]
async fn a_change_is_seen_at_once() {
    let (dns, zone) = serve(&[("example.test", TXT, vec![txt(&["old"])])]).await;
    assert_eq!(dns.txt("example.test").await.unwrap(), ["old"]);
    assert_eq!(dns.txt("new.test").await, Err(DnsError::NotFound));
    zone.lock().unwrap().insert(("example.test".into(), TXT), vec![txt(&["new"])]);
    zone.lock().unwrap().insert(("new.test".into(), TXT), vec![txt(&["new"])]);
    assert_eq!(dns.txt("example.test").await.unwrap(), ["new"]);
    assert_eq!(dns.txt("new.test").await.unwrap(), ["new"]);
}

fn key() -> [PublishedKey<'static>; 1] {
    [PublishedKey { selector: "mw", record: "v=DKIM1; k=rsa; p=AAAABBBB".into() }]
}

fn identity<'a>(domain: &'a str, keys: &'a [PublishedKey<'a>]) -> SenderIdentity<'a> {
    SenderIdentity {
        domain,
        keys,
        spf_mechanism: Some("include:spf.mail.test"),
        return_path: Some(Pointer { label: "bounce", host: "bounces.mail.test" }),
        tracking: None,
        inbound_host: None,
        dmarc_reports: None,
        ses_dkim: &[],
        mail_policy: None,
        tls_reports: None,
        shows_logo: false,
    }
}

fn statuses(checks: &[RecordCheck]) -> Vec<RecordStatus> {
    checks.iter().map(|check| check.status).collect()
}

#[tokio::test]
async fn a_domain_with_everything_is_found() {
    let (dns, _zone) = serve(&[
        ("mw._domainkey.example.test", TXT, vec![txt(&["v=DKIM1; k=rsa; ", "p=AAAA", "BBBB"])]),
        (
            "example.test",
            TXT,
            vec![txt(&["site-verification=1"]), txt(&["v=spf1 mx include:spf.mail.test -all"])],
        ),
        ("_dmarc.example.test", TXT, vec![txt(&["v=DMARC1; p=reject"])]),
        ("bounce.example.test", CNAME, vec![name("Bounces.Mail.test")]),
    ])
    .await;
    let checks = check(&dns, &identity("example.test", &key())).await;
    assert_eq!(statuses(&checks), [RecordStatus::Found; 4]);
    assert_eq!(checks[0].found, ["v=DKIM1; k=rsa; p=AAAABBBB"]);
    assert_eq!(checks[1].found, ["v=spf1 mx include:spf.mail.test -all"]);
    assert!(checks[0].record.required && !checks[1].record.required);
}

#[tokio::test]
async fn what_is_missing_or_different_is_told() {
    let (dns, _zone) = serve(&[("empty.test", A, vec![vec![192, 0, 2, 1]])]).await;
    assert_eq!(statuses(&check(&dns, &identity("empty.test", &key())).await), [RecordStatus::Missing; 4]);

    let (dns, _zone) = serve(&[
        ("mw._domainkey.example.test", TXT, vec![txt(&["v=DKIM1; k=rsa; p=AAAACCCC"])]),
        ("example.test", TXT, vec![txt(&["v=spf1 include:spf.mail.test ~all"]), txt(&["v=spf1 -all"])]),
        ("_dmarc.example.test", TXT, vec![txt(&["v=DMARC1"]), txt(&["v=DMARC1"])]),
        ("bounce.example.test", CNAME, vec![name("elsewhere.test")]),
    ])
    .await;
    let checks = check(&dns, &identity("example.test", &key())).await;
    assert_eq!(statuses(&checks), [RecordStatus::Mismatch; 4]);
    assert_eq!(checks[3].found, ["elsewhere.test"]);
}

#[tokio::test]
async fn it_is_noted_why_a_record_is_missing() {
    let (dns, _zone) = serve(&[
        ("mw._domainkey.example.test.example.test", TXT, vec![txt(&["v=DKIM1; k=rsa; p=AAAABBBB"])]),
        ("example.test", TXT, vec![txt(&["site-verification=1"]), txt(&["\"v=spf1 -all\""])]),
        ("_dmarc.example.test", TXT, vec![txt(&["DMARC1; p=none"])]),
        // a wildcard leads elsewhere
        ("bounce.example.test.example.test", CNAME, vec![name("elsewhere.test")]),
    ])
    .await;
    let checks = check(&dns, &identity("example.test", &key())).await;
    assert_eq!(statuses(&checks), [RecordStatus::Missing; 4]);
    let noted: Vec<_> =
        checks.iter().map(|check| (check.hints.is_doubled, check.hints.near.clone())).collect();
    let near = |value: &str| (false, vec![value.to_owned()]);
    assert_eq!(noted, [(true, vec![]), near("\"v=spf1 -all\""), near("DMARC1; p=none"), (false, vec![])]);
}

#[tokio::test]
async fn a_failing_server_decides_nothing() {
    let (dns, _zone) = serve(&[]).await;
    let checks = check(&dns, &identity("broken.test", &key())).await;
    assert_eq!(checks[1].status, RecordStatus::Unavailable);
    assert_eq!(checks[0].status, RecordStatus::Missing);
}
