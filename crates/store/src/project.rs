//! Projects, users and memberships.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ProjectId, ProjectNumber, UserId};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::error::Result;
use crate::tx::{Row, Rx, Tx};

pub(crate) const COLUMNS: &str = "p.number, p.id, p.name, p.language, p.disabled_at";

pub(crate) fn read(row: &Row<'_>) -> Result<Project> {
    Ok(Project {
        number: row.get(0)?,
        id: row.get(1)?,
        name: row.get(2)?,
        language: row.get(3)?,
        disabled: row.get::<Option<i64>>(4)?.is_some(),
    })
}

/// The project with a number.
pub async fn get(rx: &mut Rx<'_>, number: ProjectNumber) -> Result<Option<Project>> {
    rx.optional(format!("select {COLUMNS} from projects p where p.number = $1"), args![number], read).await
}

/// The oldest project with a name.
pub async fn by_name(rx: &mut Rx<'_>, name: &str) -> Result<Option<Project>> {
    rx.optional(
        format!("select {COLUMNS} from projects p where p.name = $1 order by p.number limit 1"),
        args![name],
        read,
    )
    .await
}

/// The project with an id.
pub async fn by_id(rx: &mut Rx<'_>, id: ProjectId) -> Result<Option<Project>> {
    rx.optional(format!("select {COLUMNS} from projects p where p.id = $1"), args![id], read).await
}

/// How many projects there are.
pub async fn count(rx: &mut Rx<'_>) -> Result<i64> {
    rx.one("select count(*) from projects", &[], |r| r.get(0)).await
}

/// Every project's number, in order, after `after`: for work that goes from project to project.
pub async fn numbers(rx: &mut Rx<'_>, after: ProjectNumber, limit: i64) -> Result<Vec<ProjectNumber>> {
    rx.all(
        "select number from projects where number > $1 order by number limit $2",
        args![after, limit],
        |r| r.get(0),
    )
    .await
}

/// What sending needs to know of a project.
#[derive(Debug, Clone)]
pub struct Sending {
    /// The project.
    pub project: Project,
    /// Most mails a second; `None` for the instance's setting.
    pub per_second: Option<i64>,
}

/// What sending needs to know of a project.
pub async fn sending(rx: &mut Rx<'_>, number: ProjectNumber) -> Result<Option<Sending>> {
    rx.optional(
        format!("select {COLUMNS}, p.sending_per_second from projects p where p.number = $1"),
        args![number],
        |r| Ok(Sending { project: read(r)?, per_second: r.get(5)? }),
    )
    .await
}

/// Creates a project. `language` is that of its public pages and footers.
pub async fn create(tx: &mut Tx<'_>, name: &str, language: &str, now: Timestamp) -> Result<Project> {
    let id = ProjectId::new(now);
    tx.execute_one(
        "insert into projects (id, name, language, tracking, created_at, updated_at) values ($1, $2, $3, 'ENABLED', $4, $4)",
        args![id, name, language, now],
    )
    .await?;
    tx.one(format!("select {COLUMNS} from projects p where p.id = $1"), args![id], read).await
}

/// The user with an address.
pub async fn user_by_email(rx: &mut Rx<'_>, email: &EmailAddress) -> Result<Option<UserId>> {
    rx.optional("select id from users where email = $1", args![email], |r| r.get(0)).await
}

/// Creates a user whose address counts as verified. `password_hash` is in PHC format.
pub async fn create_user(
    tx: &mut Tx<'_>,
    email: &EmailAddress,
    password_hash: &str,
    now: Timestamp,
) -> Result<UserId> {
    let id = UserId::new(now);
    tx.execute_one(
        "insert into users (id, email, password_hash, email_verified_at, created_at, updated_at) values ($1, $2, $3, $4, $4, $4)",
        args![id, email, password_hash, now],
    )
    .await?;
    Ok(id)
}

/// Makes a user the owner of a project, if not a member already.
pub async fn add_owner(tx: &mut Tx<'_>, project: ProjectNumber, user: UserId, now: Timestamp) -> Result<()> {
    tx.execute(
        "insert into memberships (project_id, user_id, role, created_at) values ($1, $2, 'OWNER', $3) \
         on conflict (project_id, user_id) do nothing",
        args![project, user, now],
    )
    .await?;
    Ok(())
}
