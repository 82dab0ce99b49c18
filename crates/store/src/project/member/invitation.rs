//! Invitations. One with a `key_id` was asked for by a key and opens nothing: every statement that redeems one says
//! `key_id is null`.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::{ApiKeyId, InvitationId, ProjectNumber, UserId};
use mailwright_core::project::Project;
use mailwright_core::role::Role;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};
use crate::project;
use crate::project::role;

/// An invitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Identifier.
    pub id: InvitationId,
    /// Address of the invited person.
    pub email: EmailAddress,
    /// Role that the person will have.
    pub role: Role,
    /// Who invited: an address, or a key's name.
    pub invited_by: String,
    /// When.
    pub created_at: Timestamp,
    /// When it can no longer be accepted.
    pub expires_at: Timestamp,
    /// Whether a person stands for it. What a key asked for opens nothing until one does.
    pub confirmed: bool,
}

const INVITATION: &str = "i.id, i.email, i.role, i.invited_by, i.created_at, i.expires_at, i.key_id is null";

fn read_invitation(row: &Row<'_>) -> Result<Invitation> {
    Ok(Invitation {
        id: row.get(0)?,
        email: row.get(1)?,
        role: role(&row.get::<String>(2)?, 2)?,
        invited_by: row.get(3)?,
        created_at: row.get(4)?,
        expires_at: row.get(5)?,
        confirmed: row.get(6)?,
    })
}

/// Who makes an invitation, for as long as the invitation depends on somebody's rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inviter {
    /// A member.
    Member(UserId),
    /// A key.
    Key(ApiKeyId),
    /// The instance, whose invitations end by nobody's departure.
    Instance,
}

/// Stores an invitation; it takes the place of an earlier one to the same address.
pub async fn invite(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    invitation: &Invitation,
    token_hash: &[u8],
    inviter: Inviter,
) -> Result<()> {
    let (key, member) = match inviter {
        Inviter::Member(user) => (None, Some(user)),
        Inviter::Key(key) => (Some(key), None),
        Inviter::Instance => (None, None),
    };
    tx.execute_one(
        "insert into invitations (id, project_id, email, role, token_hash, invited_by, created_at, expires_at, key_id, \
         inviter_id) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (project_id, email) do update set id = excluded.id, \
         role = excluded.role, token_hash = excluded.token_hash, invited_by = excluded.invited_by, \
         created_at = excluded.created_at, expires_at = excluded.expires_at, key_id = excluded.key_id, \
         inviter_id = excluded.inviter_id",
        args![
            invitation.id,
            project,
            &invitation.email,
            invitation.role.as_str(),
            token_hash,
            &invitation.invited_by,
            invitation.created_at,
            invitation.expires_at,
            key,
            member,
        ],
    )
    .await
}

