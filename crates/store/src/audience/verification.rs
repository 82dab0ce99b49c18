//! What jobs found out about addresses.

use mailwright_core::ids::{JobId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// What was found out about an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its place among those of the job, from 0.
    pub position: i64,
    /// The address as it was given.
    pub email: String,
    /// A bit for each flag.
    pub flags: i64,
    /// Why: an array of texts.
    pub reasons: Json,
    /// The address that was probably meant.
    pub meant: Option<String>,
}

/// Stores what a job found out.
pub async fn add(tx: &Tx<'_>, project: ProjectNumber, job: JobId, found: &[Found]) -> Result<u64> {
    tx.each(
        "insert into verification_results (project_id, job_id, position, email, flags, reasons, meant) \
         select $6, $7, r.place, r.email, r.flags, r.reasons, r.meant \
         from {rows r: place int, email text, flags int, reasons json, meant text}",
        &[
            Arg::Ints(found.iter().map(|one| Some(one.position)).collect()),
            Arg::Texts(found.iter().map(|one| Some(one.email.as_str().into())).collect()),
            Arg::Ints(found.iter().map(|one| Some(one.flags)).collect()),
            Arg::Jsons(found.iter().map(|one| Some(one.reasons.to_string().into())).collect()),
            Arg::Texts(found.iter().map(|one| one.meant.as_deref().map(Into::into)).collect()),
            project.into(),
            job.into(),
        ],
    )
    .await
}

/// Which results of a job are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The job.
    pub job: JobId,
    /// Those behind this place.
    pub after: Option<i64>,
    /// Those that have this bit, or have it not.
    pub flag: Option<(i64, bool)>,
    /// At most so many.
    pub limit: usize,
}

/// Results of a job, in its order.
pub async fn page(rx: &Rx<'_>, project: ProjectNumber, wanted: Wanted) -> Result<Vec<Found>> {
    let mut args: Vec<Arg<'_>> =
        vec![project.into(), wanted.job.into(), wanted.after.unwrap_or(-1).into(), wanted.limit.into()];
    let mut filter = "";
    if let Some((bit, is_set)) = wanted.flag {
        filter = if is_set { " and flags & $5 <> 0" } else { " and flags & $5 = 0" };
        args.push(bit.into());
    }
    rx.all(
        format!(
            "select position, email, flags, {{json_out reasons}}, meant from verification_results \
             where project_id = $1 and job_id = $2 and position > $3{filter} order by position limit $4"
        ),
        &args,
        |row| {
            Ok(Found {
                position: row.get(0)?,
                email: row.get(1)?,
                flags: row.get(2)?,
                reasons: row.get(3)?,
                meant: row.get(4)?,
            })
        },
    )
    .await
}

/// The oldest of the newest `count` jobs with results; `None` if there are fewer. It goes from one job to the next in the
/// key.
pub async fn oldest_of_newest(rx: &Rx<'_>, project: ProjectNumber, count: u32) -> Result<Option<JobId>> {
    let mut found: Option<JobId> = None;
    for _ in 0..count {
        let before = found.unwrap_or_else(|| JobId::from_bytes([0xff; 16]));
        let next = rx
            .optional(
                "select job_id from verification_results where project_id = $1 and job_id < $2 \
                 order by project_id desc, job_id desc limit 1",
                args![project, before],
                |row| row.get(0),
            )
            .await?;
        let Some(next) = next else { return Ok(None) };
        found = Some(next);
    }
    Ok(found)
}

/// Removes results of jobs from before a time and before a job, `limit` at most; how many.
pub async fn forget(
    tx: &Tx<'_>,
    project: ProjectNumber,
    (time, job): (Timestamp, Option<JobId>),
    limit: i64,
) -> Result<u64> {
    let bound = JobId::first_of(time);
    let bound = job.map_or(bound, |job| job.max(bound));
    let oldest = tx
        .all(
            "select job_id, position from verification_results where project_id = $1 and job_id < $2 \
             order by job_id, position limit $3",
            args![project, bound, limit],
            |row| Ok((row.get::<JobId>(0)?, row.get::<i64>(1)?)),
        )
        .await?;
    remove(tx, project, &oldest).await
}

/// Removes results, by their jobs and places; how many.
pub(crate) async fn remove(tx: &Tx<'_>, project: ProjectNumber, results: &[(JobId, i64)]) -> Result<u64> {
    tx.each(
        "delete from verification_results where project_id = $3 and (job_id, position) in (select r.job_id, r.place \
         from {rows r: job_id id, place int})",
        &[
            Arg::Ids(results.iter().map(|(job, _)| Some((*job).into())).collect()),
            Arg::Ints(results.iter().map(|(_, position)| Some(*position)).collect()),
            project.into(),
        ],
    )
    .await
}
