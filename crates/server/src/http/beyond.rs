//! Seats for connections beyond the cap, on which probes are answered.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::places::network;

/// Connections beyond the cap that are served all the same: probes are answered, everything else is told to come
/// again.
pub(crate) const BEYOND_CAP: usize = 32;
/// Those of them that are kept for this machine: a probe that runs on it must not wait for others.
const KEPT: usize = 8;
/// Those of one client, other than this machine.
const PER_CLIENT: usize = 4;

/// The seats, and who has them.
#[derive(Debug)]
pub(super) struct Seats {
    /// Whether clients can be told apart; behind a proxy they cannot.
    by_client: bool,
    taken: Mutex<HashMap<IpAddr, usize>>,
}

impl Seats {
    pub(super) fn new(by_client: bool) -> Arc<Self> {
        Arc::new(Self { by_client, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat for a connection from an address, if there is one for it.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<BeyondCap> {
        let address = address.to_canonical();
        let is_here = address == Ipv4Addr::LOCALHOST || address == Ipv6Addr::LOCALHOST;
        let client = network(address);
        let mut taken = self.taken();
        let all: usize = taken.values().sum();
        let of_client = taken.get(&client).copied().unwrap_or_default();
        let most = if is_here { BEYOND_CAP } else { BEYOND_CAP - KEPT };
        if all >= most || (self.by_client && !is_here && of_client >= PER_CLIENT) {
            return None;
        }
        taken.insert(client, of_client + 1);
        Some(BeyondCap { seats: Arc::clone(self), client })
    }
}

/// A seat that a connection has. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct BeyondCap {
    seats: Arc<Seats>,
    client: IpAddr,
}

impl Drop for BeyondCap {
    fn drop(&mut self) {
        let mut taken = self.seats.taken();
        if let Some(of_client) = taken.get_mut(&self.client) {
            *of_client -= 1;
            if *of_client == 0 {
                taken.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn nobody_has_all_seats() {
        let seats = Seats::new(true);
        let mut held: Vec<_> = (0..PER_CLIENT).map(|_| seats.take(address(1)).unwrap()).collect();
        assert!(seats.take(address(1)).is_none(), "a client has its share");
        for client in 2.. {
            let Some(seat) = seats.take(address(client)) else { break };
            held.push(seat);
        }
        assert_eq!(held.len(), BEYOND_CAP - KEPT);
        let here: Vec<_> = (0..KEPT).map(|_| seats.take(Ipv4Addr::LOCALHOST.into()).unwrap()).collect();
        assert!(seats.take(Ipv6Addr::LOCALHOST.into()).is_none());
        drop((held, here));
        assert!(seats.taken().is_empty());
    }

    #[test]
    fn all_come_from_a_proxy() {
        let seats = Seats::new(false);
        let held: Vec<_> = std::iter::from_fn(|| seats.take(address(1))).take(BEYOND_CAP).collect();
        assert_eq!(held.len(), BEYOND_CAP - KEPT);
    }
}
