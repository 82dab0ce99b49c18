//! Names of sender domains across projects.

use crate::args;
use crate::database::error::Result;
use crate::database::tx::Rx;

/// The domains that disabled projects proved to be their own, or that the operator vouches for: those of the projects that
/// were disabled last, at most `limit`.
pub async fn of_disabled_projects(rx: &mut Rx<'_>, limit: i64) -> Result<Vec<String>> {
    rx.all(
        "select d.name from projects p join domains d on d.project_id = p.number \
         where p.disabled_at is not null and p.retired_at is null and (d.proven_at is not null or d.vouched) \
         order by p.disabled_at desc, d.name limit $1",
        args![limit],
        |r| r.get(0),
    )
    .await
}
