//! Divides the tables of projects over the servers of Citus: the rows of a project are all on one.
//!
//! It is done after every migration, for each table that is not divided yet, so that it does not matter when a table was
//! made, or where the last try ended. Tables of the instance stay on the coordinator. Citus is told of them, so that it
//! commits in two phases what changes rows of them and of a worker.

use crate::args;
use crate::body;
use crate::database::cluster;
use crate::database::error::Result;
use crate::database::postgres::Apart;
use crate::database::value::Arg;

/// The table that the others are placed beside. Into how many parts it is divided is a setting of the server,
/// `citus.shard_count`. A part moves as a whole, so there should be several for each server that may come; each costs a
/// table on a server.
const FIRST: &str = "contacts";
/// It has no primary key, without which it could not be moved to another server while it is written to.
const TOLD_APART: &str = "alter table contacts replica identity using index contacts_project_id_id_key";
/// How sessions on the workers plan: what a session of ours sets at its start holds on the coordinator alone.
const PLANNED: [&str; 4] = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"];

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
            session.run(TOLD_APART).await?;
            "colocate_with => 'none'".to_owned()
        } else {
            format!("colocate_with => '{FIRST}'")
        };
        session.run(&format!("select create_distributed_table('{name}', 'project_id', {beside})")).await?;
        // its rows are on the workers now, and nobody finds those that are left here
        session.run(&format!("select truncate_local_data_after_distributing_table('{name}')")).await?;
    }
    let unknown = session.transact(body!(async |tx| cluster::unknown(tx).await));
    for name in unknown.await? {
        // those that refer to it, or that it refers to, were told of along with it
        session
            .run(&format!(
                "select citus_add_local_table_to_metadata('{name}', cascade_via_foreign_keys => true) \
                 where not exists (select 1 from pg_dist_partition where logicalrelid = '{name}'::regclass)"
            ))
            .await?;
    }
    set_up_workers(session).await?;
    if !undivided.is_empty() {
        tracing::info!(tables = undivided.len(), "tables were divided by project over the servers");
    }
    Ok(())
}

/// Has all sessions on the workers plan as ours do, from their start. A worker that is away keeps no process from
/// starting: the next migration sets it up.
async fn set_up_workers(session: &Apart) -> Result<()> {
    let names = || Arg::Texts(PLANNED.iter().map(|name| Some((*name).into())).collect());
    let lacking = "select nodename || ':' || nodeport from run_command_on_workers((select format(\
                   'select count(*) from pg_db_role_setting s, unnest(s.setconfig) c where s.setrole = 0 \
                   and s.setdatabase = (select oid from pg_database where datname = current_database()) \
                   and c = any(%L::text[])', array_agg(name || '=off')) from unnest($1::text[]) as name)) \
                   where result is distinct from $2";
    // Citus takes the statement itself for one that only the coordinator may pass on
    let setting = "select format('do $do$ begin set local citus.enable_ddl_propagation = off; \
                   alter database %I set %I = off; end $do$', current_database(), name) \
                   from unnest($1::text[]) as name";
    let failures = session.transact(body!(async |tx| {
        let all = PLANNED.len().to_string();
        let mut failures = Vec::new();
        if !tx.exists(lacking, &[names(), all.as_str().into()]).await? {
            return Ok(failures);
        }
        for command in tx.all(setting, &[names()], |r| r.get::<String>(0)).await? {
            let failed = "select nodename || ':' || nodeport || ': ' || result from run_command_on_workers($1) \
                          where not success";
            failures.extend(tx.all(failed, args![command], |r| r.get::<String>(0)).await?);
        }
        Ok(failures)
    }));
    for failure in failures.await? {
        tracing::warn!(failure, "a worker could not be set up; run `mailwright migrate` when it is back");
    }
    Ok(())
}
