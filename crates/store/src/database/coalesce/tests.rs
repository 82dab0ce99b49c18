//! How operations are cut into groups, set aside, and run again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mailwright_core::excess::Excess;
use mailwright_core::ids::ProjectNumber;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::aside::{Aside, GROUP, GROUP_BYTES, groups};
use super::call::{Call, Held, LARGE_BYTES, LARGE_ROWS, Load, QUEUE, QUEUE_BYTES, Turn, Waiting};
use super::group::{Body, Stretch, TRIES, WAIT, WriteGroup, run_group};
use super::task::{Coalescer, ENOUGH_FOR_TWO, OneAtATime};
use crate::args;
use crate::audience::names;
use crate::body;
use crate::database::db::{Db, large_at_once};
use crate::database::error::{Error, Result};
use crate::database::location::Location;
use crate::database::metrics::StoreMetrics;
use crate::database::migrate::tests::Database;

fn open(folder: &tempfile::TempDir) -> Db {
    let location = Location::Sqlite(folder.path().join("test.sqlite"));
    Db::open(&location, StoreMetrics::default()).unwrap()
}

/// Groups get in each other's way; single operations do what their number says.
fn body(operations: &[u8]) -> Result<Vec<u8>> {
    match operations {
        [0] => Err(Error::NotFound),
        [1] => panic!("one"),
        [9] => Err(Error::Unknown("lost".into())),
        [one] => Ok(vec![*one]),
        [99, ..] => Err(Error::Unknown("lost".into())),
        _ => Err(Error::Contention("always".into())),
    }
}

fn whole<O>(operations: &[O]) -> Stretch {
    Stretch { range: 0..operations.len(), part: None }
}

async fn outcomes(operations: &[u8]) -> Vec<Result<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder);
    let write: WriteGroup<u8, u8> = |_, operations| Box::pin(async move { body(operations) });
    let projects: Vec<_> = (0..).map(ProjectNumber).take(operations.len()).collect();
    let operations = Arc::new(operations.to_vec());
    run_group(&db, &operations, &projects, whole(&operations), WAIT, Body::Write(write)).await
}

#[tokio::test]
async fn small_groups_take_turns_while_they_gather() {
    let one_at_a_time = OneAtATime::new();
    let (more, mut waiting) = mpsc::channel(100);
    let mut calls = vec![0];
    let turn = one_at_a_time.wait(&mut waiting, &mut calls).await;
    assert!(turn.is_some());
    // the other group is held up
    assert!(one_at_a_time.wait(&mut waiting, &mut calls).await.is_none());
    assert_eq!(calls, [0]);
    for call in 1..ENOUGH_FOR_TWO {
        more.send(call).await.unwrap();
    }
    // what comes in meanwhile is enough for a group beside the other one
    assert!(one_at_a_time.wait(&mut waiting, &mut calls).await.is_none());
    assert_eq!(calls.len(), ENOUGH_FOR_TWO);
    drop(turn);
    assert!(one_at_a_time.wait(&mut waiting, &mut vec![0]).await.is_some());
}

#[tokio::test]
async fn what_cannot_be_done_together_is_done_one_by_one() {
    let found = outcomes(&[2, 0, 1, 3]).await;
    assert!(
        matches!(&found[..], [Ok(2), Err(Error::NotFound), Err(Error::Panicked(text)), Ok(3)] if text == "one"),
        "{found:?}"
    );
}

fn call(all: &Arc<Waiting>, operation: u8, route: u64, load: Load) -> Call<u8, ()> {
    let (answer, _) = oneshot::channel();
    Call { route, operation, answer, load: Held::take(all, load).unwrap(), held_up: None }
}

fn numbers(group: &[Call<u8, ()>]) -> Vec<u8> {
    group.iter().map(|call| call.operation).collect()
}

/// What is aside, as it is run.
fn in_turn(aside: &mut Aside<u8, ()>) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| Some(aside.next()).filter(|group| !group.is_empty()))
        .map(|group| numbers(&group))
        .collect()
}

