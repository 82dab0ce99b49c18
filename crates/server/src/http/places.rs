//! Who may have a connection: a number in all, and a number for one client. If all places are taken, the connection
//! that has waited longest for a request makes room. If none waits for a request, the one that has waited longest for
//! more of a body does.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a connection that waits for a request does so before it is closed ahead of those that wait for a body: a
/// client that has just connected is about to send a request.
const FRESH: Duration = Duration::from_secs(1);
/// Connections that were told to leave and are not gone yet: each still has its descriptor.
const MOST_LEAVING: usize = 32;

/// The places, and who has them.
#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    per_client: Option<usize>,
    taken: Mutex<Taken>,
    /// A connection that was told to leave is gone.
    gone: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    /// Counts up: names places, and says which connection has waited longer.
    turn: u64,
    open: HashMap<u64, Open>,
    waiting: Waiting,
    clients: HashMap<IpAddr, OfClient>,
    leaving: usize,
}

#[derive(Debug)]
struct Open {
    client: IpAddr,
    /// For what it waits, and since which turn; `None` while a request is worked on.
    waits: Option<(Wait, u64)>,
    leaving: bool,
    leave: Arc<Notify>,
}

#[derive(Debug, Default)]
struct OfClient {
    open: usize,
    waiting: Waiting,
}

/// For what a connection waits that makes room. The lesser ones go first: nothing is lost with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wait {
    Request,
    Body,
}

/// Connections that make room, those for each reason in the order in which they do, and since when they wait.
type Waiting = BTreeMap<(Wait, u64), (u64, Instant)>;

/// The one that makes room next.
fn next_of(waiting: &Waiting) -> Option<u64> {
    let first = waiting.values().next().copied();
    let is_fresh = first.is_some_and(|(_, since)| since.elapsed() < FRESH);
    let of_bodies = || waiting.range((Wait::Body, 0)..).next().map(|(_, found)| *found);
    let found = if is_fresh { of_bodies().or(first) } else { first };
    found.map(|(id, _)| id)
}

impl Places {
    pub(super) fn new(most: usize, per_client: Option<usize>) -> Self {
        Self { most, per_client, taken: Mutex::default(), gone: Notify::new() }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while as many connections are leaving as may: then there is a place for the next one. They have little
    /// left to do.
    pub(super) async fn wait_for_leaving(&self) {
        while self.taken().leaving >= MOST_LEAVING {
            self.gone.notified().await;
        }
    }

    /// A place for a connection from an address, if need be that of a connection that only waits.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let client = network(address);
        let mut taken = self.taken();
        let has = taken.clients.get(&client).map_or(0, |of| of.open);
        if self.per_client.is_some_and(|most| has >= most) {
            let longest = taken.clients.get(&client).and_then(|of| next_of(&of.waiting));
            if !taken.dismiss(longest) {
                return None;
            }
        } else if taken.open.len() - taken.leaving >= self.most {
            let longest = next_of(&taken.waiting);
            if !taken.dismiss(longest) {
                return None;
            }
        }
        let id = taken.next_turn();
        let leave = Arc::new(Notify::new());
        let open = Open { client, waits: None, leaving: false, leave: Arc::clone(&leave) };
        taken.open.insert(id, open);
        taken.clients.entry(client).or_default().open += 1;
        taken.waits(id, Wait::Request);
        Some(Place { places: Arc::clone(self), id, leave })
    }

    /// Tells up to `wanted` connections that wait to leave; how many.
    pub(super) fn make_room(&self, wanted: usize) -> usize {
        let mut taken = self.taken();
        (0..wanted)
            .take_while(|_| {
                let longest = next_of(&taken.waiting);
                taken.dismiss(longest)
            })
            .count()
    }
}

impl Taken {
    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// Tells a connection to leave. It counts no more from now on.
    fn dismiss(&mut self, id: Option<u64>) -> bool {
        if self.leaving >= MOST_LEAVING {
            return false;
        }
        let Some(id) = id else { return false };
        self.is_busy(id);
        let Some(open) = self.open.get_mut(&id) else { return false };
        open.leaving = true;
        open.leave.notify_one();
        let client = open.client;
        self.leaving += 1;
        self.left(client);
        true
    }

    fn left(&mut self, client: IpAddr) {
        if let Some(of) = self.clients.get_mut(&client) {
            of.open -= 1;
            if of.open == 0 {
                self.clients.remove(&client);
            }
        }
    }

    fn waits(&mut self, id: u64, wait: Wait) {
        let turn = self.next_turn();
        let Some(open) = self.open.get_mut(&id).filter(|open| !open.leaving && open.waits.is_none()) else {
            return;
        };
        open.waits = Some((wait, turn));
        let now = Instant::now();
        self.waiting.insert((wait, turn), (id, now));
        if let Some(of) = self.clients.get_mut(&open.client) {
            of.waiting.insert((wait, turn), (id, now));
        }
    }

