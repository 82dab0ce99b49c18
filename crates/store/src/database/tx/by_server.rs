//! Looks over all projects where the tables are divided over several servers.
//!
//! One statement asks all of them, and fails as a whole when one does not answer. From then on, and until all answer
//! again, each server is asked by itself: it gets one query over the parts that it holds. Those that do not answer are
//! left out ([`Away`](crate::database::away::Away)), so that only their own projects wait.
//!
//! The queries go by `master_run_on_worker`, as those of `run_command_on_workers` do. It says in a row of its own that a
//! server cannot be reached, and asks all of them at once, each on a new connection. A connection for each server costs
//! less than one for each part (`run_command_on_shards`), and less than a statement that names all projects of the
//! other servers, which every part would get. While all servers answer, one statement does better: it uses the
//! connections that there are.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use mailwright_core::ids::ProjectNumber;

use super::read::Rx;
use super::row::Row;
use crate::database::dialect::Sql;
use crate::database::error::{Error, Result};
use crate::database::tenant::found_by_project;
use crate::database::value::Arg;

/// The parts of some tables, and where they are.
const PARTS: &str = "select cast(n.nodeid as bigint), n.nodename, cast(n.nodeport as bigint), t.name, \
                     shard_name(s.logicalrelid, s.shardid), s.shardminvalue \
                     from unnest($1::text[]) as t(name) join pg_dist_shard s on s.logicalrelid = to_regclass(t.name) \
                     join pg_dist_placement p on p.shardid = s.shardid and p.shardstate = 1 \
                     join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary' \
                     where s.shardminvalue is not null";
/// Asks servers, each its own query; the answers are in the order of the servers.
const ASK: &str = "select r.success, r.result from master_run_on_worker($1::text[], cast($2::bigint[] as int[]), \
                   $3::text[], true) with ordinality as r(node_name, node_port, success, result, place) \
                   order by r.place";

/// A server that holds parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Server {
    /// Its number in the cluster.
    node: i64,
    host: String,
    port: i64,
}

/// A part of a table.
#[derive(Debug, Clone)]
struct Part {
    server: Server,
    /// The table.
    of: String,
    /// The part's own name.
    name: String,
    /// The lowest hash of a project number in it: parts of several tables with the same one belong together.
    from: String,
}

impl Rx<'_> {
    /// The projects that a query over all of them finds: their numbers are its only column, and its arguments are
    /// integers and booleans.
    ///
    /// Where the tables are divided over several servers, those that do not answer are left out: their projects have
    /// their turn once they are back. Fails if none answers.
    pub async fn projects_with_work(
        &self,
        sql: impl Into<Sql>,
        args: &[Arg<'_>],
    ) -> Result<Vec<ProjectNumber>> {
        let sql = sql.into();
        if !self.texts.is_divided() {
            return self.all(sql, args, |r| r.get(0)).await;
        }
        if !self.session.is_by_project(true) {
            return Err(self.session.elsewhere());
        }
        let text = self.texts.text(&sql);
        let left_out = match self.texts.away().left_out(Instant::now()) {
            Some(left_out) => left_out,
            None => match self.all(sql, args, |r| r.get(0)).await {
                // a server that is gone in the middle is waited for until the statement is stopped
                Err(Error::Unavailable(_) | Error::Interrupted(_)) => {
                    self.texts.away().suspect(Instant::now());
                    BTreeSet::new()
                }
                outcome => return outcome,
            },
        };
        self.ask_servers(&with_values(&text, args)?, &left_out).await
    }

    /// Asks the servers that are not left out, and notes which of them do not answer.
    async fn ask_servers(&self, look: &str, left_out: &BTreeSet<i64>) -> Result<Vec<ProjectNumber>> {
        let began = Instant::now();
        let tables = Arg::Texts(tables(look).into_iter().map(|table| Some(table.into())).collect());
        let mut asked = queries(look, self.all(PARTS, &[tables], read_part).await?);
        asked.retain(|(server, _)| !left_out.contains(&server.node));
        let servers = [
            Arg::Texts(asked.iter().map(|(server, _)| Some(server.host.as_str().into())).collect()),
            Arg::Ints(asked.iter().map(|(server, _)| Some(server.port)).collect()),
            Arg::Texts(asked.iter().map(|(_, query)| Some(query.as_str().into())).collect()),
        ];
        let answers =
            if asked.is_empty() { Vec::new() } else { self.all(ASK, &servers, read_answer).await? };
        let (mut found, mut silent) = (Vec::new(), BTreeSet::new());
        for ((server, _), (succeeded, answer)) in asked.iter().zip(answers) {
            if succeeded {
                found.extend(numbers(&answer));
            } else {
                tracing::warn!(
                    host = server.host,
                    port = server.port,
                    answer,
                    "a server of the cluster does not answer, its projects wait"
                );
                silent.insert(server.node);
            }
        }
        let is_answered = silent.len() < asked.len();
        self.texts.away().note(left_out, silent, began.elapsed(), Instant::now());
        if is_answered {
            Ok(found)
        } else {
            Err(Error::Unavailable("no server of the cluster answers".to_owned()))
        }
    }
}

