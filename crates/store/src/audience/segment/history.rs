//! How many members segments had on each day. A day is one of UTC, counted from 1970.

use mailwright_core::ids::{ProjectNumber, SegmentId};

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// Whether a segment of a project shows another number than is noted for a day.
pub async fn is_behind(rx: &Rx<'_>, project: ProjectNumber, day: i64) -> Result<bool> {
    rx.exists(
        "select 1 from segments s left join segment_days d on d.project_id = s.project_id and d.segment_id = s.id \
         and d.day = $2 where s.project_id = $1 and (d.day is null \
         or d.member_count <> case when s.settled then s.member_count else s.counted end) limit 1",
        args![project, day],
    )
    .await
}

/// Notes what the segments of a project show, as their size on a day. What was noted before is replaced.
pub async fn note(tx: &Tx<'_>, project: ProjectNumber, day: i64) -> Result<()> {
    tx.execute(
        "insert into segment_days (project_id, segment_id, day, member_count) \
         select s.project_id, s.id, cast($2 as {int}), case when s.settled then s.member_count else s.counted end \
         from segments s where s.project_id = $1 \
         on conflict (project_id, segment_id, day) do update set member_count = excluded.member_count \
         where segment_days.member_count <> excluded.member_count",
        args![project, day],
    )
    .await?;
    Ok(())
}

/// The sizes of a segment from a day on, in the order of the days.
pub async fn sizes(
    rx: &Rx<'_>,
    project: ProjectNumber,
    segment: SegmentId,
    from: i64,
) -> Result<Vec<(i64, i64)>> {
    rx.all(
        "select day, member_count from segment_days where project_id = $1 and segment_id = $2 and day >= $3 \
         order by day",
        args![project, segment, from],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// Removes up to `limit` sizes of days before one; how many.
pub async fn forget(tx: &Tx<'_>, project: ProjectNumber, before: i64, limit: i64) -> Result<u64> {
    tx.execute(
        "delete from segment_days where project_id = $1 and (segment_id, day) in (select segment_id, day \
         from segment_days where project_id = $1 and day < $2 order by day limit $3)",
        args![project, before, limit],
    )
    .await
}

/// Removes the sizes of a segment: one for each day that is kept.
pub(super) async fn forget_segment(tx: &Tx<'_>, project: ProjectNumber, segment: SegmentId) -> Result<()> {
    tx.execute("delete from segment_days where project_id = $1 and segment_id = $2", args![project, segment])
        .await?;
    Ok(())
}
