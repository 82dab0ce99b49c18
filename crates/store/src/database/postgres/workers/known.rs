//! Which part of the tables a project is in, and where that part is.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use mailwright_core::ids::ProjectNumber;
use tokio_postgres::Row;

use crate::database::error::{Error, Result};
use crate::database::part::{Names, Part, Server};
use crate::database::pooled::{WAIT, connection};
use crate::database::tenant::found_by_project;

/// How long it is trusted that servers have the names that they had. That parts are where they were is looked at by each
/// transaction.
const TRUSTED: Duration = Duration::from_secs(30);
/// How often it is read at most where parts are.
const APART: Duration = Duration::from_secs(1);
/// Most projects whose parts are kept.
const MOST: usize = 200_000;

/// The parts of each table: the table, its part, the part's number, the lowest hash of a project in it, and its server.
const PARTS: &str = "select t.name, shard_name(s.logicalrelid, s.shardid), s.shardid, s.shardminvalue, \
                     cast(p.groupid as bigint), n.nodename, cast(n.nodeport as bigint) \
                     from unnest($1::text[]) as t(name) join pg_dist_shard s on s.logicalrelid = to_regclass(t.name) \
                     join pg_dist_placement p on p.shardid = s.shardid and p.shardstate = 1 \
                     join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary' and n.isactive \
                     and (n.hasmetadata or n.groupid = 0) \
                     where s.shardminvalue is not null";
/// The tables of the instance that the cluster knows of. Each is one part, under another name, on the coordinator: whoever
/// reads that has the plan of PostgreSQL alone.
const OF_INSTANCE: &str = "select c.relname, shard_name(s.logicalrelid, s.shardid) from pg_dist_shard s \
                           join pg_dist_placement p on p.shardid = s.shardid and p.groupid = 0 \
                           join pg_class c on c.oid = s.logicalrelid \
                           where s.shardminvalue is null and c.relnamespace = current_schema()::regnamespace";
/// The table whose parts have the numbers that stand for all.
const FIRST: &str = "contacts";
/// The parts of projects.
const PROJECTS: &str =
    "select p, get_shard_id_for_distribution_column('contacts', p) from unnest($1::bigint[]) as p";

/// The parts that projects are in.
pub(crate) type Places = HashMap<ProjectNumber, Arc<Part>>;

#[derive(Default)]
pub(super) struct Known {
    map: RwLock<Map>,
    /// One caller reads at a time; the others go on with what is known.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Map {
    read_at: Option<Instant>,
    /// Some part was not where it was.
    is_outdated: bool,
    /// By their numbers.
    parts: HashMap<i64, Arc<Part>>,
    of_projects: HashMap<ProjectNumber, i64>,
}

impl Known {
    /// The parts of those projects that have one.
    pub(super) async fn places(&self, coordinator: &Pool, projects: &[ProjectNumber]) -> Result<Places> {
        match tokio::time::timeout(WAIT, self.find(coordinator, projects)).await {
            Ok(found) => found,
            Err(_) => Err(Error::Unavailable("the database did not answer in time".into())),
        }
    }

    async fn find(&self, coordinator: &Pool, projects: &[ProjectNumber]) -> Result<Places> {
        if !self.read().is_trusted()
            && let Ok(_reading) = self.reading.try_lock()
        {
            let parts = read_parts(coordinator).await?;
            self.write().take(parts);
        }
        let unknown: Vec<i64> = {
            let map = self.read();
            projects.iter().filter(|p| !map.of_projects.contains_key(p)).map(|p| p.0).collect()
        };
        if !unknown.is_empty() && !self.read().parts.is_empty() {
            let client = connection(coordinator).await?;
            let statement = client.prepare_cached(PROJECTS).await?;
            let found = client.query(&statement, &[&unknown]).await?;
            self.write().note(&found)?;
        }
        let map = self.read();
        let place = |project: &ProjectNumber| {
            let part = map.of_projects.get(project).and_then(|number| map.parts.get(number));
            part.filter(|part| !part.is_gone()).map(|part| (*project, Arc::clone(part)))
        };
        Ok(projects.iter().filter_map(place).collect())
    }

