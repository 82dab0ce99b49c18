use std::time::Duration;

use mailwright_core::pacing::Grant;
use mailwright_core::routing::TransportNumber;
use mailwright_mail::route::MailServer;

use super::super::super::path::{Found, Need};
use super::super::super::site::Delay;
use super::*;

const NOW: Timestamp = Timestamp(1_000_000);
const A: ProjectNumber = ProjectNumber(1);
const B: ProjectNumber = ProjectNumber(2);

fn after(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

fn known(sites: &mut Sites<u32>, domain: &str, servers: &[(u16, &str)]) -> Destination {
    let (asked, _) = sites.destination_of(domain, NOW);
    let server =
        |(preference, host): &(u16, &str)| MailServer { preference: *preference, host: (*host).into() };
    let servers = servers.iter().map(server).collect();
    let found = Found { servers, need: Need::Opportunistic, minds_tlsa: false };
    sites.found(domain, asked, Ok(found), NOW).unwrap()
}

fn path(sites: &Sites<u32>, destination: Destination) -> std::sync::Arc<Path> {
    std::sync::Arc::clone(sites.path(destination).unwrap())
}

/// Servers took mail of a project.
fn took(sites: &mut Sites<u32>, destination: Destination, project: ProjectNumber, now: Timestamp) {
    let path = path(sites, destination);
    sites.projects.note(project, now);
    sites.site(&path.site).unwrap().reached(path.set, project, Delay::Short, now);
}

fn said(sites: &mut Sites<u32>, destination: Destination, signal: Signal, now: Timestamp) {
    let path = path(sites, destination);
    sites.said(destination, &path, (signal, "554 5.7.1".into()), now);
}

fn unreachable(sites: &mut Sites<u32>, destination: Destination, project: ProjectNumber) {
    let path = path(sites, destination);
    sites.unreachable(Flow { project, destination }, &path, "refused", NOW);
}

/// Grants mails, and says whether the site was told something about us before.
fn is_told(sites: &mut Sites<u32>, site: &str) -> bool {
    let site = sites.site(site).unwrap();
    let told = site.ask(1, after(1_000)).is_some_and(|(report, _)| report.said.is_some());
    let grant = Grant { mails: 100, connections: 8, until: after(5), wait: None, is_wanted: false };
    site.granted(grant, None, None);
    told
}

#[test]
fn one_customer_of_a_hoster_does_not_speak_for_the_others() {
    let mut sites = Sites::new(TransportNumber(0), 8);
    let shop = known(&mut sites, "shop.test", &[(10, "mx.hoster.test")]);
    let own = known(&mut sites, "vps7.hoster.test", &[(0, "vps7.hoster.test")]);
    is_told(&mut sites, "hoster.test");
    took(&mut sites, shop, B, NOW);
    took(&mut sites, own, A, NOW);
    for signal in [Signal::Blocked, Signal::Throttled] {
        said(&mut sites, own, signal, NOW);
        assert!(!is_told(&mut sites, "hoster.test"), "{signal:?}");
        assert_eq!(sites.admits(own, NOW), Err(Some(after(2))));
        assert_eq!(sites.rests(own, NOW), Some((after(2), Slow::Refused("554 5.7.1".into()))));
        assert_eq!(sites.admits(shop, NOW), Ok(()));
    }
    // what takes mail of several is nobody's own
    took(&mut sites, shop, A, NOW);
    said(&mut sites, shop, Signal::Blocked, NOW);
    assert!(is_told(&mut sites, "hoster.test"));
}

#[test]
fn servers_speak_for_their_site_where_there_is_mail_of_one_project_alone() {
    let mut sites = Sites::new(TransportNumber(0), 8);
    let one = known(&mut sites, "one.test", &[(10, "mx1.hoster.test")]);
    let two = known(&mut sites, "two.test", &[(10, "mx2.hoster.test")]);
    is_told(&mut sites, "hoster.test");
    took(&mut sites, two, A, NOW);
    said(&mut sites, one, Signal::Blocked, NOW);
    assert!(is_told(&mut sites, "hoster.test"));
    took(&mut sites, two, B, NOW);
    said(&mut sites, one, Signal::Blocked, NOW);
    assert!(!is_told(&mut sites, "hoster.test"));
    // an hour later the other project's mail is long ago
    sites.projects.note(A, after(3_600));
    said(&mut sites, one, Signal::Blocked, after(3_600));
    assert!(is_told(&mut sites, "hoster.test"));
}

#[test]
fn a_site_with_one_set_of_servers_is_slowed_down_by_it() {
    let mut sites = Sites::new(TransportNumber(0), 8);
    let one = known(&mut sites, "one.test", &[(10, "mx.one.test")]);
    let other = known(&mut sites, "other.test", &[(10, "mx.other.test")]);
    is_told(&mut sites, "one.test");
    took(&mut sites, one, A, NOW);
    took(&mut sites, other, B, NOW);
    said(&mut sites, one, Signal::Throttled, NOW);
    assert!(is_told(&mut sites, "one.test"));
    said(&mut sites, one, Signal::Blocked, NOW);
    assert!(!is_told(&mut sites, "one.test"), "its servers are left alone, not all that have its name");
    assert!(matches!(sites.rests(one, NOW), Some((_, Slow::Refused(_)))));
}

#[test]
fn a_large_receivers_servers_speak_for_it() {
    let mut sites = Sites::new(TransportNumber(0), 8);
    let one = known(&mut sites, "one.test", &[(10, "aspmx.l.google.com")]);
    is_told(&mut sites, "google.com");
    sites.projects.note(A, NOW);
    sites.projects.note(B, NOW);
    said(&mut sites, one, Signal::Blocked, NOW);
    assert!(is_told(&mut sites, "google.com"));
}

#[test]
fn servers_that_one_projects_domains_name_do_not_shut_their_site_for_others() {
    let mut sites = Sites::new(TransportNumber(0), 8);
    let good = known(&mut sites, "good.test", &[(10, "mx.host.test")]);
    let hosts = ["www.host.test", "ftp.host.test", "host.test"];
    let bad = hosts.map(|host| known(&mut sites, &format!("evil-{host}"), &[(10, host)]));
    is_told(&mut sites, "host.test");
    sites.projects.note(B, NOW);
    sites.projects.note(A, NOW);
    for bad in bad {
        unreachable(&mut sites, bad, A);
    }
    assert_eq!(sites.admits(good, NOW), Ok(()));
    unreachable(&mut sites, bad[0], B);
    assert_eq!(sites.admits(good, NOW), Err(Some(after(2))), "mail of two met it");
}

#[test]
fn servers_in_another_order_are_the_same() {
    let mut sites = Sites::new(TransportNumber(0), 8);
    let all = [1, 2, 3].map(|preference| {
        known(&mut sites, &format!("evil{preference}.test"), &[(preference, "www.host.test")])
    });
    let good = known(&mut sites, "good.test", &[(10, "mx.host.test")]);
    is_told(&mut sites, "host.test");
    for evil in all {
        unreachable(&mut sites, evil, A);
    }
    assert_eq!(sites.admits(good, NOW), Ok(()));
}
