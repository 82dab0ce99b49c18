//! Users: the people who sign in.

use mailwright_core::address::EmailAddress;
use mailwright_core::ids::UserId;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Identifier.
    pub id: UserId,
    /// Address, in its normal form.
    pub email: EmailAddress,
    /// How the person wants to be called.
    pub name: Option<String>,
    /// Whether the person proved to receive mail at the address.
    pub email_verified: bool,
    /// Whether the account signs in with a password.
    pub has_password: bool,
    /// When it was created.
    pub created_at: Timestamp,
}

pub(crate) const COLUMNS: &str =
    "u.id, u.email, u.name, u.email_verified_at is not null, u.password_hash is not null, u.created_at";

/// How many columns [`COLUMNS`] has.
pub(crate) const WIDTH: usize = 6;

pub(crate) fn read(row: &Row<'_>) -> Result<User> {
    Ok(User {
        id: row.get(0)?,
        email: row.get(1)?,
        name: row.get(2)?,
        email_verified: row.get(3)?,
        has_password: row.get(4)?,
        created_at: row.get(5)?,
    })
}

/// One account.
pub async fn get(rx: &mut Rx<'_>, id: UserId) -> Result<Option<User>> {
    rx.optional(format!("select {COLUMNS} from users u where u.id = $1"), args![id], read).await
}

/// The account with an address.
pub async fn by_email(rx: &mut Rx<'_>, email: &EmailAddress) -> Result<Option<User>> {
    rx.optional(format!("select {COLUMNS} from users u where u.email = $1"), args![email], read).await
}

/// The stored values that a login is checked against.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The account.
    pub user: User,
    /// Its password in PHC format; `None` when it has none.
    pub password_hash: Option<String>,
    /// Whether it signed in from this client before.
    pub known_client: bool,
}

/// What a login with an address from a client is checked against.
pub async fn credentials(
    rx: &mut Rx<'_>,
    email: &EmailAddress,
    client: &[u8],
) -> Result<Option<Credentials>> {
    rx.optional(
        format!(
            "select {COLUMNS}, u.password_hash, exists (select 1 from login_clients c \
             where c.user_id = u.id and c.client = $2) from users u where u.email = $1"
        ),
        args![email, client],
        |r| Ok(Credentials { user: read(r)?, password_hash: r.get(WIDTH)?, known_client: r.get(WIDTH + 1)? }),
    )
    .await
}

/// The lock that is held while the first account is made.
const FIRST: i64 = 7_310_580;

/// Whether there is no account yet. Until the end of the transaction nobody else gets the same answer.
pub async fn none_yet(tx: &mut Tx<'_>) -> Result<bool> {
    tx.hold(FIRST).await?;
    is_empty(tx).await
}

/// Whether there is no account.
pub async fn is_empty(rx: &mut Rx<'_>) -> Result<bool> {
    Ok(!rx.exists("select 1 from users limit 1", &[]).await?)
}

/// An account to create.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Address.
    pub email: EmailAddress,
    /// How the person wants to be called.
    pub name: Option<String>,
    /// Password in PHC format; `None` for an account that signs in another way.
    pub password_hash: Option<String>,
    /// Whether somebody vouches for the address.
    pub email_verified: bool,
}

/// Creates an account. `None` when the address has one already.
pub async fn create(tx: &mut Tx<'_>, new: &NewUser, now: Timestamp) -> Result<Option<UserId>> {
    let id = UserId::new(now, rand::random());
    let verified_at = new.email_verified.then_some(now);
    let created = tx
        .execute(
            "insert into users (id, email, name, password_hash, email_verified_at, created_at, updated_at) \
             values ($1, $2, $3, $4, $5, $6, $6) on conflict (email) do nothing",
            args![id, &new.email, new.name.as_deref(), new.password_hash.as_deref(), verified_at, now],
        )
        .await?;
    Ok((created == 1).then_some(id))
}

/// Changes how a person wants to be called. It does nothing if the account is gone.
pub async fn rename(tx: &mut Tx<'_>, id: UserId, name: Option<&str>, now: Timestamp) -> Result<()> {
    tx.execute("update users set name = $2, updated_at = $3 where id = $1", args![id, name, now]).await?;
    Ok(())
}

/// Replaces a password. `was` is the hash it was checked against: when it is another one by now, nothing changes and
/// the answer is false.
pub async fn set_password(
    tx: &mut Tx<'_>,
    id: UserId,
    was: Option<&str>,
    hash: &str,
    now: Timestamp,
) -> Result<bool> {
    let changed = tx
        .execute(
            "update users set password_hash = $2, updated_at = $3 where id = $1 and coalesce(password_hash, '') = $4",
            args![id, hash, now, was.unwrap_or_default()],
        )
        .await?;
    Ok(changed == 1)
}

/// Replaces the password hash; `None` for an account that signs in another way from now on.
pub async fn put_password(tx: &mut Tx<'_>, id: UserId, hash: Option<&str>, now: Timestamp) -> Result<()> {
    tx.execute_one("update users set password_hash = $2, updated_at = $3 where id = $1", args![id, hash, now])
        .await
}

/// Locks an account: waits for other transactions that work on it, and keeps others waiting until this one ends.
pub async fn lock(tx: &mut Tx<'_>, id: UserId) -> Result<Option<User>> {
    tx.optional(format!("select {COLUMNS} from users u where u.id = $1 {{for_update}}"), args![id], read)
        .await
}

/// Locks the account with an address while it becomes a member; waits for transactions that work on it. Call it before
/// the project is locked: a transaction that works on an account and then accepts its invitations locks the account
/// first.
pub async fn hold(tx: &mut Tx<'_>, email: &EmailAddress) -> Result<()> {
    // the lock that a reference to the account takes
    tx.exists("select 1 from users where email = $1 {for_key_share}", args![email]).await.map(drop)
}

/// Notes that the owner of an account receives mail at an address; false when the account has another one by now.
pub async fn verify(tx: &mut Tx<'_>, id: UserId, email: &EmailAddress, now: Timestamp) -> Result<bool> {
    let changed = tx
        .execute(
            "update users set email_verified_at = coalesce(email_verified_at, $3), updated_at = $3 \
             where id = $1 and email = $2",
            args![id, email, now],
        )
        .await?;
    Ok(changed == 1)
}

/// Removes an account, unless it is a member of a project. Whether it was removed.
pub async fn delete(tx: &mut Tx<'_>, id: UserId) -> Result<bool> {
    // whoever makes the account a member at this moment is waited for, and seen by the next statement
    lock(tx, id).await?;
    let removed = tx
        .execute(
            "delete from users where id = $1 and not exists (select 1 from memberships where user_id = $1)",
            args![id],
        )
        .await?;
    Ok(removed == 1)
}
