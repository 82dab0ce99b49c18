//! Which operations share a transaction, and what becomes of them.

use std::collections::HashMap;

use futures_util::future::join_all;
use mailwright_core::time::Timestamp;
use tokio::time::Instant;

use super::*;
use crate::database::coalesce::{Coalescer, WriteGroup};
use crate::database::migrate::migrate;
use crate::database::migrate::tests::Database;
use crate::database::part::{Names, Part, Server};
use crate::{Error, args, body};

fn part(number: i64, group: i64) -> Arc<Part> {
    let server = Server { group, host: format!("server-{group}"), port: 5432 };
    Arc::new(Part::new(number, server, Names::new()))
}

#[test]
fn parts_of_one_server_share_a_transaction_until_they_have_enough() {
    // projects 1 and 2 are of one part, 3 of another of that server, 4 and 5 of none, 6 to 8 of three of another server
    let places: PartsOf = [(1, 7, 1), (2, 7, 1), (3, 8, 1), (6, 2, 3), (7, 4, 3), (8, 6, 3)]
        .map(|(project, number, group)| (ProjectNumber(project), part(number, group)))
        .into();
    let times = HashMap::from([(6, 20), (7, SHARED - 20)]);
    let of = |project| vec![ProjectNumber(project); times.get(&project).copied().unwrap_or(2)];
    let projects: Vec<_> = [1, 2, 3, 4, 5, 6, 7, 8].into_iter().flat_map(of).collect();
    let found = together(stretches(&projects, 0..projects.len(), &places));
    let found: Vec<Vec<_>> = found
        .iter()
        .map(|run| {
            run.iter().map(|of| (of.range.clone(), of.part.as_ref().map(|part| part.number))).collect()
        })
        .collect();
    let full = 10 + SHARED;
    assert_eq!(
        found,
        [
            vec![(0..4, Some(7)), (4..6, Some(8))],
            vec![(6..8, None)],
            vec![(8..10, None)],
            vec![(10..30, Some(2)), (30..full, Some(4))],
            vec![(full..full + 2, Some(6))],
        ]
    );
}

const FAILS: ProjectNumber = ProjectNumber(13);

#[tokio::test]
async fn operations_for_many_parts_are_done_once_though_one_of_them_fails() {
    let database = Database::create("parts");
    let db = database.open();
    migrate(&db, Timestamp(0)).await.unwrap();
    let write: WriteGroup<ProjectNumber, ProjectNumber> = |tx, projects| {
        Box::pin(async move {
            for project in projects {
                let count = "insert into counters (project_id, kind, name, shard, value) \
                             values ($1, 'test', 'done', 0, 1) on conflict (project_id, kind, name, shard) \
                             do update set value = counters.value + 1";
                tx.execute(count, args![*project]).await?;
                if *project == FAILS {
                    return Err(Error::NotFound);
                }
            }
            Ok(projects.to_vec())
        })
    };
    let projects: Vec<_> = (1..=40).map(ProjectNumber).collect();
    // on a cluster, the groups go to its servers once those are reached
    let began = Instant::now();
    while db.is_divided() && db.parts_of(&projects).await.len() < projects.len() {
        assert!(began.elapsed() < Duration::from_secs(30), "the servers are not reached");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let coalescer = Coalescer::writes(&db, write);
    let call = |project: &ProjectNumber| {
        let load = Load { project: *project, rows: 0, bytes: 0 };
        coalescer.call_sized(project.0 as u64, load, *project)
    };
    let found = join_all(projects.iter().map(call)).await;
    for (project, found) in projects.iter().zip(found) {
        let is_right = match found {
            Ok(of) => of == *project && of != FAILS,
            Err(error) => matches!(error, Error::NotFound) && *project == FAILS,
        };
        assert!(is_right, "{project:?}");
    }
    let counted = db.read(body!(async |rx| {
        let sql = "select project_id, value from counters where kind = 'test' order by project_id";
        rx.all(sql, &[], |r| Ok((r.get::<i64>(0)?, r.get::<i64>(1)?))).await
    }));
    let expected: Vec<_> = (1..=40).filter(|number| *number != FAILS.0).map(|number| (number, 1)).collect();
    assert_eq!(counted.await.unwrap(), expected);
}