fn bytes(bytes: usize) -> Load {
    Load { bytes, ..Load::SMALL }
}

#[test]
fn groups_are_bounded_and_large_operations_run_alone() {
    let all = Arc::default();
    let mut calls: Vec<_> = (0..200).map(|n| call(&all, n, u64::from(n), bytes(LARGE_BYTES - 1))).collect();
    calls.insert(3, call(&all, 250, 7, bytes(LARGE_BYTES)));
    calls.push(call(&all, 251, 500, Load { rows: LARGE_ROWS - 1, ..Load::SMALL }));
    calls.push(call(&all, 252, 501, Load { rows: LARGE_ROWS, ..Load::SMALL }));
    let mut aside = Aside(VecDeque::new());
    let found: Vec<_> = groups(&mut calls, &mut aside, &[]).iter().map(|group| numbers(group)).collect();
    let small: Vec<u8> = (0..200).filter(|n| *n != 7).chain([251]).collect();
    let most = GROUP_BYTES / (LARGE_BYTES - 1);
    assert_eq!(found, [&small[..most], &small[most..]]);
    // what comes after a large operation of its route stays behind it
    let found = in_turn(&mut aside);
    assert_eq!(found, [[250], [7], [252]]);
    // and so does what comes after one that is under way
    let mut calls = vec![call(&all, 1, 7, Load::SMALL), call(&all, 2, 8, Load::SMALL)];
    let running = Turn { route: 7, project: ProjectNumber(0), is_held_up: false };
    let found: Vec<_> =
        groups(&mut calls, &mut aside, &[running]).iter().map(|group| numbers(group)).collect();
    assert_eq!(found, [[2]]);
    assert_eq!(in_turn(&mut aside), [[1]]);
    drop(calls);
    assert_eq!(all.bytes.load(Ordering::Relaxed), 0, "bytes are given back");
}

#[test]
fn a_project_that_is_held_up_is_set_aside() {
    let all = Arc::default();
    let of = |operation, project| {
        let load = Load { project: ProjectNumber(project), ..Load::SMALL };
        call(&all, operation, u64::from(operation), load)
    };
    let mut aside = Aside(VecDeque::new());
    aside.put(Call { held_up: Some(Instant::now()), ..of(1, 5) });
    let found: Vec<_> =
        groups(&mut vec![of(2, 5), of(3, 6)], &mut aside, &[]).iter().map(|group| numbers(group)).collect();
    assert_eq!(found, [[3]]);
    // also while it is tried again
    let again = aside.next();
    assert_eq!(numbers(&again), [1, 2]);
    let found: Vec<_> = groups(&mut vec![of(4, 5), of(6, 6)], &mut aside, &[again[0].turn()])
        .iter()
        .map(|group| numbers(group))
        .collect();
    assert_eq!(found, [[6]]);
    // but not after it
    let found: Vec<_> =
        groups(&mut vec![of(7, 5)], &mut aside, &[]).iter().map(|group| numbers(group)).collect();
    assert_eq!(found, [[7]]);
    let found = in_turn(&mut aside).concat();
    assert_eq!(found, [4]);
}

#[test]
fn projects_take_turns_with_large_operations() {
    let all = Arc::default();
    let mut aside = Aside(VecDeque::new());
    for (operation, project) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3), (6, 2)] {
        let load = Load { project: ProjectNumber(project), rows: LARGE_ROWS, bytes: 0 };
        aside.put(call(&all, operation, u64::from(operation), load));
    }
    let found = in_turn(&mut aside).concat();
    assert_eq!(found, [1, 4, 5, 2, 6, 3]);
}

