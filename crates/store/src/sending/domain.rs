//! Sender domains.

use mailwright_core::address::DomainName;
use mailwright_core::domain::Domain;
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::time::Timestamp;
use serde_json::Value as Json;

use crate::args;
use crate::database::error::{Error, Result};
use crate::database::tx::{Row, Rx, Tx};
use crate::database::value::Arg;
use crate::project;
use crate::sending::{domain_identity, domain_key, domain_lock, ses_identity};

const COLUMNS: &str = "id, name, verified, selector, key_type, public_key, {json_out last_check}, created_at, updated_at, vouched, \
     key_created_at";

fn read(row: &Row<'_>) -> Result<Domain> {
    let name: String = row.get(1)?;
    Ok(Domain {
        id: row.get(0)?,
        name: DomainName::parse(&name).ok_or_else(|| Error::Corrupt {
            column: 1,
            expected: "a domain name",
            detail: "domains.name cannot be parsed".into(),
        })?,
        verified: row.get(2)?,
        selector: row.get(3)?,
        key_type: row.get(4)?,
        public_key: row.get(5)?,
        last_check: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
        vouched: row.get(9)?,
        key_created_at: row.get(10)?,
    })
}

/// One domain.
pub async fn get(rx: &mut Rx<'_>, project: ProjectNumber, id: DomainId) -> Result<Option<Domain>> {
    rx.optional(
        format!("select {COLUMNS} from domains where project_id = $1 and id = $2"),
        args![project, id],
        read,
    )
    .await
}

/// One domain, which nobody else changes before the transaction ends.
pub async fn get_for_update(tx: &mut Tx<'_>, project: ProjectNumber, id: DomainId) -> Result<Option<Domain>> {
    tx.optional(
        format!("select {COLUMNS} from domains where project_id = $1 and id = $2 {{for_update}}"),
        args![project, id],
        read,
    )
    .await
}

/// The domain with a name.
pub async fn by_name(rx: &mut Rx<'_>, project: ProjectNumber, name: &DomainName) -> Result<Option<Domain>> {
    rx.optional(
        format!("select {COLUMNS} from domains where project_id = $1 and name = $2"),
        args![project, name],
        read,
    )
    .await
}

