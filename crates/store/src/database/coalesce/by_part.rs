//! Which operations of a group are a transaction together where the tables are divided by project.
//!
//! A transaction has a fixed cost, and its connection has plans of its own for each part. So the parts of one server share
//! a transaction while their operations are few. All processes take them in the order of their numbers, so that such
//! transactions never wait for each other in a circle.
//!
//! Such a transaction waits only briefly for what others hold, since it holds rows of several parts itself. When it fails,
//! each of its parts has a transaction of its own.

#[cfg(test)]
mod tests;

use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use mailwright_core::ids::ProjectNumber;
use tokio::sync::Semaphore;

use super::call::{Call, Load};
use super::group::{BRIEFLY, Body, Stretch, attempt, cut, is_of_all, run_group};
use crate::database::db::Db;
use crate::database::error::Result;
use crate::database::postgres::PartsOf;

/// How many transactions of a group run at once.
const AT_ONCE: usize = 8;
/// Most operations of a transaction over several parts: with more, each part is worth one.
const SHARED: usize = 32;
/// Most parts of a transaction. The body runs over one after the other.
const PARTS: usize = 8;

/// The parts of divided tables that the projects of operations are in, as far as the body can run there; `None` where the
/// group is one transaction, or reads.
pub(super) async fn places<O, R>(db: &Db, calls: &[Call<O, R>], body: Body<O, R>) -> Option<PartsOf> {
    if !db.is_divided() || matches!(body, Body::Read(_)) {
        return None;
    }
    let mut projects: Vec<_> = calls.iter().map(Call::project).collect();
    projects.sort_unstable();
    projects.dedup();
    projects.retain(|project| {
        *project != Load::SMALL.project && !db.detours().is_noted(body.address(), *project)
    });
    Some(db.parts_of(&projects).await)
}

/// Runs a group, sorted by place and project. Where the tables are divided by project, the operations of the projects of
/// one part run on the server of the part, in a transaction with those of other parts while they are few. Those of a
/// project whose part cannot be reached are a transaction on the coordinator: one over several servers would be committed
/// in two phases.
pub(super) async fn run_parts<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    operations: &Arc<Vec<O>>,
    projects: &[ProjectNumber],
    places: Option<&PartsOf>,
    wait: Duration,
    body: Body<O, R>,
) -> Vec<Result<R>> {
    let whole = 0..operations.len();
    let Some(places) = places else {
        return run_group(db, operations, projects, Stretch { range: whole, part: None }, wait, body).await;
    };
    let turns = Semaphore::new(AT_ONCE);
    let runs = together(stretches(projects, whole, places)).into_iter();
    let runs = runs.map(|run| run_together(db, operations, projects, run, wait, body, &turns));
    join_all(runs).await.into_iter().flatten().collect()
}

/// The operations of each part, and of each project that has none.
fn stretches(projects: &[ProjectNumber], whole: Range<usize>, places: &PartsOf) -> Vec<Stretch> {
    let place = |project: &ProjectNumber| places.get(project).map(|part| part.number);
    let belong = |one: &_, next: &_| one == next || (place(one).is_some() && place(one) == place(next));
    let ranges = cut(projects, &whole, belong).into_iter();
    ranges.map(|range| Stretch { part: places.get(&projects[range.start]).cloned(), range }).collect()
}

/// Puts stretches together that are a transaction.
fn together(stretches: Vec<Stretch>) -> Vec<Vec<Stretch>> {
    let mut runs: Vec<Vec<Stretch>> = Vec::new();
    for stretch in stretches {
        match runs.last_mut() {
            Some(run) if has_room(run, &stretch) => run.push(stretch),
            _ => runs.push(vec![stretch]),
        }
    }
    runs
}

fn has_room(run: &[Stretch], next: &Stretch) -> bool {
    let server = |stretch: &Stretch| stretch.part.as_ref().map(|part| part.server.group);
    let operations: usize = run.iter().chain([next]).map(|stretch| stretch.range.len()).sum();
    next.part.is_some() && server(&run[0]) == server(next) && operations <= SHARED && run.len() < PARTS
}

/// Runs the operations of several parts in one transaction, or in one for each part if that fails.
async fn run_together<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    operations: &Arc<Vec<O>>,
    projects: &[ProjectNumber],
    run: Vec<Stretch>,
    wait: Duration,
    body: Body<O, R>,
    turns: &Semaphore,
) -> Vec<Result<R>> {
    if run.len() > 1 {
        let _turn = turns.acquire().await;
        match attempt(db, operations, &run, body, BRIEFLY).await {
            Ok(done) => return done.into_iter().map(Ok).collect(),
            Err(error) if is_of_all(&error) => {
                let count = run.iter().map(|stretch| stretch.range.len()).sum();
                return repeat_n(error, count).map(Err).collect();
            }
            Err(error) => tracing::debug!(%error, parts = run.len(), "parts cannot share a transaction"),
        }
    }
    let alone = run.into_iter().map(|stretch| async move {
        let _turn = turns.acquire().await;
        run_group(db, operations, projects, stretch, wait, body).await
    });
    join_all(alone).await.into_iter().flatten().collect()
}