    /// The server that a project is on, if that is known already.
    pub(super) fn server_of(&self, project: ProjectNumber) -> Option<i64> {
        let map = self.read();
        map.of_projects.get(&project).and_then(|number| map.parts.get(number)).map(|part| part.server.group)
    }

    pub(super) fn forget(&self) {
        self.write().is_outdated = true;
    }

    fn read(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Map {
    fn is_trusted(&self) -> bool {
        let trusted = if self.is_outdated { APART } else { TRUSTED };
        self.read_at.is_some_and(|read_at| read_at.elapsed() < trusted)
    }

    /// Takes the parts as they are now. One that is as it was stays the same, with the texts that it keeps.
    fn take(&mut self, parts: Vec<Part>) {
        let before = std::mem::take(&mut self.parts);
        let mut times: HashMap<i64, usize> = HashMap::new();
        for part in &parts {
            *times.entry(part.number).or_default() += 1;
        }
        // all copies of a part would have to be written
        let parts = parts.into_iter().filter(|part| times.get(&part.number) == Some(&1));
        let kept = |part: Part| match before.get(&part.number) {
            Some(known) if known.is_still(&part) => (part.number, Arc::clone(known)),
            _ => (part.number, Arc::new(part)),
        };
        self.parts = parts.map(kept).collect();
        let Self { parts, of_projects, .. } = self;
        // parts that were divided have new numbers
        of_projects.retain(|_, number| parts.contains_key(number));
        (self.read_at, self.is_outdated) = (Some(Instant::now()), false);
    }

    fn note(&mut self, found: &[Row]) -> Result<()> {
        if self.of_projects.len() + found.len() > MOST {
            self.of_projects.clear();
        }
        for row in found {
            self.of_projects.insert(ProjectNumber(row.try_get(0)?), row.try_get(1)?);
        }
        Ok(())
    }
}

async fn read_parts(coordinator: &Pool) -> Result<Vec<Part>> {
    let client = connection(coordinator).await?;
    let tables: Vec<&str> = found_by_project().collect();
    let statement = client.prepare_cached(PARTS).await?;
    let of_instance = client.query(&client.prepare_cached(OF_INSTANCE).await?, &[]).await?;
    let of_instance: Names =
        of_instance.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_>>()?;
    // what makes parts of different tables belong together: where they begin, and their server
    let mut found: HashMap<(String, Server), (Option<i64>, Names)> = HashMap::new();
    for row in client.query(&statement, &[&tables]).await? {
        let (table, name): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let port = u16::try_from(row.try_get::<_, i64>(6)?)
            .map_err(|_| Error::Statement("a server of the cluster has no port".into()))?;
        let server = Server { group: row.try_get(4)?, host: row.try_get(5)?, port };
        let (number, names) = found.entry((row.try_get(3)?, server)).or_default();
        if table == FIRST {
            *number = Some(row.try_get(2)?);
        }
        names.insert(table, name);
    }
    let part = |((_, server), (number, names)): (_, (Option<i64>, Names))| {
        let names = names.into_iter().chain(of_instance.clone());
        Some(Part::new(number?, server, names.collect()))
    };
    Ok(found.into_iter().filter_map(part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: i64, host: &str) -> Part {
        let server = Server { group: 1, host: host.to_owned(), port: 5432 };
        Part::new(number, server, Names::from([("contacts".to_owned(), format!("contacts_{number}"))]))
    }

    #[test]
    fn parts_that_stay_where_they_are_keep_their_texts() {
        let mut map = Map::default();
        assert!(!map.is_trusted());
        map.take(vec![part(1, "one"), part(2, "one"), part(3, "one")]);
        assert!(map.is_trusted());
        let before = map.parts.clone();
        map.of_projects = (1..=3).map(|number| (ProjectNumber(number), number)).collect();

        map.take(vec![part(1, "one"), part(2, "two")]);
        assert!(Arc::ptr_eq(&before[&1], &map.parts[&1]));
        assert!(!Arc::ptr_eq(&before[&2], &map.parts[&2]), "it was moved");
        assert_eq!(map.of_projects.len(), 2, "the third is asked for again");

        map.take(vec![part(1, "one"), part(2, "one"), part(2, "two")]);
        assert_eq!(map.parts.keys().collect::<Vec<_>>(), [&1], "the second has copies");
    }
}
