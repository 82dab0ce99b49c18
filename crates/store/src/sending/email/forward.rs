//! Mails that were stored while the clock was ahead.
//!
//! A look goes along the mails of a queue that are due later, a portion at a time, and reads only: very many may wait
//! with good reason, and others must be able to write meanwhile.

use mailwright_core::email::Lane;
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use uuid::Uuid;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::sending::campaign;

/// How far in the future, in milliseconds, the due time of a mail that was never claimed may be, since clocks of nodes
/// differ a little.
const AHEAD: i64 = 5_000;
/// Mails that are looked at together.
const PORTION: i64 = 2_000;

/// A queue of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// Mail without a campaign, of a lane.
    Lane(Lane),
    /// Mail of a campaign that is being sent.
    Campaign(CampaignId),
}

impl Queue {
    /// The condition for its mails, with the argument `$2`.
    fn condition(self) -> (&'static str, Arg<'static>) {
        match self {
            Self::Lane(lane) => ("campaign_id is null and lane = $2", lane.number().into()),
            Self::Campaign(campaign) => ("campaign_id = $2", campaign.into()),
        }
    }
}

/// The latest that a mail is ever due. One that is due later was stored by a wrong clock.
#[derive(Debug, Clone, Copy)]
pub struct Latest {
    /// One that waits for its next attempt, or is claimed.
    pub attempts: Timestamp,
    /// One that an operator or a member paused.
    pub paused: Timestamp,
}

/// The mails of a portion that were stored by a wrong clock.
#[derive(Debug)]
pub struct Portion {
    /// Those mails.
    pub ahead: Vec<EmailId>,
    /// Where the next portion begins; `None` if this is the last one.
    pub next: Option<Place>,
}

/// A place among the mails of a queue, in the order in which they are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(Timestamp, Uuid);

impl Place {
    /// The first place at which a mail may be that is due too late.
    pub fn first(now: Timestamp) -> Self {
        Self(Timestamp(now.0 + AHEAD), Uuid::max())
    }
}

/// Whether a project has something that waits further in the future than [`bring_forward`] leaves alone, as far as a
/// short look tells: mails, or a campaign under way.
pub async fn waits_ahead(rx: &mut Rx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let ahead = Timestamp(now.0 + AHEAD);
    for lane in Lane::ALL {
        let found = rx
            .exists(
                "select 1 from emails where project_id = $1 and campaign_id is null and lane = $2 and due_at > $3 limit 1",
                args![project, lane.number(), ahead],
            )
            .await?;
        if found {
            return Ok(true);
        }
    }
    rx.exists(
        "select 1 from campaigns where project_id = $1 and next_at is not null and status in ('SENDING', 'CANCELLED') limit 1",
        args![project],
    )
    .await
}

