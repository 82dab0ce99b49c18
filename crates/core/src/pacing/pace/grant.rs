//! What a process reports, wishes and is granted.

use std::time::Duration;

use super::super::reply::Signal;
use crate::names::names_in_json;
use crate::time::Timestamp;

/// How long a grant may be used. A process that dies with one gives it back by this.
pub(super) const GRANTED_FOR: Duration = Duration::from_secs(5);

names_in_json! {
    /// Why mail for a site waits.
    pub enum PaceReason {
        /// The site throttled, and nothing is tried for a while.
        Resting = "resting",
        /// The site blocks the source.
        Blocked = "blocked",
        /// The rate is used up for the moment.
        Rate = "rate",
        /// Other processes have all the connections that the site takes.
        Connections = "connections",
    }
}

/// What a process did with its last grant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Mails that the site took.
    pub taken: u32,
    /// Mails that were granted and not tried.
    pub unused: u32,
    /// What the site said about the source, and the reply. The last of several.
    pub said: Option<(Signal, String)>,
    /// Connections that it has left, where the site said that there are too many and that is known.
    pub left: Option<u32>,
}

/// What a process wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wish {
    /// Mails that it has for the site.
    pub mails: u32,
    /// Connections it would use, those that it has included.
    pub connections: u32,
}

/// What a process may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Mails.
    pub mails: u32,
    /// Connections, those that it has included: it closes those beyond.
    pub connections: u32,
    /// Until when. Afterwards it has nothing, and asks again.
    pub until: Timestamp,
    /// Why it is less than was wished, and when to ask again.
    pub wait: Option<Wait>,
    /// Whether other processes wait for connections: it gives back those that it does not use.
    pub is_wanted: bool,
}

/// Why mail waits, and when that may be over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Why.
    pub reason: PaceReason,
    /// When to ask again.
    pub until: Timestamp,
}
