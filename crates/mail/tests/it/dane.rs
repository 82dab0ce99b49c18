//! What TLSA records demand, against a name server that validates.

use std::net::Ipv4Addr;

use mailwright_mail::dane::Demand;
use mailwright_mail::dns::Dns;
use mailwright_mail::route::{Addresses, Directions, MailServer, Route};
use mailwright_testkit::dns::{FakeDns, Fault};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

fn key() -> (u8, u8, u8, Vec<u8>) {
    (3, 1, 1, vec![7; 32])
}

/// A name server that validates, with a signed domain.
async fn signed() -> (FakeDns, Dns) {
    let zone = FakeDns::start().await;
    let dns = Dns::with_server(zone.addr).validating();
    zone.set_secure("one.test");
    zone.set_mx("one.test", [(10, "mx.one.test")]);
    zone.set_a("mx.one.test", [ADDRESS]);
    (zone, dns)
}

async fn demand(dns: &Dns, host: &str) -> Demand {
    let host = dns.mail_host(host).await;
    dns.demand(&host, 25).await
}

/// The name whose records name a certificate.
fn base(demand: Demand) -> String {
    match demand {
        Demand::Certificate { base, records } => {
            assert_eq!((records.len(), records[0].usage, records[0].data.len()), (1, 3, 32));
            base
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn mail_servers_are_proven_where_the_name_server_says_so() {
    let (zone, dns) = signed().await;
    let server = MailServer { preference: 10, host: "mx.one.test".into() };
    let route = Route::Servers(vec![server]);
    let expected = |is_proven| Directions { route: route.clone(), is_proven };
    assert_eq!(dns.directions("one.test", 0).await, expected(true));
    let plain = Dns::with_server(zone.addr);
    assert_eq!(plain.directions("one.test", 0).await, expected(false), "nobody says that it validates");
    zone.set_insecure("one.test");
    assert_eq!(dns.directions("one.test", 0).await, expected(false));
    // a domain that is its own mail server, as is proven
    zone.set_secure("own.test");
    zone.set_a("own.test", [ADDRESS]);
    assert!(dns.directions("own.test", 0).await.is_proven);
    assert!(dns.proves("own.test").await.unwrap() && !dns.proves("one.test").await.unwrap());
    zone.set_servfail("broken.test");
    assert_eq!(dns.directions("broken.test", 0).await.route, Route::Unknown);
    assert!(dns.proves("broken.test").await.is_err());
}

#[tokio::test]
async fn records_demand_something_where_they_are_proven() {
    let (zone, dns) = signed().await;
    assert_eq!(demand(&dns, "mx.one.test").await, Demand::Nothing);
    zone.set_tlsa("_25._tcp.mx.one.test", [(0, 0, 1, vec![1; 32]), key(), (3, 1, 9, vec![2; 32])]);
    assert_eq!(base(demand(&dns, "mx.one.test").await), "mx.one.test");
    assert_eq!(demand(&Dns::with_server(zone.addr), "mx.one.test").await, Demand::Nothing);
    zone.set_tlsa("_25._tcp.mx.one.test", [(1, 0, 1, vec![1; 32]), (3, 1, 1, vec![1; 31])]);
    assert_eq!(demand(&dns, "mx.one.test").await, Demand::Encryption, "none of them can be used");
    zone.set_tlsa("_25._tcp.mx.one.test", [key()]);
    zone.set_insecure("_tcp.mx.one.test");
    assert_eq!(demand(&dns, "mx.one.test").await, Demand::Nothing);
    zone.set_secure("_tcp.mx.one.test");
    zone.set_insecure("mx.one.test");
    assert_eq!(demand(&dns, "mx.one.test").await, Demand::Nothing, "the address is not proven");
    zone.set_secure("mx.one.test");
    zone.set_servfail("_25._tcp.mx.one.test");
    assert_eq!(demand(&dns, "mx.one.test").await, Demand::Unknown);
}

#[tokio::test]
async fn the_end_of_aliases_counts_before_the_name_itself() {
    let (zone, dns) = signed().await;
    zone.set_cname("alias.one.test", "mx.two.test");
    zone.set_a("mx.two.test", [ADDRESS]);
    zone.set_secure("two.test");
    zone.set_tlsa("_25._tcp.alias.one.test", [key()]);
    assert_eq!(base(demand(&dns, "alias.one.test").await), "alias.one.test");
    zone.set_tlsa("_25._tcp.mx.two.test", [key()]);
    let host = dns.mail_host("alias.one.test").await;
    assert_eq!(host.bases, ["mx.two.test", "alias.one.test"]);
    assert_eq!(host.addresses, Addresses::Known(vec![ADDRESS.into()]));
    assert_eq!(base(demand(&dns, "alias.one.test").await), "mx.two.test");
    // that it is an alias is proven, and not what it leads to
    zone.set_insecure("two.test");
    assert_eq!(dns.mail_host("alias.one.test").await.bases, ["alias.one.test"]);
    zone.set_insecure("alias.one.test");
    assert_eq!(dns.mail_host("alias.one.test").await.bases, Vec::<String>::new());
}

#[tokio::test]
async fn answers_are_kept_as_long_as_they_say_and_may_be_long() {
    let (zone, dns) = signed().await;
    zone.set_ttl(600);
    let many: Vec<_> = (0..40_u8).map(|number| (3, 1, 1, vec![number; 32])).collect();
    zone.set_tlsa("_25._tcp.mx.one.test", many);
    let dns = dns.keeping_answers();
    for _ in 0..3 {
        match demand(&dns, "mx.one.test").await {
            Demand::Certificate { records, .. } => assert_eq!(records.len(), 40),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(zone.queries_for("_25._tcp.mx.one.test"), 2, "once by UDP, once by TCP");
    assert_eq!(zone.queries_for("mx.one.test"), 2, "its addresses of both kinds");
    zone.set_tlsa("_25._tcp.mx.one.test", [key()]);
    assert_eq!(base(demand(&dns.keeping_answers(), "mx.one.test").await), "mx.one.test");
}

#[tokio::test]
async fn what_is_no_answer_proves_nothing() {
    let (zone, dns) = signed().await;
    for fault in [Fault::Failure, Fault::Referral, Fault::Truncated, Fault::Garbage] {
        zone.set_fault(Some(fault));
        let found = dns.directions("one.test", 0).await;
        assert_eq!(found, Directions { route: Route::Unknown, is_proven: false }, "{fault:?}");
    }
}
