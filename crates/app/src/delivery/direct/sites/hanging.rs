//! What sites may take up that hang: they take a connection, an envelope or a mail, and then let us wait for the answer.
//!
//! Such a wait must not be cut short. RFC 5321 section 4.5.3.2 asks for minutes, ten of them after the end of the
//! content, and who gives up sooner than the server may send the mail twice. So what is bounded is how many begin:
//!
//! - An answer that is awaited for half a minute **is awaited for long**; the servers of the domain **hang** until they
//!   answer a mail sooner than that, for an hour at most, and while most conversations with them are such. Three sets of
//!   servers that hang speak for their site. Conversations with servers that hang do not count among the connections
//!   that the site may have, so that its other servers can be tried. There are at most as many of them, and where the
//!   site says that there are too many, they count until they end.
//! - Conversations in which an answer is awaited for long, and all that begin with a site that hangs, are a quarter of
//!   all connections together. While there are so many, a site that hangs gets no further one; from half of that on, one
//!   at a time. Of the last eighth, projects get none that have some.
//! - A site that has settled no mail lately is a try until it has ([`reaching`](super::reaching)), or until its answer
//!   is awaited for long. So the sites of which nothing is known cannot all hang at once. While a quarter waits, a
//!   project whose mail is most of that gets one try at a time: a few domains that hang must not keep its mail from all
//!   others.
//! - A site is **proven** to answer once it has settled several mails in a row, and soon. The others have three quarters
//!   of all connections together: those that hang, those that are tried, and those that settled a mail or two, which
//!   does not prove much. An answer of more than ten seconds is no proof. Of the last part of that, a project has one of
//!   each kind at a time. So mail to proven sites always has the rest, and mail to new ones goes on, if slowly.
//!
//! What was on its way to sites that answered before may be more than a quarter once, and is waited for.

use super::reaching::KEPT_FOR_OTHERS;
use super::{Site, Sites, Standing};
use crate::delivery::flows::Flow;

/// Of so many connections, one is for sites that hang.
const SHARE: usize = 4;

impl<L> Sites<L> {
    /// Most conversations with sites that hang.
    pub(super) fn most_waits(&self) -> usize {
        self.most.div_ceil(SHARE)
    }

