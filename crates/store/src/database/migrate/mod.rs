//! The schema's history, and how a database is brought up to date.
//!
//! On PostgreSQL a migration runs on a connection of its own ([`Apart`]), without a time limit. One process migrates;
//! the others wait for it. A migration waits for the lock of a table only for a moment and then tries again later,
//! because every statement behind it waits as well. Processes of the previous version go on writing meanwhile.
//!
//! A step holds the locks of its tables, so it must not take long on a large table: no column with a value that is
//! computed for each row, no check of all rows, and no index. An index on a large table is built outside the
//! transaction with `create index concurrently`, as `search.rs` does. Rows that exist already are filled in by the
//! maintenance in steps, as `event_counts.rs` does; until then, queries about them scan the rows that are left.
//!
//! A new stored value of an enumeration needs a migration as well, even an empty one. A process that is older than the
//! schema takes no mail, so it cannot mistake the new value for damage.
//!
//! Two steps are from before the first release, when nobody had large tables, and do not follow these rules: `bounds`
//! adds up all captured mails, and `age of contents` builds an index over all contents, to which nobody adds meanwhile.
//! Both run in transactions that do not keep others from reading.

#[cfg(test)]
pub(crate) mod tests;

use std::time::{Duration, Instant};

use mailwright_core::time::Timestamp;

use crate::args;
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::postgres::Apart;
use crate::database::tx::{Rx, Tx};

/// How long a migration waits for a lock: as long do writes that come behind it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Time until it tries again: the others have their turn.
const RETRY: Duration = Duration::from_secs(1);
/// How often it is looked whether another process has done its migration.
const LOOK: Duration = Duration::from_millis(200);
/// How often it is said that something is waited for.
const WORD: Duration = Duration::from_secs(10);
/// Names the lock that the process holds that migrates.
const LOCK: i64 = 7_310_579;

/// One step of the schema. Never edited after a release.
struct Migration {
    number: i64,
    name: &'static str,
    sql: &'static str,
}

/// The step from which on events are counted by day.
pub(crate) const EVENT_DAYS: &str = "event days";
/// The step from which on events are counted by hour.
pub(crate) const EVENT_SUMS: &str = "event sums";