#[test]
fn small_ones_that_were_set_aside_run_together() {
    let all = Arc::default();
    let mut aside = Aside(VecDeque::new());
    let large = Load { rows: LARGE_ROWS, ..Load::SMALL };
    for (operation, load) in [(1, Load::SMALL), (2, Load::SMALL), (3, large), (4, Load::SMALL)] {
        aside.put(call(&all, operation, 0, load));
    }
    aside.put(call(&all, 5, 0, Load { project: ProjectNumber(1), ..Load::SMALL }));
    assert_eq!(in_turn(&mut aside), [vec![1, 2], vec![5], vec![3], vec![4]]);
    let most = GROUP_BYTES / (LARGE_BYTES - 1);
    for _ in 0..=most {
        aside.put(call(&all, 0, 0, bytes(LARGE_BYTES - 1)));
    }
    assert_eq!(in_turn(&mut aside), [vec![0; most], vec![0]]);
    for _ in 0..=GROUP {
        aside.put(call(&all, 0, 0, Load::SMALL));
    }
    assert_eq!(in_turn(&mut aside), [vec![0; GROUP], vec![0]]);
}

#[test]
fn what_is_put_back_stays_before_others_of_its_route() {
    let all = Arc::default();
    let mut aside = Aside(VecDeque::new());
    let large = Load { rows: LARGE_ROWS, ..Load::SMALL };
    for (operation, route, load) in
        [(1, 7, Load::SMALL), (2, 7, Load::SMALL), (3, 8, large), (4, 7, Load::SMALL), (5, 9, Load::SMALL)]
    {
        aside.put(call(&all, operation, route, load));
    }
    let first = aside.next();
    assert_eq!(numbers(&first), [1, 2]);
    aside.put_back(first);
    assert_eq!(in_turn(&mut aside).concat(), [3, 5, 1, 2, 4]);
    aside.put_back(vec![call(&all, 6, 7, Load::SMALL), call(&all, 7, 7, Load::SMALL)]);
    assert_eq!(in_turn(&mut aside), [[6, 7]]);
}

#[tokio::test]
async fn operations_of_a_project_that_is_held_up_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder);
    // all of it is too much, and 1 meets another transaction
    let write: WriteGroup<u8, u8> = |_, operations| {
        Box::pin(async move {
            match operations {
                _ if operations.len() > 3 => Err(Error::Excess(Excess::Contacts)),
                _ if operations.contains(&1) => Err(Error::Contention("held".into())),
                _ => Ok(operations.to_vec()),
            }
        })
    };
    let projects = [5, 5, 5, 5, 6].map(ProjectNumber);
    let operations = Arc::new(vec![1, 2, 3, 4, 5]);
    let found = run_group(&db, &operations, &projects, whole(&operations), WAIT, Body::Write(write)).await;
    let held = |outcome: &Result<u8>| matches!(outcome, Err(Error::Contention(_)));
    assert!(found[..4].iter().all(held) && matches!(found[4], Ok(5)), "{found:?}");
}

#[tokio::test]
async fn what_is_held_up_stays_before_a_large_one_of_its_route() {
    static TRIED: AtomicUsize = AtomicUsize::new(0);
    static DONE: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let folder = tempfile::tempdir().unwrap();
    // the first meets another transaction until its group is set aside
    let write: WriteGroup<u8, ()> = |_, operations| {
        Box::pin(async move {
            let held = operations.contains(&1) && TRIED.fetch_add(1, Ordering::Relaxed) <= TRIES as usize;
            if held {
                return Err(Error::Contention("held".into()));
            }
            DONE.lock().unwrap().extend(operations);
            Ok(vec![(); operations.len()])
        })
    };
    let coalescer = Coalescer::writes(&open(&folder), write);
    let large = Load { rows: LARGE_ROWS, ..Load::SMALL };
    let (small, large) = futures_util::future::join(
        coalescer.call_sized(7, Load::SMALL, 1),
        coalescer.call_sized(7, large, 2),
    )
    .await;
    assert!(small.is_ok() && large.is_ok());
    assert_eq!(*DONE.lock().unwrap(), [1, 2]);
}

const HELD: ProjectNumber = ProjectNumber(1);

