//! Which transports a mail may leave by, and in what order: the routes that an operator configures.
//!
//! The first route whose conditions a mail meets decides. A route for a share of the mails decides by the mail's id, so
//! that every attempt of a mail meets the same routes.

use std::collections::BTreeSet;

use crate::email::Lane;
use crate::ids::{EmailId, ProjectNumber};

/// The place of a transport among those that are configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransportNumber(pub u16);

/// A domain, or all domains below one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainPattern(String);

impl DomainPattern {
    /// Reads `example.com`, or `*.example.com` for the domains below it; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let domain = text.strip_prefix("*.").unwrap_or(&text);
        let is_domain = domain.contains('.')
            && domain.len() <= 253
            && domain.split('.').all(|label| {
                !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            });
        is_domain.then_some(Self(text))
    }

    /// Whether it means a domain, which is in lower case.
    pub fn matches(&self, domain: &str) -> bool {
        match self.0.strip_prefix('*') {
            Some(below) => domain.len() > below.len() && domain.ends_with(below),
            None => domain == self.0,
        }
    }
}

/// What a route asks of a mail, and the transports that it names. Lists that are empty ask nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Route {
    /// The projects; `None` for all.
    pub projects: Option<Vec<ProjectNumber>>,
    /// The lanes.
    pub lanes: Vec<Lane>,
    /// The domains of senders.
    pub sender_domains: Vec<DomainPattern>,
    /// The domains of recipients.
    pub recipient_domains: Vec<DomainPattern>,
    /// Of how many of a hundred mails that meet the rest; `None` for all.
    pub share: Option<u8>,
    /// The transports, in the order in which they are tried; never empty.
    pub via: Vec<TransportNumber>,
}

/// What routes ask about a mail.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Its project.
    pub project: ProjectNumber,
    /// Its lane.
    pub lane: Lane,
    /// The domain of its sender.
    pub sender_domain: &'a str,
    /// The domain of its recipient.
    pub recipient_domain: &'a str,
    /// Its id.
    pub id: EmailId,
}

impl Route {
    fn takes(&self, place: usize, mail: Facts<'_>) -> bool {
        let one_of = |patterns: &[DomainPattern], domain| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(domain))
        };
        self.projects.as_ref().is_none_or(|projects| projects.contains(&mail.project))
            && (self.lanes.is_empty() || self.lanes.contains(&mail.lane))
            && one_of(&self.sender_domains, mail.sender_domain)
            && one_of(&self.recipient_domains, mail.recipient_domain)
            && self.share.is_none_or(|share| draw(place, mail.id) < share)
    }
}

/// A number below 100 that is a mail's own for each route (the end of `SplitMix64`).
fn draw(place: usize, id: EmailId) -> u8 {
    let bits = id.as_uuid().as_u128();
    let mut mixed = (bits ^ (bits >> 64)) as u64 ^ (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) % 100) as u8
}

/// All routes, and the transport of the mails that meet none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes {
    /// The routes, the first that a mail meets decides.
    pub routes: Vec<Route>,
    /// For all other mails: the first transport.
    pub otherwise: [TransportNumber; 1],
}

impl Routes {
    /// All mail by the first transport.
    pub const ONE: Self = Self { routes: Vec::new(), otherwise: [TransportNumber(0)] };

    /// The transports that some mail of a project may leave by.
    pub fn named_for(&self, project: ProjectNumber) -> BTreeSet<TransportNumber> {
        let is_meant =
            |route: &&Route| route.projects.as_ref().is_none_or(|projects| projects.contains(&project));
        let routes = self.routes.iter().filter(is_meant);
        let named: BTreeSet<_> = routes.clone().flat_map(|route| route.via.iter().copied()).collect();
        // one that takes all mail leaves nothing to those behind it
        let takes_all = |route: &Route| {
            route.lanes.is_empty()
                && route.sender_domains.is_empty()
                && route.recipient_domains.is_empty()
                && route.share.is_none()
        };
        if routes.clone().any(takes_all) { named } else { named.into_iter().chain(self.otherwise).collect() }
    }