fn read_part(row: &Row<'_>) -> Result<Part> {
    let server = Server { node: row.get(0)?, host: row.get(1)?, port: row.get(2)? };
    Ok(Part { server, of: row.get(3)?, name: row.get(4)?, from: row.get(5)? })
}

fn read_answer(row: &Row<'_>) -> Result<(bool, String)> {
    Ok((row.get(0)?, row.get(1)?))
}

/// The tables of projects that a query reads.
fn tables(look: &str) -> Vec<&'static str> {
    let words: Vec<&str> = look.split_whitespace().map(|word| word.trim_matches(['(', ')', ','])).collect();
    let is_read = |table: &&'static str| {
        words.windows(2).any(|pair| matches!(pair[0], "from" | "join") && pair[1] == *table)
    };
    found_by_project().filter(is_read).collect()
}

/// A query with values in the place of its arguments. They are numbers and booleans, so that nothing has to be quoted.
fn with_values(look: &str, args: &[Arg<'_>]) -> Result<String> {
    let mut pieces = look.split('$');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (place, rest) = piece.split_at(piece.bytes().take_while(u8::is_ascii_digit).count());
        let place = place.parse::<usize>().unwrap_or_default();
        match place.checked_sub(1).and_then(|place| args.get(place)) {
            // of the type that the argument has
            Some(Arg::Int(value)) => out.push_str(&format!("'{value}'::bigint")),
            Some(Arg::Bool(value)) => out.push_str(&value.to_string()),
            _ => {
                return Err(Error::Statement("a look over all projects has another kind of argument".into()));
            }
        }
        out.push_str(rest);
    }
    Ok(out)
}

/// What each server is asked: the query over each of the parts that it holds. In it the names of the tables stand for
/// those of the parts. The answer is one text, as it has to be.
fn queries(look: &str, parts: Vec<Part>) -> Vec<(Server, String)> {
    let mut held: BTreeMap<Server, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for part in parts {
        let table = format!("{} as not materialized (select * from {})", part.of, part.name);
        held.entry(part.server).or_default().entry(part.from).or_default().push(table);
    }
    let query = |parts: BTreeMap<String, Vec<String>>| {
        let looks: Vec<String> =
            parts.into_values().map(|tables| format!("(with {} {look})", tables.join(", "))).collect();
        format!(
            "select string_agg(cast(w.project_id as text), ',') from ({}) as w(project_id)",
            looks.join(" union all ")
        )
    };
    held.into_iter().map(|(server, parts)| (server, query(parts))).collect()
}

/// The numbers in the answer of a server, which is empty if there are none.
fn numbers(answer: &str) -> impl Iterator<Item = ProjectNumber> {
    answer.split(',').filter_map(|number| number.parse().ok().map(ProjectNumber))
}
