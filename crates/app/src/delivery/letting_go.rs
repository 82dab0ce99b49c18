//! Lets mail go that waited for an intervention which has ended, and finds the mail that one gives up, or has leave by
//! another transport: it may wait for a server that takes none. And the mail that waits for a site which is resumed, by
//! what it says that it waits for.
//!
//! A pause may have had a million mails wait. They are made due [`PORTION`] in a transaction, and after each the next
//! intervention has its turn: the end of a small one does not wait for that of a large one. What is wanted is looked at
//! by another task meanwhile (`interventions.rs`).
//!
//! How far a look has come is known to this process alone. A mail that waits names its intervention in its row, and an
//! intervention that has ended is kept until a look at all its projects is over that began [`ENDING`] after the end. So
//! a process that starts looks at all of them anew, and finds what one that died has left.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use mailwright_core::email::Lane;
use mailwright_core::ids::{InterventionId, ProjectNumber};
use mailwright_core::intervention::{Intervention, InterventionKind};
use mailwright_core::time::Timestamp;
use mailwright_store::delivery::intervention as store;
use mailwright_store::sending::email;
use mailwright_store::{Db, Error as StoreError, body, project};

use super::Delivery;
use super::direct::waits_for_block;
use crate::background::runner::{Next, Runner, Work};
use crate::error::Result;

/// How often mail is looked for of an intervention that has ended.
const LOOK: Duration = Duration::from_secs(1);
/// For how long after the end of an intervention, or after a site was resumed, mail is let go that another process had
/// wait before it knew.
const ENDING: Duration = Duration::from_secs(10);
/// Mails that are made due in one transaction: it keeps others from writing for some hundredths of a second.
const PORTION: i64 = 250;
/// Portions of a project that are made due to leave by another transport. The rest leaves by it when it is due: where that
/// transport takes none either, the same mails would be made due again and again.
const MOST_REROUTED: u32 = 40;

/// Starts the task that lets mail go.
pub(super) fn start(delivery: &Arc<Delivery>) {
    let runner = Runner::new(&delivery.app, "mail after interventions", LOOK);
    runner
        .woken_by(delivery.interventions.waker())
        .start(&delivery.tasks, LettingGo { delivery: Arc::clone(delivery), looks: BTreeMap::new() });
}

struct LettingGo {
    delivery: Arc<Delivery>,
    looks: BTreeMap<InterventionId, Look>,
}

impl Work for LettingGo {
    /// A portion of each intervention.
    async fn round(&mut self) -> Result<Next> {
        let (open, now) = (self.delivery.interventions.open(), self.delivery.now());
        let mut before = mem::take(&mut self.looks);
        let (mut next, mut failed) = (Next::Woken, None);
        let claimed = email::SOON.max(self.delivery.app.settings().delivery.lease);
        for one in open.iter() {
            let mut look = before.remove(&one.id).unwrap_or_else(|| Look::new(one, now));
            match look.portion(&self.delivery.app.0.db, one, claimed, now).await {
                Ok(portion) => {
                    if let Some(project) = portion.due {
                        for lane in Lane::ALL {
                            self.delivery.app.0.delivery.dispatcher.wake(lane, project);
                        }
                    }
                    if portion.is_more {
                        next = Next::Now;
                    }
                }
                // tried again with the next look
                Err(StoreError::Contention(_)) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
            self.looks.insert(one.id, look);
        }
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(next),
        }
    }
}

/// A look at the projects with mail of an intervention, one after the other.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Whether it lets mail go, rather than finding mail that is given up or rerouted.
    lets_go: bool,
    began: Timestamp,
    /// The last project whose mail is due by now.
    after: ProjectNumber,
    /// Portions of the next one that are.
    portions: u32,
    /// Whether that was the last one.
    is_over: bool,
}

/// What came of a portion.
#[derive(Debug, Default)]
struct Portion {
    /// The project that has mail due now.
    due: Option<ProjectNumber>,
    /// Whether there may be more at once.
    is_more: bool,
}