#[tokio::test]
async fn a_project_that_is_held_up_keeps_no_other_waiting() {
    let database = Database::create("coalesce");
    let db = database.open();
    // on a cluster the lock of names is taken where the rows of topics are
    let tables =
        "create table done (project_id {int} not null); create table topics (project_id {int} not null)";
    let create = db.write(body!(async |tx| tx.script(tables).await));
    create.await.unwrap();
    let (begun, has_lock) = oneshot::channel();
    let (let_go, until) = oneshot::channel::<()>();
    let holder = db.clone();
    let holding = tokio::spawn(async move {
        let work = holder.write_in_background(body!(async |tx| {
            names::lock(tx, HELD).await?;
            let _ = begun.send(());
            let _ = until.await;
            Ok::<_, Error>(())
        }));
        work.await
    });
    has_lock.await.unwrap();
    let write: WriteGroup<ProjectNumber, ()> = |tx, projects| {
        Box::pin(async move {
            for project in projects {
                tx.execute("insert into done (project_id) values ($1)", args![*project]).await?;
                names::lock(tx, *project).await?;
            }
            Ok(vec![(); projects.len()])
        })
    };
    let coalescer = Arc::new(Coalescer::writes(&db, write));
    let mut calls = [HELD, ProjectNumber(2), HELD, ProjectNumber(0)].map(|project| {
        let (coalescer, load) = (Arc::clone(&coalescer), Load { project, ..Load::SMALL });
        // all in one shard
        tokio::spawn(async move { coalescer.call_sized(2 * project.0 as u64, load, project).await })
    });
    for others in [1, 3] {
        (&mut calls[others]).await.unwrap().unwrap();
    }
    assert!(!calls[0].is_finished() && !calls[2].is_finished() && !holding.is_finished());
    // they need none of the turns of large ones
    let mut turns = Vec::new();
    for _ in 0..large_at_once() {
        turns.push(db.turn_of_large().await);
    }
    let_go.send(()).unwrap();
    holding.await.unwrap().unwrap();
    for own in [0, 2] {
        (&mut calls[own]).await.unwrap().unwrap();
    }
    let done = db.read(|rx| {
        let sql = "select project_id from done order by project_id";
        Box::pin(async move { rx.all(sql, &[], |r| r.get::<i64>(0)).await })
    });
    assert_eq!(done.await.unwrap(), [0, 1, 1, 2], "each is done once");
}

#[test]
fn so_much_waits() {
    let all = Arc::default();
    let most = Held::take(&all, bytes(QUEUE_BYTES * 2));
    assert!(most.is_some(), "one is always taken");
    assert!(Held::take(&all, bytes(1)).is_none());
    drop(most);
    let held: Vec<_> = (0..QUEUE).map(|_| Held::take(&all, bytes(1))).collect();
    assert!(held.iter().all(Option::is_some) && Held::take(&all, bytes(1)).is_none());
    drop(held);
    assert_eq!(all.calls.load(Ordering::Relaxed) + all.bytes.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_group_that_is_too_much_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder);
    let write: WriteGroup<u8, usize> = |_, operations| {
        Box::pin(async move {
            let sum: usize = operations.iter().map(|o| usize::from(*o)).sum();
            if sum > 10 {
                Err(Error::Excess(Excess::Contacts))
            } else {
                Ok(vec![operations.len(); operations.len()])
            }
        })
    };
    let operations = Arc::new(vec![3, 3, 3, 11, 1, 1]);
    let found =
        run_group(&db, &operations, &[ProjectNumber(1); 6], whole(&operations), WAIT, Body::Write(write))
            .await;
    assert!(
        matches!(found[..], [Ok(3), Ok(3), Ok(3), Err(Error::Excess(Excess::Contacts)), Ok(2), Ok(2)]),
        "{found:?}"
    );
}

#[tokio::test]
async fn a_group_of_unknown_outcome_is_not_run_again() {
    let found = outcomes(&[99, 2]).await;
    assert!(matches!(found[..], [Err(Error::Unknown(_)), Err(Error::Unknown(_))]), "{found:?}");
    // by themselves, those after it are not tried
    let found = outcomes(&[2, 9, 3]).await;
    assert!(matches!(found[..], [Ok(2), Err(Error::Unknown(_)), Err(Error::Unavailable(_))]), "{found:?}");
}
