//! What operators, and projects for their own mail, want done with mail that waits: it is paused, leaves by another
//! transport, or is given up.
//!
//! Every process knows all interventions, and looks every [`LOOK`] whether they changed. A mail that is paused is put off
//! for a day and names its intervention, so that it costs no claims while it waits, and is found at once when the
//! intervention ends (`letting_go.rs`). All processes let such mail go; that several do harms nothing. What is being
//! handed over when an intervention is made is handed over.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use mailwright_core::email::Reason;
use mailwright_core::ids::InterventionId;
use mailwright_core::intervention::{Intervention, InterventionKind, Interventions, Waiting};
use mailwright_core::pacing::LONGEST_BLOCK;
use mailwright_store::body;
use mailwright_store::delivery::intervention::{self as store, Paused};
use mailwright_store::sending::email::Claimed;

use super::intervening::MOST_IN_FORCE;
use super::outcome::Via;
use super::{Delivery, claim_ref};
use crate::background::runner::Waker;

/// How often a process looks whether something was wanted.
const LOOK: Duration = Duration::from_secs(1);
/// How long a mail that is paused is not looked at, at least; up to twice as long, by chance.
const PUT_OFF: Duration = Duration::from_hours(24);
/// The longest that it is.
pub(crate) const LONGEST_PUT_OFF: Duration = Duration::from_hours(48);
/// How long mail is given up that was accepted before: as long as mail waits at most, and a day more.
const EXPIRES_FOR: Duration = Duration::from_hours(4 * 24);
/// Mails that are paused in one transaction.
const BATCH: usize = 1_000;

/// What this process knows.
#[derive(Debug, Default)]
pub(super) struct Known {
    in_force: RwLock<Arc<Interventions>>,
    open: RwLock<Arc<Vec<Intervention>>>,
    changed: Waker,
}

impl Known {
    /// All that are in force.
    pub(super) fn current(&self) -> Arc<Interventions> {
        Arc::clone(&self.in_force.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Those whose mail is to be looked for: they have ended, give mail up, have it leave by another transport, or say
    /// that what it waits for is over.
    pub(super) fn open(&self) -> Arc<Vec<Intervention>> {
        Arc::clone(&self.open.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Is woken when something changed.
    pub(super) fn waker(&self) -> &Waker {
        &self.changed
    }

    fn put(&self, all: Vec<Intervention>) {
        let is_open = |one: &&Intervention| one.ended_at.is_some() || one.kind != InterventionKind::Pause;
        let open = all.iter().filter(is_open).cloned().collect();
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(open);
        *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Interventions::new(all));
        self.changed.wake();
    }
}

/// What is done with a mail instead of handing it over.
pub(super) enum Instead {
    /// It waits.
    Pause(InterventionId, String),
    /// It is given up.
    Expire(String),
    /// It leaves by the transport of this name.
    By(String),
}

/// What is to be done with a mail, as far as its `site` is known.
pub(super) fn instead(known: &Interventions, mail: &Claimed, site: Option<&str>) -> Option<Instead> {
    let waiting =
        Waiting { project: mail.project, domain: mail.recipient.domain(), site, created_at: mail.created_at };
    let found = known.of(waiting)?;
    let reason = found.reason.as_deref().map(|reason| format!(" Reason: {reason}")).unwrap_or_default();
    Some(match found.kind {
        InterventionKind::Pause => {
            Instead::Pause(found.id, format!("The mail waits, because it was paused.{reason}"))
        }
        InterventionKind::Expire => Instead::Expire(format!("The mail was given up on request.{reason}")),
        InterventionKind::Reroute => Instead::By(found.transport.clone()?),
        InterventionKind::Resume => return None,
    })
}

/// How long an intervention is in force that ends by itself. That a site is resumed is told for as long as a process
/// may have in memory that it was blocked before.
fn ends_after(kind: InterventionKind) -> Option<Duration> {
    match kind {
        InterventionKind::Expire => Some(EXPIRES_FOR),
        InterventionKind::Resume => Some(LONGEST_BLOCK),
        InterventionKind::Pause | InterventionKind::Reroute => None,
    }
}

/// What a process has seen of the interventions.
#[derive(Default)]
struct Seen {
    /// What tells whether they changed.
    mark: Option<(i64, i64)>,
}

/// Keeps what is known up to date until the service stops.
pub(super) async fn run(delivery: Arc<Delivery>) {
    let mut seen = Seen::default();
    while !delivery.tasks.is_stopping() {
        if let Err(error) = delivery.look(&mut seen).await {
            tracing::warn!(%error, "it could not be read which mail is paused, trying again");
        }
        delivery.tasks.pause(LOOK).await;
    }
}

impl Delivery {
    /// Looks whether anything changed. What follows for mail that waits is done by another task (`letting_go.rs`).
    async fn look(&self, seen: &mut Seen) -> mailwright_store::Result<()> {
        let mark = self.app.0.db.read(body!(async |rx| store::mark(rx).await)).await?;
        if seen.mark != Some(mark) {
            let all = self.app.0.db.read(body!(async |rx| store::all(rx, MOST_IN_FORCE).await)).await?;
            self.interventions.put(all);
            seen.mark = Some(mark);
        }
        let now = self.now();
        let open = self.interventions.open();
        let is_over = |one: &&Intervention| {
            let ends = ends_after(one.kind).filter(|_| one.ended_at.is_none());
            ends.is_some_and(|after| now.since(one.created_at) >= after)
        };
        for id in open.iter().filter(is_over).map(|one| one.id) {
            self.app.0.db.write(body!(async |tx| store::end(tx, id, now).await)).await?;
        }
        Ok(())
    }

    /// Puts claimed mails off, each until its intervention ends.
    pub(super) async fn pause_mails(&self, paused: Vec<(InterventionId, String, Claimed)>) {
        let now = self.now();
        let paused: Vec<_> = paused
            .into_iter()
            .map(|(by, why, mail)| {
                let until = now.plus(PUT_OFF.mul_f64(1.0 + rand::random::<f64>()).min(LONGEST_PUT_OFF));
                let claim = self.held.current(claim_ref(&mail));
                self.done_with(mail.id);
                Paused { claim, by, until, why: why.into() }
            })
            .collect();
        for (_, part) in self.parts(paused, BATCH, |paused| paused.claim.project) {
            let written = self.app.0.db.write(body!(async |tx| store::pause(tx, &part, now).await)).await;
            if let Err(error) = written {
                tracing::warn!(%error, "claims could not be given back, their leases will end");
            }
        }
    }

    /// Gives claimed mails up.
    pub(super) async fn expire_mails(self: &Arc<Self>, expired: Vec<(String, Claimed)>) {
        for (why, mail) in expired {
            self.record(self.unsendable(&mail, None, (Reason::Expired, why), Via::NOWHERE)).await;
        }
    }
}
