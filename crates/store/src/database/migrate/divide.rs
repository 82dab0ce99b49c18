//! Divides the tables of projects over the servers of Citus: the rows of a project are all on one.
//!
//! It is done after every migration, for each table that is not divided yet, so that it does not matter when a table was
//! made, or where the last try ended. Tables of the instance stay on the coordinator.

use crate::args;
use crate::body;
use crate::database::cluster;
use crate::database::error::{Error, Result};
use crate::database::postgres::Apart;

/// The table that the others are placed beside. Into how many parts it is divided is a setting of the server,
/// `citus.shard_count`. A part moves as a whole, so there should be several for each server that may come; each costs a
/// table on a server.
const FIRST: &str = "contacts";

/// Divides what is not divided yet, where the server can.
pub(super) async fn divide(session: &Apart) -> Result<()> {
    if !session.is_divided() {
        return Ok(());
    }
    let undivided = session.transact(body!(async |tx| cluster::undivided(tx).await));
    let mut undivided = undivided.await?;
    // beside which all others are placed
    undivided.sort_by_key(|name| name != FIRST);
    for name in &undivided {
        let beside = if name == FIRST {
            "colocate_with => 'none'".to_owned()
        } else {
            format!("colocate_with => '{FIRST}'")
        };
        session.run(&format!("select create_distributed_table('{name}', 'project_id', {beside})")).await?;
    }
    set_up_workers(session).await?;
    if !undivided.is_empty() {
        tracing::info!(tables = undivided.len(), "tables were divided by project over the servers");
    }
    Ok(())
}

/// Has all sessions on the workers plan as ours do: what a session of ours sets at its start holds on the coordinator
/// alone.
async fn set_up_workers(session: &Apart) -> Result<()> {
    let setting = "select format('alter database %I set %s = off', current_database(), name) \
                   from unnest(array['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) as name";
    let failures = session.transact(body!(async |tx| {
        let mut failures = Vec::new();
        for command in tx.all(setting, &[], |r| r.get::<String>(0)).await? {
            let failed = "select nodename || ':' || nodeport || ': ' || result from run_command_on_workers($1) \
                          where not success";
            failures.extend(tx.all(failed, args![command], |r| r.get::<String>(0)).await?);
        }
        Ok(failures)
    }));
    match failures.await?.into_iter().next() {
        Some(failure) => Err(Error::Migration(format!("a worker could not be set up: {failure}"))),
        None => Ok(()),
    }
}