/// The queues of a project.
pub async fn queues(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Vec<Queue>> {
    let campaigns = campaign::under_way(rx, project).await?;
    Ok(Lane::ALL.into_iter().map(Queue::Lane).chain(campaigns.into_iter().map(Queue::Campaign)).collect())
}

/// Looks at the mails of a queue that are due after a place.
pub async fn portion(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    queue: Queue,
    after: Place,
    latest: Latest,
) -> Result<Portion> {
    let (condition, of) = queue.condition();
    let Place(due_at, id) = after;
    let rows: Vec<(EmailId, Timestamp, bool)> = rx
        .all(
            format!(
                "select id, due_at, claim = 0 or (due_at > $5 and (paused_by is null or due_at > $6)) from emails \
                 where project_id = $1 and {condition} and due_at >= $3 and (due_at > $3 or id > $4) \
                 order by due_at, id limit $7"
            ),
            &[
                project.into(),
                of,
                due_at.into(),
                Arg::Id(id),
                latest.attempts.into(),
                latest.paused.into(),
                PORTION.into(),
            ],
            |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
        )
        .await?;
    let is_last = rows.len() < PORTION as usize;
    let next = rows.last().filter(|_| !is_last).map(|(id, due_at, _)| Place(*due_at, (*id).into()));
    let ahead = rows.into_iter().filter(|(.., is_ahead)| *is_ahead).map(|(id, ..)| id).collect();
    Ok(Portion { ahead, next })
}

/// Brings mails forward that were stored while the clock was ahead: those that were never claimed become due at once, and
/// all others at `latest`. One that is being written at this moment is left alone: that sets its time anyway.
pub async fn bring_forward(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    mails: &[EmailId],
    now: Timestamp,
    latest: Timestamp,
) -> Result<()> {
    let ids = Arg::Ids(mails.iter().map(|id| Some((*id).into())).collect());
    tx.execute(
        "update emails set due_at = case when claim = 0 then $3 else $4 end where project_id = $1 and id in \
         (select id from emails where project_id = $1 and id {in $2} and due_at > $5 \
         and (claim = 0 or due_at > $4) {skip_locked})",
        &[project.into(), ids, now.into(), latest.into(), Timestamp(now.0 + AHEAD).into()],
    )
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::body;
    use crate::database::db::Db;
    use crate::database::error::Error;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;
    use crate::database::migrate::migrate;
    use crate::database::migrate::tests::Database;

    const ONE: ProjectNumber = ProjectNumber(1);
    const NOW: Timestamp = Timestamp(1_741_608_000_000);

    fn after(hours: u64) -> Timestamp {
        NOW.plus(Duration::from_hours(hours))
    }

    async fn store(tx: &Tx<'_>, claim: i64, paused: bool, due_at: Timestamp) -> Result<EmailId> {
        let id = EmailId::new(NOW, rand::random());
        tx.execute_one(
            "insert into emails (project_id, id, contact_id, recipient, from_address, subject, content_hash, \
             variables, source, type, lane, status, due_at, claim, attempts, in_doubt, log, message_id, \
             opens, clicks, deadline_at, created_at, updated_at, paused_by) values ($1, $2, $2, 'r', 'f', 's', $3, \
             {json '[]'}, 'TRANSACTIONAL', 'TRANSACTIONAL', 0, 'PENDING', $4, $5, 0, 0, {json '[]'}, 'm', 0, 0, 0, 0, 0, \
             $6)",
            args![ONE, id, &[0; 32][..], due_at, claim, paused.then_some(id)],
        )
        .await?;
        Ok(id)
    }

    async fn due_at(rx: &Rx<'_>, id: EmailId) -> Result<Timestamp> {
        rx.one("select due_at from emails where project_id = $1 and id = $2", args![ONE, id], |r| r.get(0))
            .await
    }

    #[tokio::test]
    async fn what_no_clock_that_is_right_stores_is_brought_forward_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("forward.sqlite"));
        let sqlite = Db::open(&location, StoreMetrics::default()).unwrap();
        let database = Database::create("forward");
        for db in [sqlite, database.open()] {
            migrate(&db, NOW).await.unwrap();
            let latest = Latest { attempts: after(4), paused: after(48) };
            let done = db.write(body!(async |tx| {
                // more than a portion that waits with reason, many of them until the same moment
                for number in 0..=PORTION {
                    store(tx, 1, true, after(5 + number as u64 % 40)).await?;
                }
                let never_claimed = store(tx, 0, false, after(1)).await?;
                let retried = store(tx, 2, false, after(4)).await?;
                let late = store(tx, 2, false, after(6)).await?;
                let paused_late = store(tx, 1, true, after(49)).await?;
                assert!(waits_ahead(tx, ONE, NOW).await?);
                let (mut ahead, mut portions) = (Vec::new(), 0);
                for queue in queues(tx, ONE).await? {
                    let mut place = Some(Place::first(NOW));
                    while let Some(at) = place {
                        let portion = portion(tx, ONE, queue, at, latest).await?;
                        ahead.extend(portion.ahead);
                        place = portion.next;
                        portions += 1;
                    }
                }
                assert_eq!(ahead, [never_claimed, late, paused_late]);
                assert_eq!(portions, 1 + Lane::ALL.len());
                bring_forward(tx, ONE, &ahead, NOW, latest.attempts).await?;
                assert_eq!(due_at(tx, never_claimed).await?, NOW);
                assert_eq!(due_at(tx, late).await?, after(4));
                assert_eq!(due_at(tx, paused_late).await?, after(4));
                assert_eq!(due_at(tx, retried).await?, after(4));
                Ok::<_, Error>(())
            }));
            done.await.unwrap();
        }
    }
}
