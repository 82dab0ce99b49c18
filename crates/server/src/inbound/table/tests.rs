//! Which connection makes room.

use super::*;

/// How many places a client may have.
const OF_CLIENT: usize = 50;

/// A table, and a clock that a test moves.
struct Scene {
    table: Table,
    now: Instant,
}

impl Scene {
    fn new(most: usize) -> Self {
        Self { table: Table::new(most, OF_CLIENT), now: Instant::now() }
    }

    fn pass(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    /// A connection that has a place: its name, and that of the one that leaves for it. That is gone at once.
    fn enter(&mut self, address: &str) -> (u64, Option<u64>) {
        let (id, leaves) = self.try_enter(address).expect("a place");
        if let Some(leaves) = leaves {
            self.table.leave(leaves);
        }
        (id, leaves)
    }

    fn try_enter(&mut self, address: &str) -> Option<(u64, Option<u64>)> {
        self.table.enter(address.parse().unwrap(), self.now)
    }

    fn reach(&mut self, id: u64, stage: Stage) {
        self.table.reach(id, stage, self.now);
    }
}

/// An address of a network where nobody else is.
fn apart(number: usize) -> String {
    format!("10.{}.{}.1", number / 256, number % 256)
}

#[test]
fn the_one_that_got_no_further_for_the_longest_time_makes_room() {
    let mut scene = Scene::new(3);
    let [first, second, third] = [1, 2, 3].map(|number| {
        scene.pass(10);
        scene.enter(&apart(number)).0
    });
    scene.pass(10);
    scene.reach(first, Stage::Introduced);
    let (fourth, leaves) = scene.enter(&apart(4));
    assert_eq!(leaves, Some(second));
    // who says the same each second gets no further
    for _ in 0..3 {
        scene.pass(10);
        scene.reach(first, Stage::Introduced);
    }
    assert_eq!(scene.enter(&apart(5)).1, Some(third));
    assert_eq!(scene.enter(&apart(6)).1, Some(first));
    assert_eq!(scene.enter(&apart(7)).1, Some(fourth));
}

#[test]
fn the_network_that_has_the_most_makes_room_first() {
    for address in ["2001:db8:bad:", "10.66.6."] {
        let mut scene = Scene::new(10);
        let (honest, _) = scene.enter("192.0.2.1");
        for number in 0..100 {
            // each is a client of its own
            let end = if address.contains(':') { "::1" } else { "" };
            let (id, leaves) = scene.enter(&format!("{address}{number}{end}"));
            assert_ne!(leaves, Some(honest), "{address}{number}");
            assert_ne!(leaves, Some(id), "{address}{number}");
            scene.pass(300);
        }
    }
}

#[test]
fn a_flood_stops_no_slow_sender() {
    // more than the places come between two commands, and each has hardly time for one
    let mut scene = Scene::new(40);
    let (honest, _) = scene.enter("192.0.2.1");
    let mut number = 0;
    let stages = [Stage::Introduced, Stage::Sender, Stage::Recipients(1), Stage::Content(0)];
    for stage in stages {
        for _ in 0..1_000 {
            scene.pass(3);
            number += 1;
            let (id, leaves) = scene.enter(&format!("10.0.{}.{}", number % 4, number % 251));
            assert_ne!(leaves, Some(honest), "before {stage:?}");
            scene.reach(id, Stage::Introduced);
        }
        scene.reach(honest, stage);
    }
}

#[test]
fn idle_connections_make_room_ahead_of_many_fresh_ones_of_a_network() {
    let mut scene = Scene::new(16);
    let idle: Vec<u64> = (0..12).map(|number| scene.enter(&apart(number)).0).collect();
    scene.pass(2_000);
    for number in 0..4 {
        assert_eq!(scene.enter(&format!("192.0.2.{number}")).1, None);
    }
    let left: Vec<u64> = (100..110).filter_map(|number| scene.enter(&apart(number)).1).collect();
    assert_eq!(left, idle[..10]);
}

#[test]
fn a_connection_with_a_recipient_makes_room_last() {
    let mut scene = Scene::new(3);
    let [first, second, third] = [1, 2, 3].map(|number| scene.enter(&apart(number)).0);
    scene.reach(first, Stage::Recipients(1));
    scene.pass(60_000);
    let leaves: Vec<_> = (4..8).map(|number| scene.enter(&apart(number)).1).collect();
    assert_eq!(leaves[..2], [Some(second), Some(third)]);
    assert!(!leaves.contains(&Some(first)));

    let mut scene = Scene::new(2);
    let [first, second] = [1, 2].map(|number| scene.enter(&apart(number)).0);
    scene.reach(first, Stage::Recipients(1));
    scene.reach(second, Stage::Recipients(1));
    assert_eq!(scene.try_enter(&apart(3)), None, "both got further a moment ago");
    scene.pass(2_000);
    scene.reach(first, Stage::Content(0));
    assert_eq!(scene.enter(&apart(3)).1, Some(second));
    assert_eq!(scene.table.open.len(), 2);
}

#[test]
fn recipients_keep_no_place_for_those_who_take_them_back() {
    let mut scene = Scene::new(2);
    let [first, second] = [1, 2].map(|number| scene.enter(&apart(number)).0);
    scene.reach(first, Stage::Recipients(1));
    scene.reach(second, Stage::Introduced);
    scene.pass(10);
    scene.reach(first, Stage::Introduced);
    assert_eq!(scene.enter(&apart(3)).1, Some(first));
}

#[test]
fn who_knows_an_address_does_not_take_all_places() {
    let mut scene = Scene::new(8);
    let known: Vec<u64> = (0..7).map(|number| scene.enter(&apart(number)).0).collect();
    for id in &known {
        scene.reach(*id, Stage::Recipients(1));
    }
    scene.pass(3_000);
    let (honest, leaves) = scene.enter("192.0.2.1");
    assert_eq!(leaves, None);
    let (other, leaves) = scene.enter(&apart(100));
    assert_eq!(leaves, Some(known[0]));
    // a quarter of the places is open now
    assert_eq!(scene.enter(&apart(101)).1, Some(honest));
    scene.reach(other, Stage::Recipients(1));
    assert_eq!(scene.enter(&apart(102)).1, Some(known[1]));
}

#[test]
fn a_message_that_is_being_stored_is_not_disturbed() {
    let mut scene = Scene::new(1);
    let (first, _) = scene.enter(&apart(1));
    scene.reach(first, Stage::Recipients(1));
    scene.reach(first, Stage::Taking);
    assert!(scene.table.is_taking(first));
    scene.pass(60_000);
    assert_eq!(scene.try_enter(&apart(2)), None);
    // the next message begins anew
    scene.reach(first, Stage::Introduced);
    assert!(!scene.table.is_taking(first));
    assert_eq!(scene.enter(&apart(2)).1, Some(first));
}

#[test]
fn a_client_and_the_network_around_it_have_their_share() {
    let mut scene = Scene::new(10 * OF_CLIENT);
    let mut held = Vec::new();
    for network in 0..CLIENTS_AROUND {
        for number in 0..OF_CLIENT {
            held.push(scene.enter(&format!("2001:db8:1:{network}::{number}")).0);
        }
        assert_eq!(scene.try_enter(&format!("2001:db8:1:{network}::ffff")), None);
    }
    assert_eq!(scene.try_enter("2001:db8:1:ffff::1"), None, "the network of 48 bits has all that it may");
    held.push(scene.enter("2001:db8:2:ffff::1").0);
    scene.table.leave(held[0]);
    held.push(scene.enter("2001:db8:1:ffff::1").0);

    for number in 0..OF_CLIENT {
        let [one, other] = [1, 2].map(|client| scene.enter(&format!("192.0.2.{client}")).0);
        held.extend([one, other]);
        assert!(number + 1 < OF_CLIENT || scene.try_enter("192.0.2.1").is_none());
    }
    for id in held {
        scene.table.leave(id);
    }
    let table = &scene.table;
    assert!(table.open.is_empty() && table.of_clients.is_empty() && table.of_networks.is_empty());
    assert!(table.fresh.is_empty() && table.expected.is_empty());
    assert_eq!((table.without.len(), table.idle.len(), table.leaving), (0, 0, 0));
}

#[test]
fn those_that_are_leaving_are_bounded() {
    let mut scene = Scene::new(MOST_LEAVING);
    let mut held = Vec::new();
    for number in 0..2 * MOST_LEAVING {
        held.push(scene.try_enter(&apart(number)).expect("a place").0);
    }
    assert_eq!(scene.table.leaving, MOST_LEAVING);
    assert_eq!(scene.try_enter(&apart(1_000)), None);
    assert_eq!(scene.table.open.len(), 2 * MOST_LEAVING);
    scene.table.leave(held[0]);
    assert_eq!(scene.try_enter(&apart(1_000)).expect("a place").1, Some(held[MOST_LEAVING]));
}
