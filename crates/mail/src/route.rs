//! Where mail for a domain goes (RFC 5321 section 5.1), and which site that is.
//!
//! A **site** is whoever runs the mail servers: thousands of domains have the same one, and what it takes of us it takes of
//! them together. Its name is the domain that its servers are in: that of a large receiver from the table of
//! [`mailwright_core::pacing::limits`], else the registered domains of the servers.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use mailwright_core::pacing::limits::receiver_of;

use crate::dns::{Answer, Dns, Proven};

/// Most mail servers of a domain that are tried.
pub const MOST_SERVERS: usize = 20;
/// Most registered domains in the name of a site.
const MOST_DOMAINS: usize = 3;
/// Most aliases of a domain, one after the other. A domain with more is taken for one whose aliases lead in a circle.
pub const MOST_ALIASES: usize = 7;
/// A name server that fails so soon is asked whether the domain is an alias: many fail when aliases lead in a circle.
const FAILS_SOON: Duration = Duration::from_secs(1);

/// Where mail for a domain goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// To these servers, the best first; never empty.
    Servers(Vec<MailServer>),
    /// Nowhere: the domain takes no mail, a null MX says (RFC 7505).
    Refused,
    /// Nowhere: there is no such domain, or it is an alias of a name that is not there.
    Missing,
    /// Nowhere: the domain is there, and has neither mail servers nor an address.
    Nowhere,
    /// Nowhere, by answers without the SOA record that would make that certain (RFC 2308 section 2.2): without records,
    /// or that the end of an alias is not there. Broken name servers give such answers of domains that have mail servers.
    Doubtful,
    /// The aliases of the domain lead in a circle, or are more than [`MOST_ALIASES`]. That is a fault of the domain,
    /// which may be mended (RFC 1034 section 3.6.2, RFC 5321 section 5.1).
    Circle,
    /// The name server gave no answer that can be used; that may pass.
    Unknown,
}

/// Where mail for a domain goes, and what proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directions {
    /// Where it goes.
    pub route: Route,
    /// Whether DNSSEC proves that, so that TLSA records of the servers count (RFC 7672 section 2.2.1). Never where the name
    /// server does not validate.
    pub is_proven: bool,
}

/// A mail server of a domain.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MailServer {
    /// The lower, the sooner it is tried.
    pub preference: u16,
    /// Its name, in lower case and without the final dot.
    pub host: String,
}

/// The addresses of a mail server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addresses {
    /// Of both kinds in turns, IPv6 first, so that a second try is one of the other kind; never empty.
    Known(Vec<IpAddr>),
    /// It has none.
    None,
    /// The name server gave no answer that can be used; that may pass.
    Unknown,
}

/// What is known of a mail server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailHost {
    /// Where it is; unknown also where it is not known which names count for it.
    pub addresses: Addresses,
    /// The names whose TLSA records count for it (TLSA base domains), the best first; none where DNSSEC does not prove its
    /// addresses, nor that it is an alias (RFC 7672 section 2.2.2).
    pub bases: Vec<String>,
}

impl Dns {
    /// Where mail for a domain goes. `random` gives the order of servers that are equally good: the same number, the same
    /// order.
    pub async fn route(&self, domain: &str, random: u64) -> Route {
        self.directions(domain, random).await.route
    }

    /// The same with its proof.
    pub async fn directions(&self, domain: &str, random: u64) -> Directions {
        let began = Instant::now();
        let Proven { answer, is_secure: is_proven, .. } = self.prove_mx(domain).await;
        let route = match answer {
            Answer::Records(servers) => of_records(servers, random),
            Answer::NoData => self.to_itself(domain, false).await,
            Answer::Empty => self.to_itself(domain, true).await,
            Answer::NoName => Route::Missing,
            Answer::Unknown => Route::Unknown,
        };
        // what a name server says of such aliases looks like one of these
        let may_be_circle = match route {
            Route::Nowhere | Route::Doubtful => true,
            Route::Unknown => began.elapsed() < FAILS_SOON,
            Route::Servers(_) | Route::Refused | Route::Missing | Route::Circle => false,
        };
        let is_circle = may_be_circle && self.is_circle(domain).await;
        Directions { route: if is_circle { Route::Circle } else { route }, is_proven }
    }

    /// Whether the aliases of a domain have no end, as far as they are followed.
    async fn is_circle(&self, domain: &str) -> bool {
        let mut name = domain.to_owned();
        for _ in 0..=MOST_ALIASES {
            let Answer::Records(targets) = self.ask_cname(&name).await else { return false };
            let Some(target) = targets.into_iter().next() else { return false };
            name = target;
        }
        true
    }

