//! Keys of sender domains beside the one that proves them.

use mailwright_core::domain::{FurtherKey, KeyRole};
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::sending::domain_lock;

/// Most keys of a project that are read: its 100 domains have five each at most, and former ones.
const MOST: i64 = 2_000;
const COLUMNS: &str = "domain_id, selector, key_type, public_key, role, created_at, remove_after";

fn read(row: &Row<'_>) -> Result<(DomainId, FurtherKey)> {
    let role: String = row.get(4)?;
    let key = FurtherKey {
        selector: row.get(1)?,
        key_type: row.get(2)?,
        public_key: row.get(3)?,
        role: KeyRole::from_name(&role).ok_or_else(|| Error::Corrupt {
            column: 4,
            expected: "the role of a key",
            detail: format!("domain_keys.role is {role}"),
        })?,
        created_at: row.get(5)?,
        remove_after: row.get(6)?,
    };
    Ok((row.get(0)?, key))
}

/// The further keys of all domains of a project, the oldest first.
pub async fn all(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Vec<(DomainId, FurtherKey)>> {
    rx.all(
        format!(
            "select {COLUMNS} from domain_keys where project_id = $1 order by created_at, key_type desc, selector limit $2"
        ),
        args![project, MOST],
        read,
    )
    .await
}

/// The further keys of a domain, the oldest first.
pub async fn of(rx: &mut Rx<'_>, project: ProjectNumber, domain: DomainId) -> Result<Vec<FurtherKey>> {
    let keys = rx
        .all(
            format!(
                "select {COLUMNS} from domain_keys where project_id = $1 and domain_id = $2 \
                 order by created_at, key_type desc, selector limit $3"
            ),
            args![project, domain, MOST],
            read,
        )
        .await?;
    Ok(keys.into_iter().map(|(_, key)| key).collect())
}

/// A key that signs beside that of a domain: its selector, its kind, and the private key, encrypted.
pub type Second = (String, String, Vec<u8>);

/// The second key of a domain.
pub async fn second(rx: &mut Rx<'_>, project: ProjectNumber, name: &str) -> Result<Option<Second>> {
    rx.optional(
        "select k.selector, k.key_type, k.private_key from domains d \
         join domain_keys k on k.project_id = d.project_id and k.domain_id = d.id and k.role = 'second' \
         where d.project_id = $1 and d.name = $2 limit 1",
        args![project, name],
        |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
    )
    .await
}

/// Keeps further keys of a domain, with their private keys encrypted. False, and nothing is kept, where one of the kind
/// has such a role already, or the domain is gone.
pub async fn add(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    keys: &[(FurtherKey, Vec<u8>)],
) -> Result<bool> {
    domain_lock::lock(tx, project).await?;
    let is_there =
        tx.exists("select 1 from domains where project_id = $1 and id = $2", args![project, domain]).await?;
    let known = of(tx, project, domain).await?;
    let is_taken =
        |key: &FurtherKey| known.iter().any(|known| known.role == key.role && known.key_type == key.key_type);
    if !is_there || keys.iter().any(|(key, _)| is_taken(key)) {
        return Ok(false);
    }
    for (key, private) in keys {
        tx.execute_one(
            "insert into domain_keys (project_id, domain_id, selector, key_type, public_key, private_key, role, \
             created_at, remove_after) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            args![
                project,
                domain,
                &key.selector,
                &key.key_type,
                &key.public_key,
                private.as_slice(),
                key.role.as_str(),
                key.created_at,
                key.remove_after,
            ],
        )
        .await?;
    }
    Ok(true)
}

/// Gives the key that waits under a selector the place of the key of its kind, whose private part is thrown away and
/// whose record has to stay until `remove_after`. False where no such key waits.
pub async fn promote(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    selector: &str,
    remove_after: Timestamp,
) -> Result<bool> {
    domain_lock::lock(tx, project).await?;
    let mut known = of(tx, project, domain).await?.into_iter();
    let Some(next) = known.find(|key| key.selector == selector && key.role == KeyRole::Next) else {
        return Ok(false);
    };
    let replaced = tx
        .execute(
            "insert into domain_keys (project_id, domain_id, selector, key_type, public_key, private_key, role, \
             created_at, remove_after) \
             select project_id, id, selector, key_type, public_key, $5, 'former', key_created_at, $4 \
             from domains where project_id = $1 and id = $2 and key_type = $3",
            args![project, domain, &next.key_type, remove_after, [].as_slice()],
        )
        .await?;
    if replaced > 0 {
        tx.execute(
            "update domains set (selector, public_key, private_key, key_created_at) = \
             (select k.selector, k.public_key, k.private_key, k.created_at from domain_keys k \
              where k.project_id = $1 and k.domain_id = $2 and k.selector = $3) \
             where project_id = $1 and id = $2",
            args![project, domain, selector],
        )
        .await?;
        remove(tx, project, domain, selector).await?;
        return Ok(true);
    }
    tx.execute(
        "update domain_keys set role = 'former', private_key = $5, remove_after = $4 \
         where project_id = $1 and domain_id = $2 and role = 'second' and key_type = $3",
        args![project, domain, &next.key_type, remove_after, [].as_slice()],
    )
    .await?;
    tx.execute(
        "update domain_keys set role = 'second' where project_id = $1 and domain_id = $2 and selector = $3",
        args![project, domain, selector],
    )
    .await?;
    Ok(true)
}

/// Forgets the former keys of a domain whose records are not needed any more.
pub async fn forget_former(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    now: Timestamp,
) -> Result<()> {
    tx.execute(
        "delete from domain_keys where project_id = $1 and domain_id = $2 and role = 'former' and remove_after <= $3",
        args![project, domain, now],
    )
    .await?;
    Ok(())
}

async fn remove(tx: &mut Tx<'_>, project: ProjectNumber, domain: DomainId, selector: &str) -> Result<()> {
    tx.execute(
        "delete from domain_keys where project_id = $1 and domain_id = $2 and selector = $3",
        args![project, domain, selector],
    )
    .await?;
    Ok(())
}

/// Takes all further keys of a domain away.
pub(crate) async fn remove_all(tx: &mut Tx<'_>, project: ProjectNumber, domain: DomainId) -> Result<()> {
    tx.execute("delete from domain_keys where project_id = $1 and domain_id = $2", args![project, domain])
        .await?;
    Ok(())
}
