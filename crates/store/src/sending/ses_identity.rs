//! Domains that this service registered itself with accounts of Amazon SES, so that they are removed there once nobody has
//! them here any more.
//!
//! The rows are of no project: several can have a domain, and they outlive all of them. Whoever gives a domain up makes its
//! rows due, without a look at who else has it: two transactions that do so at the same moment do not see each other.
//! Whoever takes a row up looks.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// A registered domain that is this process's to look after until its lease ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The transport that leads to the account.
    pub transport: String,
    /// The domain.
    pub name: String,
    /// What SES was told to sign with: a selector, or tokens of Easy DKIM.
    pub signs_with: Vec<String>,
    /// How often its removal was asked for, in vain.
    pub attempts: i64,
    /// When the lease ends.
    pub until: Timestamp,
}

/// Notes that a domain was registered now. It is looked at `due_at` whether anybody has it still: who gave it up during the
/// request did not find it here.
pub async fn made(
    tx: &mut Tx<'_>,
    (transport, name): (&str, &str),
    signs_with: &str,
    due_at: Timestamp,
) -> Result<()> {
    tx.execute_one(
        "insert into ses_identities (transport, name, signs_with, due_at, attempts, denied) \
         values ($1, $2, $3, $4, 0, $5) on conflict (transport, name) do update set signs_with = excluded.signs_with, \
         due_at = excluded.due_at, attempts = 0, denied = excluded.denied",
        args![transport, name, signs_with, due_at, false],
    )
    .await
}

/// Notes what SES was told to sign with for a domain, if this service registered it.
pub async fn changed(tx: &mut Tx<'_>, (transport, name): (&str, &str), signs_with: &str) -> Result<()> {
    tx.execute(
        "update ses_identities set signs_with = $3 where transport = $1 and name = $2",
        args![transport, name, signs_with],
    )
    .await?;
    Ok(())
}

/// Has it looked whether anybody has a domain still that a project gave up.
pub(crate) async fn abandon(tx: &mut Tx<'_>, name: &str, now: Timestamp) -> Result<()> {
    tx.execute("update ses_identities set due_at = $2, attempts = 0 where name = $1", args![name, now])
        .await?;
    Ok(())
}