    /// What has no MX record is its own mail server. `is_doubtful` says that it is not certain that there is none.
    async fn to_itself(&self, domain: &str, is_doubtful: bool) -> Route {
        let said = self.both_kinds(domain).await;
        let is_doubtful = is_doubtful || said.iter().any(|said| said.answer == Answer::Empty);
        match self.of_answers(domain, said).await.addresses {
            Addresses::Known(_) => {
                Route::Servers(vec![MailServer { preference: 0, host: domain.to_owned() }])
            }
            Addresses::None if is_doubtful => Route::Doubtful,
            Addresses::None => Route::Nowhere,
            Addresses::Unknown => Route::Unknown,
        }
    }

    /// The addresses of a mail server.
    pub async fn addresses(&self, host: &str) -> Addresses {
        self.mail_host(host).await.addresses
    }

    /// The addresses of a mail server, and the names whose TLSA records count for it.
    pub async fn mail_host(&self, host: &str) -> MailHost {
        let said = self.both_kinds(host).await;
        self.of_answers(host, said).await
    }

    /// What is said of the IPv6 addresses of a host, and of its IPv4 addresses.
    async fn both_kinds(&self, host: &str) -> [Proven<IpAddr>; 2] {
        let (v6, v4) = tokio::join!(self.prove_aaaa(host), self.prove_a(host));
        [v6, v4]
    }

    async fn of_answers(&self, host: &str, [v6, v4]: [Proven<IpAddr>; 2]) -> MailHost {
        match self.bases(host, [&v6, &v4]).await {
            Some(bases) => MailHost { addresses: in_turns(v6.answer, v4.answer), bases },
            // whoever suppresses that answer must not be rid of the records
            None => MailHost { addresses: Addresses::Unknown, bases: Vec::new() },
        }
    }

    /// The end of the aliases counts before the name itself (RFC 7671 section 7). Where only the first alias is proven, the
    /// name itself counts. `None` where the name server does not answer whether it is.
    async fn bases(&self, host: &str, said: [&Proven<IpAddr>; 2]) -> Option<Vec<String>> {
        let found = || said.into_iter().filter(|said| matches!(said.answer, Answer::Records(_)));
        if let Some(proven) = found().find(|said| said.is_secure) {
            return Some(proven.alias_of.clone().into_iter().chain([host.to_owned()]).collect());
        }
        if !found().any(|said| said.alias_of.is_some()) {
            return Some(Vec::new());
        }
        let alias = self.prove_cname(host).await;
        match alias.answer {
            Answer::Records(_) if alias.is_secure => Some(vec![host.to_owned()]),
            Answer::Records(_) | Answer::NoData | Answer::Empty | Answer::NoName => Some(Vec::new()),
            Answer::Unknown => None,
        }
    }
}

/// Addresses of both kinds in turns.
fn in_turns(v6: Answer<IpAddr>, v4: Answer<IpAddr>) -> Addresses {
    let is_known = |answer: &Answer<IpAddr>| !matches!(answer, Answer::Unknown);
    let all_known = is_known(&v6) && is_known(&v4);
    let (mut v6, mut v4) = (records(v6).into_iter(), records(v4).into_iter());
    let mut addresses = Vec::new();
    loop {
        let (six, four) = (v6.next(), v4.next());
        if six.is_none() && four.is_none() {
            break;
        }
        addresses.extend([six, four].into_iter().flatten());
    }
    match (addresses.is_empty(), all_known) {
        (false, _) => Addresses::Known(addresses),
        (true, true) => Addresses::None,
        (true, false) => Addresses::Unknown,
    }
}

fn records(answer: Answer<IpAddr>) -> Vec<IpAddr> {
    match answer {
        Answer::Records(records) => records,
        Answer::NoData | Answer::Empty | Answer::NoName | Answer::Unknown => Vec::new(),
    }
}

fn of_records(records: Vec<(u16, String)>, random: u64) -> Route {
    let mut servers: Vec<MailServer> = records
        .into_iter()
        .filter(|(_, host)| !host.is_empty())
        .map(|(preference, host)| MailServer { preference, host })
        .collect();
    if servers.is_empty() {
        return Route::Refused;
    }
    servers.sort_by_key(|server| (server.preference, mixed(&server.host, random)));
    servers.dedup_by(|a, b| a.host == b.host);
    servers.truncate(MOST_SERVERS);
    Route::Servers(servers)
}

