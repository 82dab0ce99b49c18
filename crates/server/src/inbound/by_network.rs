//! Connections by the networks that they come from.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::http::network;

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Networks {
    /// The client: an IPv4 address, or an IPv6 network of 64 bits.
    pub(super) client: IpAddr,
    /// The network around it, of which one customer may have all: 24 bits of IPv4, 48 bits of IPv6.
    pub(super) around: IpAddr,
}

impl Networks {
    pub(super) fn of(address: IpAddr) -> Self {
        let client = network(address);
        let around = match client {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                Ipv4Addr::new(a, b, c, 0).into()
            }
            IpAddr::V6(address) => {
                let [a, b, c, ..] = address.segments();
                Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0).into()
            }
        };
        Self { client, around }
    }
}

/// Connections in the order in which they are closed: those of the network that has the most come first, among them
/// those of the client that has the most, and of these the one that got no further for the longest time.
#[derive(Debug, Default)]
pub(super) struct ByNetwork {
    around: Ranking,
    clients: HashMap<IpAddr, Ranking>,
    len: usize,
}

impl ByNetwork {
    /// Adds a connection that got no further since a turn.
    pub(super) fn insert(&mut self, networks: Networks, turn: u64, id: u64) {
        self.around.insert(networks.around, turn, id);
        self.clients.entry(networks.around).or_default().insert(networks.client, turn, id);
        self.len += 1;
    }

    /// Removes a connection that was added with this turn.
    pub(super) fn remove(&mut self, networks: Networks, turn: u64) {
        let Some(clients) = self.clients.get_mut(&networks.around) else { return };
        clients.remove(networks.client, turn);
        if clients.is_empty() {
            self.clients.remove(&networks.around);
        }
        self.around.remove(networks.around, turn);
        self.len -= 1;
    }

    /// The connection that is closed first.
    pub(super) fn first(&self) -> Option<u64> {
        let (around, _) = self.around.first()?;
        let (_, id) = self.clients.get(&around)?.first()?;
        Some(id)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
}

/// Networks by how many connections they have. Of several that have as many, the one whose connection got no further
/// for the longest time comes first.
#[derive(Debug, Default)]
struct Ranking {
    ranks: BTreeSet<(usize, Reverse<u64>, IpAddr)>,
    /// The connections of each network, by the turn since which they got no further.
    connections: HashMap<IpAddr, BTreeMap<u64, u64>>,
}

impl Ranking {
    fn insert(&mut self, network: IpAddr, turn: u64, id: u64) {
        self.change(network, |connections| connections.insert(turn, id));
    }

    fn remove(&mut self, network: IpAddr, turn: u64) {
        self.change(network, |connections| connections.remove(&turn));
    }

    fn change(&mut self, network: IpAddr, change: impl FnOnce(&mut BTreeMap<u64, u64>) -> Option<u64>) {
        let connections = self.connections.entry(network).or_default();
        if let Some(rank) = rank(network, connections) {
            self.ranks.remove(&rank);
        }
        change(connections);
        match rank(network, connections) {
            Some(rank) => {
                self.ranks.insert(rank);
            }
            None => {
                self.connections.remove(&network);
            }
        }
    }

    /// The first network, and its first connection.
    fn first(&self) -> Option<(IpAddr, u64)> {
        let (_, _, network) = self.ranks.last()?;
        let (_, id) = self.connections.get(network)?.first_key_value()?;
        Some((*network, *id))
    }

    fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }
}

/// Where a network with these connections stands; `None` when it has none.
fn rank(network: IpAddr, connections: &BTreeMap<u64, u64>) -> Option<(usize, Reverse<u64>, IpAddr)> {
    let (turn, _) = connections.first_key_value()?;
    Some((connections.len(), Reverse(*turn), network))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(address: &str) -> Networks {
        Networks::of(address.parse().unwrap())
    }

    #[test]
    fn a_client_has_a_network_around_it() {
        let around = |address: &str| networks(address).around.to_string();
        assert_eq!(around("192.0.2.77"), "192.0.2.0");
        assert_eq!(around("::ffff:192.0.2.77"), "192.0.2.0");
        assert_eq!(around("2001:db8:1:2:3::4"), "2001:db8:1::");
        assert_eq!(networks("2001:db8:1:2:3::4").client.to_string(), "2001:db8:1:2::");
    }

    #[test]
    fn the_most_come_first_and_then_the_oldest() {
        let connections = [
            ("10.0.1.1", 1),
            ("10.0.2.9", 2),
            ("10.0.2.1", 3),
            ("10.0.2.1", 4),
            ("2001:db8:1:1::1", 5),
            ("2001:db8:1:2::1", 6),
            ("2001:db8:1:3::1", 7),
            ("2001:db8:1:4::1", 8),
        ];
        let mut by_network = ByNetwork::default();
        for (address, turn) in connections {
            by_network.insert(networks(address), turn, turn);
        }
        let mut order = Vec::new();
        while let Some(id) = by_network.first() {
            let (address, turn) = connections[id as usize - 1];
            by_network.remove(networks(address), turn);
            order.push(id);
        }
        // the /48 has four and the /24 three; where both have as many, the older one is that of the /24
        assert_eq!(order, [5, 3, 6, 2, 7, 1, 4, 8]);
        assert_eq!(by_network.len(), 0);
        assert!(by_network.around.connections.is_empty() && by_network.clients.is_empty());
    }
}