impl Look {
    fn new(at: &Intervention, now: Timestamp) -> Self {
        Self {
            lets_go: at.ended_at.is_some(),
            began: now,
            after: ProjectNumber(-1),
            portions: 0,
            is_over: false,
        }
    }

    /// Makes some mail due. An intervention that has ended is forgotten once all its mail is. For a site that was resumed,
    /// mail that is due within the time `claimed` is left alone: a process may be handing it over.
    async fn portion(
        &mut self,
        db: &Db,
        of: &Intervention,
        claimed: Duration,
        now: Timestamp,
    ) -> mailwright_store::Result<Portion> {
        if self.is_through(of, now) {
            return Ok(Portion::default());
        }
        let Some(project) = self.next_project(db, of).await? else {
            self.is_over = true;
            if of.ended_at.is_some_and(|ended_at| self.began.since(ended_at) >= ENDING) {
                let id = of.id;
                db.write_in_background(body!(async |tx| store::forget(tx, id).await)).await?;
            }
            return Ok(Portion::default());
        };
        let (id, domain, before) = (of.id, of.scope.domain.clone(), of.created_at);
        let lets_go = self.lets_go;
        let resumed = of.scope.site.as_deref().filter(|_| of.kind == InterventionKind::Resume);
        let why = resumed.map(waits_for_block);
        let made = db.write_in_background(body!(async |tx| {
            if lets_go {
                return store::let_go(tx, project, id, PORTION, now).await;
            }
            let count = match &why {
                Some(why) => email::make_due_that_say(tx, project, why, claimed, PORTION, now).await?,
                None => email::make_due(tx, project, domain.as_deref(), before, PORTION, now).await?,
            };
            Ok((count, count < PORTION as u64))
        }));
        let (count, mut is_all) = made.await?;
        self.portions += 1;
        is_all |= !lets_go && of.kind == InterventionKind::Reroute && self.portions >= MOST_REROUTED;
        if is_all {
            (self.after, self.portions) = (project, 0);
        }
        // of mail that another transaction holds, none was made due: that is tried again with the next look
        Ok(Portion { due: (count > 0).then_some(project), is_more: is_all || count > 0 })
    }

    /// Whether there is nothing to do for now. Mail is let go again and again: a process that had not heard of the end
    /// may have paused more. So it is with mail for a site that was resumed a moment ago. Mail to be given up is looked
    /// for once.
    fn is_through(&mut self, of: &Intervention, now: Timestamp) -> bool {
        if self.lets_go != of.ended_at.is_some() {
            *self = Self::new(of, now);
        }
        let is_new = of.kind == InterventionKind::Resume && self.began.since(of.created_at) < ENDING;
        if !self.is_over || !self.lets_go && !is_new {
            return self.is_over;
        }
        // also where the clock was set back since
        if self.began > now || now.since(self.began) >= LOOK {
            *self = Self::new(of, now);
        }
        self.is_over
    }

    /// The next project that may have mail of an intervention. Mail for a site is found when it is looked at next.
    async fn next_project(
        &self,
        db: &Db,
        of: &Intervention,
    ) -> mailwright_store::Result<Option<ProjectNumber>> {
        let (id, after) = (of.id, self.after);
        let found = if self.lets_go {
            db.read(body!(async |rx| store::projects(rx, id, after, 1).await)).await?
        } else if let Some(project) = of.scope.project {
            return Ok(Some(project).filter(|project| *project > after));
        } else if of.scope.domain.is_some() || of.kind == InterventionKind::Resume {
            db.read(body!(async |rx| project::numbers(rx, after, 1).await)).await?
        } else {
            Vec::new()
        };
        Ok(found.first().copied())
    }
}

