//! Substring search over addresses, and the trigram index that a large project gets for it. The maintenance builds the
//! index in steps.
//!
//! Without the index a search scans the project's contacts. With it, a rare substring is looked up. For a common
//! substring it is faster to walk the list in its order, because the page fills early;
//! [`email_search_cache`](super::email_search_cache) counts the addresses that contain it.

use std::time::Duration;

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::body;
use crate::database::db::Db;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::counter::{self, Counter};

/// A project with at least this many contacts gets an index.
pub const LARGE_PROJECT: i64 = 20_000;
/// A substring that more contacts than this have is common.
pub(crate) const COMMON: usize = 2_000;
/// The shortest text a trigram index can look up.
const SHORTEST: usize = 3;
/// How long a process has the building of an index on PostgreSQL for itself. `filled_to` holds when that ends, in
/// milliseconds; on SQLite it holds how far the building came.
const LEASE: Duration = Duration::from_mins(15);
/// Rows that one step of building the index takes.
const STEP: i64 = 5_000;

/// How a query on `contacts c` finds a substring of the address.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    /// A condition to be appended to the `where`.
    pub(crate) condition: String,
    /// The prefix of columns in conditions and order that must not make SQLite choose an index, so that the lookup
    /// drives the query: SQLite uses no index for a column with a unary plus.
    pub(crate) plus: &'static str,
    /// Whether contacts are gone through one after the other.
    pub(crate) scans: bool,
}

/// The filter for a substring, its pattern appended to the arguments.
pub(crate) async fn filter(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    search: Option<&str>,
    args: &mut Vec<Arg<'_>>,
) -> Result<Filter> {
    let Some(search) = search.filter(|s| !s.is_empty()) else { return Ok(Filter::default()) };
    if let Some(lookup) = lookup(rx, project, search).await? {
        args.push(lookup.pattern.into());
        let condition = lookup.condition.replace("$pattern", &format!("${}", args.len()));
        return Ok(Filter { condition, plus: if rx.is_postgres() { "" } else { "+" }, scans: false });
    }
    args.push(search.to_owned().into());
    Ok(Filter { condition: format!(" and {{contains c.email ${}}}", args.len()), plus: "", scans: true })
}

struct Lookup {
    /// A condition in which `$pattern` stands for the bound pattern.
    condition: String,
    pattern: String,
}

/// How to look a substring up in the index; `None` when there is none, or when a scan is better.
async fn lookup(rx: &mut Rx<'_>, project: ProjectNumber, search: &str) -> Result<Option<Lookup>> {
    if search.chars().count() < SHORTEST || !is_ready(rx, project).await? {
        return Ok(None);
    }
    let n = project.0;
    // The project's number stands in the text, not in an argument: PostgreSQL uses a partial index only when it sees
    // the index's own condition, and in SQLite it is part of the table's name.
    let (hits, condition, pattern) = if rx.is_postgres() {
        let escaped = search.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        (
            format!("select 1 from contacts where project_id = {n} and email like $1"),
            format!(
                " and c.id in (select s.id from contacts s where s.project_id = {n} and s.email like $pattern offset 0)"
            ),
            format!("%{escaped}%"),
        )
    } else {
        (
            format!("select 1 from contact_search_{n} where contact_search_{n} match $1"),
            format!(
                " and c.seq in (select rowid from contact_search_{n} where contact_search_{n} match $pattern)"
            ),
            format!("\"{}\"", search.replace('"', "\"\"")),
        )
    };
    let found: i64 = rx
        .one(format!("select count(*) from ({hits} limit {}) as hits", COMMON + 1), args![&pattern], |r| {
            r.get(0)
        })
        .await?;
    Ok((found <= COMMON as i64).then_some(Lookup { condition, pattern }))
}

async fn is_ready(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<bool> {
    let ready = rx
        .optional("select ready from search_indexes where project_id = $1", args![project], |r| {
            r.get::<bool>(0)
        })
        .await?;
    Ok(ready == Some(true))
}

/// Does one step of giving a project its index, if it is large enough. Returns whether there is more to do.
///
/// A step that is repeated, or interrupted, does no harm.
pub async fn build_step(db: &Db, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let (contacts, state) = db
        .read(body!(async |rx| {
            let contacts = counter::value(rx, project, Counter::Contacts, "").await?;
            let state = rx
                .optional(
                    "select filled_to, ready from search_indexes where project_id = $1",
                    args![project],
                    |r| Ok((r.get::<i64>(0)?, r.get::<bool>(1)?)),
                )
                .await?;
            Ok((contacts, state))
        }))
        .await?;
    match state {
        None if contacts < LARGE_PROJECT => Ok(false),
        Some((_, true)) => Ok(false),
        _ if db.is_postgres() => build_postgres(db, project, now).await,
        None => db.write_in_background(body!(async |tx| start_sqlite(tx, project, now).await)).await,
        Some((filled_to, false)) => {
            db.write_in_background(body!(async |tx| fill_sqlite(tx, project, filled_to).await)).await
        }
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

/// Makes the index table and the triggers that keep it; the contacts that are there already follow in steps.
async fn start_sqlite(tx: &mut Tx<'_>, project: ProjectNumber, now: Timestamp) -> Result<bool> {
    let n = project.0;
    let table = format!("contact_search_{n}");
    for statement in [
        format!("create virtual table if not exists {table} using fts5 (email, tokenize = 'trigram')"),
        format!(
            "create trigger if not exists {table}_insert after insert on contacts when new.project_id = {n} \
             begin insert into {table} (rowid, email) values (new.seq, new.email); end"
        ),
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
    tx.execute(
        "insert into search_indexes (project_id, filled_to, ready, created_at) values ($1, 0, false, $2) \
         on conflict (project_id) do nothing",
        args![project, now],
    )
    .await?;
    Ok(true)
}

async fn fill_sqlite(tx: &mut Tx<'_>, project: ProjectNumber, filled_to: i64) -> Result<bool> {
    let last: Option<i64> = tx
        .one(
            "select max(seq) from (select seq from contacts where project_id = $1 and seq > $2 order by seq limit $3) as step",
            args![project, filled_to, STEP],
            |r| r.get(0),
        )
        .await?;
    let n = project.0;
    let Some(last) = last else {
        tx.execute_one("update search_indexes set ready = true where project_id = $1", args![project])
            .await?;
        return Ok(false);
    };
    tx.execute(
        format!(
            "insert or replace into contact_search_{n} (rowid, email) \
             select seq, email from contacts where project_id = $1 and seq > $2 and seq <= $3"
        ),
        args![project, filled_to, last],
    )
    .await?;
    tx.execute_one("update search_indexes set filled_to = $2 where project_id = $1", args![project, last])
        .await?;
    Ok(true)
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