    /// The transports that a mail may leave by, in the order in which they are tried; never empty.
    pub fn of(&self, mail: Facts<'_>) -> &[TransportNumber] {
        let met = self.routes.iter().enumerate().find(|(place, route)| route.takes(*place, mail));
        met.map_or(&self.otherwise[..], |(_, route)| &route.via)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: TransportNumber = TransportNumber(0);
    const TWO: TransportNumber = TransportNumber(1);

    fn facts(id: u128) -> Facts<'static> {
        Facts {
            project: ProjectNumber(1),
            lane: Lane::Campaign,
            sender_domain: "news.example.com",
            recipient_domain: "gmail.com",
            id: EmailId::from(uuid::Uuid::from_u128(id)),
        }
    }

    fn routes(route: Route) -> Routes {
        Routes { routes: vec![Route { via: vec![TWO, ONE], ..route }], ..Routes::ONE }
    }

    #[test]
    fn a_route_decides_about_what_meets_all_its_conditions() {
        let pattern = |text| vec![DomainPattern::parse(text).unwrap()];
        let cases = [
            (Route::default(), true),
            (Route { projects: Some(vec![ProjectNumber(1)]), ..Route::default() }, true),
            (Route { projects: Some(vec![ProjectNumber(2)]), ..Route::default() }, false),
            (Route { projects: Some(Vec::new()), ..Route::default() }, false),
            (Route { lanes: vec![Lane::Workflow, Lane::Campaign], ..Route::default() }, true),
            (Route { lanes: vec![Lane::Transactional], ..Route::default() }, false),
            (Route { sender_domains: pattern("*.example.com"), ..Route::default() }, true),
            (Route { sender_domains: pattern("example.com"), ..Route::default() }, false),
            (Route { recipient_domains: pattern("Gmail.com"), ..Route::default() }, true),
            (Route { recipient_domains: pattern("*.gmail.com"), ..Route::default() }, false),
            (
                Route { sender_domains: pattern("news.example.com"), share: Some(0), ..Route::default() },
                false,
            ),
            (Route { share: Some(100), ..Route::default() }, true),
        ];
        for (route, is_met) in cases {
            let wanted: &[TransportNumber] = if is_met { &[TWO, ONE] } else { &[ONE] };
            assert_eq!(routes(route.clone()).of(facts(1)), wanted, "{route:?}");
        }
    }

    #[test]
    fn the_transports_of_a_project_are_those_that_its_mail_may_leave_by() {
        let route = |projects: Option<i64>, lanes: &[Lane], via| Route {
            projects: projects.map(|number| vec![ProjectNumber(number)]),
            lanes: lanes.to_vec(),
            via: vec![TransportNumber(via)],
            ..Route::default()
        };
        let some = [Lane::Campaign];
        let named = |routes: Vec<Route>| {
            let named = Routes { routes, ..Routes::ONE }.named_for(ProjectNumber(1));
            named.into_iter().map(|number| number.0).collect::<Vec<_>>()
        };
        assert_eq!(named(vec![]), [0]);
        assert_eq!(named(vec![route(Some(1), &some, 1), route(Some(2), &[], 2)]), [0, 1]);
        assert_eq!(named(vec![route(Some(1), &some, 1), route(None, &[], 2)]), [1, 2]);
    }

    #[test]
    fn a_share_is_a_share_and_the_same_for_every_attempt() {
        let routes = routes(Route { share: Some(30), ..Route::default() });
        // as ids are made: the time first, which hardly differs
        let id =
            |number: u128| (0x0198_0000_0000_7000_8000_u128 << 48) | number.wrapping_mul(0x9e37_79b9_7f4a);
        let taken = (0..10_000).filter(|number| routes.of(facts(id(*number)))[0] == TWO).count();
        assert!((2_800..3_200).contains(&taken), "{taken}");
        assert_eq!(routes.of(facts(id(7))), routes.of(facts(id(7))));
    }

    #[test]
    fn what_is_no_domain_is_no_pattern() {
        for text in ["", "com", "*", "*.", "*.*.example.com", "a b.example", "@example.com", ".example.com"] {
            assert_eq!(DomainPattern::parse(text), None, "{text:?}");
        }
    }
}