const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, name: "foundation", sql: include_str!("../../../migrations/0001_foundation.sql") },
    Migration { number: 2, name: "segments", sql: include_str!("../../../migrations/0002_segments.sql") },
    Migration { number: 3, name: "jobs", sql: include_str!("../../../migrations/0003_jobs.sql") },
    Migration { number: 4, name: "campaigns", sql: include_str!("../../../migrations/0004_campaigns.sql") },
    Migration { number: 5, name: "accounts", sql: include_str!("../../../migrations/0005_accounts.sql") },
    Migration { number: 6, name: "sign-in", sql: include_str!("../../../migrations/0006_sign_in.sql") },
    Migration {
        number: 7,
        name: "account care",
        sql: include_str!("../../../migrations/0007_account_care.sql"),
    },
    Migration {
        number: 8,
        name: "invitations of keys",
        sql: include_str!("../../../migrations/0008_invitations_of_keys.sql"),
    },
    Migration { number: 9, name: "deletions", sql: include_str!("../../../migrations/0009_deletions.sql") },
    Migration {
        number: 10,
        name: "instance rate",
        sql: include_str!("../../../migrations/0010_instance_rate.sql"),
    },
    Migration { number: 11, name: "next hops", sql: include_str!("../../../migrations/0011_next_hops.sql") },
    Migration { number: 12, name: "attempts", sql: include_str!("../../../migrations/0012_attempts.sql") },
    Migration { number: 13, name: EVENT_DAYS, sql: include_str!("../../../migrations/0013_event_days.sql") },
    Migration {
        number: 14,
        name: "public rate",
        sql: include_str!("../../../migrations/0014_public_rate.sql"),
    },
    Migration { number: 15, name: "bounds", sql: include_str!("../../../migrations/0015_bounds.sql") },
    Migration { number: 16, name: "trust", sql: include_str!("../../../migrations/0016_trust.sql") },
    Migration {
        number: 17,
        name: "text of mails",
        sql: include_str!("../../../migrations/0017_text_of_mails.sql"),
    },
    Migration { number: 18, name: "consent", sql: include_str!("../../../migrations/0018_consent.sql") },
    Migration {
        number: 19,
        name: "age of contents",
        sql: include_str!("../../../migrations/0019_age_of_contents.sql"),
    },
    Migration {
        number: 20,
        name: "check of the secret",
        sql: include_str!("../../../migrations/0020_secret_check.sql"),
    },
    Migration {
        number: 21,
        name: "plain names",
        sql: include_str!("../../../migrations/0021_plain_names.sql"),
    },
    Migration { number: 22, name: "inviters", sql: include_str!("../../../migrations/0022_inviters.sql") },
    Migration { number: 23, name: "workflows", sql: include_str!("../../../migrations/0023_workflows.sql") },
    Migration { number: 24, name: "feedback", sql: include_str!("../../../migrations/0024_feedback.sql") },
    Migration {
        number: 25,
        name: "suppressions",
        sql: include_str!("../../../migrations/0025_suppressions.sql"),
    },
    Migration { number: 26, name: "topics", sql: include_str!("../../../migrations/0026_topics.sql") },
    Migration { number: 27, name: "inbound", sql: include_str!("../../../migrations/0027_inbound.sql") },
    Migration {
        number: 28,
        name: "inbound contents",
        sql: include_str!("../../../migrations/0028_inbound_contents.sql"),
    },
    Migration { number: 29, name: "activity", sql: include_str!("../../../migrations/0029_activity.sql") },
    Migration { number: 30, name: "uploads", sql: include_str!("../../../migrations/0030_uploads.sql") },
    Migration { number: 31, name: "billing", sql: include_str!("../../../migrations/0031_billing.sql") },
    Migration { number: 32, name: "epochs", sql: include_str!("../../../migrations/0032_epochs.sql") },
    Migration {
        number: 33,
        name: "request log",
        sql: include_str!("../../../migrations/0033_request_log.sql"),
    },
    Migration {
        number: 34,
        name: "verification",
        sql: include_str!("../../../migrations/0034_verification.sql"),
    },
    Migration { number: 35, name: "erasure", sql: include_str!("../../../migrations/0035_erasure.sql") },
    Migration {
        number: 36,
        name: "activity stream",
        sql: include_str!("../../../migrations/0036_activity_stream.sql"),
    },
    Migration { number: 37, name: "analytics", sql: include_str!("../../../migrations/0037_analytics.sql") },
    Migration { number: 38, name: "retention", sql: include_str!("../../../migrations/0038_retention.sql") },
    Migration {
        number: 39,
        name: "former addresses",
        sql: include_str!("../../../migrations/0039_former_addresses.sql"),
    },
    Migration { number: 40, name: EVENT_SUMS, sql: include_str!("../../../migrations/0040_event_sums.sql") },
    Migration { number: 41, name: "sources", sql: include_str!("../../../migrations/0041_sources.sql") },
    Migration { number: 42, name: "audience", sql: include_str!("../../../migrations/0042_audience.sql") },
    Migration {
        number: 43,
        name: "tests of campaigns",
        sql: include_str!("../../../migrations/0043_campaign_tests.sql"),
    },
    Migration {
        number: 44,
        name: "log of contacts",
        sql: include_str!("../../../migrations/0044_contact_log.sql"),
    },
    Migration {
        number: 45,
        name: "search that follows",
        sql: include_str!("../../../migrations/0045_search_follows.sql"),
    },
    Migration {
        number: 46,
        name: "saved columns",
        sql: include_str!("../../../migrations/0046_saved_columns.sql"),
    },
    Migration {
        number: 47,
        name: "search trigrams",
        sql: include_str!("../../../migrations/0047_search_trigrams.sql"),
    },
    Migration {
        number: 48,
        name: "delivery sites",
        sql: include_str!("../../../migrations/0048_delivery_sites.sql"),
    },
    Migration {
        number: 49,
        name: "transports",
        sql: include_str!("../../../migrations/0049_transports.sql"),
    },
    Migration {
        number: 50,
        name: "provider mails",
        sql: include_str!("../../../migrations/0050_provider_mails.sql"),
    },
    Migration {
        number: 51,
        name: "policies of TLS",
        sql: include_str!("../../../migrations/0051_tls_policies.sql"),
    },
    Migration {
        number: 52,
        name: "keys of domains",
        sql: include_str!("../../../migrations/0052_domain_keys.sql"),
    },
    Migration {
        number: 53,
        name: "reports of DMARC",
        sql: include_str!("../../../migrations/0053_dmarc.sql"),
    },
    Migration {
        number: 54,
        name: "interventions",
        sql: include_str!("../../../migrations/0054_interventions.sql"),
    },
    Migration {
        number: 55,
        name: "identities of domains",
        sql: include_str!("../../../migrations/0055_domain_identities.sql"),
    },
    Migration {
        number: 57,
        name: "warm-up of addresses and domains",
        sql: include_str!("../../../migrations/0057_warm_ups.sql"),
    },
];

/// How a database stands to the schema that this program was built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has no schema yet.
    Empty,
    /// It has the schema of an older program.
    Behind,
    /// It has the schema of this program.
    Current,
    /// It has the schema of a newer program, which this one cannot work with.
    Ahead,
}

/// How a database stands to this program. It is not changed.
pub async fn standing(db: &Db) -> Result<Standing> {
    let is_postgres = db.is_postgres();
    let newest = db.read(body!(async |rx| {
        let sql = if is_postgres {
            "select count(*) from information_schema.columns where table_schema = current_schema() \
             and table_name = 'schema_migrations' and column_name in ('number', 'applied_at')"
        } else {
            "select count(*) from pragma_table_info('schema_migrations') where name in ('number', 'applied_at')"
        };
        let ours = rx.one(sql, &[], |r| r.get::<i64>(0)).await? == 2;
        if ours { newest(rx).await.map(Some) } else { Ok(None) }
    }));
    let last = last_step();
    Ok(match newest.await? {
        None => Standing::Empty,
        Some(newest) if newest > last => Standing::Ahead,
        Some(newest) if newest < last => Standing::Behind,
        Some(_) => Standing::Current,
    })
}