    fn is_busy(&mut self, id: u64) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let Some(wait) = open.waits.take() else { return };
        self.waiting.remove(&wait);
        if let Some(of) = self.clients.get_mut(&open.client) {
            of.waiting.remove(&wait);
        }
    }
}

/// A place that a connection has. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    id: u64,
    leave: Arc<Notify>,
}

impl Place {
    /// Whether somebody else needs the place: then a connection that waits is to be closed.
    pub(super) async fn is_needed(&self) {
        self.leave.notified().await;
    }

    /// A request came, or more of its body.
    pub(super) fn is_busy(&self) {
        self.places.taken().is_busy(self.id);
    }

    /// The request is answered.
    pub(super) fn waits(&self) {
        self.places.taken().waits(self.id, Wait::Request);
    }

    /// The client is to send more of a request's body.
    pub(super) fn waits_for_body(&self) {
        self.places.taken().waits(self.id, Wait::Body);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.is_busy(self.id);
        let Some(open) = taken.open.remove(&self.id) else { return };
        if open.leaving {
            taken.leaving -= 1;
            self.places.gone.notify_one();
        } else {
            taken.left(open.client);
        }
    }
}

/// Whose an address is: of IPv6, one customer is given a network of 64 bits.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    async fn is_needed(place: &Place) -> bool {
        tokio::time::timeout(std::time::Duration::from_millis(1), place.is_needed()).await.is_ok()
    }

    #[tokio::test]
    async fn the_one_that_waited_longest_makes_room() {
        let places = Arc::new(Places::new(2, None));
        let first = places.take(address(1)).unwrap();
        let second = places.take(address(2)).unwrap();
        // the first was asked something and answered it, so that the second has waited longer
        first.is_busy();
        first.waits();
        let third = places.take(address(3)).unwrap();
        assert!(is_needed(&second).await && !is_needed(&first).await);
        drop(second);
        // nobody is disturbed while a request is under way
        first.is_busy();
        third.is_busy();
        assert!(places.take(address(4)).is_none());
        drop(third);
        assert!(places.take(address(4)).is_some());
    }

    #[tokio::test]
    async fn what_waits_for_a_body_makes_room_after_what_waits_for_a_request() {
        let places = Arc::new(Places::new(3, None));
        let [first, second, third] = [1, 2, 3].map(|client| places.take(address(client)).unwrap());
        for place in [&first, &second] {
            place.is_busy();
            place.waits_for_body();
        }
        tokio::time::sleep(FRESH).await;
        let fourth = places.take(address(4)).unwrap();
        assert!(is_needed(&third).await && !is_needed(&first).await);
        drop(third);
        // who has just come is left alone
        let fifth = places.take(address(5)).unwrap();
        assert!(!is_needed(&fourth).await && is_needed(&first).await);
        drop(first);
        fifth.is_busy();
        fifth.waits_for_body();
        fourth.is_busy();
        // more of the second body came, so that the fifth has waited longer
        second.is_busy();
        second.waits_for_body();
        let sixth = places.take(address(6)).unwrap();
        assert!(is_needed(&fifth).await && !is_needed(&second).await);
        drop((second, fifth, sixth));
        drop(fourth);
        let taken = places.taken();
        assert!(taken.open.is_empty() && taken.clients.is_empty() && taken.waiting.is_empty());
    }

    #[tokio::test]
    async fn a_client_makes_room_for_itself_alone() {
        let places = Arc::new(Places::new(10, Some(2)));
        let other = places.take(address(9)).unwrap();
        let one = places.take("2001:db8::1".parse().unwrap()).unwrap();
        let two = places.take("2001:db8::2".parse().unwrap()).unwrap();
        let three = places.take("2001:db8::3".parse().unwrap()).unwrap();
        assert!(is_needed(&one).await && !is_needed(&two).await && !is_needed(&other).await);
        two.is_busy();
        three.is_busy();
        assert!(places.take("2001:db8::4".parse().unwrap()).is_none());
        assert!(places.take("2001:db8:0:1::4".parse().unwrap()).is_some(), "another network");
    }

    #[test]
    fn what_was_told_to_leave_and_is_not_gone_is_bounded() {
        let places = Arc::new(Places::new(MOST_LEAVING, None));
        let mut held: Vec<_> = (0..MOST_LEAVING).map(|_| places.take(address(1)).unwrap()).collect();
        held.extend((0..MOST_LEAVING).map(|_| places.take(address(2)).unwrap()));
        assert!(places.take(address(3)).is_none());
        assert_eq!(places.make_room(5), 0);
        held.clear();
        let taken = places.taken();
        assert!(taken.open.is_empty() && taken.clients.is_empty() && taken.waiting.is_empty());
        assert_eq!(taken.leaving, 0);
    }
}