/// The same for all domains of a project, before it is deleted.
pub(crate) async fn abandon_all(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<()> {
    tx.execute(
        "update ses_identities set due_at = $2, attempts = 0 \
         where name in (select name from domain_names where project_id = $1)",
        args![project, now],
    )
    .await?;
    Ok(())
}

/// Whether a domain is to be looked after.
pub async fn is_due(rx: &mut Rx<'_>, now: Timestamp) -> Result<bool> {
    rx.exists("select 1 from ses_identities where due_at <= $1 limit 1", args![now]).await
}

/// Takes the next one over that is due: it is not due again before `until`.
pub async fn claim(tx: &mut Tx<'_>, now: Timestamp, until: Timestamp) -> Result<Option<Left>> {
    tx.optional(
        "update ses_identities set due_at = $2 where (transport, name) in \
         (select transport, name from ses_identities where due_at <= $1 order by due_at limit 1 {skip_locked}) \
         returning transport, name, signs_with, attempts, due_at",
        args![now, until],
        |r| {
            let signs_with: String = r.get(2)?;
            Ok(Left {
                transport: r.get(0)?,
                name: r.get(1)?,
                signs_with: signs_with.split_whitespace().map(str::to_owned).collect(),
                attempts: r.get(3)?,
                until: r.get(4)?,
            })
        },
    )
    .await
}

/// Whether any project has a domain.
pub async fn is_wanted(rx: &mut Rx<'_>, name: &str) -> Result<bool> {
    rx.exists("select 1 from domain_names where name = $1 limit 1", args![name]).await
}

/// Leaves a domain registered that somebody has.
pub async fn keep(tx: &mut Tx<'_>, left: &Left) -> Result<()> {
    tx.execute(
        "update ses_identities set due_at = null, attempts = 0, denied = $4 \
         where transport = $1 and name = $2 and due_at = $3",
        args![left.transport.as_str(), left.name.as_str(), left.until, false],
    )
    .await?;
    Ok(())
}

/// Has a removal tried again that came to nothing. `denied`: because the key may not.
pub async fn put_off(tx: &mut Tx<'_>, left: &Left, due_at: Timestamp, denied: bool) -> Result<()> {
    tx.execute(
        "update ses_identities set due_at = $4, attempts = attempts + 1, denied = $5 \
         where transport = $1 and name = $2 and due_at = $3",
        args![left.transport.as_str(), left.name.as_str(), left.until, due_at, denied],
    )
    .await?;
    Ok(())
}

/// Forgets a domain that is registered no more, or is not ours. One that was registered again meanwhile stays.
pub async fn forget(tx: &mut Tx<'_>, left: &Left) -> Result<()> {
    tx.execute(
        "delete from ses_identities where transport = $1 and name = $2 and due_at = $3",
        args![left.transport.as_str(), left.name.as_str(), left.until],
    )
    .await?;
    Ok(())
}

/// How many domains of an account are to be removed, or were registered just now, counted up to a number. Those that its
/// key may not remove would be in the way of all others.
pub async fn waiting(rx: &mut Rx<'_>, transport: &str, most: i64) -> Result<i64> {
    rx.one(
        "select count(*) from (select 1 from ses_identities where transport = $1 and due_at is not null and not denied \
         limit $2) as found",
        args![transport, most],
        |r| r.get(0),
    )
    .await
}

/// How many domains the key of an account may not remove.
pub async fn denied(rx: &mut Rx<'_>, transport: &str) -> Result<i64> {
    rx.one(
        "select count(*) from ses_identities where transport = $1 and due_at is not null and denied",
        args![transport],
        |r| r.get(0),
    )
    .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::body;
    use crate::database::db::Db;
    use crate::database::error::Error;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;
    use crate::database::migrate::migrate;

    const NOW: Timestamp = Timestamp(1_741_608_000_000);

    #[tokio::test]
    async fn what_nobody_has_is_taken_by_one_process_and_stays_when_it_is_registered_again() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("left.db"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate(&db, NOW).await.unwrap();
        let done = db.write(body!(async |tx| {
            let (shop, until) = (("ses", "shop.example"), NOW.plus(Duration::from_mins(5)));
            made(tx, shop, "a b", until).await?;
            assert!(!is_due(tx, NOW).await?, "nobody has removed it");
            changed(tx, shop, "mw1").await?;
            changed(tx, ("ses", "other.example"), "mw1").await?;
            abandon(tx, "other.example", NOW).await?;
            assert!(!is_due(tx, NOW).await?, "that was not registered here");

            abandon(tx, "shop.example", NOW).await?;
            assert_eq!((waiting(tx, "ses", 10).await?, waiting(tx, "else", 10).await?), (1, 0));
            let left = claim(tx, NOW, until).await?.expect("one that is due");
            assert_eq!((left.name.as_str(), left.until), (shop.1, until));
            assert_eq!(left.signs_with, ["mw1"]);
            assert!(claim(tx, NOW, until).await?.is_none() && !is_wanted(tx, shop.1).await?);
            put_off(tx, &left, NOW, true).await?;
            assert_eq!(denied(tx, "ses").await?, 1);
            let left = claim(tx, NOW, until).await?.expect("it is due again");
            assert_eq!(left.attempts, 1);

            made(tx, shop, "mw2", until.plus(Duration::from_mins(1))).await?;
            forget(tx, &left).await?;
            assert_eq!((waiting(tx, "ses", 10).await?, denied(tx, "ses").await?), (1, 0));
            abandon(tx, shop.1, NOW).await?;
            let left = claim(tx, NOW, until).await?.expect("it was not forgotten");
            keep(tx, &left).await?;
            assert!(!is_due(tx, until).await?, "somebody has it");
            abandon(tx, shop.1, NOW).await?;
            let left = claim(tx, NOW, until).await?.expect("it was kept");
            forget(tx, &left).await?;
            abandon(tx, shop.1, NOW).await?;
            assert!(!is_due(tx, until).await?);
            Ok::<_, Error>(())
        }));
        done.await.unwrap();
    }
}
