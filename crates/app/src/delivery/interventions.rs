//! What operators, and projects for their own mail, want done with mail that waits: it is paused, leaves by another
//! transport, or is given up.
//!
//! Every process knows all interventions, and looks every [`LOOK`] whether they changed. A mail that is paused is put off
//! for a day and names its intervention, so that it costs no claims while it waits, and is found at once when the
//! intervention ends. All processes let such mail go; that several do harms nothing. What is being handed over when an
//! intervention is made is handed over.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use mailwright_core::email::{Lane, Reason};
use mailwright_core::ids::{InterventionId, ProjectNumber};
use mailwright_core::intervention::{Intervention, InterventionKind, Interventions, Waiting};
use mailwright_store::delivery::intervention as store;
use mailwright_store::sending::email::{self, Claimed};
use mailwright_store::{body, project};

use super::intervening::MOST_IN_FORCE;
use super::outcome::Via;
use super::{Delivery, claim_ref};

/// How often a process looks whether something was wanted.
const LOOK: Duration = Duration::from_secs(1);
/// How long a mail that is paused is not looked at, at least; up to twice as long, by chance.
const PUT_OFF: Duration = Duration::from_hours(24);
/// For how long after the end of an intervention mail is let go that another process paused before it knew.
const ENDING: Duration = Duration::from_secs(10);
/// How long mail is given up that was accepted before: as long as mail waits at most, and a day more.
const EXPIRES_FOR: Duration = Duration::from_hours(4 * 24);
/// Mails that are let go in one transaction, and projects that are read at a time.
const BATCH: i64 = 1_000;

/// What this process knows.
#[derive(Debug, Default)]
pub(super) struct Known(RwLock<Arc<Interventions>>);

impl Known {
    /// All that are in force.
    pub(super) fn current(&self) -> Arc<Interventions> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
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
    })
}

/// What a process has seen of the interventions.
#[derive(Default)]
struct Seen {
    /// What tells whether they changed.
    mark: Option<(i64, i64)>,
    all: Vec<Intervention>,
    /// Those whose mail was looked for that is to be given up.
    expired: HashSet<InterventionId>,
}

/// Keeps what is known up to date, and lets mail go, until the service stops.
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
    async fn look(&self, seen: &mut Seen) -> mailwright_store::Result<()> {
        let mark = self.app.0.db.read(body!(async |rx| store::mark(rx).await)).await?;
        if seen.mark != Some(mark) {
            seen.all = self.app.0.db.read(body!(async |rx| store::all(rx, MOST_IN_FORCE).await)).await?;
            *self.interventions.0.write().unwrap_or_else(PoisonError::into_inner) =
                Arc::new(Interventions::new(seen.all.clone()));
            seen.mark = Some(mark);
            seen.expired.retain(|id| seen.all.iter().any(|one| one.id == *id));
        }
        let now = self.now();
        for one in &seen.all {
            let id = one.id;
            match (one.kind, one.ended_at) {
                (_, Some(ended_at)) => {
                    self.let_go(id).await?;
                    if now.since(ended_at) >= ENDING {
                        self.app.0.db.write(body!(async |tx| store::forget(tx, id).await)).await?;
                    }
                }
                (InterventionKind::Expire, None) if now.since(one.created_at) >= EXPIRES_FOR => {
                    self.app.0.db.write(body!(async |tx| store::end(tx, id, now).await)).await?;
                }
                // what was paused or put off before is looked at now, once
                (InterventionKind::Expire, None) if !seen.expired.contains(&id) => {
                    self.make_due(one).await?;
                    seen.expired.insert(id);
                }
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// Makes the mail due that waits for an intervention.
    async fn let_go(&self, id: InterventionId) -> mailwright_store::Result<()> {
        let mut after = ProjectNumber(-1);
        loop {
            let projects =
                self.app.0.db.read(body!(async |rx| store::projects(rx, id, after, BATCH).await)).await?;
            let Some(last) = projects.last() else { return Ok(()) };
            after = *last;
            for project in projects {
                let mut count = BATCH as u64;
                while count == BATCH as u64 && !self.tasks.is_stopping() {
                    let now = self.now();
                    count = self
                        .app
                        .0
                        .db
                        .write_in_background(body!(async |tx| {
                            store::let_go(tx, project, id, BATCH, now).await
                        }))
                        .await?;
                }
                for lane in Lane::ALL {
                    self.app.0.delivery.dispatcher.wake(lane, project);
                }
            }
        }
    }

    /// Makes the mail of a project or for a domain due that is to be given up. That of a site is found when it is looked at
    /// next.
    async fn make_due(&self, wanted: &Intervention) -> mailwright_store::Result<()> {
        let projects = match wanted.scope.project {
            Some(project) => vec![project],
            None if wanted.scope.domain.is_some() => self.all_projects().await?,
            None => Vec::new(),
        };
        let (domain, before) = (wanted.scope.domain.clone(), wanted.created_at);
        for project in projects {
            let mut count = BATCH as u64;
            while count == BATCH as u64 && !self.tasks.is_stopping() {
                let (domain, now) = (domain.clone(), self.now());
                count = self
                    .app
                    .0
                    .db
                    .write_in_background(body!(async |tx| {
                        email::make_due(tx, project, domain.as_deref(), before, BATCH, now).await
                    }))
                    .await?;
            }
            for lane in Lane::ALL {
                self.app.0.delivery.dispatcher.wake(lane, project);
            }
        }
        Ok(())
    }

    async fn all_projects(&self) -> mailwright_store::Result<Vec<ProjectNumber>> {
        let (mut all, mut after) = (Vec::new(), ProjectNumber(-1));
        loop {
            let part = self.app.0.db.read(body!(async |rx| project::numbers(rx, after, BATCH).await)).await?;
            let Some(last) = part.last() else { return Ok(all) };
            after = *last;
            all.extend(part);
        }
    }

    /// Puts claimed mails off, each until its intervention ends.
    pub(super) async fn pause_mails(&self, paused: Vec<(InterventionId, String, Claimed)>) {
        let now = self.now();
        let mut by_intervention: BTreeMap<(InterventionId, String), Vec<_>> = BTreeMap::new();
        for (id, why, mail) in paused {
            let due_at = now.plus(PUT_OFF.mul_f64(1.0 + rand::random::<f64>()));
            let claim = self.held.current(claim_ref(&mail));
            self.done_with(mail.id);
            by_intervention.entry((id, why)).or_default().push((claim, due_at));
        }
        for ((id, why), mails) in by_intervention {
            for part in mails.chunks(BATCH as usize) {
                let (part, why) = (part.to_vec(), why.clone());
                let written =
                    self.app.0.db.write(body!(async |tx| store::pause(tx, id, &part, &why, now).await)).await;
                if let Err(error) = written {
                    tracing::warn!(%error, "claims could not be given back, their leases will end");
                }
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
