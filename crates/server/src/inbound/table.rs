//! Which connections the SMTP server has, and which of them makes room for another one.
//!
//! To open a connection costs a client nothing, and neither does a command that leads nowhere. So it counts how far a
//! session has come, and since when it got no further. Room is made by the first of these that there is:
//!
//! 1. A connection without an accepted recipient that got no further for [`FRESH`], where such ones have a good part
//!    of the places ([`IDLE_PART`]). Where they are fewer nearly all are fresh, as when many connect at once: a sender
//!    that is slow would be one of the few.
//! 2. A connection with an accepted recipient that got no further for as long, where those with one leave too few
//!    places to the others ([`OPEN_PART`]). Whoever knows an address of ours could take all places otherwise.
//! 3. A connection without an accepted recipient, fresh or not.
//! 4. A connection with an accepted recipient that got no further for [`FRESH`].
//!
//! Of those without a recipient, the one of the network that has the most of them makes room ([`ByNetwork`]); of those
//! with one, the one that got no further for the longest time. Where there is none of these, the new connection is
//! refused.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use mailwright_mail::smtp_server::Stage;

use super::by_network::{ByNetwork, Networks};

/// A client that got further so recently is about to say more.
const FRESH: Duration = Duration::from_secs(2);
/// Idle connections make room ahead of fresh ones where they have at least one of so many places.
const IDLE_PART: usize = 8;
/// One of so many places is kept for connections without an accepted recipient.
const OPEN_PART: usize = 4;
/// An IPv6 network of 48 bits may have the connections of this many clients.
const CLIENTS_AROUND: usize = 4;
/// Connections that were told to leave and are not gone yet: each still has its descriptor.
const MOST_LEAVING: usize = 32;

/// The connections, by their names.
#[derive(Debug, Default)]
pub(super) struct Table {
    most: usize,
    most_of_client: usize,
    /// Counts up: names connections, and says which one got no further for longer.
    turn: u64,
    open: HashMap<u64, Open>,
    leaving: usize,
    /// How many each client has, and each network around clients, without those that are leaving.
    of_clients: HashMap<IpAddr, usize>,
    of_networks: HashMap<IpAddr, usize>,
    /// Those without an accepted recipient, and of these the idle ones, and by turn the ones that were fresh.
    without: ByNetwork,
    idle: ByNetwork,
    fresh: BTreeMap<u64, u64>,
    /// Those with an accepted recipient, by turn.
    expected: BTreeMap<u64, u64>,
}

#[derive(Debug)]
struct Open {
    networks: Networks,
    state: State,
    is_leaving: bool,
    /// The furthest stage since the last message.
    furthest: Stage,
    /// When it was reached.
    turn: u64,
    since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No recipient was accepted yet. It becomes idle when another connection needs a place.
    Fresh,
    /// The same, and it got no further for [`FRESH`].
    Idle,
    /// A recipient was accepted.
    Expected,
    /// A message is complete: the connection is not closed before it is stored.
    Taking,
}

impl Open {
    fn is_fresh(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < FRESH
    }

    fn reach(&mut self, stage: Stage, turn: u64, now: Instant) {
        // after a message everything begins anew
        let is_further = stage > self.furthest || self.state == State::Taking;
        if is_further {
            (self.furthest, self.turn, self.since) = (stage, turn, now);
        }
        self.state = match self.state {
            _ if stage == Stage::Taking => State::Taking,
            _ if stage.has_recipient() => State::Expected,
            State::Idle if !is_further => State::Idle,
            _ => State::Fresh,
        };
    }
}

impl Table {
    /// A table of so many connections, of which a client may have so many.
    pub(super) fn new(most: usize, most_of_client: usize) -> Self {
        Self { most, most_of_client, ..Self::default() }
    }

    /// Takes a connection from an address: its name, and that of the connection that has to leave for it. `None` where
    /// there is no place for it.
    pub(super) fn enter(&mut self, address: IpAddr, now: Instant) -> Option<(u64, Option<u64>)> {
        let networks = Networks::of(address);
        if !self.may_have_more(networks) {
            return None;
        }
        let id = self.next_turn();
        let open = Open {
            networks,
            state: State::Fresh,
            is_leaving: false,
            furthest: Stage::Connected,
            turn: id,
            since: now,
        };
        self.open.insert(id, open);
        *self.of_clients.entry(networks.client).or_default() += 1;
        *self.of_networks.entry(networks.around).or_default() += 1;
        self.list(id);
        if self.open.len() - self.leaving <= self.most {
            return Some((id, None));
        }
        self.age(now);
        let first = self.first_to_close(id, now).filter(|_| self.leaving < MOST_LEAVING);
        match first {
            Some(first) => self.dismiss(first),
            None => self.leave(id),
        }
        first.map(|first| (id, Some(first)))
    }

