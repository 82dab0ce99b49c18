//! Disabled projects: why, and for how long. Enabling a project stores its totals so far as a `baseline`, which later
//! judgements subtract. A reset keeps the baseline.

use mailwright_core::ids::{AuditId, ProjectNumber};
use mailwright_core::reputation::ReputationBaseline;
use mailwright_core::time::Timestamp;

use serde_json::{Value as Json, json};

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Rx, Tx};

/// A time for which a project was disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspension {
    /// Why.
    pub reason: String,
    /// Since when.
    pub started_at: Timestamp,
    /// End of the suspension; `None` while it lasts.
    pub ended_at: Option<Timestamp>,
}

/// Disables a project; false when it is disabled already.
pub async fn start(tx: &mut Tx<'_>, project: ProjectNumber, reason: &str, now: Timestamp) -> Result<bool> {
    let disabled = tx
        .execute(
            "update projects set disabled_at = $2 where number = $1 and disabled_at is null and retired_at is null",
            args![project, now],
        )
        .await?;
    if disabled == 0 {
        return Ok(false);
    }
    tx.execute_one(
        "insert into suspensions (project_id, id, reason, started_at) values ($1, $2, $3, $4)",
        args![project, AuditId::new(now, rand::random()), reason, now],
    )
    .await?;
    Ok(true)
}

/// Enables a project again, whose mail was received as it was: that is baseline. False when it is not disabled.
pub async fn end(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    baseline: &ReputationBaseline,
    now: Timestamp,
) -> Result<bool> {
    let enabled = tx
        .execute(
            "update projects set disabled_at = null where number = $1 and disabled_at is not null and retired_at is null",
            args![project],
        )
        .await?;
    tx.execute("delete from departures where project_id = $1", args![project]).await?;
    tx.execute(
        "update suspensions set ended_at = $2, baseline = {json $3} where project_id = $1 and ended_at is null",
        args![project, now, &json!(baseline)],
    )
    .await?;
    Ok(enabled == 1)
}

/// Enables a project again that is disabled for a reason; how its mail was received counts as before. False when it is not
/// disabled, or for another reason.
pub async fn end_for(tx: &mut Tx<'_>, project: ProjectNumber, reason: &str, now: Timestamp) -> Result<bool> {
    let ended = tx
        .execute(
            "update suspensions set ended_at = $3 where project_id = $1 and ended_at is null and reason = $2",
            args![project, reason, now],
        )
        .await?;
    if ended == 0 {
        return Ok(false);
    }
    tx.execute("delete from departures where project_id = $1", args![project]).await?;
    tx.execute(
        "update projects set disabled_at = null where number = $1 and disabled_at is not null and retired_at is null",
        args![project],
    )
    .await?;
    Ok(true)
}

/// The sums of the project when it was last enabled.
pub async fn baseline(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Option<ReputationBaseline>> {
    let stored = rx
        .optional(
            "select {json_out baseline} from suspensions where project_id = $1 and baseline is not null \
             order by id desc limit 1",
            args![project],
            |r| r.get::<Json>(0),
        )
        .await?;
    let read = |stored| {
        serde_json::from_value(stored).map_err(|error| Error::Corrupt {
            column: 0,
            expected: "totals",
            detail: format!("suspensions.baseline: {error}"),
        })
    };
    stored.map(read).transpose()
}

/// The latest suspensions of a project, newest first, at most `limit` of them.
pub async fn recent(rx: &mut Rx<'_>, project: ProjectNumber, limit: i64) -> Result<Vec<Suspension>> {
    rx.all(
        "select reason, started_at, ended_at from suspensions where project_id = $1 order by id desc limit $2",
        args![project, limit],
        |r| Ok(Suspension { reason: r.get(0)?, started_at: r.get(1)?, ended_at: r.get(2)? }),
    )
    .await
}
