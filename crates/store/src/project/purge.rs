//! Purging: how a project is reset or deleted.
//!
//! Rows carry their project's number. A reset gives the project another number and takes keys, members, domains and
//! interventions along; a deletion leaves none. The old number is retired, in one small transaction. From then on
//! nothing finds its rows: no list, no counter, no worker. The rows themselves are removed in bounded steps afterwards,
//! by any process. A step that is interrupted or done twice does no harm. For a day the old number is searched for rows
//! again, because of requests that were under way. [`tenant::TABLES`] says what happens to each table. A deletion leaves
//! a record of who did it (`deletions`).

use std::time::Duration;

use mailwright_core::audit::Actor;
use mailwright_core::ids::{ProjectId, ProjectNumber};
use mailwright_core::time::Timestamp;
use uuid::Uuid;

use crate::args;
use crate::audience::search;
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::tenant::{self, Rows};
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::delivery::intervention;
use crate::insight::activity_log;
use crate::project;
use crate::project::audit;
use crate::sending::{ses_identity, upload};

/// How long a retired number is looked through.
const KEPT: Duration = Duration::from_hours(24);
/// Rows of purged tables that a reset copies to the new number: the columns beside `project_id`, and which rows.
const KEPT_ROWS: [(&str, &str, &str); 7] = [
    (
        "domains",
        "id, name, verified, vouched, selector, key_type, public_key, private_key, last_check, check_at, \
         created_at, updated_at, key_created_at, proven_at",
        "",
    ),
    (
        "domain_keys",
        "domain_id, selector, key_type, public_key, private_key, role, created_at, remove_after",
        "",
    ),
    (
        "domain_identities",
        "domain_id, transport, holder, way, selector, status, tokens, hosted_zone, error, checked_at, due_at, \
         trouble",
        "",
    ),
    ("counters", "kind, name, shard, value", " and kind in ('delivery_stats', 'usage')"),
    ("rate_windows", "started_at, used", ""),
    ("public_rate_windows", "started_at, used", ""),
    ("throttles", "millitokens, refilled_at", ""),
];

/// Takes the project away from its number: nothing finds it there any more. Fails with a conflict when another
/// transaction did so already.
async fn retire(tx: &mut Tx<'_>, number: ProjectNumber, now: Timestamp) -> Result<()> {
    let retired = tx
        .execute(
            "update projects set id = $2, retired_at = $3, purge_at = $3, disabled_at = $3 \
             where number = $1 and retired_at is null and disabled_at is null",
            args![number, ProjectId::new(now, rand::random()), now],
        )
        .await?;
    if retired == 1 {
        Ok(())
    } else {
        Err(Error::Conflict("the project was reset, deleted or disabled".into()))
    }
}

/// Resets a project: its number is retired with its rows, and keys, members, invitations, suspensions, interventions,
/// domains, the sums of reputation and what was used of the limits move to another number, which is returned. Sums,
/// limits and interventions move so that a reset clears no bad reputation, gives no new allowance and ends no pause.
pub async fn reset(tx: &mut Tx<'_>, old: ProjectNumber, now: Timestamp) -> Result<ProjectNumber> {
    let found = project::get(tx, old).await?.ok_or(Error::NotFound)?;
    if found.disabled {
        return Err(Error::Conflict("the project is disabled".into()));
    }
    retire(tx, old, now).await?;
    let new = tx
        .one(
            "insert into projects (id, name, language, tracking, sending_per_second, bootstrap_name, \
             public_key_may_resubscribe, timezone, marketing_cap, marketing_cap_hours, webhook_secret, utm, retention, \
             reply_tracking, double_opt_in, consent_keeps_address, erasure_key, disabled_at, created_at, updated_at) \
             select $2, name, language, tracking, sending_per_second, bootstrap_name, \
             public_key_may_resubscribe, timezone, marketing_cap, marketing_cap_hours, webhook_secret, utm, retention, \
             reply_tracking, double_opt_in, consent_keeps_address, erasure_key, null, created_at, $3 \
             from projects where number = $1 returning number",
            args![old, found.id, now],
            |r| r.get::<ProjectNumber>(0),
        )
        .await?;
    tx.execute_one("update projects set successor = $2 where number = $1", args![old, new]).await?;
    for table in tenant::following() {
        tx.execute(format!("update {table} set project_id = $2 where project_id = $1"), args![old, new])
            .await?;
    }
    intervention::go_on(tx, old, new).await?;
    activity_log::LOG.go_on_behind(tx, old, new).await?;
    for (table, columns, which) in KEPT_ROWS {
        tx.execute(
            format!(
                "insert into {table} (project_id, {columns}) select $2, {columns} from {table} \
                 where project_id = $1{which}"
            ),
            args![old, new],
        )
        .await?;
    }
    Ok(new)
}

