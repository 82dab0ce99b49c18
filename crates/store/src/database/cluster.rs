//! What a cluster of Citus looks like: its servers, and how the parts of the tables lie on them.

use crate::args;
use crate::database::error::Result;
use crate::database::tenant::found_by_project;
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// A server of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// `host:port`, as the coordinator connects to it.
    pub address: String,
    /// Whether it is the coordinator.
    pub is_coordinator: bool,
    /// Whether statements are sent to it.
    pub is_active: bool,
    /// Whether it is to hold parts of tables.
    pub holds_parts: bool,
    /// How many parts of each table it holds.
    pub parts: i64,
}

/// How many bytes one part of all tables has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The lowest hash of a project number in it.
    pub from: i64,
    /// Bytes.
    pub bytes: i64,
}

/// The version of the extension; `None` on a server without it.
pub async fn version(rx: &mut Rx<'_>) -> Result<Option<String>> {
    if !rx.is_postgres() {
        return Ok(None);
    }
    rx.optional("select extversion from pg_extension where extname = 'citus'", &[], |r| r.get(0)).await
}

/// The servers of the cluster, the coordinator first. Replicas are left out.
pub async fn nodes(rx: &mut Rx<'_>) -> Result<Vec<Node>> {
    rx.all(
        "select n.nodename || ':' || n.nodeport, n.groupid = 0, n.isactive, n.shouldhaveshards, \
         (select count(*) from pg_dist_placement p join pg_dist_shard s on s.shardid = p.shardid \
         where p.groupid = n.groupid and s.logicalrelid = to_regclass('contacts')) \
         from pg_dist_node n where n.noderole = 'primary' order by n.groupid",
        &[],
        |r| {
            Ok(Node {
                address: r.get(0)?,
                is_coordinator: r.get(1)?,
                is_active: r.get(2)?,
                holds_parts: r.get(3)?,
                parts: r.get(4)?,
            })
        },
    )
    .await
}

/// The servers that another one, which answers, cannot reach, as `host:port`.
pub async fn out_of_reach(rx: &mut Rx<'_>) -> Result<Vec<String>> {
    rx.all(
        // one that does not answer has no results of its own
        "select distinct to_nodename || ':' || to_nodeport from citus_check_cluster_node_health() \
         where result = false or (result is null and to_nodename = from_nodename and to_nodeport = from_nodeport) \
         order by 1",
        &[],
        |r| r.get(0),
    )
    .await
}

/// The tables of projects that are not divided over the servers.
pub async fn undivided(rx: &mut Rx<'_>) -> Result<Vec<String>> {
    let names = Arg::Texts(found_by_project().map(|name| Some(name.into())).collect());
    rx.all(
        "select t from unnest($1::text[]) as t join pg_class c on c.oid = to_regclass(t) where c.relkind = 'r' \
         and not exists (select 1 from pg_dist_partition p where p.logicalrelid = c.oid) order by t",
        &[names],
        |r| r.get(0),
    )
    .await
}

/// The tables that the cluster does not know of. That of the migrations is one: what changes it changes tables as well, and
/// is committed in two phases for that.
pub(crate) async fn unknown(rx: &mut Rx<'_>) -> Result<Vec<String>> {
    rx.all(
        "select c.relname from pg_class c where c.relkind = 'r' and not c.relispartition \
         and c.relnamespace = current_schema()::regnamespace and c.relname <> 'schema_migrations' \
         and not exists (select 1 from pg_dist_partition p where p.logicalrelid = c.oid) order by 1",
        &[],
        |r| r.get(0),
    )
    .await
}

/// The parts, the largest first. Every server is asked.
pub async fn parts(rx: &mut Rx<'_>) -> Result<Vec<Part>> {
    rx.all(
        "select cast(s.shardminvalue as bigint), cast(sum(c.shard_size) as bigint) from citus_shards c \
         join pg_dist_shard s on s.shardid = c.shardid where s.shardminvalue is not null \
         group by 1 order by 2 desc, 1",
        args![],
        |r| Ok(Part { from: r.get(0)?, bytes: r.get(1)? }),
    )
    .await
}
