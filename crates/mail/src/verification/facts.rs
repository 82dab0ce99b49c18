//! What DNS says about the domain of an address.

use std::future::Future;
use std::net::IpAddr;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, timeout_at};

use super::domain_set::{is_public_suffix, suffixes};
use super::parking::{self, Parked};
use crate::dns::{Answer, Dns};

/// How long the questions about one domain may take together. What is not answered by then stays unknown.
pub const DEADLINE: Duration = Duration::from_secs(5);
/// Of a domain with many labels so many names are asked for the zone they are in: itself, and those nearest to the
/// registered one.
const MAX_ZONES: usize = 4;

/// Whether something is so; `Unknown` when the name server gave no answer that decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Yes,
    No,
    Unknown,
}

/// Where mail for the domain goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mail {
    /// To the hosts of its MX records.
    Servers,
    /// To its own addresses: there are no MX records (RFC 5321 section 5.1).
    OwnAddress,
    /// Nowhere: a null MX says so (RFC 7505).
    Refused,
    /// Nowhere: it has neither MX records nor addresses.
    Nowhere,
    Unknown,
}

/// What DNS says about a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    /// Whether the name is there, with whatever records, or with names below it.
    pub(super) exists: Known,
    /// If it is not: the registered domain that it would be in, if that is there.
    pub(super) parent: Option<String>,
    pub(super) mail: Mail,
    /// Whether there is an MX record, a null MX included.
    pub(super) has_mx: Known,
    /// Whether it has an address.
    pub(super) has_address: Known,
    pub(super) parked: Option<Parked>,
}

/// What is known before anything was asked.
pub(super) const NOTHING: Facts = Facts {
    exists: Known::Unknown,
    parent: None,
    mail: Mail::Unknown,
    has_mx: Known::Unknown,
    has_address: Known::Unknown,
    parked: None,
};

/// Asks everything at once, and takes [`DEADLINE`] at most. The domain is in lower case and A-labels.
pub(super) async fn ask(dns: &Dns, domain: &str) -> Facts {
    let deadline = Instant::now() + DEADLINE;
    let zones = zones(domain);
    let name_servers = join_all(zones.iter().map(|zone| by(deadline, dns.ask_ns(zone))));
    let (mx, v4, v6, name_servers) = tokio::join!(
        by(deadline, dns.ask_mx(domain)),
        by(deadline, dns.ask_a(domain)),
        by(deadline, dns.ask_aaaa(domain)),
        name_servers,
    );
    let of_zones: Vec<(&str, Answer<String>)> = zones.into_iter().zip(name_servers).collect();
    let mut exists = exists(&mx, &v4, &v6, of_zones.first());
    if exists == Known::No {
        // NXDOMAIN speaks of the end of a chain of aliases (RFC 6604); the name itself is there when it is an alias
        exists = match by(deadline, dns.ask_cname(domain)).await {
            Answer::Records(_) => Known::Yes,
            Answer::Unknown => Known::Unknown,
            Answer::NoData | Answer::Empty | Answer::NoName => Known::No,
        };
    }
    let has_address = either(&v4, &v6);
    let parent = (exists == Known::No).then(|| parent(&of_zones)).flatten();
    Facts {
        exists,
        parent,
        mail: mail(&mx, has_address),
        has_mx: mx.known(),
        has_address,
        parked: parked(of_zones, mx, v4, v6),
    }
}

/// The answer, if it comes in time.
async fn by<T>(deadline: Instant, question: impl Future<Output = Answer<T>>) -> Answer<T> {
    timeout_at(deadline, question).await.unwrap_or(Answer::Unknown)
}

/// The names that may be the top of the zone a domain is in: the domain itself first, the registered domain last. What is
/// above that is nobody's domain.
fn zones(domain: &str) -> Vec<&str> {
    let mut all: Vec<&str> =
        suffixes(domain).take_while(|name| *name == domain || !is_public_suffix(name)).collect();
    if all.len() > MAX_ZONES {
        all.drain(1..=all.len() - MAX_ZONES);
    }
    all
}

/// Whether the name is there. An answer without records is one about a name that is there; NXDOMAIN is not. Only when two
/// questions are answered by NXDOMAIN and none by anything else it is missing: there are name servers that say it for one
/// type of record alone (RFC 4074).
fn exists(
    mx: &Answer<(u16, String)>,
    v4: &Answer<IpAddr>,
    v6: &Answer<IpAddr>,
    zone: Option<&(&str, Answer<String>)>,
) -> Known {
    let states =
        [mx.exists(), v4.exists(), v6.exists(), zone.map_or(Known::Unknown, |(_, answer)| answer.exists())];
    if states.contains(&Known::Yes) {
        Known::Yes
    } else if states.iter().filter(|&&state| state == Known::No).count() >= 2 && mx.exists() == Known::No {
        Known::No
    } else {
        Known::Unknown
    }
}