/// Withdraws the invitations that revoked keys of a project made; the addresses they were for.
pub async fn withdraw_of_revoked(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<Vec<EmailAddress>> {
    tx.all(
        "delete from invitations where project_id = $1 and key_id in \
         (select id from api_keys where project_id = $1 and revoked_at is not null) returning email",
        args![project],
        |r| r.get(0),
    )
    .await
}

/// Withdraws the invitations that a member of a project made; the addresses they were for.
pub async fn withdraw_of_member(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    user: UserId,
) -> Result<Vec<EmailAddress>> {
    tx.all(
        "delete from invitations where project_id = $1 and inviter_id = $2 returning email",
        args![project, user],
        |r| r.get(0),
    )
    .await
}

/// How many invitations of a project to other addresses than this persons made, and how many keys.
pub async fn count_invitations(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    but_to: &EmailAddress,
) -> Result<(i64, i64)> {
    rx.one(
        "select count(case when key_id is null then 1 end), count(key_id) from invitations \
         where project_id = $1 and email <> $2",
        args![project, but_to],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// One invitation of a project.
pub async fn invitation(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    id: InvitationId,
) -> Result<Option<Invitation>> {
    rx.optional(
        format!("select {INVITATION} from invitations i where i.project_id = $1 and i.id = $2"),
        args![project, id],
        read_invitation,
    )
    .await
}

/// Whether an address has an invitation that is open and that a person made.
pub async fn is_invited_by_person(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    email: &EmailAddress,
    now: Timestamp,
) -> Result<bool> {
    rx.exists(
        "select 1 from invitations where project_id = $1 and email = $2 and key_id is null and expires_at > $3",
        args![project, email, now],
    )
    .await
}

/// The invitations of a project, newest first, at most `limit` invitations.
pub async fn invitations(rx: &mut Rx<'_>, project: ProjectNumber, limit: i64) -> Result<Vec<Invitation>> {
    rx.all(
        format!(
            "select {INVITATION} from invitations i where i.project_id = $1 order by i.created_at desc, i.id limit $2"
        ),
        args![project, limit],
        read_invitation,
    )
    .await
}

/// Withdraws an invitation.
pub async fn withdraw(tx: &mut Tx<'_>, project: ProjectNumber, id: InvitationId) -> Result<()> {
    tx.execute_one("delete from invitations where project_id = $1 and id = $2", args![project, id]).await
}

/// Withdraws the invitation to an address, because its owner is a member now.
pub async fn forget_invitation(tx: &mut Tx<'_>, project: ProjectNumber, email: &EmailAddress) -> Result<()> {
    tx.execute("delete from invitations where project_id = $1 and email = $2", args![project, email]).await?;
    Ok(())
}

/// Whether an address is invited to a project.
pub async fn is_invited(rx: &mut Rx<'_>, email: &EmailAddress, now: Timestamp) -> Result<bool> {
    rx.exists(
        "select 1 from invitations where email = $1 and expires_at > $2 and key_id is null limit 1",
        args![email, now],
    )
    .await
}

/// The invitation of a token to an address, with its project. Nothing is changed.
pub async fn find_by_token(
    rx: &mut Rx<'_>,
    token_hash: &[u8],
    email: &EmailAddress,
    now: Timestamp,
) -> Result<Option<(InvitationId, ProjectNumber)>> {
    rx.optional(
        "select id, project_id from invitations \
         where token_hash = $1 and email = $2 and expires_at > $3 and key_id is null",
        args![token_hash, email, now],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}

/// The projects that an address is invited to, in order.
pub async fn invited_to(rx: &mut Rx<'_>, email: &EmailAddress, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    rx.all(
        "select project_id from invitations where email = $1 and expires_at > $2 and key_id is null \
         order by project_id",
        args![email, now],
        |r| r.get(0),
    )
    .await
}

/// An invitation as the holder of its token sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Address of the invited person.
    pub email: EmailAddress,
    /// Role that the person will have.
    pub role: Role,
    /// Who invited: an address, or a key's name.
    pub invited_by: String,
    /// The project.
    pub project: Project,
    /// Whether the address has an account, and whether that has a password.
    pub account: Option<bool>,
}

/// The invitation that a token opens, which stays as it is.
pub async fn opened(rx: &mut Rx<'_>, token_hash: &[u8], now: Timestamp) -> Result<Option<Opened>> {
    rx.optional(
        format!(
            "select i.email, i.role, i.invited_by, u.id is not null, u.password_hash is not null, {} \
             from invitations i join projects p on p.number = i.project_id left join users u on u.email = i.email \
             where i.token_hash = $1 and i.expires_at > $2 and i.key_id is null and p.retired_at is null",
            project::COLUMNS
        ),
        args![token_hash, now],
        |r| {
            let (has_account, has_password): (bool, bool) = (r.get(3)?, r.get(4)?);
            Ok(Opened {
                email: r.get(0)?,
                role: role(&r.get::<String>(1)?, 1)?,
                invited_by: r.get(2)?,
                project: project::read_at(r, 5)?,
                account: has_account.then_some(has_password),
            })
        },
    )
    .await
}

/// Takes the invitation that a token opens for an address: project and role. It can be taken once.
pub async fn take_by_token(
    tx: &mut Tx<'_>,
    token_hash: &[u8],
    email: &EmailAddress,
    now: Timestamp,
) -> Result<Option<(ProjectNumber, Role)>> {
    let taken = tx
        .optional(
            "delete from invitations where token_hash = $1 and email = $2 and expires_at > $3 and key_id is null \
             returning project_id, role",
            args![token_hash, email, now],
            |r| Ok((r.get(0)?, r.get::<String>(1)?)),
        )
        .await?;
    taken.map(|(project, name)| Ok((project, role(&name, 1)?))).transpose()
}

/// Takes the invitation of an address to a project: the role. It can be taken once.
pub async fn take(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    email: &EmailAddress,
    now: Timestamp,
) -> Result<Option<Role>> {
    let taken = tx
        .optional(
            "delete from invitations where project_id = $1 and email = $2 and expires_at > $3 and key_id is null \
             returning role",
            args![project, email, now],
            |r| r.get::<String>(0),
        )
        .await?;
    taken.map(|name| role(&name, 0)).transpose()
}

/// Removes invitations that can no longer be accepted, some at a time; how many.
pub async fn sweep(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64> {
    tx.execute(
        "delete from invitations where id in (select id from invitations where expires_at <= $1 limit 500)",
        args![now],
    )
    .await
}
