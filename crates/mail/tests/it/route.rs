//! Where mail goes, against a name server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use mailwright_mail::dns::Dns;
use mailwright_mail::route::{Addresses, MailServer, Route};
use mailwright_testkit::dns::FakeDns;

const FOUR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

fn server(preference: u16, host: &str) -> MailServer {
    MailServer { preference, host: host.to_owned() }
}

#[tokio::test]
async fn mail_goes_to_the_servers_of_a_domain_or_to_the_domain_itself() {
    let zone = FakeDns::start().await;
    let dns = Dns::with_server(zone.addr);
    zone.set_mx("two.test", [(20, "Second.two.test"), (10, "first.two.test")]);
    let two = Route::Servers(vec![server(10, "first.two.test"), server(20, "second.two.test")]);
    assert_eq!(dns.route("two.test", 1).await, two);
    zone.set_cname("alias.test", "two.test");
    assert_eq!(dns.route("alias.test", 1).await, two, "an alias is followed");
    zone.set_a("own.test", [FOUR]);
    assert_eq!(dns.route("own.test", 1).await, Route::Servers(vec![server(0, "own.test")]));
    zone.set_aaaa("six.test", [SIX]);
    assert_eq!(dns.route("six.test", 1).await, Route::Servers(vec![server(0, "six.test")]));
}

#[tokio::test]
async fn what_takes_no_mail_is_told_from_what_is_not_known() {
    let zone = FakeDns::start().await;
    let dns = Dns::with_server(zone.addr);
    zone.set_mx("null.test", [(0, "")]);
    zone.set_txt("bare.test", ["no address"]);
    zone.set_servfail("broken.test");
    let routes = ["null.test", "bare.test", "missing.test", "broken.test", "not a name"];
    let mut found = Vec::new();
    for name in routes {
        found.push(dns.route(name, 1).await);
    }
    assert_eq!(found, [Route::Refused, Route::Nowhere, Route::Nowhere, Route::Unknown, Route::Nowhere]);
}

#[tokio::test]
async fn both_kinds_of_addresses_are_tried_in_turns() {
    let zone = FakeDns::start().await;
    let dns = Dns::with_server(zone.addr);
    zone.set_a("mx.test", [FOUR]);
    assert_eq!(dns.addresses("mx.test").await, Addresses::Known(vec![FOUR.into()]));
    zone.set_aaaa("mx.test", [SIX]);
    let both: Vec<IpAddr> = vec![SIX.into(), FOUR.into()];
    assert_eq!(dns.addresses("mx.test").await, Addresses::Known(both));
    zone.set_servfail("broken.test");
    assert_eq!(dns.addresses("broken.test").await, Addresses::Unknown);
    assert_eq!(dns.addresses("missing.test").await, Addresses::None);
}