    /// Whether what waits for sites that hang leaves room for a mail of a flow to a site that stands so.
    pub(super) fn leaves_room(&self, flow: Flow, standing: Standing) -> bool {
        let most = self.most_waits();
        let (waits, tries) = (self.under_way.hanging(), self.under_way.tries());
        let own = waits.of(flow.project);
        if standing != Standing::Hangs {
            let is_free = waits.all < most || own <= most / 2;
            return is_free || standing != Standing::Unknown || tries.of(flow.project) == 0;
        }
        let is_last = waits.all >= most - most / KEPT_FOR_OTHERS;
        let may_be_one_of_many = waits.all < most.div_ceil(2);
        waits.all < most
            && (own == 0 || !is_last)
            && (self.conversations(flow.destination) == 0 || may_be_one_of_many)
            && self.site_of(flow.destination).is_none_or(Site::has_room_apart)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mailwright_core::ids::ProjectNumber;
    use mailwright_core::pacing::Grant;
    use mailwright_core::pacing::reply::Signal;
    use mailwright_core::routing::TransportNumber;
    use mailwright_core::time::Timestamp;
    use mailwright_mail::route::MailServer;

    use super::*;
    use crate::delivery::direct::path::{Found, Need};
    use crate::delivery::direct::site::{Delay, ServerSet};
    use crate::delivery::direct::sites::Start;
    use crate::delivery::flows::Destination;

    const NOW: Timestamp = Timestamp(1_000_000);
    const ONE: ProjectNumber = ProjectNumber(1);
    const OTHER: ProjectNumber = ProjectNumber(2);

    fn name(number: usize) -> String {
        format!("site{number}.test")
    }

    /// Makes a destination known at a site of its own.
    fn make_known(sites: &mut Sites<u32>, number: usize) {
        let site = name(number);
        let servers = vec![MailServer { preference: 10, host: format!("mx.{site}") }];
        let found = Found { servers, need: Need::Opportunistic, minds_tlsa: false };
        let (asked, _) = sites.destination_of(&site, NOW);
        sites.found(&site, asked, Ok(found), NOW).unwrap();
        let until = NOW.plus(Duration::from_secs(5));
        let grant = Grant { mails: 10, connections: 5, until, wait: None, is_wanted: false };
        sites.site(&site).unwrap().granted(grant, None, None);
    }

    fn destination(sites: &mut Sites<u32>, number: usize) -> Destination {
        sites.destination_of(&name(number), NOW).0
    }

    fn set(sites: &mut Sites<u32>, number: usize) -> ServerSet {
        let to = destination(sites, number);
        sites.path(to).unwrap().set
    }

    /// An answer of a site is awaited for long.
    fn wait_at(sites: &mut Sites<u32>, number: usize) {
        let set = set(sites, number);
        sites.site(&name(number)).unwrap().waits(set, NOW);
    }

    /// A mail of a project is begun. Returns how its site stands.
    fn begin(sites: &mut Sites<u32>, project: ProjectNumber, number: usize) -> Standing {
        let to = destination(sites, number);
        match sites.begin_of(project, to, NOW) {
            Start::Bring { standing, .. } => standing,
            Start::No(_) | Start::Again => panic!("there is a way"),
        }
    }

    /// A mail of a project is begun, and its answer is awaited for long.
    fn wait(sites: &mut Sites<u32>, project: ProjectNumber, number: usize) {
        let mut standing = begin(sites, project, number);
        assert_ne!(standing, Standing::Hangs);
        sites.count_as((project, &name(number)), &mut standing, Standing::Hangs);
        wait_at(sites, number);
    }

    /// A site settles mails, and soon.
    fn settle(sites: &mut Sites<u32>, number: usize, mails: usize) {
        let set = set(sites, number);
        let site = sites.site(&name(number)).unwrap();
        (0..mails).for_each(|_| site.reached(set, ONE, Delay::Short, NOW));
    }

    fn may(sites: &mut Sites<u32>, project: ProjectNumber, number: usize) -> bool {
        let destination = destination(sites, number);
        sites.admits_of(Flow { project, destination }, NOW).is_ok()
    }

    #[test]
    fn sites_that_hang_have_a_quarter_of_the_connections() {
        let mut sites = Sites::new(TransportNumber(0), 32);
        let sites = &mut sites;
        (0..10).for_each(|number| make_known(sites, number));
        (0..8).for_each(|number| settle(sites, number, 5));
        (0..3).for_each(|number| wait(sites, ONE, number));
        assert!(may(sites, ONE, 0) && may(sites, ONE, 9), "there is room");
        assert_eq!(begin(sites, ONE, 0), Standing::Hangs);
        assert!(!may(sites, ONE, 0) && !may(sites, OTHER, 0), "now one at a time");
        (3..6).for_each(|number| wait(sites, ONE, number));
        // a site that hung, and has no conversation
        wait_at(sites, 6);
        let set = set(sites, 6);
        sites.site(&name(6)).unwrap().waited(set);
        assert!(!may(sites, ONE, 6) && may(sites, OTHER, 6), "the last is for others");
        assert!(may(sites, ONE, 9), "it is not full");
        assert_eq!(begin(sites, OTHER, 6), Standing::Hangs);
        assert!(may(sites, ONE, 9));
        assert_eq!(begin(sites, ONE, 9), Standing::Unknown);
        assert!(!may(sites, ONE, 8) && may(sites, OTHER, 8), "one try at a time for whose mail most is");
        assert!(may(sites, ONE, 7), "nobody is in the way of sites that answer");
        sites.count_as((ONE, &name(9)), &mut Standing::Unknown, Standing::Proven);
        assert!(may(sites, ONE, 8));
        for project in [ONE, ONE, ONE, ONE, ONE, ONE, ONE, OTHER] {
            sites.count_as((project, &name(0)), &mut Standing::Hangs, Standing::Proven);
        }
        assert_eq!(sites.under_way.all(), 0);
    }

    #[test]
    fn sites_that_are_not_proven_leave_a_quarter_of_the_connections_to_those_that_are() {
        let mut sites = Sites::new(TransportNumber(0), 32);
        let sites = &mut sites;
        (0..34).for_each(|number| make_known(sites, number));
        settle(sites, 0, 5);
        // those that settle one mail, and then hang
        for number in 1..20 {
            settle(sites, number, 1);
            assert!(may(sites, ONE, number));
            assert_eq!(begin(sites, ONE, number), Standing::Answers);
        }
        assert!(may(sites, ONE, 20) && may(sites, ONE, 0));
        assert_eq!(begin(sites, ONE, 20), Standing::Unknown);
        assert!(!may(sites, ONE, 21) && may(sites, OTHER, 21), "the last part is for others");
        for number in 1..20 {
            sites.count_as((ONE, &name(number)), &mut Standing::Answers, Standing::Hangs);
            wait_at(sites, number);
        }
        assert!(!may(sites, ONE, 21), "a try is under way");
        settle(sites, 30, 1);
        assert!(may(sites, ONE, 30), "that does not count for one that has answered");
        sites.count_as((ONE, &name(20)), &mut Standing::Unknown, Standing::Hangs);
        wait_at(sites, 20);
        assert!(may(sites, ONE, 30) && may(sites, ONE, 31) && may(sites, OTHER, 31));
        for number in 21..23 {
            assert!(may(sites, ONE, number), "one at a time");
            wait(sites, ONE, number);
        }
        assert!(
            !may(sites, ONE, 23) && !may(sites, ONE, 30),
            "the very last part is for those that have none"
        );
        for (project, number) in [(OTHER, 31), (ProjectNumber(3), 32)] {
            assert!(may(sites, project, number));
            assert_eq!(begin(sites, project, number), Standing::Unknown);
            assert!(!may(sites, project, 30));
        }
        assert!(!may(sites, ProjectNumber(4), 30), "three quarters are taken");
        assert!(may(sites, ONE, 0) && may(sites, OTHER, 0), "and the rest is for those that are proven");
    }

    #[test]
    fn servers_that_hang_leave_the_connections_of_their_site_to_its_others() {
        let mut sites = Sites::new(TransportNumber(0), 16);
        let sites = &mut sites;
        let mut destination_of = |host: &str| {
            let servers = vec![MailServer { preference: 10, host: format!("{host}.hoster.test") }];
            let found = Found { servers, need: Need::Opportunistic, minds_tlsa: false };
            let (asked, _) = sites.destination_of(host, NOW);
            sites.found(host, asked, Ok(found), NOW).unwrap()
        };
        let (bad, good) = (destination_of("bad"), destination_of("good"));
        let until = NOW.plus(Duration::from_secs(5));
        let grant = Grant { mails: 10, connections: 1, until, wait: None, is_wanted: false };
        sites.site("hoster.test").unwrap().granted(grant, None, None);
        let admits = |sites: &Sites<u32>, destination| {
            sites.admits_of(Flow { project: ONE, destination }, NOW).is_ok()
        };
        let begin = |sites: &mut Sites<u32>, destination| {
            let Start::Bring { path, standing, .. } = sites.begin_of(ONE, destination, NOW) else {
                panic!("there is a way");
            };
            sites.opened(destination, "hoster.test");
            (path, standing)
        };
        let (to_bad, mut standing) = begin(sites, bad);
        assert!(!admits(sites, good), "the site takes one connection");
        sites.count_as((ONE, "hoster.test"), &mut standing, Standing::Hangs);
        sites.site("hoster.test").unwrap().waits(to_bad.set, NOW);
        assert!(admits(sites, good) && !admits(sites, bad));
        let (to_good, _) = begin(sites, good);
        assert!(!admits(sites, good));
        // the site counts them
        sites.site("hoster.test").unwrap().said(Signal::Connections, "421 too many".into());
        sites.closed(&to_good);
        assert!(!admits(sites, good));
        // its answer has come, and the next mail for it takes nobody's place either
        sites.site("hoster.test").unwrap().waited(to_bad.set);
        sites.count_as((ONE, "hoster.test"), &mut standing, Standing::Proven);
        sites.closed(&to_bad);
        sites.end(bad);
        assert_eq!(begin(sites, bad).1, Standing::Hangs);
        assert!(admits(sites, good) && !admits(sites, bad));
    }
}