/// Deletes a project: keys and members are deleted at once, its other rows in the background. A record of who did it
/// stays. Fails with a conflict if the project is disabled, so that nobody can delete what the operator has to look at.
pub async fn delete(tx: &mut Tx<'_>, number: ProjectNumber, actor: &Actor, now: Timestamp) -> Result<()> {
    let found = project::get(tx, number).await?.ok_or(Error::NotFound)?;
    if found.disabled {
        return Err(Error::Conflict("the project is disabled".into()));
    }
    retire(tx, number, now).await?;
    let (kind, id, name) = audit::stored(actor);
    tx.execute_one(
        "insert into deletions (id, name, actor_type, actor_id, actor_name, deleted_at) \
         values ($1, $2, $3, $4, $5, $6)",
        args![found.id, &found.name, kind, id, name, now],
    )
    .await?;
    ses_identity::abandon_all(tx, number, now).await?;
    intervention::remove_all(tx, number).await?;
    for table in tenant::following() {
        tx.execute(format!("delete from {table} where project_id = $1"), args![number]).await?;
    }
    Ok(())
}

/// What is known of a deleted project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The name it had.
    pub name: String,
    /// Who deleted it.
    pub actor: Actor,
    /// When.
    pub at: Timestamp,
}

/// Who deleted a project; `None` when nobody did.
pub async fn deletion(rx: &mut Rx<'_>, id: ProjectId) -> Result<Option<Deletion>> {
    rx.optional(
        "select name, actor_type, actor_id, actor_name, deleted_at from deletions where id = $1",
        args![id],
        |r| {
            let (kind, by, name): (String, Option<Uuid>, Option<String>) = (r.get(1)?, r.get(2)?, r.get(3)?);
            Ok(Deletion { name: r.get(0)?, actor: audit::read(&kind, by, name), at: r.get(4)? })
        },
    )
    .await
}

/// A number to be purged.
#[derive(Debug, Clone, Copy)]
pub struct Retired {
    /// The number.
    pub number: ProjectNumber,
    /// The number that the project has now; `None` when it was deleted.
    pub successor: Option<ProjectNumber>,
    /// Since when.
    pub at: Timestamp,
}

/// Retired numbers whose rows are to be removed now, at most `limit` numbers.
pub async fn due(rx: &mut Rx<'_>, now: Timestamp, limit: i64) -> Result<Vec<Retired>> {
    rx.all(
        "select number, successor, retired_at from projects where retired_at is not null and purge_at <= $1 \
         order by purge_at limit $2",
        args![now, limit],
        |r| Ok(Retired { number: r.get(0)?, successor: r.get(1)?, at: r.get(2)? }),
    )
    .await
}

/// Removes the rows of a retired number, step by step. Harmless when repeated, also by several processes at once.
pub async fn purge(db: &Db, retired: Retired, now: Timestamp) -> Result<()> {
    search::index::drop_index(db, retired.number).await?;
    if let Some(successor) = retired.successor {
        while db
            .write_in_background(body!(async |tx| move_audit(tx, retired.number, successor).await))
            .await?
            > 0
        {}
    } else {
        let audit = ("audit", tenant::AUDIT);
        while db.write_in_background(body!(async |tx| purge_step(tx, retired.number, audit).await)).await? > 0
        {
        }
    }
    let at_once = tenant::UPLOADS.at_once;
    while db
        .write_in_background(body!(async |tx| upload::purge_step(tx, retired.number, at_once, now).await))
        .await?
        > 0
    {}
    for table in tenant::purged() {
        while db.write_in_background(body!(async |tx| purge_step(tx, retired.number, table).await)).await? > 0
        {
        }
    }
    db.write_in_background(body!(async |tx| purged(tx, retired, now).await)).await
}

