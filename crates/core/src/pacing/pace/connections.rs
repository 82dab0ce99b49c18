//! How many connections the processes have together, and which part each of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::grant::GRANTED_FOR;
use crate::time::Timestamp;

/// How long a process counts as one that wants a part, after it asked last. One with a part asks before its grant ends,
/// and one without each second: what was not asked for so long is of a process that died.
const WANTED_FOR: Duration = GRANTED_FOR.saturating_add(Duration::from_secs(3));
/// How long a process keeps connections while others have none.
const TURN: Duration = Duration::from_secs(15);
/// How soon one more connection is tried after there were too many, and how often that is doubled at most, because it
/// was one too many.
const ONE_MORE: Duration = Duration::from_mins(10);
const MOST_IN_VAIN: u32 = 6;

/// A process's part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Part {
    process: u64,
    connections: u32,
    /// When it had none last.
    since: Timestamp,
    /// When it asked last.
    asked_at: Timestamp,
}

/// There were too many, and they are tried one by one since.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Crowd {
    /// When their number changed last.
    at: Timestamp,
    /// Whether it grew then.
    grew: bool,
    /// How often in a row one more was too many.
    in_vain: u32,
}

/// The connections of all processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Connections {
    parts: Vec<Part>,
    /// Most of all together; 0 before the first.
    most: u32,
    crowd: Option<Crowd>,
}

impl Connections {
    pub(super) fn most(&self) -> u32 {
        self.most.max(1)
    }

    /// Forgets the parts of processes that ask no longer.
    pub(super) fn tidy(&mut self, process: u64, now: Timestamp) {
        // a time to come is from before the clock was set back
        let is_lately = |at: Timestamp| now.since(at) < WANTED_FOR && at.since(now) < WANTED_FOR;
        self.parts.retain(|part| part.process == process || is_lately(part.asked_at));
    }

    /// Forgets the parts that were last asked for before a time.
    pub(super) fn forget_before(&mut self, time: Timestamp) {
        self.parts.retain(|part| part.asked_at >= time);
    }

    /// A process has none any more.
    pub(super) fn leave(&mut self, process: u64) {
        self.parts.retain(|part| part.process != process);
    }

    /// How many of `usable` connections a process gets.
    pub(super) fn part(&mut self, process: u64, wanted: u32, usable: u32, now: Timestamp) -> u32 {
        if wanted == 0 {
            self.leave(process);
            return 0;
        }
        let own = self.parts.iter().position(|part| part.process == process).unwrap_or_else(|| {
            self.parts.push(Part { process, connections: 0, since: now, asked_at: now });
            self.parts.len() - 1
        });
        let connections = wanted.min(self.share(own, usable.min(self.most()), now));
        let part = &mut self.parts[own];
        if part.connections == 0 || connections == 0 {
            part.since = now;
        }
        (part.connections, part.asked_at) = (connections, now);
        connections
    }

    /// Whether another process has none, and wants some.
    pub(super) fn is_wanted(&self, process: u64) -> bool {
        self.parts.iter().any(|part| part.process != process && part.connections == 0)
    }

    /// An equal part of what there is. With more processes than connections they take turns.
    fn share(&self, own: usize, usable: u32, now: Timestamp) -> u32 {
        let others = || self.parts.iter().enumerate().filter(|(at, _)| *at != own).map(|(_, part)| part);
        let free = usable.saturating_sub(others().map(|part| part.connections).sum());
        let processes = self.parts.len() as u32;
        if processes == 1 {
            return free;
        }
        let held = &self.parts[own];
        let is_over = held.connections > 0 && now.since(held.since) >= TURN;
        if processes > usable && is_over && others().any(|part| part.connections == 0) {
            return 0;
        }
        free.min(usable.div_ceil(processes))
    }

    /// Mail was taken: more may be used, up to `limit`.
    pub(super) fn grow(&mut self, limit: u32, now: Timestamp) {
        let limit = limit.max(1);
        let Some(crowd) = self.crowd else {
            self.most = self.most().saturating_mul(2).min(limit).max(self.most());
            return;
        };
        let in_vain = if crowd.grew { 0 } else { crowd.in_vain };
        if now.since(crowd.at) >= ONE_MORE * (1 << in_vain) {
            self.most = (self.most() + 1).min(limit).max(self.most());
            self.crowd = Some(Crowd { at: now, grew: true, in_vain });
        }
    }

    /// The site says to a process that there are too many. The process has so many left, where that is known.
    pub(super) fn too_many(&mut self, process: u64, left: Option<u32>, now: Timestamp) {
        if let Some(left) = left
            && let Some(part) = self.parts.iter_mut().find(|part| part.process == process)
        {
            part.connections = left;
        }
        let open: u32 = self.parts.iter().map(|part| part.connections).sum();
        let most = if left.is_some() { open } else { open.saturating_sub(1) };
        // those who had more a moment ago may still say so
        if self.crowd.is_none_or(|crowd| crowd.grew || now.since(crowd.at) >= GRANTED_FOR) {
            self.lower(most, now);
        } else if left.is_some() {
            self.most = self.most().min(most).max(1);
        }
    }

    /// From now on there are no more than so many.
    pub(super) fn lower(&mut self, most: u32, now: Timestamp) {
        let in_vain = self.crowd.map_or(0, |crowd| crowd.in_vain + u32::from(crowd.grew)).min(MOST_IN_VAIN);
        self.most = self.most().min(most).max(1);
        self.crowd = Some(Crowd { at: now, grew: false, in_vain });
    }

    pub(super) fn forget(&mut self) {
        self.crowd = None;
    }
}
