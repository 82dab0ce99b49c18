//! The schema's history, and how a database is brought up to date.

use crate::args;
use crate::db::Db;
use crate::error::{Error, Result};
use crate::tx::{Rx, Tx};
use mailwright_core::time::Timestamp;

/// One step of the schema. Never edited after a release.
struct Migration {
    number: i64,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, name: "foundation", sql: include_str!("../migrations/0001_foundation.sql") },
    Migration { number: 2, name: "segments", sql: include_str!("../migrations/0002_segments.sql") },
    Migration { number: 3, name: "jobs", sql: include_str!("../migrations/0003_jobs.sql") },
    Migration { number: 4, name: "campaigns", sql: include_str!("../migrations/0004_campaigns.sql") },
    Migration { number: 5, name: "accounts", sql: include_str!("../migrations/0005_accounts.sql") },
    Migration { number: 6, name: "sign-in", sql: include_str!("../migrations/0006_sign_in.sql") },
    Migration { number: 7, name: "account care", sql: include_str!("../migrations/0007_account_care.sql") },
    Migration {
        number: 8,
        name: "invitations of keys",
        sql: include_str!("../migrations/0008_invitations_of_keys.sql"),
    },
    Migration { number: 9, name: "deletions", sql: include_str!("../migrations/0009_deletions.sql") },
    Migration {
        number: 10,
        name: "instance rate",
        sql: include_str!("../migrations/0010_instance_rate.sql"),
    },
    Migration { number: 11, name: "next hops", sql: include_str!("../migrations/0011_next_hops.sql") },
    Migration { number: 12, name: "attempts", sql: include_str!("../migrations/0012_attempts.sql") },
    Migration { number: 14, name: "public rate", sql: include_str!("../migrations/0014_public_rate.sql") },
    Migration { number: 15, name: "bounds", sql: include_str!("../migrations/0015_bounds.sql") },
    Migration { number: 16, name: "trust", sql: include_str!("../migrations/0016_trust.sql") },
    Migration {
        number: 17,
        name: "text of mails",
        sql: include_str!("../migrations/0017_text_of_mails.sql"),
    },
];

/// Applies what is missing, each step in a transaction of its own, under a lock. Returns how many steps were applied.
pub async fn migrate(db: &Db, now: Timestamp) -> Result<usize> {
    let mut applied = 0;
    for migration in MIGRATIONS {
        applied += usize::from(db.write(move |tx| Box::pin(apply(tx, migration, now))).await?);
    }
    Ok(applied)
}

/// Whether the schema is the one this program was built for.
pub async fn is_current(db: &Db) -> Result<bool> {
    let newest = db.read(|rx| Box::pin(newest(rx))).await?;
    Ok(MIGRATIONS.last().is_some_and(|m| m.number == newest))
}

/// Whether a newer program has migrated the database, so that rows may say what this one does not understand.
pub async fn is_superseded(rx: &mut Rx<'_>) -> Result<bool> {
    let newest = newest(rx).await?;
    Ok(MIGRATIONS.last().is_none_or(|m| m.number < newest))
}

async fn newest(rx: &mut Rx<'_>) -> Result<i64> {
    rx.one("select coalesce(max(number), 0) from schema_migrations", &[], |r| r.get(0)).await
}

async fn apply(tx: &mut Tx<'_>, migration: &Migration, now: Timestamp) -> Result<bool> {
    if tx.is_postgres() {
        // one process migrates, the others wait here and then find it done
        tx.script("select pg_advisory_xact_lock(7310579)").await?;
    }
    tx.script(
        "create table if not exists schema_migrations (number {int} primary key, name {text} not null, applied_at {int} not null) {strict}",
    )
    .await?;
    let newest =
        tx.one("select coalesce(max(number), 0) from schema_migrations", &[], |r| r.get::<i64>(0)).await?;
    if newest > MIGRATIONS.last().map_or(0, |m| m.number) {
        return Err(Error::Migration(format!(
            "the database is at step {newest}, which a newer Mailwright wrote; run that version, or restore a backup"
        )));
    }
    if newest >= migration.number {
        return Ok(false);
    }
    tx.script(migration.sql).await.map_err(|e| Error::Migration(format!("step {}: {e}", migration.name)))?;
    tx.execute_one(
        "insert into schema_migrations (number, name, applied_at) values ($1, $2, $3)",
        args![migration.number, migration.name, now],
    )
    .await?;
    Ok(true)
}
