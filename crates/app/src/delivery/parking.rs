//! Giving mails back that wait for something, each to be looked at again at a time of its own.

use std::sync::Arc;

use mailwright_core::email::Lane;
use mailwright_core::email::Reason;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_store::body;
use mailwright_store::sending::email::{self, Claimed, Parked};

use super::outcome::Via;
use super::{Delivery, claim_ref};

/// Most mails that are given back in one transaction.
pub(super) const MOST: usize = 500;

/// Mails that are given back, with the times at which they are looked at again.
pub(super) struct Waiting {
    /// Why they wait.
    pub(super) why: String,
    pub(super) mails: Vec<(Claimed, Timestamp)>,
}

impl Delivery {
    /// Gives mails back without an attempt. Those that would wait for longer than a mail may are given up.
    pub(super) async fn park(self: &Arc<Self>, waiting: Vec<Waiting>, now: Timestamp) {
        let mut parked = Vec::new();
        for Waiting { why, mails } in waiting {
            let why: Arc<str> = why.into();
            for (mail, due_at) in mails {
                let waits = due_at.since(now);
                if mail.waited + waits > self.backoff.patience {
                    let text = self.backoff.given_up(&why);
                    let record = self.unsendable(&mail, None, (Reason::Expired, text), Via::NOWHERE);
                    self.record(record).await;
                    continue;
                }
                // claimed again meanwhile, where the database was away for longer than a lease
                let claim = self.held.current(claim_ref(&mail));
                self.done_with(mail.id);
                parked.push(Parked { claim, due_at, waits, why: Arc::clone(&why) });
            }
        }
        for (project, part) in self.parts(parked, MOST, |parked| parked.claim.project) {
            let written =
                self.app.0.db.write_of(project, body!(async |tx| email::park(tx, &part).await)).await;
            if let Err(error) = written {
                tracing::warn!(%error, "claims could not be given back, their leases will end");
            }
        }
        // there is room for others, and the next look may be far away
        for lane in Lane::ALL {
            self.app.0.delivery.dispatcher.waker(lane).wake();
        }
    }

    /// What one transaction each stores of mails: so many rows at most, with the project of the first. Where the tables are
    /// divided, they all are of that project, so that a server that is away costs its own projects alone.
    pub(super) fn parts<T: Clone>(
        &self,
        mut rows: Vec<T>,
        most: usize,
        project: impl Fn(&T) -> ProjectNumber,
    ) -> Vec<(ProjectNumber, Vec<T>)> {
        let is_divided = self.app.0.db.is_divided();
        if is_divided {
            rows.sort_by_key(&project);
        }
        let together = rows.chunk_by(|a, b| !is_divided || project(a) == project(b));
        let part = |rows: &[T]| Some((project(rows.first()?), rows.to_vec()));
        together.flat_map(|rows| rows.chunks(most)).filter_map(part).collect()
    }
}