/// Every domain of a project, newest first.
pub async fn all(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Vec<Domain>> {
    rx.all(
        format!("select {COLUMNS} from domains where project_id = $1 order by id desc"),
        args![project],
        read,
    )
    .await
}

/// Domains that the operator vouches for and whose records were looked up, by their names, `most` at most.
pub async fn vouched(rx: &mut Rx<'_>, most: i64) -> Result<Vec<Domain>> {
    rx.all(
        format!(
            "select {COLUMNS} from domains where vouched and last_check <> {{json 'null'}} \
             and project_id in (select number from projects where retired_at is null) order by name limit $1"
        ),
        args![most],
        read,
    )
    .await
}

/// How many domains a project has. Nobody else adds one before the transaction ends.
pub async fn count_for_update(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<usize> {
    domain_lock::lock(tx, project).await?;
    let count = tx
        .one("select count(*) from domains where project_id = $1", args![project], |r| r.get::<i64>(0))
        .await?;
    Ok(count as usize)
}

/// SQL condition: whether a project may send from a row of `domains`. The argument says whether mail leaves the
/// machine. If it does, a row that was verified while mail was captured does not count: its DNS was not looked up, so
/// it has no findings.
macro_rules! may_send {
    ($leaves:literal) => {
        concat!("(verified and (vouched or not ", $leaves, " or last_check <> {json 'null'}))")
    };
}

/// Whether a project may send from each of some domains: `None` where it has not added the domain. `leaves`: whether
/// mail leaves the machine.
pub async fn may_send(
    rx: &Rx<'_>,
    senders: &[(ProjectNumber, &str)],
    leaves: bool,
) -> Result<std::collections::HashMap<(ProjectNumber, String), bool>> {
    let rows = rx
        .each_returning(
            concat!(
                "select d.project_id, d.name, ",
                may_send!("$3"),
                " from {rows r: project_id int, name text} join domains d on d.project_id = r.project_id and d.name = r.name"
            ),
            &[
                Arg::Ints(senders.iter().map(|(p, _)| Some(p.0)).collect()),
                Arg::Texts(senders.iter().map(|(_, name)| Some((*name).into())).collect()),
                leaves.into(),
            ],
            |r| Ok(((ProjectNumber(r.get(0)?), r.get::<String>(1)?), r.get::<bool>(2)?)),
        )
        .await?;
    Ok(rows.into_iter().collect())
}

/// Whether some project takes mail for a domain: it may send from it, and the last check found that its MX record points
/// here, or that is not asked for (`unproven`). `leaves`: whether mail leaves the machine.
pub async fn takes_mail(rx: &Rx<'_>, name: &str, leaves: bool, unproven: bool) -> Result<bool> {
    rx.exists(
        concat!(
            "select 1 from domain_names n join domains d on d.project_id = n.project_id and d.name = n.name \
             where n.name = $1 and (n.receives or $3) and ",
            may_send!("$2"),
            " limit 1"
        ),
        args![name, leaves, unproven],
    )
    .await
}

/// The DKIM key of a domain.
#[derive(Debug)]
pub struct StoredKey {
    /// Selector.
    pub selector: String,
    /// Kind.
    pub kind: String,
    /// The private key, encrypted.
    pub private_key: Vec<u8>,
    /// Whether the project may send from the domain.
    pub may_send: bool,
    /// What the last check of its records found.
    pub last_check: Json,
    /// Whether mail for the domain comes here.
    pub receives: bool,
}

/// The DKIM key of a domain. `leaves`: whether mail leaves the machine.
pub async fn signing_key(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    name: &str,
    leaves: bool,
) -> Result<Option<StoredKey>> {
    rx.optional(
        concat!(
            "select selector, key_type, private_key, {json_out last_check}, ",
            may_send!("$3"),
            ", (select n.receives from domain_names n where n.name = $2 and n.project_id = $1) \
             from domains where project_id = $1 and name = $2"
        ),
        args![project, name, leaves],
        |r| {
            Ok(StoredKey {
                selector: r.get(0)?,
                kind: r.get(1)?,
                private_key: r.get(2)?,
                last_check: r.get(3)?,
                may_send: r.get(4)?,
                receives: r.get::<Option<bool>>(5)?.unwrap_or_default(),
            })
        },
    )
    .await
}

/// Stores a new domain. Fails with a conflict on `name` when the project has it already.
pub async fn create(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    domain: &Domain,
    private_key: &[u8],
    check_at: Timestamp,
) -> Result<()> {
    tx.execute_one(
        "insert into domains (project_id, id, name, verified, selector, key_type, public_key, private_key, last_check, \
         check_at, created_at, updated_at, vouched, key_created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, {json $9}, $10, $11, $12, $13, $14)",
        args![
            project,
            domain.id,
            &domain.name,
            domain.verified,
            &domain.selector,
            &domain.key_type,
            &domain.public_key,
            private_key,
            &domain.last_check,
            check_at,
            domain.created_at,
            domain.updated_at,
            domain.vouched,
            domain.key_created_at,
        ],
    )
    .await?;
    tx.execute_one(
        "insert into domain_names (name, project_id) values ($1, $2)",
        args![&domain.name, project],
    )
    .await
}

/// Stores what a check found of the key with a selector, unless the domain has another key by now. A domain that the
/// operator vouches for stays verified. What was looked up and verified is proved, for good. `receives`: whether mail for it comes here; `None` when that is not known.
pub async fn checked(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    (id, selector): (DomainId, &str),
    receives: Option<bool>,
    verified: bool,
    last_check: &Json,
    now: Timestamp,
) -> Result<Option<Domain>> {
    let stored = tx
        .execute(
            "update domains set updated_at = case when verified = ($3 or vouched) then updated_at else $5 end, \
             verified = ($3 or vouched), last_check = {json $4}, \
             proven_at = coalesce(proven_at, case when $3 and $7 and not vouched then $5 end) \
             where project_id = $1 and id = $2 and selector = $6",
            args![project, id, verified, last_check, now, selector, !last_check.is_null()],
        )
        .await?;
    let domain = get(tx, project, id).await?;
    if let (Some(domain), Some(receives), 1..) = (&domain, receives, stored) {
        tx.execute(
            "update domain_names set receives = $3 where name = $1 and project_id = $2 and receives <> $3",
            args![&domain.name, project, receives],
        )
        .await?;
    }
    Ok(domain)
}

/// Gives a domain the key, and the state, that `domain` has, in the place of the key with the selector `old`, and takes
/// its further keys away. False when that is not its key any more.
pub async fn renew(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    domain: &Domain,
    private_key: &[u8],
    old: &str,
) -> Result<bool> {
    let renewed = tx
        .execute(
            "update domains set verified = ($3 or vouched), selector = $4, key_type = $5, public_key = $6, \
             private_key = $7, last_check = {json $8}, updated_at = $9, key_created_at = $9 \
             where project_id = $1 and id = $2 and selector = $10",
            args![
                project,
                domain.id,
                domain.verified,
                &domain.selector,
                &domain.key_type,
                &domain.public_key,
                private_key,
                &domain.last_check,
                domain.updated_at,
                old,
            ],
        )
        .await?;
    if renewed > 0 {
        domain_key::remove_all(tx, project, domain.id).await?;
    }
    Ok(renewed > 0)
}

/// Notes that the operator vouches for a domain: it is verified from now on, whatever its records say.
pub async fn vouch(tx: &mut Tx<'_>, project: ProjectNumber, id: DomainId, now: Timestamp) -> Result<()> {
    tx.execute(
        "update domains set verified = true, vouched = true, updated_at = $3 \
         where project_id = $1 and id = $2 and not (verified and vouched)",
        args![project, id, now],
    )
    .await?;
    Ok(())
}

/// The projects that have a check of a domain due, the longest due first.
pub async fn projects_with_checks(rx: &mut Rx<'_>, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    let sql = "select project_id from domains where check_at <= $1 group by 1 order by min(check_at)";
    let due = rx.projects_with_work(sql, args![now]).await?;
    project::existing(rx, due).await
}

/// Takes over the checks of a project that are due: moves their next one to `next` and returns them.
pub async fn claim_due(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    now: Timestamp,
    next: Timestamp,
) -> Result<Vec<Domain>> {
    tx.all(
        format!(
            "update domains set check_at = $3 where project_id = $1 and id in \
             (select id from domains where project_id = $1 and check_at <= $2 order by check_at limit 50 {{skip_locked}}) \
             returning {COLUMNS}"
        ),
        args![project, now, next],
        read,
    )
    .await
}

/// Removes a domain; whether there was one.
pub async fn delete(tx: &mut Tx<'_>, project: ProjectNumber, id: DomainId, now: Timestamp) -> Result<bool> {
    let name = tx
        .optional(
            "delete from domains where project_id = $1 and id = $2 returning name",
            args![project, id],
            |r| r.get::<String>(0),
        )
        .await?;
    let Some(name) = name else { return Ok(false) };
    domain_key::remove_all(tx, project, id).await?;
    domain_identity::remove_all(tx, project, id).await?;
    tx.execute("delete from domain_names where name = $1 and project_id = $2", args![name.as_str(), project])
        .await?;
    ses_identity::abandon(tx, &name, now).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::body;
    use crate::database::db::Db;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;
    use crate::database::migrate::migrate;

    const NOW: Timestamp = Timestamp(1_741_608_000_000);

    #[tokio::test]
    async fn what_a_check_found_of_an_old_key_is_not_stored_for_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("domain.db"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate(&db, NOW).await.unwrap();
        let old = Domain {
            id: DomainId::new(NOW, rand::random()),
            name: DomainName::parse("shop.example").unwrap(),
            verified: false,
            vouched: false,
            selector: "old".into(),
            key_type: "rsa".into(),
            public_key: "p1".into(),
            last_check: Json::Null,
            key_created_at: NOW,
            created_at: NOW,
            updated_at: NOW,
        };
        let project = ProjectNumber(1);
        let done = db.write(body!(async |tx| {
            let new = Domain { selector: "new".into(), public_key: "p2".into(), ..old.clone() };
            create(tx, project, &old, b"1", NOW).await?;
            assert!(renew(tx, project, &new, b"2", "old").await?);
            assert!(!renew(tx, project, &new, b"3", "old").await?, "somebody else was first");
            let found = checked(tx, project, (old.id, "old"), None, true, &json!([]), NOW).await?;
            assert_eq!(found, Some(new));
            let found = checked(tx, project, (old.id, "new"), Some(true), true, &json!([]), NOW).await?;
            assert!(found.is_some_and(|found| found.verified));
            Ok::<_, Error>(())
        }));
        done.await.unwrap();
    }
}
