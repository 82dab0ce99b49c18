//! The mails that this process holds, with the newest claim that it has on each.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mailwright_core::ids::EmailId;
use mailwright_store::sending::email::{ClaimRef, Claimed};

/// The mails that this process holds: as many as are claimed ahead and handed over, at most.
#[derive(Debug, Default)]
pub(super) struct Held(Mutex<HashMap<EmailId, ClaimRef>>);

impl Held {
    fn lock(&self) -> MutexGuard<'_, HashMap<EmailId, ClaimRef>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of claimed mails. Returns those that are new to this process: a mail that one of its workers is
    /// busy with was only claimed again, because its lease ended while the database was away.
    pub(super) fn hold(&self, mails: Vec<Claimed>) -> Vec<Claimed> {
        let mut held = self.lock();
        mails.into_iter().filter(|mail| held.insert(mail.id, claim_ref(mail)).is_none()).collect()
    }

    /// The newest claim that this process has on a mail.
    pub(super) fn current(&self, claim: ClaimRef) -> ClaimRef {
        self.lock().get(&claim.id).copied().unwrap_or(claim)
    }

    pub(super) fn let_go(&self, id: EmailId) {
        self.lock().remove(&id);
    }

    pub(super) fn all(&self) -> Vec<ClaimRef> {
        self.lock().values().copied().collect()
    }
}

/// A claim on a mail.
pub(super) fn claim_ref(mail: &Claimed) -> ClaimRef {
    ClaimRef { project: mail.project, id: mail.id, claim: mail.claim }
}
