//! The contacts that a transaction changed: queued for the segments that track their members, and put into the log for
//! processes that keep columns of them in memory. Where nobody does either, this costs one look.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::ids::{ChangeId, ContactId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::audience::contact_log;
use crate::database::error::Result;
use crate::database::tx::Tx;
use crate::database::value::Arg;

/// The contacts that changed, and when.
pub(crate) type Touched = BTreeMap<(ProjectNumber, ContactId), Timestamp>;

/// Who wants to know of the changes of a project.
const TRACKS: i64 = 1;
const FOLLOWS: i64 = 2;

/// Tells whoever wants to know. Segments are not told of those that `is_judged` says they are true of already, nor of what
/// is `also` followed.
pub(crate) async fn tell(tx: &Tx<'_>, touched: &Touched, also: &Touched, is_judged: bool) -> Result<()> {
    let projects: BTreeSet<ProjectNumber> =
        touched.keys().chain(also.keys()).map(|(project, _)| *project).collect();
    if projects.is_empty() {
        return Ok(());
    }
    let projects = Arg::Ints(projects.iter().map(|project| Some(project.0)).collect());
    let interested: BTreeSet<(i64, ProjectNumber)> = tx
        .all(
            "select cast($2 as {int}), project_id from segment_upkeep where project_id {in $1} and tracks \
             union all select cast($3 as {int}), project_id from contact_followers where project_id {in $1} and is_on",
            &[projects, TRACKS.into(), FOLLOWS.into()],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .await?
        .into_iter()
        .collect();
    let tracked = |project: ProjectNumber| !is_judged && interested.contains(&(TRACKS, project));
    queue(tx, touched.iter().filter(|((project, _), _)| tracked(*project)).collect()).await?;
    let followed = |project: ProjectNumber| interested.contains(&(FOLLOWS, project));
    let changed = touched.keys().chain(also.keys()).filter(|(project, _)| followed(*project));
    let at = touched.values().chain(also.values()).max().copied().unwrap_or_default();
    contact_log::append(tx, &changed.copied().collect(), at).await
}

/// Queues contacts for the segments that track their members.
async fn queue(tx: &Tx<'_>, noted: Vec<(&(ProjectNumber, ContactId), &Timestamp)>) -> Result<()> {
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
