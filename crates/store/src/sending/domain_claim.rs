//! Names of sender domains across projects.

use mailwright_core::address::DomainName;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

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

/// Whether the operator lets projects add one of some names.
pub async fn is_any_allowed(rx: &mut Rx<'_>, names: &[String]) -> Result<bool> {
    let names = names.iter().map(|name| Some(name.as_str().into())).collect();
    rx.exists("select 1 from allowed_domains where name {in $1} limit 1", &[Arg::Texts(names)]).await
}

/// Lets projects add a name. False where they may already.
pub async fn allow(tx: &mut Tx<'_>, name: &DomainName, now: Timestamp) -> Result<bool> {
    let added = tx
        .execute(
            "insert into allowed_domains (name, created_at) values ($1, $2) on conflict (name) do nothing",
            args![name, now],
        )
        .await?;
    Ok(added > 0)
}

/// Takes that back. False where the name was not allowed.
pub async fn disallow(tx: &mut Tx<'_>, name: &DomainName) -> Result<bool> {
    Ok(tx.execute("delete from allowed_domains where name = $1", args![name]).await? > 0)
}

/// How many names are allowed.
pub async fn count_allowed(rx: &mut Rx<'_>) -> Result<i64> {
    rx.one("select count(*) from allowed_domains", &[], |r| r.get(0)).await
}

/// The names that are allowed, in their order, each with when it was, at most `limit`.
pub async fn allowed(rx: &mut Rx<'_>, limit: i64) -> Result<Vec<(String, Timestamp)>> {
    rx.all("select name, created_at from allowed_domains order by name limit $1", args![limit], |r| {
        Ok((r.get(0)?, r.get(1)?))
    })
    .await
}
