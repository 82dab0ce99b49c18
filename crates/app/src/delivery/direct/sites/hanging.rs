//! What sites may take up that hang: they take an envelope or a mail, and then let us wait for the answer.
//!
//! Such a wait must not be cut short. RFC 5321 section 4.5.3.2 asks for minutes, ten of them after the end of the
//! content, and who gives up sooner than the server may send the mail twice. So what is bounded is how many begin:
//!
//! - An answer that is awaited for half a minute **is awaited for long**; its site **hangs** until it answers a mail
//!   sooner than that, for an hour at most, and while most of its conversations are such.
//! - Conversations in which an answer is awaited for long, and all that begin with a site that hangs, are a quarter of
//!   all connections together. While there are so many, a site that hangs gets no further one; from half of that on, one
//!   at a time. Of the last eighth, projects get none that have some.
//! - A site that has settled no mail lately is a try until it has ([`reaching`](super::reaching)), or until its answer
//!   is awaited for long. So the sites of which nothing is known cannot all hang at once. While a quarter waits, a
//!   project whose mail is most of that gets one try at a time: a few domains that hang must not keep its mail from all
//!   others. Once its mail waits on half of all connections it gets none.
//!
//! What was on its way to sites that answered before may be more than that once, and is waited for.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use super::Sites;
use super::reaching::KEPT_FOR_OTHERS;
use crate::delivery::flows::{Destination, Flow};

/// Of so many connections, one is for sites that hang.
const SHARE: usize = 4;

impl<L> Sites<L> {
    /// Most conversations with sites that hang.
    fn most_waits(&self) -> usize {
        self.most.div_ceil(SHARE)
    }

    /// Whether the site of a destination hangs.
    pub(super) fn hangs(&self, destination: Destination, now: Timestamp) -> bool {
        self.site_of(destination).is_some_and(|site| site.hangs(now))
    }

    /// Whether what waits for sites that hang leaves room for a mail of a flow.
    pub(super) fn leaves_room(&self, flow: Flow, now: Timestamp) -> bool {
        let most = self.most_waits();
        let own = self.waits.of(flow.project);
        let Some(site) = self.site_of(flow.destination).filter(|site| site.hangs(now)) else {
            let is_mostly_own = own > most / 2;
            let is_free = self.waits.all < most || !is_mostly_own || !self.is_try(flow.destination, now);
            return is_free || self.tries.of(flow.project) == 0 && own < self.most / 2;
        };
        let is_last = self.waits.all >= most - most / KEPT_FOR_OTHERS;
        let may_be_one_of_many = self.waits.all < most.div_ceil(2);
        self.waits.all < most && (own == 0 || !is_last) && (site.conversations() == 0 || may_be_one_of_many)
    }

    /// A conversation of a project is one with a site that hangs, from now on.
    pub(in crate::delivery::direct) fn waits(&mut self, project: ProjectNumber) {
        self.waits.add(project);
    }

    /// Such a conversation has ended.
    pub(in crate::delivery::direct) fn waited(&mut self, project: ProjectNumber) {
        self.waits.remove(project);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mailwright_core::pacing::Grant;
    use mailwright_core::routing::TransportNumber;
    use mailwright_mail::route::MailServer;

    use super::*;
    use crate::delivery::direct::path::{Found, Need};
    use crate::delivery::direct::sites::Start;

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

    /// A mail of a project is begun. Returns whether it is a try, and whether its site hangs.
    fn begin(sites: &mut Sites<u32>, project: ProjectNumber, number: usize) -> (bool, bool) {
        let to = destination(sites, number);
        match sites.begin_of(project, to, NOW) {
            Start::Bring { is_try, hangs, .. } => (is_try, hangs),
            Start::No(_) | Start::Again => panic!("there is a way"),
        }
    }

    /// The answer to a mail of a project that is not one of a site that hangs is awaited for long.
    fn wait(sites: &mut Sites<u32>, project: ProjectNumber, number: usize) {
        sites.waits(project);
        sites.site(&name(number)).unwrap().hanging.waits(NOW);
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
        for number in 0..8 {
            sites.site(&name(number)).unwrap().reached(NOW);
        }
        for number in 0..3 {
            assert_eq!(begin(sites, ONE, number), (false, false));
            wait(sites, ONE, number);
        }
        assert!(may(sites, ONE, 0) && may(sites, ONE, 9), "there is room");
        assert_eq!(begin(sites, ONE, 0), (false, true), "it is no try beside that");
        assert!(!may(sites, ONE, 0) && !may(sites, OTHER, 0), "now one at a time");
        for number in 3..6 {
            begin(sites, ONE, number);
            wait(sites, ONE, number);
        }
        // a site that hung, and has no conversation
        sites.site(&name(6)).unwrap().hanging.waits(NOW);
        sites.site(&name(6)).unwrap().hanging.waited();
        assert!(!may(sites, ONE, 6) && may(sites, OTHER, 6), "the last is for others");
        assert!(may(sites, ONE, 9), "it is not full");
        assert_eq!(begin(sites, OTHER, 6), (false, true));
        assert!(may(sites, ONE, 9));
        assert_eq!(begin(sites, ONE, 9), (true, false));
        assert!(!may(sites, ONE, 8) && may(sites, OTHER, 8), "one try at a time for whose mail most is");
        sites.tried_of(ONE);
        for _ in 0..9 {
            sites.waits(ONE);
        }
        assert!(!may(sites, ONE, 8) && may(sites, OTHER, 8), "half of the connections wait for it");
        for _ in 0..9 {
            sites.waited(ONE);
        }
        assert!(may(sites, ONE, 7), "nobody is in the way of sites that answer");
        sites.waited(ONE);
        assert!(may(sites, ONE, 9));
        for project in [ONE, ONE, ONE, ONE, ONE, ONE, OTHER] {
            sites.waited(project);
        }
        assert!(sites.waits.is_empty());
    }

    #[test]
    fn a_site_is_a_try_until_it_has_settled_a_mail() {
        let mut sites = Sites::new(TransportNumber(0), 8);
        let sites = &mut sites;
        make_known(sites, 0);
        assert_eq!(begin(sites, ONE, 0), (true, false));
        sites.site(&name(0)).unwrap().heard(NOW);
        assert_eq!(begin(sites, ONE, 0), (true, false), "an envelope is no mail");
        sites.site(&name(0)).unwrap().reached(NOW);
        assert_eq!(begin(sites, ONE, 0), (false, false));
    }
}
