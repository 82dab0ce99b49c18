//! Lists of jobs: the newest of some kinds, and those in trouble.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::job::JobKind;
use mailwright_core::time::Timestamp;

use super::job::{COLUMNS, Job, read};
use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// The newest jobs of some kinds, at most `limit`.
pub async fn list(rx: &Rx<'_>, project: ProjectNumber, kinds: &[JobKind], limit: i64) -> Result<Vec<Job>> {
    let kinds = Arg::Texts(kinds.iter().map(|kind| Some(kind.as_str().into())).collect());
    rx.all(
        format!(
            "select {COLUMNS} from jobs where project_id = $1 and kind {{in $2}} order by id desc limit $3"
        ),
        &[project.into(), kinds, limit.into()],
        read,
    )
    .await
}

/// The jobs of a project that fail and are tried again, and those that were given up since a time, newest first, with
/// when they last changed. It looks through the jobs that are kept, which are few.
pub async fn in_trouble(
    rx: &Rx<'_>,
    project: ProjectNumber,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<(Job, Timestamp)>> {
    rx.all(
        format!(
            "select {COLUMNS}, updated_at from jobs where project_id = $1 \
             and (state = 'delayed' or (state = 'failed' and updated_at >= $2)) order by id desc limit $3"
        ),
        args![project, since, limit],
        |r| Ok((read(r)?, r.get(8)?)),
    )
    .await
}
