//! How large the database is, what each of its tables weighs, and how it has grown.

use mailwright_core::time::Timestamp;

use crate::args;
use crate::database::dialect::Sql;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// For how many days it is kept how large the database was.
const KEPT_DAYS: i64 = 400;

/// How large the database was on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The day: UTC, in days since 1970.
    pub day: i64,
    /// Its bytes.
    pub bytes: i64,
}

/// What a table weighs, with its indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weight {
    /// The table.
    pub table: String,
    /// Bytes.
    pub bytes: i64,
}

/// The bytes that the database takes now, on all its servers; nothing while one of them does not answer.
async fn size(rx: &Rx<'_>) -> Result<Option<i64>> {
    let sql = if rx.is_postgres() {
        Sql::Either {
            whole: "select pg_database_size(current_database())",
            divided: "select case when coalesce(bool_and(success), true) then pg_database_size(current_database()) \
                      + coalesce(sum(case when success then cast(result as bigint) end)::bigint, 0) end \
                      from run_command_on_workers('select pg_database_size(current_database())')",
        }
    } else {
        Sql::Fixed("select page_count * page_size from pragma_page_count, pragma_page_size")
    };
    rx.one(sql, args![], |r| r.get(0)).await
}

/// Notes how large the database is today, once for each day, and forgets what is long ago.
pub async fn note_size(tx: &Tx<'_>, now: Timestamp) -> Result<()> {
    let day = now.0.div_euclid(DAY);
    if tx.exists("select 1 from database_sizes where day = $1", args![day]).await? {
        return Ok(());
    }
    let Some(bytes) = size(tx).await? else { return Ok(()) };
    tx.execute(
        "insert into database_sizes (day, bytes) values ($1, $2) on conflict (day) do nothing",
        args![day, bytes],
    )
    .await?;
    tx.execute("delete from database_sizes where day < $1", args![day - KEPT_DAYS]).await?;
    Ok(())
}

/// How large the database was on the days since one, the oldest first, and is today: nothing while one of its servers
/// does not answer.
pub async fn sizes(rx: &Rx<'_>, since: Timestamp, now: Timestamp) -> Result<(Vec<Size>, Option<i64>)> {
    let noted = rx
        .all(
            "select day, bytes from database_sizes where day >= $1 and day <= $2 order by day",
            args![since.0.div_euclid(DAY), now.0.div_euclid(DAY)],
            |r| Ok(Size { day: r.get(0)?, bytes: r.get(1)? }),
        )
        .await?;
    Ok((noted, size(rx).await?))
}

/// What each table weighs, the heaviest first. On SQLite this reads the whole database.
pub async fn weights(rx: &Rx<'_>) -> Result<Vec<Weight>> {
    let sql = if rx.is_postgres() {
        // a part of a table counts for the table
        Sql::Either {
            whole: "select coalesce(p.relname, c.relname), cast(sum(pg_total_relation_size(c.oid)) as bigint) \
                    from pg_class c left join pg_inherits i on i.inhrelid = c.oid \
                    left join pg_class p on p.oid = i.inhparent \
                    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace \
                    group by 1 order by 2 desc, 1",
            divided: "select coalesce(p.relname, c.relname), cast(sum(s.shard_size) as bigint) \
                      from citus_shards s join pg_class c on c.oid = s.table_name \
                      left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent \
                      group by 1 order by 2 desc, 1",
        }
    } else {
        Sql::Fixed(
            "select m.tbl_name, sum(s.pgsize) from dbstat s join sqlite_master m on m.name = s.name \
             where s.aggregate = 1 group by m.tbl_name order by 2 desc, 1",
        )
    };
    rx.all(sql, args![], |r| Ok(Weight { table: r.get(0)?, bytes: r.get(1)? })).await
}
