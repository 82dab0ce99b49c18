//! Mails that were stored while the clock was ahead.

use mailwright_core::email::Lane;
use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::sending::campaign;

/// How far in the future, in milliseconds, the due time of a mail that was never claimed may be, since clocks of nodes
/// differ a little.
const AHEAD: i64 = 5_000;
/// Mails that are brought forward together.
const FORWARD: i64 = 500;

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

/// Brings forward mails that were stored while the clock was ahead: mails that were never claimed become due at once,
/// and all others at `latest` at the latest. Returns whether there may be more.
pub async fn bring_forward(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    now: Timestamp,
    latest: Timestamp,
) -> Result<bool> {
    let ahead = Timestamp(now.0 + AHEAD);
    let mut queues: Vec<(&str, Arg<'_>)> = Vec::new();
    for lane in Lane::ALL {
        queues.push(("campaign_id is null and lane = $6", lane.number().into()));
    }
    for campaign in campaign::under_way(tx, project).await? {
        queues.push(("campaign_id = $6", campaign.into()));
    }
    let mut more = false;
    for (queue, of) in queues {
        let touched = tx
            .execute(
                format!(
                    "update emails set due_at = case when claim = 0 then $2 else $4 end \
                     where project_id = $1 and id in (select id from emails where project_id = $1 and {queue} \
                     and due_at > $3 and (claim = 0 or due_at > $4) order by due_at limit $5 {{skip_locked}})"
                ),
                &[project.into(), now.into(), ahead.into(), latest.into(), FORWARD.into(), of],
            )
            .await?;
        more |= touched as i64 == FORWARD;
    }
    Ok(more)
}
