//! The clients that sign in, as attempts are counted.

use std::net::IpAddr;

use mailwright_store::account::attempts::Counted;
use sha2::{Digest, Sha256};

/// The limit of an IPv6 /48 network is that of this many clients.
const CLIENTS_AROUND: i64 = 16;

/// A client as failed logins are counted: a hash of its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientKey {
    client: [u8; 32],
    /// The network around it: one customer may have thousands of clients like this one.
    around: Option<[u8; 32]>,
}

impl ClientKey {
    /// The client at an address. The addresses of an IPv6 network that is given to one customer count as one (a /64);
    /// so do, with a limit of their own, those of the widest that customers are given (a /48).
    pub fn of(address: IpAddr) -> Self {
        let key = |network: &[u8]| digest("client", &[network]);
        match address.to_canonical() {
            IpAddr::V4(address) => Self { client: key(&address.octets()), around: None },
            IpAddr::V6(address) => {
                let octets = address.octets();
                Self { client: key(&octets[..8]), around: Some(key(&octets[..6])) }
            }
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.client
    }

    /// The counts of an action of the client, where `limit` is that of one client. The client's own count comes first:
    /// a client that is refused must not use up the limit of its network.
    pub(crate) fn counted(&self, what: &str, limit: i64) -> Vec<Counted> {
        let around = self.around.map(|network| Counted {
            key: digest(what, &[&network]),
            limit: limit.saturating_mul(CLIENTS_AROUND),
        });
        std::iter::once(Counted { key: digest(what, &[&self.client]), limit }).chain(around).collect()
    }
}

/// The key under which failed logins are counted: an address, and the client if the account knows it.
pub(crate) fn subject(address: &str, client: &[u8]) -> [u8; 32] {
    digest("login", &[address.as_bytes(), client])
}

/// A hash that names what is counted.
pub(crate) fn digest(purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new_with_prefix(purpose);
    for part in parts {
        hasher.update([0]);
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_counted_by_network() {
        let key = |text: &str| ClientKey::of(text.parse().unwrap());
        assert_eq!(key("192.0.2.1"), key("::ffff:192.0.2.1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::2"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        let limits = |text: &str| -> Vec<_> {
            key(text).counted("from", 100).iter().map(|counted| (counted.key, counted.limit)).collect()
        };
        assert_eq!(limits("192.0.2.1").len(), 1);
        let (one, neighbour, other) =
            (limits("2001:db8:1:2::1"), limits("2001:db8:1:3::1"), limits("2001:db8:2:2::1"));
        assert_eq!((one[0].1, one[1].1), (100, 1600));
        assert_eq!(one[1], neighbour[1], "networks of one customer count together");
        assert_ne!(one[1], other[1]);
    }
}