/// Looks again after as long as the number has been retired: often in the beginning, when requests may still be under
/// way, and seldom later.
async fn purged(tx: &mut Tx<'_>, retired: Retired, now: Timestamp) -> Result<()> {
    let age = now.since(retired.at);
    // SQLite would give the greatest number to the next project, while memory may still hold something by that number
    let removed = age > KEPT
        && tx
            .execute(
                "delete from projects where number = $1 and retired_at is not null \
                 and number < (select max(number) from projects)",
                args![retired.number],
            )
            .await?
            == 1;
    if removed {
        return Ok(());
    }
    let next = now.plus(age.max(Duration::from_secs(1)));
    tx.execute("update projects set purge_at = $2 where number = $1", args![retired.number, next]).await?;
    Ok(())
}

async fn purge_step(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    (table, Rows { key, at_once }): (&str, Rows),
) -> Result<u64> {
    tx.execute(
        format!(
            "delete from {table} where project_id = $1 and ({key}) in \
             (select {key} from {table} where project_id = $1 limit {at_once})"
        ),
        args![number],
    )
    .await
}

/// Moves some of the audit log to the number that the project has now.
async fn move_audit(tx: &mut Tx<'_>, old: ProjectNumber, new: ProjectNumber) -> Result<u64> {
    let ids = tx
        .all("select id from audit where project_id = $1 order by id limit 500", args![old], |r| {
            r.get::<Uuid>(0)
        })
        .await?;
    let ids = Arg::Ids(ids.into_iter().map(Some).collect());
    tx.execute(
        "insert into audit (project_id, id, actor_type, actor_id, actor_name, action, target, details, created_at) \
         select $2, id, actor_type, actor_id, actor_name, action, target, details, created_at \
         from audit where project_id = $1 and id {in $3} on conflict (project_id, id) do nothing",
        &[old.into(), new.into(), ids.clone()],
    )
    .await?;
    tx.execute("delete from audit where project_id = $1 and id {in $2}", &[old.into(), ids]).await
}

#[cfg(test)]
mod tests {
    use mailwright_core::audit::Action;
    use mailwright_core::ids::ContactId;

    use super::*;
    use crate::database::location::Location;
    use crate::database::metrics::StoreMetrics;
    use crate::database::migrate::migrate;
    use crate::project::audit::Entry;

    const NOW: Timestamp = Timestamp(1_763_000_000_000);