#[cfg(test)]
mod tests {
    use mailwright_core::ids::EmailId;
    use mailwright_core::intervention::Scope;
    use mailwright_store::database::migrate;
    use mailwright_store::delivery::intervention::Paused;
    use mailwright_store::sending::email::ClaimRef;
    use mailwright_store::{Arg, Location, StoreMetrics, Tx, args};

    use super::*;

    const ENDED: Timestamp = Timestamp(1_741_608_000_000);

    /// A pause with so many mails of a project, which has ended.
    async fn ended(
        tx: &mut Tx<'_>,
        project: ProjectNumber,
        mails: i64,
    ) -> mailwright_store::Result<Intervention> {
        let pause = Intervention {
            id: InterventionId::new(ENDED, rand::random()),
            kind: InterventionKind::Pause,
            scope: Scope { project: Some(project), ..Scope::default() },
            transport: None,
            reason: None,
            created_by: "operator".into(),
            created_name: None,
            created_at: ENDED,
            ended_at: Some(ENDED),
        };
        store::add(tx, &pause).await?;
        store::end(tx, pause.id, ENDED).await?;
        let later = ENDED.plus(Duration::from_hours(24));
        let mut paused = Vec::new();
        for _ in 0..mails {
            let claim = ClaimRef { project, id: EmailId::new(ENDED, rand::random()), claim: 1 };
            tx.execute_one(
                "insert into emails (project_id, id, contact_id, recipient, from_address, subject, content_hash, \
                 variables, source, type, lane, status, due_at, claim, attempts, in_doubt, log, message_id, opens, \
                 clicks, deadline_at, created_at, updated_at) values ($1, $2, $2, 'r', 'f', 's', $3, {json $4}, \
                 'TRANSACTIONAL', 'TRANSACTIONAL', 0, 'PENDING', 1, 1, 0, 0, {json '[]'}, 'm', 0, 0, 0, 0, 0)",
                args![project, claim.id, &[0; 32][..], Arg::Json("{}".into())],
            )
            .await?;
            paused.push(Paused { claim, by: pause.id, until: later, why: "It was paused.".into() });
        }
        store::pause(tx, &paused, ENDED).await?;
        Ok(pause)
    }

    async fn still_wait(db: &Db, of: &Intervention) -> i64 {
        let (id, project) = (of.id, of.scope.project.unwrap());
        db.read(body!(async |rx| store::waiting(rx, project, id, 10_000).await)).await.unwrap()
    }

    #[tokio::test]
    async fn the_end_of_a_pause_waits_for_one_portion_of_a_larger_one() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("ends.db"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate::migrate(&db, ENDED).await.unwrap();
        let [large, small] = db
            .write(body!(async |tx| {
                let large = ended(tx, ProjectNumber(1), 2 * PORTION + 1).await?;
                Ok::<_, StoreError>([large, ended(tx, ProjectNumber(2), 1).await?])
            }))
            .await
            .unwrap();

        let mut looks = [Look::new(&large, ENDED), Look::new(&small, ENDED)];
        for (look, of) in looks.iter_mut().zip([&large, &small]) {
            let portion = look.portion(&db, of, email::SOON, ENDED).await.unwrap();
            assert!(portion.is_more && portion.due == of.scope.project, "{portion:?}");
        }
        assert_eq!((still_wait(&db, &large).await, still_wait(&db, &small).await), (PORTION + 1, 0));

        // another process takes it up
        let mut again = Look::new(&large, ENDED);
        while again.portion(&db, &large, email::SOON, ENDED).await.unwrap().is_more {}
        assert!(again.is_over);
        assert_eq!(still_wait(&db, &large).await, 0);
        let id = large.id;
        let known = async || db.read(body!(async |rx| store::get(rx, id).await)).await.unwrap().is_some();
        assert!(known().await, "others may not have heard of the end");
        let later = ENDED.plus(ENDING);
        while again.portion(&db, &large, email::SOON, later).await.unwrap().is_more {}
        assert!(!known().await);
    }
}
