//! Divides the tables of projects over the servers of Citus: the rows of a project are all on one.
//!
//! It is done after every migration, for each table that is not divided yet, so that it does not matter when a table was
//! made, or where the last try ended. Tables of the instance stay on the coordinator.

use crate::body;
use crate::database::error::Result;
use crate::database::postgres::Apart;
use crate::database::tenant::found_by_project;
use crate::database::value::Arg;

/// The table that the others are placed beside.
const FIRST: &str = "contacts";
/// Into how many parts the tables are divided. A part moves as a whole, so there should be several for each server that
/// may come; each costs a table on a server.
const SHARDS: u32 = 32;

/// Divides what is not divided yet, where the server can.
pub(super) async fn divide(session: &Apart) -> Result<()> {
    if !session.is_divided() {
        return Ok(());
    }
    let names = Arg::Texts(found_by_project().map(|name| Some(name.into())).collect());
    let undivided = session.transact(body!(async |tx| {
        let of_server = "select t from unnest($1::text[]) as t where to_regclass(t) is not null \
                         and not exists (select 1 from pg_dist_partition p where p.logicalrel = to_regclass(t)) \
                         order by t";
        tx.all(of_server, &[names], |r| r.get::<String>(0)).await
    }));
    let mut undivided = undivided.await?;
    // beside which all others are placed
    undivided.sort_by_key(|name| name != FIRST);
    for name in &undivided {
        let beside = if name == FIRST {
            format!("shard_count => {SHARDS}, colocate_with => 'none'")
        } else {
            format!("colocate_with => '{FIRST}'")
        };
        session.run(&format!("select create_distributed_table('{name}', 'project_id', {beside})")).await?;
    }
    if !undivided.is_empty() {
        tracing::info!(tables = undivided.len(), "tables were divided by project over the servers");
    }
    Ok(())
}