    async fn filled() -> (tempfile::TempDir, Db, ProjectNumber) {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("test.sqlite"));
        let db = Db::open(&location, StoreMetrics::default()).unwrap();
        migrate(&db, NOW).await.unwrap();
        let fill = db.write(body!(async |tx| {
            let number = project::create(tx, "Acme", "en", NOW).await?.number;
            for n in 0..1200 {
                tx.execute(
                    "insert into contacts (project_id, id, email, subscribed, data, revision, created_at, updated_at) \
                     values ($1, $2, $3, true, {json $5}, 0, $4, $4)",
                    args![number, ContactId::new(NOW, rand::random()), format!("c{n}@example.com"), NOW, serde_json::json!({})],
                )
                .await?;
                let entry = Entry::of_project(Action::ProjectUpdated);
                audit::record(tx, number, &Actor::Operator, &entry, NOW).await?;
            }
            Ok::<_, Error>(number)
        }));
        let number = fill.await.unwrap();
        (folder, db, number)
    }

    async fn rows(db: &Db, table: &'static str, number: ProjectNumber) -> i64 {
        db.read(body!(async |rx| {
            let count = format!("select count(*) from {table} where project_id = $1");
            rx.one(count, args![number], |r| r.get(0)).await
        }))
        .await
        .unwrap()
    }

    async fn due_at(db: &Db, now: Timestamp) -> Vec<Retired> {
        db.read(body!(async |rx| due(rx, now, 10).await)).await.unwrap()
    }

    #[tokio::test]
    async fn a_reset_leaves_nothing_but_the_audit_log() {
        let (_folder, db, old) = filled().await;
        let new = db.write(body!(async |tx| reset(tx, old, NOW).await)).await.unwrap();
        let again = db.write(body!(async |tx| reset(tx, old, NOW).await)).await;
        assert!(matches!(again, Err(Error::NotFound | Error::Conflict(_))), "{again:?}");
        assert_eq!(rows(&db, "contacts", new).await, 0);

        let [retired] = due_at(&db, NOW).await[..] else { panic!("one number is retired") };
        purge(&db, retired, NOW).await.unwrap();
        assert_eq!((rows(&db, "contacts", old).await, rows(&db, "audit", old).await), (0, 0));
        assert_eq!(rows(&db, "audit", new).await, 1200);
        // it is looked through again, and forgotten after a day
        assert!(due_at(&db, NOW).await.is_empty());
        let later = NOW.plus(KEPT).plus(Duration::from_secs(1));
        let [retired] = due_at(&db, later).await[..] else { panic!("it is looked through again") };
        purge(&db, retired, later).await.unwrap();
        assert!(due_at(&db, later.plus(KEPT)).await.is_empty());
        assert_eq!(rows(&db, "audit", new).await, 1200);
    }

    #[tokio::test]
    async fn what_was_about_a_project_finds_it_after_resets_and_not_after_its_deletion() {
        let (_folder, db, old) = filled().await;
        let locked = async || db.write(body!(async |tx| project::lock(tx, old).await)).await.unwrap();
        assert_eq!(locked().await, Some(old));
        let mut last = old;
        for _ in 0..2 {
            last = db.write(body!(async |tx| reset(tx, last, NOW).await)).await.unwrap();
            assert_eq!(locked().await, Some(last));
        }
        let deleted = db.write(body!(async |tx| delete(tx, last, &Actor::Operator, NOW).await));
        deleted.await.unwrap();
        assert_eq!(locked().await, None);
    }

    #[tokio::test]
    async fn a_deletion_leaves_nothing_but_who_did_it() {
        let (_folder, db, number) = filled().await;
        let id = db.read(body!(async |rx| project::get(rx, number).await)).await.unwrap().unwrap().id;
        let by = Actor::User {
            id: mailwright_core::ids::UserId::new(NOW, rand::random()),
            email: "ada@example.com".into(),
        };
        let actor = by.clone();
        db.write(body!(async |tx| delete(tx, number, &actor, NOW).await)).await.unwrap();
        let known = db.read(body!(async |rx| deletion(rx, id).await)).await.unwrap();
        assert_eq!(known, Some(Deletion { name: "Acme".into(), actor: by, at: NOW }));
        let [retired] = due_at(&db, NOW).await[..] else { panic!("one number is retired") };
        purge(&db, retired, NOW).await.unwrap();
        assert_eq!((rows(&db, "contacts", number).await, rows(&db, "audit", number).await), (0, 0));
        // what was kept in memory by the number is no other project's
        let later = NOW.plus(KEPT).plus(Duration::from_secs(1));
        let [retired] = due_at(&db, later).await[..] else { panic!("it is looked through again") };
        purge(&db, retired, later).await.unwrap();
        let next = db.write(body!(async |tx| project::create(tx, "Next", "en", later).await)).await.unwrap();
        assert!(next.number > number, "{:?}", next.number);
        let much_later = later.plus(KEPT).plus(KEPT);
        let [retired] = due_at(&db, much_later).await[..] else { panic!("it is not the greatest any more") };
        purge(&db, retired, much_later).await.unwrap();
        assert!(due_at(&db, much_later.plus(KEPT).plus(KEPT)).await.is_empty());
    }

    #[tokio::test]
    async fn a_disabled_project_is_not_deleted() {
        let (_folder, db, number) = filled().await;
        db.write(body!(async |tx| crate::delivery::suspension::start(tx, number, "Unpaid", NOW).await))
            .await
            .unwrap();
        let refused = db.write(body!(async |tx| delete(tx, number, &Actor::Operator, NOW).await)).await;
        assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
        assert_eq!(rows(&db, "contacts", number).await, 1200);
    }
}
