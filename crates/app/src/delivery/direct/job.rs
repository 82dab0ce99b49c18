//! A mail for a worker, and how it goes on.

use std::sync::Arc;

use mailwright_store::sending::email::Claimed;

use super::path::NoWay;
use super::visit::Visit;
use crate::delivery::next_hop::Busy;

/// A mail for a worker.
pub(super) struct Job {
    pub(super) mail: Arc<Claimed>,
    pub(super) busy: Busy,
    pub(super) way: Way,
}

/// How a mail goes on.
pub(super) enum Way {
    To(Box<Visit>),
    No(NoWay),
    /// It is claimed anew.
    Again,
}
