//! The contacts that a transaction changed, queued for the segments that track their members.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::ids::{ChangeId, ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;

/// Queues contacts that a transaction changed, in the projects that track segments. Elsewhere this costs one look.
pub(crate) async fn queue(
    tx: &Tx<'_>,
    touched: &BTreeMap<(ProjectNumber, ContactId), Timestamp>,
) -> Result<()> {
    let projects: BTreeSet<ProjectNumber> = touched.keys().map(|(project, _)| *project).collect();
    if projects.is_empty() {
        return Ok(());
    }
    let tracking: Vec<ProjectNumber> = tx
        .all(
            "select project_id from segment_upkeep where project_id {in $1} and tracks",
            &[Arg::Ints(projects.iter().map(|project| Some(project.0)).collect())],
            |r| r.get(0),
        )
        .await?;
    let noted: Vec<_> = touched.iter().filter(|((project, _), _)| tracking.contains(project)).collect();
    tx.each(
        "insert into contact_changes (project_id, id, contact_id) \
         select r.project_id, r.id, r.contact_id from {rows r: project_id int, id id, contact_id id}",
        &[
            Arg::Ints(noted.iter().map(|((project, _), _)| Some(project.0)).collect()),
            Arg::Ids(noted.iter().map(|(_, at)| Some(ChangeId::new(**at, rand::random()).into())).collect()),
            Arg::Ids(noted.iter().map(|((_, contact), _)| Some((*contact).into())).collect()),
        ],
    )
    .await?;
    Ok(())
}