/// Applies what is missing, each step in a transaction of its own, under a lock. Returns how many steps were applied.
/// Fails with [`Error::Unusable`] if the program cannot work with the database.
pub async fn migrate(db: &Db, now: Timestamp) -> Result<usize> {
    db.examine().await?;
    migrate_by(db, MIGRATIONS, now).await
}

async fn migrate_by(db: &Db, migrations: &'static [Migration], now: Timestamp) -> Result<usize> {
    if let Some(session) = db.apart(LOCK_TIMEOUT).await? {
        return migrate_postgres(&session, migrations, now).await;
    }
    let mut applied = 0;
    for step in steps(migrations) {
        applied += usize::from(db.write(body!(async |tx| apply(tx, step, now).await)).await?);
    }
    Ok(applied)
}

async fn migrate_postgres(
    session: &Apart,
    migrations: &'static [Migration],
    now: Timestamp,
) -> Result<usize> {
    wait_for_turn(session).await?;
    let mut applied = 0;
    for step in steps(migrations) {
        applied += usize::from(apply_patiently(session, step, now).await?);
    }
    Ok(applied)
}

/// Waits until no other process migrates. It asks for the lock again and again instead of waiting in one statement,
/// since `create index concurrently` waits for all statements that are running.
async fn wait_for_turn(session: &Apart) -> Result<()> {
    let mut word = Word::new();
    loop {
        let free = session.transact(body!(async |tx| tx
            .one("select pg_try_advisory_lock($1)", args![LOCK], |r| r.get::<bool>(0))
            .await));
        if free.await? {
            return Ok(());
        }
        word.say(|| tracing::info!("another process is migrating the database, waiting for it"));
        tokio::time::sleep(LOOK).await;
    }
}

/// Applies a step as soon as the tables are free for a moment.
async fn apply_patiently(session: &Apart, step: Step, now: Timestamp) -> Result<bool> {
    let mut word = Word::new();
    loop {
        match session.transact(body!(async |tx| apply(tx, step, now).await)).await {
            Err(Error::Contention(error)) => {
                let name = step.migration.name;
                word.say(|| {
                    tracing::warn!(%error, step = name, "a migration step waits for locks of other \
                                                         transactions on its tables");
                });
                tokio::time::sleep(RETRY).await;
            }
            outcome => return outcome,
        }
    }
}

/// Says something now and then.
struct Word(Option<Instant>);

impl Word {
    fn new() -> Self {
        Self(None)
    }

    fn say(&mut self, say: impl FnOnce()) {
        if self.0.is_none_or(|at| at.elapsed() >= WORD) {
            self.0 = Some(Instant::now());
            say();
        }
    }
}

/// A migration, and the number of the last one.
#[derive(Clone, Copy)]
struct Step {
    migration: &'static Migration,
    last: i64,
}

fn steps(migrations: &'static [Migration]) -> impl Iterator<Item = Step> {
    let last = migrations.last().map_or(0, |migration| migration.number);
    migrations.iter().map(move |migration| Step { migration, last })
}

/// Whether the schema is the one this program was built for.
pub async fn is_current(db: &Db) -> Result<bool> {
    let newest = db.read(body!(async |rx| newest(rx).await)).await?;
    Ok(MIGRATIONS.last().is_some_and(|m| m.number == newest))
}

/// The newest step that a database was brought to.
pub async fn newest_step(rx: &mut Rx<'_>) -> Result<i64> {
    newest(rx).await
}

/// The newest step that this program knows.
pub fn last_step() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.number)
}

/// Whether a newer program has migrated the database, so that rows may say what this one does not understand.
pub async fn is_superseded(rx: &mut Rx<'_>) -> Result<bool> {
    let newest = newest(rx).await?;
    Ok(MIGRATIONS.last().is_none_or(|m| m.number < newest))
}

async fn newest(rx: &mut Rx<'_>) -> Result<i64> {
    rx.one("select coalesce(max(number), 0) from schema_migrations", &[], |r| r.get(0)).await
}

async fn apply(tx: &mut Tx<'_>, Step { migration, last }: Step, now: Timestamp) -> Result<bool> {
    tx.script(
        "create table if not exists schema_migrations (number {int} primary key, name {text} not null, applied_at {int} not null) {strict}",
    )
    .await?;
    let newest =
        tx.one("select coalesce(max(number), 0) from schema_migrations", &[], |r| r.get::<i64>(0)).await?;
    if newest > last {
        return Err(Error::Migration(format!(
            "the database is at step {newest}, which a newer Mailwright wrote; run that version, or restore a backup"
        )));
    }
    if newest >= migration.number {
        return Ok(false);
    }
    tx.script(migration.sql).await.map_err(|error| match error {
        temporary if temporary.is_temporary() => temporary,
        error => Error::Migration(format!("step {}: {error}", migration.name)),
    })?;
    tx.execute_one(
        "insert into schema_migrations (number, name, applied_at) values ($1, $2, $3)",
        args![migration.number, migration.name, now],
    )
    .await?;
    Ok(true)
}
