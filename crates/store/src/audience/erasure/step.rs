//! A step of an erasure: one transaction.

use mailwright_core::address::EmailAddress;
use mailwright_core::erasure::ErasureStatus;
use mailwright_core::ids::{ErasureId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use super::records::{self, Counts};
use super::stage::{Part, Running, Stage};
use super::{mails, words};
use crate::args;
use crate::audience::erased;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::insight::deltas::Deltas;

/// How long it is waited for imports before it is looked again.
const IMPORTS: std::time::Duration = std::time::Duration::from_millis(500);

/// How far an erasure is after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Mail to the person may still leave.
    Stopping,
    /// There is more to do.
    More,
    /// It goes on when imports are done that were queued before it.
    Waits,
    /// It is complete.
    Done,
}

/// Does the next step of an erasure.
pub async fn step(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    id: ErasureId,
    now: Timestamp,
) -> Result<Progress> {
    let found = tx
        .optional(
            "select contact_id, email, requested_at, place, stage, {json_out counts}, keep_out, address_hash, project_id, \
             {json_out formerly} from erasures where project_id = $1 and id = $2 and due_at is not null {for_update}",
            args![project, id],
            |r| {
                let running = Running {
                    project: r.get(8)?,
                    contact: r.get(0)?,
                    email: r.get::<Option<EmailAddress>>(1)?.unwrap_or_else(|| EmailAddress::from_stored("")),
                    formerly: formerly(r.get::<Option<Json>>(9)?.as_ref()),
                    requested_at: r.get(2)?,
                    place: r.get(3)?,
                };
                let stage = r.named(4, "erasures.stage", Stage::from_name)?;
                let (keep_out, hash): (bool, Vec<u8>) = (r.get(6)?, r.get(7)?);
                Ok((running, stage, Counts::from_json(&r.get(5)?), keep_out, hash))
            },
        )
        .await?;
    let Some((running, stage, mut counts, keep_out, hash)) = found else { return Ok(Progress::Done) };
    let mut deltas = Deltas::default();
    let part = part(tx, &running, stage, (&mut counts, &mut deltas), now).await?;
    deltas.save(tx).await?;
    let (stage, place, due_at) = match part {
        Part::Goes(place) => (stage, place, now),
        Part::Waits => (stage, String::new(), now.plus(IMPORTS)),
        Part::Done => {
            let Some(next) = stage.next() else {
                complete(tx, (project, id), &counts, now).await?;
                erased::end(tx, project, &hash, keep_out, id).await?;
                return Ok(Progress::Done);
            };
            (next, String::new(), now)
        }
    };
    tx.execute_one(
        "update erasures set stage = $3, place = $4, counts = {json $5}, due_at = $6 where project_id = $1 and id = $2",
        args![project, id, stage.as_str(), &place, counts.to_json(), due_at],
    )
    .await?;
    Ok(match stage {
        _ if due_at > now => Progress::Waits,
        stage if stage.stops_mail() => Progress::Stopping,
        _ => Progress::More,
    })
}

async fn part(
    tx: &mut Tx<'_>,
    running: &Running,
    stage: Stage,
    (counts, deltas): (&mut Counts, &mut Deltas),
    now: Timestamp,
) -> Result<Part> {
    match stage {
        Stage::Stop => mails::stop(tx, running, counts, deltas, now).await,
        Stage::Elsewhere => mails::elsewhere(tx, running, counts, deltas, now).await,
        Stage::Mails => mails::blank(tx, running, counts).await,
        Stage::Executions => records::executions(tx, running, counts, deltas).await,
        Stage::Captured => records::captured(tx, running, counts, deltas).await,
        Stage::Received => records::received(tx, running, counts, deltas).await,
        Stage::ReceivedFrom => records::received_from(tx, running, counts, deltas).await,
        Stage::Events => records::events(tx, running, counts, deltas).await,
        Stage::Audit => words::audit(tx, running, counts).await,
        Stage::Keys => words::idempotency_keys(tx, running, counts).await,
        Stage::Imports => words::imports(tx, running).await,
        Stage::Jobs => words::jobs(tx, running, counts).await,
        Stage::Failures => {
            let part = words::failures(tx, running, counts).await?;
            // an import that was waited for may have put the address on the list
            for address in running.addresses() {
                records::forget_suppression(tx, running.project, address, counts).await?;
            }
            Ok(part)
        }
        Stage::Verified => words::verified(tx, running, counts).await,
    }
}

/// Reads what [`begin`](super::begin) stored.
fn formerly(stored: Option<&Json>) -> Vec<EmailAddress> {
    let addresses = stored.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    addresses.map(EmailAddress::from_stored).collect()
}

/// Notes that nothing is left, and forgets who it was.
async fn complete(
    tx: &Tx<'_>,
    (project, id): (ProjectNumber, ErasureId),
    counts: &Counts,
    now: Timestamp,
) -> Result<()> {
    tx.execute_one(
        "update erasures set status = $3, email = null, formerly = null, contact_id = null, place = '', due_at = null, \
         counts = {json $4}, completed_at = $5 where project_id = $1 and id = $2",
        args![project, id, ErasureStatus::Completed.as_str(), counts.to_json(), now],
    )
    .await
}
