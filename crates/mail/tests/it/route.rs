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
    // so that answers without records have a SOA record
    zone.set_ttl(60);
    zone.set_mx("null.test", [(0, "")]);
    zone.set_txt("bare.test", ["no address"]);
    zone.set_servfail("broken.test");
    let routes = ["null.test", "bare.test", "missing.test", "broken.test", "not a name"];
    let mut found = Vec::new();
    for name in routes {
        found.push(dns.route(name, 1).await);
    }
    assert_eq!(found, [Route::Refused, Route::Nowhere, Route::Missing, Route::Unknown, Route::Missing]);
}

#[tokio::test]
async fn an_answer_without_records_and_without_a_soa_record_leaves_doubt() {
    let zone = FakeDns::start().await;
    zone.set_txt("bare.test", ["no address"]);
    zone.set_cname("alias.test", "bare.test");
    zone.set_a("own.test", [FOUR]);
    let dns = Dns::with_server(zone.addr);
    for dns in [dns.clone(), dns.validating()] {
        for cuts in [false, true] {
            zone.set_cuts_aliases(cuts);
            zone.set_ttl(0);
            let own = Route::Servers(vec![server(0, "own.test")]);
            assert_eq!(dns.route("own.test", 1).await, own, "{cuts}");
            assert_eq!(dns.route("bare.test", 1).await, Route::Doubtful, "{cuts}");
            assert_eq!(dns.route("missing.test", 1).await, Route::Missing, "{cuts}");
            zone.set_ttl(60);
            for name in ["bare.test", "alias.test"] {
                assert_eq!(dns.route(name, 1).await, Route::Nowhere, "{name}, {cuts}");
            }
        }
        // the server leaves it to us to ask about the end, and says as little of that
        zone.set_ttl(0);
        assert_eq!(dns.route("alias.test", 1).await, Route::Doubtful);
    }
}

#[tokio::test]
async fn an_end_of_aliases_that_is_not_there_leaves_doubt_without_a_soa_record() {
    let zone = FakeDns::start().await;
    zone.set_ttl(60);
    zone.set_cname("gone.test", "missing.test");
    let dns = Dns::with_server(zone.addr);
    for dns in [dns.clone(), dns.validating()] {
        for cuts in [false, true] {
            zone.set_cuts_aliases(cuts);
            zone.set_without_soa(true);
            assert_eq!(dns.route("gone.test", 1).await, Route::Doubtful, "{cuts}");
            assert_eq!(dns.route("missing.test", 1).await, Route::Missing, "{cuts}");
            zone.set_without_soa(false);
            assert_eq!(dns.route("gone.test", 1).await, Route::Missing, "{cuts}");
        }
    }
}

#[tokio::test]
async fn what_is_at_the_end_of_aliases_is_known_or_not() {
    let zone = FakeDns::start().await;
    zone.set_ttl(60);
    zone.set_mx("two.test", [(10, "mx.two.test")]);
    zone.set_cname("alias.test", "other.test");
    zone.set_cname("other.test", "two.test");
    // a domain that is its own mail server, one without an address, and one that is not there
    zone.set_cname("host.test", "own.test");
    zone.set_a("own.test", [FOUR]);
    zone.set_cname("empty.test", "bare.test");
    zone.set_txt("bare.test", ["no address"]);
    zone.set_cname("gone.test", "missing.test");
    zone.set_cname("broken.test", "failing.test");
    zone.set_servfail("failing.test");
    // a circle, and more of them than are followed
    zone.set_cname("circle.test", "one.circle.test");
    zone.set_cname("one.circle.test", "two.circle.test");
    zone.set_cname("two.circle.test", "one.circle.test");
    for number in 0..70 {
        zone.set_cname(&format!("a{number}.test"), &format!("a{}.test", number + 1));
    }
    zone.set_mx("a70.test", [(10, "mx.two.test")]);
    let dns = Dns::with_server(zone.addr);
    for dns in [dns.clone(), dns.validating()] {
        for cuts in [false, true] {
            zone.set_cuts_aliases(cuts);
            let two = Route::Servers(vec![server(10, "mx.two.test")]);
            assert_eq!(dns.route("alias.test", 1).await, two, "{cuts}");
            assert_eq!(dns.route("a66.test", 1).await, two, "{cuts}");
            let own = Route::Servers(vec![server(0, "host.test")]);
            assert_eq!(dns.route("host.test", 1).await, own, "{cuts}");
            assert_eq!(dns.route("empty.test", 1).await, Route::Nowhere, "{cuts}");
            assert_eq!(dns.route("gone.test", 1).await, Route::Missing, "{cuts}");
            assert_eq!(dns.route("broken.test", 1).await, Route::Unknown, "{cuts}");
            for name in ["circle.test", "a0.test"] {
                assert_eq!(dns.route(name, 1).await, Route::Circle, "{name}, {cuts}");
            }
        }
    }
}

#[tokio::test]
async fn aliases_that_lead_back_to_the_domain_are_no_proof_that_it_takes_no_mail() {
    let zone = FakeDns::start().await;
    zone.set_cname("self.test", "self.test");
    zone.set_cname("there.test", "back.test");
    zone.set_cname("back.test", "there.test");
    for number in 1..3 {
        zone.set_cname(&format!("{number}.three.test"), &format!("{}.three.test", number + 1));
    }
    zone.set_cname("3.three.test", "1.three.test");
    let dns = Dns::with_server(zone.addr);
    for dns in [dns.clone(), dns.validating()] {
        for (cuts, ttl) in [(false, 0), (true, 0), (false, 60), (true, 60)] {
            zone.set_cuts_aliases(cuts);
            zone.set_ttl(ttl);
            for name in ["self.test", "there.test", "back.test", "1.three.test"] {
                assert_eq!(dns.route(name, 1).await, Route::Circle, "{name}, {cuts}, {ttl}");
            }
        }
    }
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
