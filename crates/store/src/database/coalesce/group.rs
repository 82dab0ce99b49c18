//! Running a group of operations in one transaction, or in several if that fails.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use mailwright_core::ids::ProjectNumber;
use tokio::time::Instant;

use super::call::{Call, Load};
use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::part::Part;
use crate::database::postgres::PartsOf;
use crate::database::retry::{Patience, retrying};
use crate::database::tx::{Rx, Tx};

/// How often a group that met another transaction is tried.
pub(super) const TRIES: u32 = 10;
/// How long a group waits for what another transaction holds. One that waited that long is not tried again as a whole.
pub(super) const WAIT: Duration = Duration::from_millis(250);
/// The same for the operations of one project of it, which are tried after that.
pub(super) const BRIEFLY: Duration = Duration::from_millis(20);
/// How long an operation that runs by itself is tried again while another transaction holds a lock that it needs.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many transactions of a group run at once where the tables are divided.
const AT_ONCE: usize = 8;
/// Runs one group: one result per operation, in order.
pub type WriteGroup<O, R> = for<'t> fn(&'t mut Tx<'_>, &'t [O]) -> BoxFuture<'t, Result<Vec<R>>>;
/// Like [`WriteGroup`] for operations that only read.
pub type ReadGroup<O, R> = for<'t> fn(&'t mut Rx<'_>, &'t [O]) -> BoxFuture<'t, Result<Vec<R>>>;

pub(super) enum Body<O, R> {
    Write(WriteGroup<O, R>),
    Read(ReadGroup<O, R>),
}

impl<O, R> Clone for Body<O, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O, R> Copy for Body<O, R> {}

impl<O, R> Body<O, R> {
    /// What tells it from others.
    fn address(self) -> usize {
        match self {
            Self::Write(body) => body as usize,
            Self::Read(body) => body as usize,
        }
    }
}

/// Runs a group and answers its callers. Returns the calls that met what another transaction holds and are to be tried
/// again, in their order: nothing of them was done.
pub(super) async fn answer_group<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    mut calls: Vec<Call<O, R>>,
    wait: Duration,
    body: Body<O, R>,
) -> Vec<Call<O, R>> {
    let places = places(db, &calls, body).await;
    // what one transaction takes stands together
    let place = |project| places.as_ref()?.get(&project).map(|part| part.number);
    calls.sort_by_key(|call| (place(call.project()), call.project()));
    let projects: Vec<_> = calls.iter().map(Call::project).collect();
    let (operations, callers): (Vec<O>, Vec<_>) = calls.into_iter().map(|call| call.replace(())).unzip();
    if db.is_postgres() && matches!(body, Body::Write(_)) {
        // SQLite's writer counts its own groups
        db.metrics().group(operations.len());
    }
    let operations = Arc::new(operations);
    let results = run_parts(db, &operations, &projects, places.as_ref(), wait, body).await;
    let operations = Arc::into_inner(operations).into_iter().flatten().map(Some);
    let mut held_up = Vec::new();
    for ((caller, outcome), operation) in
        callers.into_iter().zip(results).zip(operations.chain(std::iter::repeat_with(|| None)))
    {
        let since = caller.held_up.unwrap_or_else(Instant::now);
        match (outcome, operation) {
            (Err(Error::Contention(_)), Some(operation)) if since.elapsed() < PATIENCE => {
                let ((), call) = caller.replace(operation);
                held_up.push(Call { held_up: Some(since), ..call });
            }
            (outcome, _) => drop(caller.answer.send(outcome)),
        }
    }
    held_up
}

/// The parts of divided tables that the projects of operations are in, as far as the body can run there; `None` where the
/// group is one transaction, or reads.
async fn places<O, R>(db: &Db, calls: &[Call<O, R>], body: Body<O, R>) -> Option<PartsOf> {
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
/// one part are a transaction, on the server of the part. Those of a project whose part cannot be reached are one on the
/// coordinator: a transaction over several servers would be committed in two phases.
async fn run_parts<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    operations: &Arc<Vec<O>>,
    projects: &[ProjectNumber],
    places: Option<&PartsOf>,
    wait: Duration,
    body: Body<O, R>,
) -> Vec<Result<R>> {
    let whole = 0..operations.len();
    let Some(places) = places else {
        return run_group(db, operations, projects, None, whole, wait, body).await;
    };
    let place = |project: &ProjectNumber| places.get(project).map(|part| part.number);
    let together =
        cut(projects, &whole, |one, next| one == next || (place(one).is_some() && place(one) == place(next)));
    let runs = together.into_iter().map(|range| {
        let part = places.get(&projects[range.start]).map(|part| &**part);
        run_group(db, operations, projects, part, range, wait, body)
    });
    let results: Vec<_> = stream::iter(runs).buffered(AT_ONCE).collect().await;
    results.into_iter().flatten().collect()
}

