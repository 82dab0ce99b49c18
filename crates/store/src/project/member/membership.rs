//! Members of projects.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ProjectNumber, UserId};
use mailwright_core::role::Role;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::project::role;

/// A member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The account.
    pub user: UserId,
    /// Its address.
    pub email: EmailAddress,
    /// Display name; `None` if there is none, or if somebody else added the member and the member has not agreed yet.
    pub name: Option<String>,
    /// Role in the project.
    pub role: Role,
    /// The owner who offers the project to the member, if one does.
    pub offered_by: Option<UserId>,
    /// Since when.
    pub created_at: Timestamp,
}

const COLUMNS: &str =
    "m.user_id, u.email, case when m.accepted then u.name end, m.role, m.created_at, m.offered_by";

fn read(row: &Row<'_>) -> Result<Member> {
    Ok(Member {
        user: row.get(0)?,
        email: row.get(1)?,
        name: row.get(2)?,
        role: role(&row.get::<String>(3)?, 3)?,
        created_at: row.get(4)?,
        offered_by: row.get(5)?,
    })
}

/// The members of a project in the order in which they joined, at most `limit` members.
pub async fn list(rx: &mut Rx<'_>, project: ProjectNumber, limit: i64) -> Result<Vec<Member>> {
    rx.all(
        format!(
            "select {COLUMNS} from memberships m join users u on u.id = m.user_id where m.project_id = $1 \
             order by m.created_at, m.user_id limit $2"
        ),
        args![project, limit],
        read,
    )
    .await
}

/// One member.
pub async fn get(rx: &mut Rx<'_>, project: ProjectNumber, user: UserId) -> Result<Option<Member>> {
    rx.optional(
        format!(
            "select {COLUMNS} from memberships m join users u on u.id = m.user_id \
             where m.project_id = $1 and m.user_id = $2"
        ),
        args![project, user],
        read,
    )
    .await
}

/// How many members a project has.
pub async fn count(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<i64> {
    rx.one("select count(*) from memberships where project_id = $1", args![project], |r| r.get(0)).await
}

/// How many owners a project has.
pub async fn owners(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<i64> {
    rx.one("select count(*) from memberships where project_id = $1 and role = 'OWNER'", args![project], |r| {
        r.get(0)
    })
    .await
}

/// Makes a user a member, with or without the user's agreement; false if the user is a member already.
pub async fn add(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    user: UserId,
    role: Role,
    accepted: bool,
    now: Timestamp,
) -> Result<bool> {
    let added = tx
        .execute(
            "insert into memberships (project_id, user_id, role, accepted, created_at) values ($1, $2, $3, $4, $5) \
             on conflict (project_id, user_id) do nothing",
            args![project, user, role.as_str(), accepted, now],
        )
        .await?;
    Ok(added == 1)
}

/// Notes that a member whom somebody else added agrees to be one.
pub async fn accept(tx: &mut Tx<'_>, project: ProjectNumber, user: UserId) -> Result<()> {
    tx.execute_one(
        "update memberships set accepted = true where project_id = $1 and user_id = $2",
        args![project, user],
    )
    .await
}

/// Offers the project to one of its members; an earlier offer ends.
pub async fn offer(tx: &mut Tx<'_>, project: ProjectNumber, to: UserId, by: UserId) -> Result<()> {
    tx.execute(
        "update memberships set offered_by = null where project_id = $1 and offered_by is not null",
        args![project],
    )
    .await?;
    tx.execute_one(
        "update memberships set offered_by = $3 where project_id = $1 and user_id = $2",
        args![project, to, by],
    )
    .await
}

/// Notes that an owner leaves a disabled project, which still counts as one of the owner's projects.
pub async fn authorize(tx: &mut Tx<'_>, project: ProjectNumber, user: UserId) -> Result<()> {
    tx.execute(
        "insert into departures (project_id, user_id) values ($1, $2) on conflict (project_id, user_id) do nothing",
        args![project, user],
    )
    .await?;
    Ok(())
}

/// Changes what a member is. What the member was offered is forgotten.
pub async fn set_role(tx: &mut Tx<'_>, project: ProjectNumber, user: UserId, role: Role) -> Result<()> {
    tx.execute_one(
        "update memberships set role = $3, offered_by = null where project_id = $1 and user_id = $2",
        args![project, user, role.as_str()],
    )
    .await
}

/// Removes a member.
pub async fn remove(tx: &mut Tx<'_>, project: ProjectNumber, user: UserId) -> Result<()> {
    tx.execute_one("delete from memberships where project_id = $1 and user_id = $2", args![project, user])
        .await
}
