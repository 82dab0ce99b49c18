//! Name servers that are away, lie or take their time never make an address invalid.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use mailwright_mail::dns::Dns;
use mailwright_mail::verification::{DEADLINE, Lists, Verification, Verifier};
use mailwright_testkit::dns::Fault;
use tokio::net::UdpSocket;
use tokio::time::Instant;

use super::{flags, server, verifier};

/// What may be found out about a company's address without DNS.
fn assert_unknown(found: &Verification) {
    assert_eq!(flags(found), "V", "{found:?}");
    let [reason] = &found.reasons[..] else { panic!("{found:?}") };
    assert!(reason.contains("is unknown"), "{reason}");
}

/// Verifies an address and looks at the time it takes.
async fn in_time(verifier: &Verifier, address: &str) -> Verification {
    let begin = Instant::now();
    let found = verifier.verify(address).await;
    assert!(begin.elapsed() < DEADLINE + Duration::from_secs(1), "{:?}", begin.elapsed());
    found
}

#[tokio::test]
async fn a_server_that_is_away() {
    // bound and let go of again, so that nobody listens there
    let gone = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    let nobody = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 53));
    for address in [gone, nobody] {
        let verifier = Verifier::new(&Dns::with_server(address), Arc::new(Lists::default()));
        assert_unknown(&in_time(&verifier, "ada@nordwind-logistik.de").await);
        // what needs no name server is found all the same
        let found = in_time(&verifier, "info+x@gmial.com").await;
        assert_eq!(flags(&found), "+DRTV");
        assert_eq!(found.suggested_email.as_deref(), Some("info+x@gmail.com"));
    }
}

#[tokio::test]
async fn a_server_that_says_nothing() {
    let dns = server().await;
    dns.set_all_silent(true);
    let verifier = verifier(&dns);
    let begin = Instant::now();
    let found = verifier
        .verify_all(&["ada@nordwind-logistik.de", "ben@nordwind-logistik.de", "ada@casa-azul.es"], 8)
        .await;
    found.iter().for_each(assert_unknown);
    assert!(begin.elapsed() < DEADLINE + Duration::from_secs(1), "both domains at the same time");
    dns.set_all_silent(false);
    assert_eq!(flags(&verifier.verify("ada@casa-azul.es").await), "EMVW", "what failed was not kept");
}

#[tokio::test]
async fn a_server_that_lies() {
    let dns = server().await;
    dns.set_ttl(600);
    let verifier = verifier(&dns);
    for fault in [Fault::WrongId, Fault::Referral, Fault::Failure, Fault::Truncated, Fault::Garbage] {
        dns.set_fault(Some(fault));
        let found = in_time(&verifier, "ada@nordwind-logistik.de").await;
        println!("{fault:?}: {:?}", found.reasons);
        assert_unknown(&found);
    }
    dns.set_fault(None);
    assert_eq!(flags(&verifier.verify("ada@nordwind-logistik.de").await), "EMVW");
}

#[tokio::test]
async fn a_server_that_takes_its_time() {
    let dns = server().await;
    let verifier = verifier(&dns);
    dns.set_delay(Duration::from_millis(400));
    let begin = Instant::now();
    assert_eq!(flags(&verifier.verify("ada@nordwind-logistik.de").await), "EMVW");
    assert!(begin.elapsed() < Duration::from_millis(1200), "the questions of one address are put at once");
    dns.set_delay(DEADLINE * 2);
    assert_unknown(&in_time(&verifier, "ada@casa-azul.es").await);
}

#[tokio::test]
async fn a_server_that_answers_in_part() {
    let dns = server().await;
    dns.set_silent("ns-is-silent.net");
    dns.set_mx("mail.ns-is-silent.net", [(10, "mx.example.net")]);
    let found = in_time(&verifier(&dns), "ada@mail.ns-is-silent.net").await;
    assert_eq!((flags(&found).as_str(), found.reasons.len()), ("EMV", 1));
    assert_eq!(found.reasons, ["The address looks valid."]);
}