fn mail(mx: &Answer<(u16, String)>, has_address: Known) -> Mail {
    match (mx, has_address) {
        (Answer::Records(servers), _) if servers.iter().all(|(_, host)| host.is_empty()) => Mail::Refused,
        (Answer::Records(_), _) => Mail::Servers,
        (Answer::NoData | Answer::Empty | Answer::NoName, Known::Yes) => Mail::OwnAddress,
        (Answer::NoData | Answer::Empty | Answer::NoName, Known::No) => Mail::Nowhere,
        _ => Mail::Unknown,
    }
}

fn either(v4: &Answer<IpAddr>, v6: &Answer<IpAddr>) -> Known {
    match (v4.known(), v6.known()) {
        (Known::Yes, _) | (_, Known::Yes) => Known::Yes,
        (Known::No, Known::No) => Known::No,
        _ => Known::Unknown,
    }
}

/// The name nearest above a missing one that is there.
fn parent(of_zones: &[(&str, Answer<String>)]) -> Option<String> {
    let found = of_zones.iter().skip(1).find(|(_, answer)| answer.exists() == Known::Yes);
    found.map(|(zone, _)| (*zone).to_owned())
}

/// The service that parks the domain, if one does.
fn parked(
    of_zones: Vec<(&str, Answer<String>)>,
    mx: Answer<(u16, String)>,
    v4: Answer<IpAddr>,
    v6: Answer<IpAddr>,
) -> Option<Parked> {
    // the zone that the name is in is the nearest one with name servers
    let name_servers =
        of_zones.into_iter().map(|(_, answer)| answer.records()).find(|servers| !servers.is_empty());
    let mail_servers: Vec<String> = mx.records().into_iter().map(|(_, host)| host).collect();
    let addresses = [v4.records(), v6.records()].concat();
    parking::find(&name_servers.unwrap_or_default(), &mail_servers, &addresses)
}

impl<T> Answer<T> {
    /// Whether the name is there.
    fn exists(&self) -> Known {
        match self {
            Self::Records(_) | Self::NoData | Self::Empty => Known::Yes,
            Self::NoName => Known::No,
            Self::Unknown => Known::Unknown,
        }
    }

    /// Whether there are such records.
    fn known(&self) -> Known {
        match self {
            Self::Records(_) => Known::Yes,
            Self::NoData | Self::Empty | Self::NoName => Known::No,
            Self::Unknown => Known::Unknown,
        }
    }

    fn records(self) -> Vec<T> {
        match self {
            Self::Records(records) => records,
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_end_below_the_public_suffix() {
        assert_eq!(zones("example.com"), ["example.com"]);
        assert_eq!(zones("mail.example.co.uk"), ["mail.example.co.uk", "example.co.uk"]);
        assert_eq!(zones("co.uk"), ["co.uk"]);
        assert_eq!(
            zones("a.b.c.d.e.example.com"),
            ["a.b.c.d.e.example.com", "d.e.example.com", "e.example.com", "example.com"]
        );
        assert_eq!(zones("x.unknowntld"), ["x.unknowntld"]);
    }

    #[test]
    fn only_agreement_makes_a_name_missing() {
        let none = || Answer::<IpAddr>::NoName;
        let there = || Answer::<IpAddr>::NoData;
        let silent = || Answer::<IpAddr>::Unknown;
        assert_eq!(exists(&Answer::NoName, &none(), &none(), None), Known::No);
        assert_eq!(exists(&Answer::NoName, &none(), &silent(), None), Known::No);
        assert_eq!(exists(&Answer::NoName, &silent(), &silent(), None), Known::Unknown);
        assert_eq!(exists(&Answer::Unknown, &none(), &none(), None), Known::Unknown);
        assert_eq!(exists(&Answer::NoName, &none(), &there(), None), Known::Yes);
        assert_eq!(
            exists(&Answer::Unknown, &silent(), &silent(), Some(&("x.example", Answer::NoData))),
            Known::Yes
        );
    }

    #[test]
    fn mail_falls_back_to_the_address() {
        let mx = |host: &str| Answer::Records(vec![(0, host.to_owned())]);
        assert_eq!(mail(&mx("mx.example"), Known::No), Mail::Servers);
        assert_eq!(mail(&mx(""), Known::Yes), Mail::Refused);
        assert_eq!(mail(&Answer::NoData, Known::Yes), Mail::OwnAddress);
        assert_eq!(mail(&Answer::NoData, Known::No), Mail::Nowhere);
        assert_eq!(mail(&Answer::NoData, Known::Unknown), Mail::Unknown);
        assert_eq!(mail(&Answer::Unknown, Known::Yes), Mail::Unknown);
    }
}
