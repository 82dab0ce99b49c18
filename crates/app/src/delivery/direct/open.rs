//! Opens a connection to one of a destination's mail servers, the best first (RFC 5321 section 5.1).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use mailwright_core::pacing::reply::Signal;
use mailwright_core::time::Timestamp;
use mailwright_mail::route::{Addresses, MailServer};
use mailwright_mail::smtp::{OpenError, OpenStage, Security};
use mailwright_tls::{Dane, Verdict};

use super::path::{Need, Path};
use super::told::Told;
use super::{Direct, Line};
use crate::delivery::hand_over::Reply;
use crate::http_client::may_connect;

/// Most servers that are tried for a mail.
const MOST_SERVERS: usize = 5;
/// How long they are tried, all together: the last one that was begun with is waited for.
const PATIENCE: Duration = Duration::from_secs(45);
/// How long one is waited for while there are others: one that says nothing must not keep mail from them.
const TURN: Duration = Duration::from_secs(25);

/// Why a server with private addresses is not connected to.
const ONLY_PRIVATE: &str = "it has private addresses only, and MAILWRIGHT_ALLOW_PRIVATE_NETWORKS is false";
/// Why a server with other addresses is not connected to.
const ONLY_SPECIAL: &str =
    "it has no public address, only such as are reserved for special purposes (RFC 6890)";

/// Why there is no connection.
pub(super) struct Unopened {
    /// The server that was tried last.
    pub(super) host: String,
    /// What it said, if it did.
    pub(super) reply: Option<Reply>,
    /// What it said about us.
    pub(super) signal: Option<Signal>,
    pub(super) error: String,
    /// Whether it says nothing of the site: no address to connect to, or that encryption failed where one domain asks for it.
    pub(super) is_of_domain: bool,
}

impl Unopened {
    /// A server had its time.
    fn late(host: &str) -> Self {
        Self {
            host: host.to_owned(),
            reply: None,
            signal: None,
            error: format!("{host}: it did not answer within {} seconds", TURN.as_secs()),
            is_of_domain: false,
        }
    }
}

impl Direct {
    /// Connects to the best server that can be reached, for mail to a domain. A server that refuses us because of what we
    /// are, or of how much we send, is the last that is asked: the others are of the same site. What TLS comes to is
    /// counted where `is_counted`.
    pub(super) async fn open(&self, path: &Path, domain: &str, is_counted: bool) -> Result<Line, Unopened> {
        let began = Instant::now();
        let mut last = Unopened {
            host: String::new(),
            reply: None,
            signal: None,
            error: "no mail server has an address that can be connected to".into(),
            is_of_domain: true,
        };
        let mut servers = mixed(&path.servers, rand::random()).into_iter().take(MOST_SERVERS).peekable();
        while let Some(server) = servers.next() {
            if began.elapsed() > PATIENCE {
                break;
            }
            let open = self.open_at(&server.host, path, domain, is_counted);
            let opened = if servers.peek().is_some() {
                tokio::time::timeout(TURN, open).await.unwrap_or_else(|_| Err(Unopened::late(&server.host)))
            } else {
                open.await
            };
            match opened {
                Ok(line) => return Ok(line),
                Err(unopened) => {
                    tracing::debug!(
                        host = unopened.host,
                        error = unopened.error,
                        "a mail server cannot be used"
                    );
                    let is_told = unopened.signal.is_some();
                    last = unopened;
                    if is_told {
                        break;
                    }
                }
            }
        }
        Err(last)
    }

    async fn open_at(
        &self,
        host: &str,
        path: &Path,
        domain: &str,
        is_counted: bool,
    ) -> Result<Line, Unopened> {
        let without = |error: &str| Unopened {
            host: host.to_owned(),
            reply: None,
            signal: None,
            error: format!("{host}: {error}"),
            is_of_domain: true,
        };
        let found = self.dns.mail_host(host).await;
        let known = match &found.addresses {
            Addresses::Known(addresses) => addresses,
            Addresses::None => return Err(without("it has no address")),
            Addresses::Unknown => return Err(without("the name server gave no answer about its address")),
        };
        let usable = |private: bool| {
            let addresses = known.iter().copied().filter(move |address| may_connect(*address, private));
            addresses.collect::<Vec<IpAddr>>()
        };
        let addresses = usable(self.allows_private);
        if addresses.is_empty() {
            let is_private = !self.allows_private && !usable(true).is_empty();
            return Err(without(if is_private { ONLY_PRIVATE } else { ONLY_SPECIAL }));
        }
        let counted_for = is_counted.then_some(domain);
        let config = match self.connection_to(host, &found, path, domain).await {
            Ok(config) => config,
            Err(why) => {
                self.count_unproven(counted_for, host, why);
                return Err(without(why));
            }
        };
        let is_demanded = config.security == Security::StartTls;
        let is_of_domain = |stage| stage == OpenStage::Tls && is_demanded;
        let is_dane = config.dane.is_some() || is_demanded && path.need == Need::Opportunistic;
        let verdict = || config.dane.as_ref().and_then(Dane::verdict);
        match self.open_counted(&config, &addresses, counted_for).await {
            Ok((connection, is_verified)) => Ok(Line {
                connection,
                is_verified,
                minded_tlsa: path.minds_tlsa,
                is_of_domain: verdict() == Some(Verdict::OfDomain),
                host: host.to_owned(),
                carried: 0,
                heard_at: Timestamp(0),
            }),
            Err(OpenError { reply: None, error, stage, .. }) => {
                let is_of_domain = is_of_domain(stage);
                let mut under = "";
                if is_dane && stage == OpenStage::Tls {
                    under = " under DANE (RFC 7672)";
                    tracing::info!(host, error, "a mail server is not what its TLSA records demand");
                }
                Err(Unopened { is_of_domain, ..without(&format!("{stage} failed{under}: {error}")) })
            }
            Err(OpenError { reply: Some(reply), stage, .. }) => {
                let reply = Reply::from(reply);
                Err(Unopened {
                    signal: Told::of_domain(domain, host).signal_of(&reply),
                    error: format!("{host}: {reply}"),
                    host: host.to_owned(),
                    reply: Some(reply),
                    is_of_domain: is_of_domain(stage),
                })
            }
        }
    }
}

/// The servers in the order in which they are tried: by preference, equally good ones in an order by chance.
fn mixed(servers: &[MailServer], random: u64) -> Vec<&MailServer> {
    let by_chance = |server: &MailServer| {
        let mut hasher = DefaultHasher::new();
        (random, &server.host).hash(&mut hasher);
        hasher.finish()
    };
    let mut servers: Vec<_> = servers.iter().collect();
    servers.sort_by_key(|server| (server.preference, by_chance(server)));
    servers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equally_good_servers_are_tried_in_every_order_and_better_ones_first() {
        let server = |preference, host: &str| MailServer { preference, host: host.to_owned() };
        let servers = [server(10, "a.test"), server(10, "b.test"), server(20, "c.test")];
        let mut firsts = [0, 0];
        for random in 0..1_000 {
            let mixed = mixed(&servers, random);
            assert_eq!(mixed[2].host, "c.test");
            firsts[usize::from(mixed[0].host == "b.test")] += 1;
        }
        assert!(firsts.iter().all(|count| *count > 400), "{firsts:?}");
    }
}