/// A number of a host that is another one for each `random` (FNV-1a, from there on).
fn mixed(host: &str, random: u64) -> u64 {
    let seed = 0xcbf2_9ce4_8422_2325 ^ random;
    host.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The part of a domain's name that was registered, as the list of public suffixes has it; the name where it knows none.
pub fn registered(domain: &str) -> &str {
    psl::domain_str(domain).unwrap_or(domain)
}

/// The name of the site that runs mail servers.
pub fn site(servers: &[MailServer]) -> String {
    // all of them: whoever puts a large receiver's server beside his own would speak for the receiver
    let best = servers.first().and_then(|server| receiver_of(&server.host));
    let is_of_best = |server: &MailServer| {
        receiver_of(&server.host).map(|found| &found.name) == best.map(|best| &best.name)
    };
    if let Some(domain) = best.and_then(|receiver| receiver.hosts.first())
        && servers.iter().all(is_of_best)
    {
        return domain.clone();
    }
    let mut domains: Vec<&str> = servers.iter().map(|server| registered(&server.host)).collect();
    domains.sort_unstable();
    domains.dedup();
    if domains.len() <= MOST_DOMAINS {
        return domains.join("+");
    }
    // a set that begins alike is another site
    let all = mixed(&domains.join("+"), 0);
    domains.truncate(MOST_DOMAINS);
    format!("{}+{:016x}", domains.join("+"), all)
}

#[cfg(test)]
mod tests {
    use mailwright_core::intervention::site_name;

    use super::*;

    fn servers(hosts: &[(u16, &str)]) -> Vec<(u16, String)> {
        hosts.iter().map(|(preference, host)| (*preference, (*host).to_owned())).collect()
    }

    fn hosts(route: &Route) -> Vec<&str> {
        match route {
            Route::Servers(servers) => servers.iter().map(|server| server.host.as_str()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn equal_servers_come_in_every_order_and_better_ones_always_first() {
        let records = servers(&[(20, "c"), (10, "a"), (10, "b"), (10, "a")]);
        let mut firsts = [0, 0];
        for random in 0..1_000_u64 {
            let route = of_records(records.clone(), random.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let hosts = hosts(&route);
            assert_eq!((hosts.len(), hosts[2]), (3, "c"));
            firsts[usize::from(hosts[0] == "b")] += 1;
        }
        assert!(firsts.iter().all(|count| (300..700).contains(count)), "{firsts:?}");
        assert_eq!(of_records(records.clone(), 7), of_records(records, 7));
    }

    #[test]
    fn a_null_mx_refuses_and_beside_others_it_is_nothing() {
        assert_eq!(of_records(servers(&[(0, "")]), 1), Route::Refused);
        assert_eq!(hosts(&of_records(servers(&[(0, ""), (10, "a")]), 1)), ["a"]);
        let many: Vec<_> = (0..50).map(|n| (n, format!("mx{n}"))).collect();
        assert_eq!(hosts(&of_records(many, 1)).len(), MOST_SERVERS);
    }

    #[test]
    fn domains_of_one_receiver_are_one_site() {
        let site_of = |hosts: &[(u16, &str)]| match of_records(servers(hosts), 1) {
            Route::Servers(servers) => site(&servers),
            other => panic!("{other:?}"),
        };
        assert_eq!(site_of(&[(0, "a-com.mail.protection.outlook.com")]), "mail.protection.outlook.com");
        assert_eq!(site_of(&[(0, "b-org.mail.protection.outlook.com")]), "mail.protection.outlook.com");
        assert_eq!(site_of(&[(0, "hotmail-com.olc.protection.outlook.com")]), "olc.protection.outlook.com");
        assert_eq!(site_of(&[(1, "aspmx.l.google.com"), (10, "alt3.aspmx.l.google.com")]), "google.com");
        assert_eq!(site_of(&[(1, "mx1.mail.example.co.uk"), (2, "mx2.example.co.uk")]), "example.co.uk");
        assert_eq!(site_of(&[(1, "mx.b.example"), (1, "mx.a.example")]), "a.example+b.example");
        let of_four =
            site_of(&[(1, "mx.a.example"), (1, "mx.b.example"), (1, "mx.c.example"), (1, "mx.d.example")]);
        assert!(of_four.starts_with("a.example+b.example+c.example+"), "{of_four}");
        // as people name it
        for name in [of_four.as_str(), "mail.protection.outlook.com", "a.example+b.example"] {
            assert_eq!(site_name(&name.to_uppercase()).as_deref(), Some(name));
        }
    }
}
