//! Evidence of behaviour: what the hits of a mail tell together, whoever made them.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use super::tables::{Known, Tables};
use super::{HitReason, MailFacts, RawHit, Target, Timing};
use crate::time::Timestamp;

/// A hit with what is known of it.
pub(super) struct Seen<'a> {
    pub(super) hit: &'a RawHit,
    /// What the tables know of its network.
    pub(super) network: Option<Known<'a>>,
    /// What the tables know of its user agent.
    pub(super) agent: Option<Known<'a>>,
    /// Why it was judged as it was, when it was judged before.
    pub(super) before: Option<HitReason>,
}

impl<'a> Seen<'a> {
    pub(super) fn new(tables: &'a Tables, hit: &'a RawHit, before: Option<HitReason>) -> Self {
        Self {
            hit,
            network: hit.address.and_then(|address| tables.network(address)),
            agent: tables.agent(&hit.agent),
            before,
        }
    }
}

/// What the hits of a mail tell about each other.
pub(super) struct Behaviour<'a> {
    timing: &'a Timing,
    /// Of each hit the direct evidence, in the order of the hits.
    direct: Vec<Option<HitReason>>,
    /// When machines were at work from a network.
    networks: Times<IpAddr>,
    /// When somebody with a user agent followed the invisible link.
    trapped: Times<&'a str>,
    /// When a user agent took part in a burst, or clicked too soon.
    agents: Times<&'a str>,
}

impl<'a> Behaviour<'a> {
    /// Looks at all hits: n log n, for each burst of the timing.
    pub(super) fn of(timing: &'a Timing, mail: &MailFacts, seen: &[Seen<'a>]) -> Self {
        let direct = direct(timing, mail, seen);
        let mut found = Self {
            timing,
            direct,
            networks: Times::default(),
            trapped: Times::default(),
            agents: Times::default(),
        };
        for (seen, reason) in seen.iter().zip(&found.direct) {
            let Some(reason) = reason else { continue };
            let hit = seen.hit;
            if let Some(network) = own_network(seen) {
                found.networks.add(network, hit.at);
            }
            if !hit.agent.is_empty() {
                let times = if *reason == HitReason::Trap { &mut found.trapped } else { &mut found.agents };
                times.add(&hit.agent, hit.at);
            }
        }
        found.networks.sort();
        found.trapped.sort();
        found.agents.sort();
        found
    }

    /// The direct evidence against the hit with this index.
    pub(super) fn direct(&self, index: usize) -> Option<HitReason> {
        self.direct.get(index).copied().flatten()
    }

    /// Whether a machine was at work at that time, from the hit's network or with its user agent.
    pub(super) fn in_company(&self, seen: &Seen<'_>) -> bool {
        let (at, agent) = (seen.hit.at, seen.hit.agent.as_str());
        own_network(seen).is_some_and(|network| self.networks.near(&network, at, self.timing.company))
            || self.trapped.near(&agent, at, self.timing.company)
            || self.agents.near(&agent, at, self.timing.same_agent)
    }
}

/// Whether an instant is so near to the hand-over or the delivery of the mail.
pub(super) fn near_delivery(timing: &Timing, mail: &MailFacts, at: Timestamp, reach: Duration) -> bool {
    let handed_over =
        mail.handed_over_at.is_some_and(|then| at >= then.minus(timing.ahead) && at <= then.plus(reach));
    // a report may come from a clock that is not ours
    let delivered = mail.delivered_at.is_some_and(|then| at >= then.minus(reach) && at <= then.plus(reach));
    handed_over || delivered
}

fn direct(timing: &Timing, mail: &MailFacts, seen: &[Seen<'_>]) -> Vec<Option<HitReason>> {
    let in_burst = bursts(timing, mail, seen);
    let of = |(seen, in_burst): (&Seen<'_>, bool)| match seen.hit.target {
        Target::Pixel => None,
        Target::Link(link) if Some(link) == mail.trap => Some(HitReason::Trap),
        Target::Link(_) if in_burst => Some(HitReason::Burst),
        Target::Link(_) if near_delivery(timing, mail, seen.hit.at, timing.soon) => Some(HitReason::TooSoon),
        // the hits that it was judged with are not always at hand
        Target::Link(_) => seen.before.filter(|reason| reason.makes_company()),
    };
    seen.iter().zip(in_burst).map(of).collect()
}

/// Which hits belong to a burst.
fn bursts(timing: &Timing, mail: &MailFacts, seen: &[Seen<'_>]) -> Vec<bool> {
    let mut clicks: Vec<(Timestamp, u32, usize)> = (0..)
        .zip(seen)
        .filter_map(|(index, seen)| match seen.hit.target {
            Target::Link(link) if Some(link) != mail.trap => Some((seen.hit.at, link, index)),
            Target::Link(_) | Target::Pixel => None,
        })
        .collect();
    clicks.sort_unstable();
    let mut found = vec![false; seen.len()];
    for burst in &timing.bursts {
        let Some(needed) = burst.needed(mail.links) else { continue };
        // how often each link is among `clicks[first..=last]`
        let mut links: HashMap<u32, usize> = HashMap::new();
        let mut first = 0;
        // the clicks before this one have their mark
        let mut marked = 0;
        for (last, &(at, link, _)) in clicks.iter().enumerate() {
            *links.entry(link).or_default() += 1;
            while let Some(&(earliest, oldest, _)) = clicks.get(first)
                && at.since(earliest) > burst.within
            {
                if let Some(count) = links.get_mut(&oldest) {
                    *count -= 1;
                    if *count == 0 {
                        links.remove(&oldest);
                    }
                }
                first += 1;
            }
            if links.len() >= needed {
                for &(_, _, index) in clicks.iter().take(last + 1).skip(first.max(marked)) {
                    if let Some(mark) = found.get_mut(index) {
                        *mark = true;
                    }
                }
                marked = last + 1;
            }
        }
    }
    found
}

/// The network that a hit came from: 256 addresses of IPv4, a subnet of 64 bits of IPv6. `None` when the tables know
/// it, since many people and machines share those.
fn own_network(seen: &Seen<'_>) -> Option<IpAddr> {
    if seen.network.is_some() {
        return None;
    }
    Some(match seen.hit.address?.to_canonical() {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & !0xff).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    })
}

/// Instants by what they belong to.
struct Times<K>(HashMap<K, Vec<Timestamp>>);

impl<K> Default for Times<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq> Times<K> {
    fn add(&mut self, of: K, at: Timestamp) {
        self.0.entry(of).or_default().push(at);
    }

    fn sort(&mut self) {
        for times in self.0.values_mut() {
            times.sort_unstable();
        }
    }

    /// Whether one lies so near before or after `at`.
    fn near(&self, of: &K, at: Timestamp, reach: Duration) -> bool {
        self.0.get(of).is_some_and(|times| {
            let first = times.partition_point(|&time| time < at.minus(reach));
            times.get(first).is_some_and(|&time| time <= at.plus(reach))
        })
    }
}
