//! What segments are, and how they refer to each other.

use std::collections::BTreeSet;
use std::sync::Arc;

use mailwright_core::filter::Filter;
use mailwright_core::ids::{ProjectNumber, SegmentId};
use mailwright_core::segment::{MAX_SEGMENTS, Segment, SegmentType};

use crate::args;
use crate::audience::filter::Segments;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx};
use crate::database::value::Arg;

pub(super) const COLUMNS: &str = "s.id, s.name, s.description, s.type, {json_out s.condition}, s.track_membership, \
    case when s.settled then s.member_count else s.counted end, s.created_at, s.updated_at";

pub(super) fn read(row: &Row<'_>) -> Result<Segment> {
    let kind: String = row.get(3)?;
    Ok(Segment {
        id: row.get(0)?,
        name: row.get(1)?,
        description: row.get(2)?,
        kind: SegmentType::from_name(&kind).ok_or(Error::Corrupt {
            column: 3,
            expected: "a segment type",
            detail: format!("segments.type is {kind:?}"),
        })?,
        condition: row.get(4)?,
        track_membership: row.get(5)?,
        member_count: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
    })
}

/// Every segment of a project, newest first.
pub async fn all(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Vec<Segment>> {
    rx.all(
        format!("select {COLUMNS} from segments s where s.project_id = $1 order by s.id desc limit $2"),
        args![project, MAX_SEGMENTS],
        read,
    )
    .await
}

/// Several segments, as far as they exist.
pub async fn some(rx: &Rx<'_>, project: ProjectNumber, ids: &BTreeSet<SegmentId>) -> Result<Vec<Segment>> {
    rx.all(
        format!("select {COLUMNS} from segments s where s.project_id = $1 and s.id {{in $2}}"),
        &[project.into(), Arg::Ids(ids.iter().map(|id| Some((*id).into())).collect())],
        read,
    )
    .await
}

/// The segments that a filter names, directly or through other segments.
pub async fn resolve(rx: &mut Rx<'_>, project: ProjectNumber, tree: &Filter) -> Result<Segments> {
    resolve_all(rx, project, tree.references().segments).await
}

/// Some segments, and those that they name.
pub async fn resolve_all(
    rx: &Rx<'_>,
    project: ProjectNumber,
    segments: BTreeSet<SegmentId>,
) -> Result<Segments> {
    let mut open = segments;
    let mut segments = Segments::new();
    let mut known = BTreeSet::new();
    while !open.is_empty() {
        let found = some(rx, project, &open).await?;
        known.append(&mut open);
        for segment in found {
            if segment.kind == SegmentType::Static || segment.track_membership {
                segments.members(segment.id);
                continue;
            }
            let tree = tree_of(&segment)?;
            open.extend(tree.references().segments.into_iter().filter(|id| !known.contains(id)));
            segments.tree(segment.id, Arc::new(tree));
        }
    }
    Ok(segments)
}

/// The stored condition of a dynamic segment.
pub fn tree_of(segment: &Segment) -> Result<Filter> {
    let tree = segment.condition.as_ref().map(Filter::parse);
    tree.and_then(std::result::Result::ok).ok_or_else(|| Error::Corrupt {
        column: 4,
        expected: "a condition",
        detail: format!("segments.condition of {}", segment.id),
    })
}
