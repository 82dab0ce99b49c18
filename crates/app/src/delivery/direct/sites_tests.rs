use mailwright_core::ids::ProjectNumber;
use mailwright_core::pacing::reply::Signal;
use mailwright_core::pacing::{Grant, PaceReason, Report, Wait};

use super::super::path::Need;
use super::super::site::{Delay, ServerSet};
use super::*;
use crate::delivery::flows::Flow;
use mailwright_mail::route::MailServer;

const NOW: Timestamp = Timestamp(1_000_000);
const SET: ServerSet = ServerSet(1);
const OF: ProjectNumber = ProjectNumber(1);

fn after(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

fn servers(hosts: &[&str]) -> Found {
    let server = |host: &&str| MailServer { preference: 10, host: (*host).to_owned() };
    Found { servers: hosts.iter().map(server).collect(), need: Need::Opportunistic, minds_tlsa: false }
}

fn idle(line: u32, host: &str, since: Timestamp) -> Idle<u32> {
    Idle { line, host: host.to_owned(), is_verified: false, minded_tlsa: false, since }
}

/// Connections are numbers.
fn sites(most: usize) -> Sites<u32> {
    Sites::new(TransportNumber(0), most)
}

fn known(sites: &mut Sites<u32>, domain: &str, hosts: &[&str]) -> Destination {
    let (asked, is_new) = sites.destination_of(domain, NOW);
    assert!(is_new, "{domain}");
    sites.found(domain, asked, Ok(servers(hosts)), NOW).unwrap()
}

fn grant(sites: &mut Sites<u32>, site: &str, mails: u32, connections: u32) {
    let granted = Grant { mails, connections, until: after(5), wait: None, is_wanted: false };
    sites.site(site).unwrap().granted(granted, None, None);
}

fn brought(start: Start<u32>) -> (Arc<Path>, Option<u32>, Option<u32>) {
    match start {
        Start::Bring { path, line, evicted, .. } => (path, line, evicted),
        Start::No(why) => panic!("{why:?}"),
        Start::Again => panic!("it is forgotten"),
    }
}

fn unreachable(sites: &mut Sites<u32>, destination: Destination, error: &str, now: Timestamp) -> bool {
    let path = Arc::clone(sites.path(destination).unwrap());
    sites.unreachable(Flow { project: OF, destination }, &path, error, now)
}

#[test]
fn a_domain_is_asked_for_once_and_those_with_the_same_servers_go_to_the_same_place() {
    let mut sites = sites(8);
    let (asked, is_new) = sites.destination_of("one.test", NOW);
    assert!(is_new);
    assert_eq!(sites.destination_of("one.test", after(60)), (asked, false), "it is being looked up");
    assert_eq!(sites.admits(asked, NOW), Err(None));
    assert_eq!(sites.looked_up_since(asked), None, "not for long");
    sites.takes_long(asked, NOW);
    sites.takes_long(asked, after(1));
    assert_eq!(sites.looked_up_since(asked), Some(NOW));
    let one = sites.found("one.test", asked, Ok(servers(&["mx.host.test"])), NOW).unwrap();
    assert_eq!(sites.looked_up_since(one), None);
    assert_eq!(sites.destination_of("one.test", after(1)), (one, false));
    assert_eq!(known(&mut sites, "two.test", &["mx.host.test"]), one);
    let other = known(&mut sites, "three.test", &["mx2.host.test"]);
    assert_ne!(other, one);
    assert_eq!(sites.path(other).unwrap().site, sites.path(one).unwrap().site, "one site has both");
    assert_eq!(
        sites.destination_of("one.test", after(31)),
        (one, true),
        "it is looked up again, and serves on"
    );
    assert_eq!(sites.found("one.test", one, Err(NoWay::Unknown), after(32)), None);
    assert_eq!(sites.destination_of("one.test", after(33)), (one, false));
    let elsewhere = servers(&["mx.elsewhere.test"]);
    assert_eq!(sites.found("one.test", one, Ok(elsewhere), after(62)), None, "others go on as before");
    assert_ne!(sites.destination_of("one.test", after(63)).0, one);
}

#[test]
fn a_domain_without_a_way_is_admitted_to_be_told() {
    let mut sites = sites(8);
    for why in [NoWay::Refused, NoWay::Nowhere, NoWay::Circle, NoWay::Unknown, NoWay::Policy] {
        let domain = format!("{why:?}.test");
        let (asked, _) = sites.destination_of(&domain, NOW);
        assert_eq!(sites.found(&domain, asked, Err(why), NOW), None);
        assert_eq!(sites.admits(asked, NOW), Ok(()));
        assert!(matches!(sites.begin(asked, NOW), Start::No(said) if said == why));
    }
    assert!(matches!(
        sites.begin(Destination { transport: TransportNumber(0), number: 77 }, NOW),
        Start::Again
    ));
}

#[test]
fn a_domain_of_which_there_is_no_answer_is_looked_up_ever_more_rarely() {
    let mut sites = sites(8);
    let (mut now, mut pauses) = (NOW, Vec::new());
    for _ in 0..8 {
        let (asked, is_new) = sites.destination_of("one.test", now);
        assert!(is_new);
        assert_eq!(sites.found("one.test", asked, Err(NoWay::Unknown), now), None);
        let again = sites.asks_again("one.test", now).unwrap();
        let before = Timestamp(again.0 - 1);
        sites.forget(&HashMap::new(), before);
        let (known, is_new) = sites.destination_of("one.test", before);
        assert!(!is_new && matches!(sites.begin(known, before), Start::No(NoWay::Unknown)));
        pauses.push(again.since(now).as_secs());
        now = again;
    }
    assert_eq!(pauses, [60, 120, 240, 480, 960, 1920, 3600, 3600]);
    let (asked, _) = sites.destination_of("one.test", now);
    sites.found("one.test", asked, Ok(servers(&["mx.host.test"])), now).unwrap();
    assert_eq!(sites.asks_again("one.test", now), None);
    // no answer to a further look changes nothing while the way serves
    let known = sites.destination_of("one.test", now).0;
    assert_eq!(sites.found("one.test", known, Err(NoWay::Unknown), now), None);
    assert_eq!(sites.asks_again("one.test", now), None);
}

#[test]
fn nothing_leaves_that_is_not_granted() {
    let mut sites = sites(8);
    let one = known(&mut sites, "one.test", &["mx.host.test"]);
    assert_eq!(sites.admits(one, NOW), Err(None));
    grant(&mut sites, "host.test", 2, 1);
    assert_eq!(sites.admits(one, NOW), Ok(()));
    let (path, line, _) = brought(sites.begin(one, NOW));
    assert_eq!(line, None);
    assert_eq!(sites.admits(one, NOW), Err(None), "the one connection is in use");
    assert_eq!(sites.keep(&path, idle(7, "mx.host.test", NOW), NOW), None);
    sites.site("host.test").unwrap().opened();
    assert_eq!(brought(sites.begin(one, NOW)).1, Some(7), "it is used again");
    sites.keep(&path, idle(7, "mx.host.test", NOW), NOW);
    assert_eq!(sites.admits(one, NOW), Err(None), "two mails were granted");
    grant(&mut sites, "host.test", 2, 1);
    assert_eq!(sites.admits(one, after(6)), Err(None), "and only for a while");
}

#[test]
fn a_connection_serves_only_domains_that_name_its_server() {
    let mut sites = sites(8);
    let one = known(&mut sites, "one.test", &["mx1.host.test"]);
    let two = known(&mut sites, "two.test", &["mx2.host.test"]);
    grant(&mut sites, "host.test", 10, 1);
    let (path, ..) = brought(sites.begin(one, NOW));
    sites.site("host.test").unwrap().opened();
    sites.keep(&path, idle(1, "mx1.host.test", NOW), NOW);
    let (_, line, evicted) = brought(sites.begin(two, NOW));
    assert_eq!((line, evicted), (None, Some(1)), "it makes room for one that does");
    assert_eq!(sites.open, 1);
}

#[test]
fn idle_connections_make_room_for_other_sites_and_end_after_a_while() {
    let mut sites = sites(2);
    let mut paths = Vec::new();
    for (number, host) in ["mx.a.test", "mx.b.test", "mx.c.test"].into_iter().enumerate() {
        let destination = known(&mut sites, &host.replace("mx", "of"), &[host]);
        grant(&mut sites, host.trim_start_matches("mx."), 5, 5);
        assert_eq!(sites.admits(destination, NOW), Ok(()), "{host}");
        let (path, line, evicted) = brought(sites.begin(destination, NOW));
        assert_eq!((line, evicted), (None, (number == 2).then_some(0)), "the oldest makes room");
        sites.site(&path.site).unwrap().opened();
        sites.keep(&path, idle(number as u32, host, after(number as u64)), NOW);
        paths.push(path);
    }
    assert_eq!((sites.open, sites.idle), (2, 2));
    assert_eq!(sites.reap(after(30)), Vec::<u32>::new());
    assert_eq!(sites.reap(after(31)), [1]);
    assert_eq!(sites.reap(after(32)), [2]);
    assert_eq!((sites.open, sites.idle), (0, 0));
}

#[test]
fn a_site_that_cannot_be_reached_is_tried_by_one_mail_at_a_time() {
    let mut sites = sites(8);
    let one = known(&mut sites, "one.test", &["mx.host.test"]);
    grant(&mut sites, "host.test", 100, 8);
    let (path, ..) = brought(sites.begin(one, NOW));
    sites.opened(one, "host.test");
    assert!(unreachable(&mut sites, one, "no answer", NOW));
    sites.closed(&path);
    assert_eq!(sites.admits(one, NOW), Err(Some(after(2))));
    assert_eq!(sites.rests(one, NOW), Some((after(2), Slow::Unreachable("no answer".into()))));
    assert_eq!(sites.admits(one, after(2)), Ok(()));
    brought(sites.begin(one, NOW));
    assert_eq!(sites.admits(one, after(2)), Err(None), "the other mails wait for the try");
    sites.opened(one, "host.test");
    sites.site("host.test").unwrap().reached(SET, OF, Delay::Short, NOW);
    sites.settled(one, "host.test");
    assert_eq!(sites.admits(one, after(2)), Ok(()));
}

#[test]
fn servers_that_one_domain_names_say_nothing_of_the_others_of_their_site() {
    let mut sites = sites(8);
    let good = known(&mut sites, "one.test", &["mx.host.test"]);
    let bad: Vec<_> = (0..3)
        .map(|number| known(&mut sites, &format!("evil{number}.test"), &[&format!("www{number}.host.test")]))
        .collect();
    grant(&mut sites, "host.test", 100, 8);
    for destination in &bad[..2] {
        assert!(unreachable(&mut sites, *destination, "no answer", NOW));
        assert_eq!(sites.admits(*destination, NOW), Err(Some(after(2))));
    }
    assert_eq!(sites.admits(good, NOW), Ok(()));
    sites.site("host.test").unwrap().reached(SET, OF, Delay::Short, NOW);
    for _ in 0..3 {
        unreachable(&mut sites, bad[2], "no answer", NOW);
    }
    assert_eq!(sites.admits(good, NOW), Ok(()), "it has answered meanwhile");
    for destination in [bad[0], bad[1], bad[0], bad[1]] {
        unreachable(&mut sites, destination, "no answer", after(3));
    }
    assert_eq!(sites.admits(good, after(3)), Err(Some(after(5))), "three in a row speak for the site");
    sites.settled(good, "host.test");
    assert_eq!(sites.admits(good, after(3)), Ok(()));
}

#[test]
fn what_is_said_is_told_to_the_pace_with_what_was_not_used() {
    let mut sites = sites(8);
    let one = known(&mut sites, "one.test", &["mx.host.test"]);
    let site = sites.site("host.test").unwrap();
    let (report, wish) = site.ask(20, NOW).unwrap();
    assert_eq!((report, wish.mails, wish.connections), (Report::default(), 20, 20));
    assert!(site.ask(20, NOW).is_none(), "one question at a time");
    grant(&mut sites, "host.test", 5, 2);
    let site = sites.site("host.test").unwrap();
    assert!(site.ask(5, NOW).is_none(), "that is enough");
    brought(sites.begin(one, NOW));
    let site = sites.site("host.test").unwrap();
    site.opened();
    site.took(NOW);
    site.said(Signal::Throttled, "450 4.7.1".into());
    assert_eq!(sites.admits(one, NOW), Err(None), "nothing is tried until the pace is known");
    let site = sites.site("host.test").unwrap();
    let (report, _) = site.ask(3, NOW).unwrap();
    assert_eq!((report.taken, report.unused, report.said.is_some()), (1, 4, true));
    site.unasked(report.clone());
    site.untried();
    assert_eq!(
        site.ask(3, NOW).unwrap().0,
        Report { unused: 5, ..report },
        "nothing is lost when it could not be asked"
    );
    let wait = Wait { reason: PaceReason::Resting, until: after(60) };
    site.granted(
        Grant { mails: 0, connections: 0, until: after(5), wait: Some(wait), is_wanted: false },
        Some(30.0),
        Some("450 4.7.1"),
    );
    assert!(site.ask(3, after(10)).is_none(), "it is not asked before the rest is over");
    assert_eq!(sites.admits(one, NOW), Err(Some(after(60))));
}

#[test]
fn mails_that_do_not_wait_in_memory_come_back_one_after_the_other() {
    let mut sites = sites(8);
    known(&mut sites, "one.test", &["mx.host.test"]);
    let site = sites.site("host.test").unwrap();
    site.granted(
        Grant { mails: 0, connections: 1, until: after(5), wait: None, is_wanted: false },
        Some(60.0),
        None,
    );
    let room = site.room(NOW);
    assert_eq!((room.keeps, room.per_second), (Some(5), 1.0));
    let horizon = Duration::from_secs(10);
    let seconds = |slots: Vec<Timestamp>| slots.iter().map(|at| at.since(NOW).as_secs()).collect::<Vec<_>>();
    assert_eq!(seconds(site.slots(3, &room, horizon)), [5, 6, 7]);
    assert_eq!(seconds(site.slots(2, &room, horizon)), [8, 9], "those that come later are behind");
    assert_eq!(
        seconds(site.slots(8, &room, horizon)),
        [10, 11, 12, 13, 14, 15, 5, 6],
        "but not beyond the horizon"
    );
}

#[test]
fn what_nobody_needs_is_forgotten() {
    let mut sites = sites(8);
    let one = known(&mut sites, "one.test", &["mx.host.test"]);
    let two = known(&mut sites, "two.test", &["mx.other.test"]);
    grant(&mut sites, "host.test", 1, 1);
    sites.forget(&HashMap::from([(two, 1)]), after(61));
    assert_eq!((sites.path(one), sites.path(two).is_some()), (None, true));
    assert!(sites.site("host.test").is_none(), "its grant is over");
    assert!(sites.site("other.test").is_some());
    assert_eq!(sites.by_site(&HashMap::from([(two, 3)])).into_values().collect::<Vec<_>>(), [3]);
}

#[test]
fn a_domain_that_demands_a_valid_certificate_uses_no_other_connection() {
    let mut sites = sites(8);
    let plain = known(&mut sites, "plain.test", &["mx.host.test"]);
    let (asked, _) = sites.destination_of("strict.test", NOW);
    let found = Found { need: Need::Verified, ..servers(&["mx.host.test"]) };
    let strict = sites.found("strict.test", asked, Ok(found), NOW).unwrap();
    assert_ne!(plain, strict);
    grant(&mut sites, "host.test", 10, 5);
    let (path, ..) = brought(sites.begin(plain, NOW));
    sites.site("host.test").unwrap().opened();
    sites.keep(&path, idle(1, "mx.host.test", NOW), NOW);
    let (path, line, _) = brought(sites.begin(strict, NOW));
    assert_eq!(line, None);
    sites.site("host.test").unwrap().opened();
    sites.keep(&path, Idle { is_verified: true, ..idle(2, "mx.host.test", NOW) }, NOW);
    assert_eq!(brought(sites.begin(strict, NOW)).1, Some(2));
    assert_eq!(
        brought(sites.begin(plain, NOW)).1,
        Some(1),
        "one that is verified serves all, the last one first"
    );
}

#[test]
fn a_domain_whose_servers_are_proven_uses_only_connections_that_were_checked_for_it() {
    let mut sites = sites(8);
    let plain = known(&mut sites, "plain.test", &["mx.host.test"]);
    let (asked, _) = sites.destination_of("signed.test", NOW);
    let found = Found { minds_tlsa: true, ..servers(&["mx.host.test"]) };
    let signed = sites.found("signed.test", asked, Ok(found), NOW).unwrap();
    assert_ne!(plain, signed);
    grant(&mut sites, "host.test", 10, 5);
    let (path, ..) = brought(sites.begin(plain, NOW));
    sites.site("host.test").unwrap().opened();
    sites.keep(&path, idle(1, "mx.host.test", NOW), NOW);
    let (path, line, _) = brought(sites.begin(signed, NOW));
    assert_eq!(line, None, "nobody has looked what the server's records demand");
    sites.site("host.test").unwrap().opened();
    sites.keep(&path, Idle { minded_tlsa: true, ..idle(2, "mx.host.test", NOW) }, NOW);
    assert_eq!(brought(sites.begin(plain, NOW)).1, Some(2), "it is as good for others");
}

#[test]
fn sites_that_do_not_answer_leave_half_of_the_connections_to_those_that_do() {
    let mut sites = sites(4);
    let mut silent = Vec::new();
    for number in 0..3 {
        let host = format!("mx.silent{number}.test");
        silent.push(known(&mut sites, &format!("of{number}.test"), &[&host]));
        grant(&mut sites, &format!("silent{number}.test"), 10, 5);
    }
    let good = known(&mut sites, "good.test", &["mx.good.test"]);
    grant(&mut sites, "good.test", 10, 5);
    sites.site("good.test").unwrap().reached(SET, OF, Delay::Short, NOW);
    let project = ProjectNumber(1);
    brought(sites.begin_of(project, silent[0], NOW));
    brought(sites.begin_of(project, silent[1], NOW));
    let admits = |sites: &Sites<u32>, destination| sites.admits_of(Flow { project, destination }, NOW);
    assert_eq!((admits(&sites, silent[2]), admits(&sites, good)), (Err(None), Ok(())));
    sites.count_as((project, "silent0.test"), &mut Standing::Unknown, Standing::Proven);
    assert_eq!(admits(&sites, silent[2]), Ok(()));
}

#[test]
fn a_site_that_loses_every_mail_is_tried_ever_more_rarely() {
    let mut sites = sites(8);
    let one = known(&mut sites, "one.test", &["mx.host.test"]);
    let mut now = NOW;
    let mut pauses = Vec::new();
    for _ in 0..6 {
        // the envelope is taken, and the connection lost after the content
        sites.site("host.test").unwrap().reached(SET, OF, Delay::Short, now);
        unreachable(&mut sites, one, "lost", now);
        if let Some((until, _)) = sites.rests(one, now) {
            pauses.push(until.since(now).as_secs());
            sites.forget(&HashMap::new(), until);
            now = until;
        }
    }
    assert_eq!(pauses, [2, 4, 8, 16], "two may be accidents");
}

#[test]
fn it_is_remembered_for_a_while_that_a_site_answers() {
    let mut sites = sites(8);
    let one = known(&mut sites, "one.test", &["mx.host.test"]);
    known(&mut sites, "two.test", &["mx.other.test"]);
    sites.site("host.test").unwrap().reached(SET, OF, Delay::Short, NOW);
    sites.forget(&HashMap::new(), after(599));
    assert!(sites.path(one).is_none() && sites.site("other.test").is_none(), "nothing waits for them");
    assert!(sites.site("host.test").is_some());
    sites.forget(&HashMap::new(), after(600));
    assert!(sites.site("host.test").is_none());
}
