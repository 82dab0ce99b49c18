//! Sender domains as identities of the services that transports lead to.
//!
//! A row is due once a check of its domain asked for that. Whoever takes it up moves its due time by a lease, so that no
//! other process asks meanwhile, and stores the answer.

use mailwright_core::domain::{DomainIdentity, IdentityHolder, IdentityStatus, IdentityTrouble, IdentityWay};
use mailwright_core::ids::{DomainId, ProjectNumber};
use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Row, Rx, Tx};

/// Most identities of a project that are read: its 100 domains with each of 50 transports.
const MOST: i64 = 5_000;
const COLUMNS: &str = "domain_id, transport, holder, way, selector, status, tokens, hosted_zone, error, checked_at, due_at, \
     trouble";

fn read(row: &Row<'_>) -> Result<(DomainId, DomainIdentity)> {
    let tokens: String = row.get(6)?;
    let identity = DomainIdentity {
        transport: row.get(1)?,
        holder: row.named(2, "domain_identities.holder", IdentityHolder::from_name)?,
        way: row.named_or_null(3, "domain_identities.way", IdentityWay::from_name)?,
        selector: row.get(4)?,
        status: row.named(5, "domain_identities.status", IdentityStatus::from_name)?,
        tokens: tokens.split_whitespace().map(str::to_owned).collect(),
        hosted_zone: row.get(7)?,
        error: row.get(8)?,
        checked_at: row.get(9)?,
        due_at: row.get(10)?,
        trouble: row.named_or_null(11, "domain_identities.trouble", IdentityTrouble::from_name)?,
    };
    Ok((row.get(0)?, identity))
}

/// The identities of all domains of a project, by transport.
pub async fn all(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Vec<(DomainId, DomainIdentity)>> {
    rx.all(
        format!(
            "select {COLUMNS} from domain_identities where project_id = $1 order by domain_id, transport limit $2"
        ),
        args![project, MOST],
        read,
    )
    .await
}

/// The identities of a domain, by transport.
pub async fn of(rx: &mut Rx<'_>, project: ProjectNumber, domain: DomainId) -> Result<Vec<DomainIdentity>> {
    let found = rx
        .all(
            format!(
                "select {COLUMNS} from domain_identities where project_id = $1 and domain_id = $2 \
                 order by transport limit $3"
            ),
            args![project, domain, MOST],
            read,
        )
        .await?;
    Ok(found.into_iter().map(|(_, identity)| identity).collect())
}

/// Has the service of a transport be asked about a domain from now on.
pub async fn want(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    transport: &str,
    now: Timestamp,
) -> Result<()> {
    tx.execute_one(
        "insert into domain_identities (project_id, domain_id, transport, holder, status, tokens, due_at) \
         values ($1, $2, $3, $4, $5, '', $6) \
         on conflict (project_id, domain_id, transport) do update set due_at = excluded.due_at",
        args![
            project,
            domain,
            transport,
            IdentityHolder::Nobody.as_str(),
            IdentityStatus::Pending.as_str(),
            now,
        ],
    )
    .await
}

/// Whether a service is to be asked about a domain of a project.
pub async fn is_due(rx: &mut Rx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    rx.exists(
        "select 1 from domain_identities where project_id = $1 and due_at <= $2 limit 1",
        args![project, now],
    )
    .await
}

/// Takes the next one over that is due: it is not due again before `until`.
pub async fn claim(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<(DomainId, DomainIdentity)>> {
    tx.optional(
        format!(
            "update domain_identities set due_at = $3 where project_id = $1 and (domain_id, transport) in \
             (select domain_id, transport from domain_identities where project_id = $1 and due_at <= $2 \
             order by due_at, domain_id, transport limit 1 {{skip_locked}}) returning {COLUMNS}"
        ),
        args![project, now, until],
        read,
    )
    .await
}

/// Stores what is known by now. It is due again once a check asks for it. False where the domain is gone.
pub async fn keep(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    domain: DomainId,
    known: &DomainIdentity,
) -> Result<bool> {
    let kept = tx
        .execute(
            "update domain_identities set holder = $4, way = $5, selector = $6, status = $7, tokens = $8, \
             hosted_zone = $9, error = $10, checked_at = $11, trouble = $12, due_at = null \
             where project_id = $1 and domain_id = $2 and transport = $3",
            args![
                project,
                domain,
                &known.transport,
                known.holder.as_str(),
                known.way.map(IdentityWay::as_str),
                known.selector.as_deref(),
                known.status.as_str(),
                known.tokens.join(" "),
                known.hosted_zone.as_deref(),
                known.error.as_deref(),
                known.checked_at,
                known.trouble.map(IdentityTrouble::as_str),
            ],
        )
        .await?;
    Ok(kept > 0)
}

/// How many domains of all projects the service of a transport refused to register because the key may not.
pub async fn denied(rx: &mut Rx<'_>, transport: &str) -> Result<i64> {
    rx.one(
        "select count(*) from domain_identities where transport = $1 and status = $2 \
         and project_id in (select number from projects where retired_at is null)",
        args![transport, IdentityStatus::Denied.as_str()],
        |r| r.get(0),
    )
    .await
}

/// Forgets what is known of a domain with services. What was registered is in `ses_identity`.
pub(crate) async fn remove_all(tx: &mut Tx<'_>, project: ProjectNumber, domain: DomainId) -> Result<()> {
    tx.execute(
        "delete from domain_identities where project_id = $1 and domain_id = $2",
        args![project, domain],
    )
    .await?;
    Ok(())
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
    async fn one_process_asks_and_stores_the_answer() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("identity.db"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate(&db, NOW).await.unwrap();
        let (project, domain) = (ProjectNumber(1), DomainId::new(NOW, rand::random()));
        let done = db.write(body!(async |tx| {
            want(tx, project, domain, "ses", NOW).await?;
            assert!(is_due(tx, project, NOW).await?);
            let until = NOW.plus(Duration::from_mins(1));
            let (id, found) = claim(tx, project, NOW, until).await?.expect("one that is due");
            assert_eq!((id, found.due_at), (domain, Some(until)));
            assert!(claim(tx, project, NOW, until).await?.is_none(), "it is taken");
            assert!(!is_due(tx, ProjectNumber(2), until).await?, "that is another project");
            let known = DomainIdentity {
                holder: IdentityHolder::Domain,
                way: Some(IdentityWay::EasyDkim),
                status: IdentityStatus::Verified,
                tokens: vec!["one".into(), "two".into()],
                error: Some("Amazon SES was asked too often.".into()),
                trouble: Some(IdentityTrouble::Throttled),
                checked_at: Some(NOW),
                ..DomainIdentity::new("ses")
            };
            assert!(keep(tx, project, domain, &known).await?);
            assert_eq!(of(tx, project, domain).await?, std::slice::from_ref(&known));
            want(tx, project, domain, "ses", NOW).await?;
            let due = DomainIdentity { due_at: Some(NOW), ..known.clone() };
            assert_eq!(all(tx, project).await?, [(domain, due)]);
            remove_all(tx, project, domain).await?;
            assert!(!keep(tx, project, domain, &known).await?, "it is gone");
            Ok::<_, Error>(())
        }));
        done.await.unwrap();
    }
}