/// Runs a part of a group, sorted by project. When it fails for a reason that may lie in one of its operations, runs each by
/// itself, so that an error of one caller does not fail the others. When it meets what another transaction holds, runs
/// each project's operations by themselves. A group that is too much together is cut into halves. What cannot run on the
/// server of its part is tried there project by project, and runs on the coordinator if it still cannot.
pub(super) async fn run_group<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    operations: &Arc<Vec<O>>,
    projects: &[ProjectNumber],
    place: Option<&Part>,
    whole: Range<usize>,
    wait: Duration,
    body: Body<O, R>,
) -> Vec<Result<R>> {
    let count = whole.len();
    let mut results = Vec::with_capacity(count);
    // parts that wait, the next one last, and where they run
    let mut parts = vec![(whole, place)];
    // the last project that was held up: its further operations come after those that were
    let mut held_up: Option<(ProjectNumber, Error)> = None;
    while let Some((part, place)) = parts.pop() {
        let of_projects = by_project(projects, &part);
        let before = held_up.as_ref().filter(|(project, _)| *project == projects[part.start]);
        let outcome = if let Some((_, error)) = before {
            Err(error.clone())
        } else {
            let wait = if part.len() == count { wait } else { BRIEFLY };
            attempt(db, operations, part.clone(), place, body, wait).await
        };
        let apart = |ranges: Vec<Range<usize>>| ranges.into_iter().rev().map(move |range| (range, place));
        match outcome {
            Ok(done) if done.len() == part.len() => results.extend(done.into_iter().map(Ok)),
            Ok(_) => {
                let lost = || Err(Error::Statement("a group lost results".into()));
                results.extend(part.map(|_| lost()));
            }
            Err(error) if is_of_all(&error) => {
                results.extend(part.clone().map(|_| Err(error.clone())));
                // the others were not tried, so that their outcome is known
                let lost = if let Error::Unknown(text) = error { Error::Unavailable(text) } else { error };
                results.resize_with(count, || Err(lost.clone()));
                break;
            }
            Err(Error::Elsewhere) if of_projects.len() == 1 && place.is_some() => {
                db.detours().note(body.address(), projects[part.start]);
                parts.push((part, None));
            }
            Err(Error::NoPart) if place.is_some() => {
                parts.extend(of_projects.into_iter().rev().map(|range| (range, None)));
            }
            Err(Error::Contention(_) | Error::Elsewhere) if of_projects.len() > 1 => {
                parts.extend(apart(of_projects));
            }
            Err(error @ Error::Contention(_)) => {
                tracing::debug!(%error, operations = part.len(), "operations of a project met another transaction");
                held_up = Some((projects[part.start], error.clone()));
                results.extend(part.map(|_| Err(error.clone())));
            }
            Err(error) if part.len() == 1 => results.push(Err(error)),
            Err(Error::Excess(_)) => {
                let middle = part.start + part.len() / 2;
                parts.extend(apart(vec![part.start..middle, middle..part.end]));
            }
            Err(error) => {
                tracing::warn!(%error, operations = part.len(), "a group failed, running each operation by itself");
                parts.extend(apart(part.map(|index| index..index + 1).collect()));
            }
        }
    }
    results
}

/// Cuts a part of a group, sorted by project, into those of each project.
fn by_project(projects: &[ProjectNumber], part: &Range<usize>) -> Vec<Range<usize>> {
    cut(projects, part, |one, next| one == next)
}

/// Cuts a part of a group where neighbours do not belong together.
fn cut(
    projects: &[ProjectNumber],
    part: &Range<usize>,
    together: impl Fn(&ProjectNumber, &ProjectNumber) -> bool,
) -> Vec<Range<usize>> {
    let mut start = part.start;
    let ranges = projects[part.clone()].chunk_by(together).map(|chunk| {
        let end = start + chunk.len();
        std::mem::replace(&mut start, end)..end
    });
    ranges.collect()
}

/// Whether an error is not about one of the operations: the others would fare no better by themselves. After a commit
/// with an unknown outcome they might even be done twice.
fn is_of_all(error: &Error) -> bool {
    match error {
        Error::Unavailable(_)
        | Error::Unknown(_)
        | Error::Busy
        | Error::Interrupted(_)
        | Error::Full(_)
        | Error::ReadOnly(_) => true,
        Error::TooSlow(_)
        | Error::NoTurn(_)
        | Error::Crowded(_)
        | Error::Contention(_)
        | Error::Elsewhere
        | Error::NoPart
        | Error::Aborted
        | Error::Conflict(_)
        | Error::NotFound
        | Error::ForeignCursor
        | Error::RowCount(_)
        | Error::Corrupt { .. }
        | Error::Excess(_)
        | Error::TooManyConditions
        | Error::AwaitedOutside
        | Error::Panicked(_)
        | Error::Statement(_)
        | Error::Unusable(_)
        | Error::Migration(_) => false,
    }
}

/// Runs the body over a part of the operations, again when another transaction got in the way and little time was lost.
async fn attempt<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    operations: &Arc<Vec<O>>,
    part: Range<usize>,
    place: Option<&Part>,
    body: Body<O, R>,
    wait: Duration,
) -> Result<Vec<R>> {
    let once = || async {
        let (shared, part) = (Arc::clone(operations), part.clone());
        match body {
            Body::Write(body) => {
                db.write_group(wait, place, body!(async |tx| body(tx, &shared[part]).await)).await
            }
            Body::Read(body) => db.read(body!(async |rx| body(rx, &shared[part]).await)).await,
        }
    };
    retrying(Patience { tries: TRIES, time: wait }, once).await
}
