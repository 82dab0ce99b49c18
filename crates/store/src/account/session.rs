//! Sessions. A session ends the moment its row is gone, on every node.

use mailwright_core::ids::{ProjectId, SessionId, UserId};
use mailwright_core::project::Project;
use mailwright_core::role::Role;
use mailwright_core::time::Timestamp;
use uuid::Uuid;

use crate::account::user::{self, User};
use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::project;

/// Most sessions of an account; a further sign-in ends the oldest.
const MOST: i64 = 100;

/// A sign-in.
#[derive(Debug, Clone)]
pub struct Session {
    /// Identifier.
    pub id: SessionId,
    /// The user of the session.
    pub user: User,
    /// When it began.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// The project that was asked for and what the user is in it; `None` when the user is no member.
    pub project: Option<(Project, Role)>,
}

/// Looks sessions up, each with a project to be a member of. Absent ones have ended.
pub async fn find(
    rx: &mut Rx<'_>,
    wanted: &[(SessionId, Option<ProjectId>)],
) -> Result<Vec<(Option<ProjectId>, Session)>> {
    rx.each_returning(
        format!(
            "select {}, r.project, s.id, s.expires_at, s.created_at, m.role, {} from {{rows r: session id, project id}} \
             join sessions s on s.id = r.session join users u on u.id = s.user_id \
             left join projects p on p.id = r.project and p.retired_at is null \
             left join memberships m on m.project_id = p.number and m.user_id = u.id",
            user::COLUMNS,
            project::COLUMNS,
        ),
        &[
            Arg::Ids(wanted.iter().map(|(session, _)| Some((*session).into())).collect()),
            Arg::Ids(wanted.iter().map(|(_, project)| project.map(Into::into)).collect()),
        ],
        |r| {
            const ROLE: usize = user::WIDTH + 4;
            let role: Option<String> = r.get(ROLE)?;
            let project = match role {
                Some(role) => Some((project::read_at(r, ROLE + 1)?, project::role(&role, ROLE)?)),
                None => None,
            };
            let asked: Option<Uuid> = r.get(user::WIDTH)?;
            Ok((
                asked.map(ProjectId::from),
                Session {
                    id: r.get(user::WIDTH + 1)?,
                    user: user::read(r)?,
                    expires_at: r.get(user::WIDTH + 2)?,
                    created_at: r.get(user::WIDTH + 3)?,
                    project,
                },
            ))
        },
    )
    .await
}

/// Starts a session, provided that the password is still the one that was checked; `checked` is its hash. Whether it
/// was started. The caller has locked the account ([`user::lock`]) before it looked at anything that may refuse the
/// session.
pub async fn start(
    tx: &mut Tx<'_>,
    id: SessionId,
    user: UserId,
    checked: Option<&str>,
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<bool> {
    let started = tx
        .execute(
            "insert into sessions (id, user_id, created_at, expires_at) \
             select $1, id, $4, $5 from users where id = $2 and coalesce(password_hash, '') = $3",
            args![id, user, checked.unwrap_or_default(), now, expires_at],
        )
        .await?;
    tx.execute(
        "delete from sessions where user_id = $1 and id in \
         (select id from sessions where user_id = $1 order by id desc limit 10 offset $2)",
        args![user, MOST],
    )
    .await?;
    Ok(started == 1)
}

/// How often the use of a session is noted, in milliseconds: a little less than callers wait between two notes.
const NOTED_EVERY_MS: i64 = 50_000;

/// The use of a session.
#[derive(Debug, Clone)]
pub struct Use {
    /// The session.
    pub id: SessionId,
    /// When.
    pub at: Timestamp,
    /// The program, as it calls itself.
    pub client: Option<String>,
}

/// Notes that sessions are in use, each given once.
pub async fn used(tx: &mut Tx<'_>, uses: &[Use]) -> Result<()> {
    tx.each(
        "update sessions set used_at = r.at, client = coalesce(r.program, sessions.client) \
         from {rows r: session id, at int, program text} \
         where id = r.session and coalesce(used_at, 0) <= r.at - $4",
        &[
            Arg::Ids(uses.iter().map(|used| Some(used.id.into())).collect()),
            Arg::Ints(uses.iter().map(|used| Some(used.at.0)).collect()),
            Arg::Texts(uses.iter().map(|used| used.client.as_deref().map(Into::into)).collect()),
            NOTED_EVERY_MS.into(),
        ],
    )
    .await?;
    Ok(())
}

/// A session as its owner is shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Identifier.
    pub id: SessionId,
    /// The program that used it last, as it calls itself.
    pub client: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last noted that it was used.
    pub used_at: Option<Timestamp>,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

/// The sessions of a user that go on, the newest first.
pub async fn of_user(rx: &mut Rx<'_>, user: UserId, now: Timestamp) -> Result<Vec<Listed>> {
    rx.all(
        "select id, client, created_at, used_at, expires_at from sessions \
         where user_id = $1 and expires_at > $2 order by id desc limit $3",
        args![user, now, MOST],
        |r| {
            Ok(Listed {
                id: r.get(0)?,
                client: r.get(1)?,
                created_at: r.get(2)?,
                used_at: r.get(3)?,
                expires_at: r.get(4)?,
            })
        },
    )
    .await
}

/// Ends a session of a user; false when the user has no such session.
pub async fn end_of(tx: &mut Tx<'_>, user: UserId, id: SessionId) -> Result<bool> {
    Ok(tx.execute("delete from sessions where id = $1 and user_id = $2", args![id, user]).await? == 1)
}

/// Ends a session.
pub async fn end(tx: &mut Tx<'_>, id: SessionId) -> Result<()> {
    tx.execute("delete from sessions where id = $1", args![id]).await?;
    Ok(())
}

/// Ends the sessions of a user, except perhaps one. A session that is being started is waited for, and ends as well:
/// whoever starts one holds the account's lock.
pub async fn end_all(tx: &mut Tx<'_>, user: UserId, except: Option<SessionId>) -> Result<()> {
    user::lock(tx, user).await?;
    // no session has the nil id
    let kept = except.map_or(Uuid::nil(), Uuid::from);
    tx.execute("delete from sessions where user_id = $1 and id <> $2", &[user.into(), Arg::Id(kept)]).await?;
    Ok(())
}

/// Removes sessions that have ended by themselves, some at a time; how many.
pub async fn sweep(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64> {
    tx.execute(
        "delete from sessions where id in (select id from sessions where expires_at <= $1 limit 500)",
        args![now],
    )
    .await
}