    /// A connection has come to a stage.
    pub(super) fn reach(&mut self, id: u64, stage: Stage, now: Instant) {
        let turn = self.next_turn();
        self.change(id, |open| open.reach(stage, turn, now));
    }

    /// A connection is gone.
    pub(super) fn leave(&mut self, id: u64) {
        self.unlist(id);
        let Some(open) = self.open.remove(&id) else { return };
        if open.is_leaving {
            self.leaving -= 1;
        } else {
            self.uncount(open.networks);
        }
    }

    /// Whether a message of the connection is being stored.
    pub(super) fn is_taking(&self, id: u64) -> bool {
        self.open.get(&id).is_some_and(|open| open.state == State::Taking)
    }

    /// The connection that makes room for a new one, as the head of this file says.
    fn first_to_close(&self, new: u64, now: Instant) -> Option<u64> {
        let is_fresh = |id: &u64| self.open.get(id).is_some_and(|open| open.is_fresh(now));
        let expected = self.expected.first_key_value().map(|(_, id)| *id).filter(|id| !is_fresh(id));
        let are_many_idle = self.idle.len() >= self.most.div_ceil(IDLE_PART);
        let are_many_expected = self.expected.len() > self.most - self.most / OPEN_PART;
        self.idle
            .first()
            .filter(|_| are_many_idle)
            .or_else(|| expected.filter(|_| are_many_expected))
            .or_else(|| self.without.first().filter(|id| *id != new))
            .or(expected)
    }

    /// Finds out which of those that were fresh got no further for too long.
    fn age(&mut self, now: Instant) {
        while let Some(id) = self.fresh.first_key_value().map(|(_, id)| *id) {
            if self.open.get(&id).is_none_or(|open| open.is_fresh(now)) {
                return;
            }
            self.change(id, |open| open.state = State::Idle);
        }
    }

    fn may_have_more(&self, networks: Networks) -> bool {
        let has =
            |counts: &HashMap<IpAddr, usize>, network: IpAddr| counts.get(&network).copied().unwrap_or(0);
        let most_around = self.most_of_client.saturating_mul(CLIENTS_AROUND);
        has(&self.of_clients, networks.client) < self.most_of_client
            && (networks.around.is_ipv4() || has(&self.of_networks, networks.around) < most_around)
    }

    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// A connection is told to leave. It counts no more from now on.
    fn dismiss(&mut self, id: u64) {
        self.unlist(id);
        let Some(open) = self.open.get_mut(&id) else { return };
        open.is_leaving = true;
        let networks = open.networks;
        self.leaving += 1;
        self.uncount(networks);
    }

    fn uncount(&mut self, networks: Networks) {
        for (counts, network) in
            [(&mut self.of_clients, networks.client), (&mut self.of_networks, networks.around)]
        {
            if let Some(count) = counts.get_mut(&network) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&network);
                }
            }
        }
    }

    /// Changes a connection, and the lists that it is in with it.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut Open)) {
        self.unlist(id);
        if let Some(open) = self.open.get_mut(&id) {
            change(open);
        }
        self.list(id);
    }

    fn list(&mut self, id: u64) {
        let Some(open) = self.open.get(&id).filter(|open| !open.is_leaving) else { return };
        let (networks, turn) = (open.networks, open.turn);
        match open.state {
            State::Fresh => {
                self.without.insert(networks, turn, id);
                self.fresh.insert(turn, id);
            }
            State::Idle => {
                self.without.insert(networks, turn, id);
                self.idle.insert(networks, turn, id);
            }
            State::Expected => {
                self.expected.insert(turn, id);
            }
            State::Taking => {}
        }
    }

    fn unlist(&mut self, id: u64) {
        let Some(open) = self.open.get(&id).filter(|open| !open.is_leaving) else { return };
        let (networks, turn) = (open.networks, open.turn);
        match open.state {
            State::Fresh => {
                self.without.remove(networks, turn);
                self.fresh.remove(&turn);
            }
            State::Idle => {
                self.without.remove(networks, turn);
                self.idle.remove(networks, turn);
            }
            State::Expected => {
                self.expected.remove(&turn);
            }
            State::Taking => {}
        }
    }
}

#[cfg(test)]
mod tests;
