//! The trigram index of a large project: the maintenance builds it in steps.
//!
//! On SQLite it is a full-text table. Triggers keep it when addresses change and contacts go. Contacts that are new get into
//! it a moment later, many at once ([`follow_step`]): one by one, each statement that comes after would write what the
//! full-text table has gathered as a part of its own, and such parts have to be merged. Until then a search goes through
//! those that are not in the index yet ([`not_in_it`]). `filled_to` says up to which row of `contacts` it has all. A row's
//! number is used again when the last row was removed, so a trigger moves `filled_to` back then.

use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::body;
use crate::database::db::Db;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::insight::counter::{self, Counter};

/// A project with at least this many contacts gets an index.
pub const LARGE_PROJECT: i64 = 20_000;
/// How long a process has the building of an index on PostgreSQL for itself. `filled_to` holds when that ends, in
/// milliseconds.
const LEASE: Duration = Duration::from_mins(15);
/// Rows that one step of building the index takes.
const STEP: i64 = 5_000;
/// Rows that follow an index in one step: other writes wait for it some milliseconds.
const FOLLOWING: i64 = 250;
/// Most indexes that are asked for at once.
const INDEXES: i64 = 1_000;

/// An index that can be used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Index {
    /// Whether new contacts follow later; otherwise all are in it.
    pub(super) is_followed: bool,
}

