//! A part of the tables that are divided by project: the rows of some projects, on one server of the cluster.
//!
//! A transaction that is sent to that server names the parts in its statements instead of the tables
//! ([`Part::locate`]). They are plain tables there, so PostgreSQL alone plans the statements, keeps the plans, and runs
//! one statement for all projects of the part.

#[cfg(test)]
mod tests;
mod words;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use self::words::in_part;
pub(crate) use self::words::{Located, Names};
use crate::database::dialect::{Sql, Texts};

/// A server that holds parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Server {
    /// The number by which the cluster says what it holds.
    pub(crate) group: i64,
    /// Its name, as the coordinator connects to it.
    pub(crate) host: String,
    /// Its port.
    pub(crate) port: u16,
}

/// A part of each table. They are moved together.
#[derive(Debug)]
pub(crate) struct Part {
    /// The number of the first table's part, by which all of them are locked while they are moved.
    pub(crate) number: i64,
    /// Where it is.
    pub(crate) server: Server,
    names: Names,
    /// A transaction found that it is not there any more.
    is_gone: AtomicBool,
    /// By the place of a text in the program.
    known: RwLock<HashMap<[usize; 2], Located>>,
}

impl Part {
    /// A part, given the names of the parts of all tables.
    pub(crate) fn new(number: i64, server: Server, names: Names) -> Self {
        Self { number, server, names, is_gone: AtomicBool::default(), known: RwLock::default() }
    }

    /// Whether it is still there, and another reading of it says the same.
    pub(crate) fn is_still(&self, other: &Self) -> bool {
        !self.is_gone()
            && self.number == other.number
            && self.server == other.server
            && self.names == other.names
    }

    /// Whether a transaction did not find it.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// Notes that a transaction did not find it.
    pub(crate) fn miss(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
    }

    /// Where a statement runs, and its text.
    pub(crate) fn locate(&self, texts: &Texts, sql: &Sql) -> Located {
        let Some(fixed) = sql.whole() else { return self.expand(texts, sql) };
        let key = [fixed.as_ptr() as usize, fixed.len()];
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let located = self.expand(texts, sql);
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(key, located.clone());
        located
    }

    fn expand(&self, texts: &Texts, sql: &Sql) -> Located {
        in_part(texts.whole(sql), &self.names)
    }
}