/// The index of a project, once it can be used.
pub(super) async fn ready(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Option<Index>> {
    let query = "select follows from search_indexes where project_id = $1 and ready";
    rx.optional(query, args![project], |r| Ok(Index { is_followed: r.get(0)? })).await
}

/// A query for the rows of a project that are not in its index, on SQLite, with a substring that is bound as `search`.
pub(super) fn not_in_it(n: i64, search: &str) -> String {
    // the plus keeps SQLite from looking for the project instead of going through the last rows
    format!(
        "select s.seq from contacts s where s.seq > (select filled_to from search_indexes where project_id = {n}) \
         and +s.project_id = {n} and {{contains s.email {search}}}"
    )
}

/// Does one step of giving a project its index, if it is large enough. Returns whether there is more to do.
///
/// A step that is repeated, or interrupted, does no harm.
pub async fn build_step(db: &Db, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let (contacts, state) = db
        .read(body!(async |rx| {
            let contacts = counter::value(rx, project, Counter::Contacts, "").await?;
            let state = rx
                .optional("select ready from search_indexes where project_id = $1", args![project], |r| {
                    r.get::<bool>(0)
                })
                .await?;
            Ok((contacts, state))
        }))
        .await?;
    match state {
        None if contacts < LARGE_PROJECT => Ok(false),
        Some(true) => Ok(false),
        _ if db.is_postgres() => build_postgres(db, project, now).await,
        None => db.write_in_background(body!(async |tx| start_sqlite(tx, project, now).await)).await,
        Some(false) => db.write_in_background(body!(async |tx| fill_sqlite(tx, project).await)).await,
    }
}

/// Claims the building of an index for a while, so that processes do not drop what another one is building.
async fn claim_postgres(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let claimed = tx
        .execute(
            "insert into search_indexes (project_id, filled_to, ready, created_at) values ($1, $2, false, $3) \
             on conflict (project_id) do update set filled_to = excluded.filled_to \
             where not search_indexes.ready and search_indexes.filled_to <= $3",
            args![project, now.plus(LEASE), now],
        )
        .await?;
    Ok(claimed == 1)
}

async fn build_postgres(db: &Db, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let n = project.0;
    if !db.write(body!(async |tx| claim_postgres(tx, project, now).await)).await? {
        return Ok(false);
    }
    db.outside("create extension if not exists pg_trgm").await?;
    // a build that was interrupted leaves an index that is not valid behind; one that outlived its lease goes on
    let found = db
        .read(body!(async |rx| rx.optional(
                    format!(
                        "select i.indisvalid, exists (select 1 from pg_stat_progress_create_index p \
                         where p.index_relid = c.oid) from pg_class c join pg_index i on i.indexrelid = c.oid \
                         where c.relname = 'contacts_search_{n}'"
                    ),
                    &[],
                    |r| Ok((r.get::<bool>(0)?, r.get::<bool>(1)?)),
                )
                .await))
        .await?;
    if let Some((_, true)) = found {
        return Ok(false);
    }
    if let Some((false, false)) = found {
        db.outside(&format!("drop index concurrently if exists contacts_search_{n}")).await?;
    }
    db.outside(&format!(
        "create index concurrently if not exists contacts_search_{n} on contacts using gin (email gin_trgm_ops) where project_id = {n}"
    ))
    .await?;
    db.write(body!(async |tx| tx
        .execute(
            "update search_indexes set filled_to = 0, ready = true where project_id = $1",
            args![project],
        )
        .await))
        .await?;
    Ok(false)
}

/// Makes the index table and the triggers that keep it; the contacts that are there follow in steps.
async fn start_sqlite(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let n = project.0;
    let table = format!("contact_search_{n}");
    for statement in [
        format!("create virtual table if not exists {table} using fts5 (email, tokenize = 'trigram')"),
        format!(
            "create trigger if not exists {table}_delete after delete on contacts when old.project_id = {n} \
             begin delete from {table} where rowid = old.seq; end"
        ),
        format!(
            "create trigger if not exists {table}_update after update of email on contacts \
             when new.project_id = {n} and new.email <> old.email \
             begin insert or replace into {table} (rowid, email) values (new.seq, new.email); end"
        ),
    ] {
        tx.execute(statement, &[]).await?;
    }
    hold_places(tx).await?;
    tx.execute(
        "insert into search_indexes (project_id, filled_to, ready, created_at, follows) \
         values ($1, 0, false, $2, true) on conflict (project_id) do nothing",
        args![project, now],
    )
    .await?;
    Ok(true)
}

/// Makes the trigger that moves `filled_to` back when the last row goes, whoever's it was: the next row gets its number.
async fn hold_places(tx: &mut Tx<'_>) -> Result<()> {
    let trigger = "create trigger if not exists contact_search_place after delete on contacts \
                   when not exists (select 1 from contacts where seq > old.seq) \
                   begin update search_indexes set filled_to = (select coalesce(max(seq), 0) from contacts) \
                   where project_id > 0 and filled_to >= old.seq; end";
    tx.execute(trigger, &[]).await?;
    Ok(())
}

async fn fill_sqlite(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<bool> {
    if bring_in(tx, project, "project_id = $1 and ", STEP).await? {
        return Ok(true);
    }
    tx.execute_one("update search_indexes set ready = true where project_id = $1", args![project]).await?;
    Ok(false)
}

/// Brings the next contacts into an index: those among so many rows, of all or of the project alone, as a condition says.
/// Returns whether there were any rows.
async fn bring_in(tx: &mut Tx<'_>, project: ProjectNumber, whose: &'static str, rows: i64) -> Result<bool> {
    let place = tx
        .optional(
            format!(
                "select i.filled_to, (select max(seq) from (select seq from contacts where {whose}seq > i.filled_to \
                 order by seq limit $2)) from search_indexes i where i.project_id = $1"
            ),
            args![project, rows],
            |r| Ok((r.get::<i64>(0)?, r.get::<Option<i64>>(1)?)),
        )
        .await?;
    let Some((from, Some(to))) = place else { return Ok(false) };
    let n = project.0;
    tx.execute(
        format!(
            "insert or replace into contact_search_{n} (rowid, email) select seq, email from contacts \
             where +project_id = $1 and seq > $2 and seq <= $3"
        ),
        args![project, from, to],
    )
    .await?;
    tx.execute_one("update search_indexes set filled_to = $2 where project_id = $1", args![project, to])
        .await?;
    Ok(true)
}

/// The projects with an index that new contacts follow, in order, those after one.
pub async fn followed(rx: &Rx<'_>, after: ProjectNumber) -> Result<Vec<ProjectNumber>> {
    if rx.is_postgres() {
        return Ok(Vec::new());
    }
    let query =
        "select project_id from search_indexes where project_id > $1 and ready order by project_id limit $2";
    rx.all(query, args![after, INDEXES], |r| r.get(0)).await
}

/// Brings some of the new contacts into the index of a project, on SQLite. Returns whether there may be more.
pub async fn follow_step(db: &Db, project: ProjectNumber) -> Result<bool> {
    let (follows, rows, own) = db
        .read(body!(async |rx| {
            // rows of others are passed over, but not one by one
            let query = "select i.follows, (select count(*) from (select 1 from contacts where seq > i.filled_to limit $2)), \
                         exists (select 1 from (select project_id from contacts where seq > i.filled_to \
                         order by seq limit $2) as new where new.project_id = $1) \
                         from search_indexes i where i.project_id = $1 and i.ready";
            let found = rx
                .optional(query, args![project, FOLLOWING], |r| {
                    Ok((r.get::<bool>(0)?, r.get::<i64>(1)?, r.get::<bool>(2)?))
                })
                .await?;
            Ok(found.unwrap_or((true, 0, false)))
        }))
        .await?;
    if !follows {
        db.write_in_background(body!(async |tx| renew(tx, project).await)).await?;
        return Ok(false);
    }
    if own || rows == FOLLOWING {
        db.write_in_background(body!(async |tx| bring_in(tx, project, "", FOLLOWING).await)).await?;
    }
    Ok(rows == FOLLOWING)
}

/// Has new contacts follow an index that an earlier version made: a trigger of it brought them in at once, so it has all.
async fn renew(tx: &mut Tx<'_>, project: ProjectNumber) -> Result<()> {
    tx.execute(format!("drop trigger if exists contact_search_{}_insert", project.0), &[]).await?;
    hold_places(tx).await?;
    let query = "update search_indexes set follows = true, \
                 filled_to = (select coalesce(max(seq), 0) from contacts) where project_id = $1";
    tx.execute_one(query, args![project]).await
}

/// Takes a project's index away, if it has one.
pub(crate) async fn drop_index(db: &Db, project: ProjectNumber) -> Result<()> {
    let has_one = db
        .read(body!(async |rx| {
            let query = "select 1 from search_indexes where project_id = $1";
            rx.exists(query, args![project]).await
        }))
        .await?;
    let n = project.0;
    if !has_one {
        return Ok(());
    }
    if db.is_postgres() {
        return db.outside(&format!("drop index concurrently if exists contacts_search_{n}")).await;
    }
    db.write_in_background(body!(async |tx| {
        for trigger in ["insert", "delete", "update"] {
            tx.execute(format!("drop trigger if exists contact_search_{n}_{trigger}"), &[]).await?;
        }
        tx.execute(format!("drop table if exists contact_search_{n}"), &[]).await?;
        Ok(())
    }))
    .await
}
