//! Running a group of operations in one transaction, or in several if that fails.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use mailwright_core::ids::ProjectNumber;

use crate::body;
use crate::database::db::Db;
use crate::database::error::{Error, Result};
use crate::database::part::Part;
use crate::database::retry::{Patience, retrying};
use crate::database::tx::{Rx, Tx};

/// How often a group that met another transaction is tried.
pub(super) const TRIES: u32 = 10;
/// How long a group waits for what another transaction holds. One that waited that long is not tried again as a whole.
pub(super) const WAIT: Duration = Duration::from_millis(250);
/// The same for the operations of one project of it, which are tried after that.
pub(super) const BRIEFLY: Duration = Duration::from_millis(20);
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
    pub(super) fn address(self) -> usize {
        match self {
            Self::Write(body) => body as usize,
            Self::Read(body) => body as usize,
        }
    }
}

/// Operations of a group that stand together, and the part of divided tables that they are about. Without one they run on
/// the one server, or on the coordinator.
#[derive(Clone)]
pub(super) struct Stretch {
    pub(super) range: Range<usize>,
    pub(super) part: Option<Arc<Part>>,
}

/// Runs a stretch of a group, sorted by project. When it fails for a reason that may lie in one of its operations, runs each
/// by itself, so that an error of one caller does not fail the others. When it meets what another transaction holds, runs
/// each project's operations by themselves. A stretch that is too much together is cut into halves. What cannot run on the
/// server of its part is tried there project by project, and runs on the coordinator if it still cannot.
pub(super) async fn run_group<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    operations: &Arc<Vec<O>>,
    projects: &[ProjectNumber],
    whole: Stretch,
    wait: Duration,
    body: Body<O, R>,
) -> Vec<Result<R>> {
    let count = whole.range.len();
    let mut results = Vec::with_capacity(count);
    // those that wait, the next one last
    let mut stretches = vec![whole];
    // the last project that was held up: its further operations come after those that were
    let mut held_up: Option<(ProjectNumber, Error)> = None;
    while let Some(stretch) = stretches.pop() {
        let Stretch { range, part } = stretch.clone();
        let of_projects = by_project(projects, &range);
        let before = held_up.as_ref().filter(|(project, _)| *project == projects[range.start]);
        let outcome = if let Some((_, error)) = before {
            Err(error.clone())
        } else {
            let wait = if range.len() == count { wait } else { BRIEFLY };
            attempt(db, operations, &[stretch], body, wait).await
        };
        let at = |ranges: Vec<Range<usize>>, part: Option<Arc<Part>>| {
            ranges.into_iter().rev().map(move |range| Stretch { range, part: part.clone() })
        };
        match outcome {
            Ok(done) => results.extend(done.into_iter().map(Ok)),
            Err(error) if is_of_all(&error) => {
                results.extend(range.map(|_| Err(error.clone())));
                // the others were not tried, so that their outcome is known
                let lost = if let Error::Unknown(text) = error { Error::Unavailable(text) } else { error };
                results.resize_with(count, || Err(lost.clone()));
                break;
            }
            Err(Error::Elsewhere) if of_projects.len() == 1 && part.is_some() => {
                db.detours().note(body.address(), projects[range.start]);
                stretches.push(Stretch { range, part: None });
            }
            Err(Error::NoPart) if part.is_some() => stretches.extend(at(of_projects, None)),
            Err(Error::Contention(_) | Error::Elsewhere) if of_projects.len() > 1 => {
                stretches.extend(at(of_projects, part));
            }
            Err(error @ Error::Contention(_)) => {
                tracing::debug!(%error, operations = range.len(), "operations of a project met another transaction");
                held_up = Some((projects[range.start], error.clone()));
                results.extend(range.map(|_| Err(error.clone())));
            }
            Err(error) if range.len() == 1 => results.push(Err(error)),
            Err(Error::Excess(_)) => {
                let middle = range.start + range.len() / 2;
                stretches.extend(at(vec![range.start..middle, middle..range.end], part));
            }
            Err(error) => {
                tracing::warn!(%error, operations = range.len(), "a group failed, running each operation by itself");
                stretches.extend(at(range.map(|index| index..index + 1).collect(), part));
            }
        }
    }
    results
}

/// Cuts a stretch of a group, sorted by project, into those of each project.
fn by_project(projects: &[ProjectNumber], range: &Range<usize>) -> Vec<Range<usize>> {
    cut(projects, range, |one, next| one == next)
}

/// Cuts a stretch of a group where neighbours do not belong together.
pub(super) fn cut(
    projects: &[ProjectNumber],
    range: &Range<usize>,
    together: impl Fn(&ProjectNumber, &ProjectNumber) -> bool,
) -> Vec<Range<usize>> {
    let mut start = range.start;
    let ranges = projects[range.clone()].chunk_by(together).map(|chunk| {
        let end = start + chunk.len();
        std::mem::replace(&mut start, end)..end
    });
    ranges.collect()
}

/// Whether an error is not about one of the operations: the others would fare no better by themselves. After a commit
/// with an unknown outcome they might even be done twice.
pub(super) fn is_of_all(error: &Error) -> bool {
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

/// Runs the body over operations in one transaction, again when another one got in the way and little time was lost.
/// Several stretches have to be about parts on one server, in the order of their numbers: the body runs over one after the
/// other.
pub(super) async fn attempt<O: Send + Sync + 'static, R: Send + 'static>(
    db: &Db,
    operations: &Arc<Vec<O>>,
    stretches: &[Stretch],
    body: Body<O, R>,
    wait: Duration,
) -> Result<Vec<R>> {
    debug_assert!(stretches.len() == 1 || stretches.iter().all(|stretch| stretch.part.is_some()));
    let parts: Vec<Arc<Part>> = stretches.iter().filter_map(|stretch| stretch.part.clone()).collect();
    let ranges: Vec<Range<usize>> = stretches.iter().map(|stretch| stretch.range.clone()).collect();
    let once = || async {
        let (shared, ranges) = (Arc::clone(operations), ranges.clone());
        match body {
            Body::Write(body) => {
                db.write_group(
                    wait,
                    &parts,
                    body!(async |tx| {
                        let mut results = Vec::with_capacity(ranges.iter().map(Range::len).sum());
                        for (nth, range) in ranges.into_iter().enumerate() {
                            tx.turn_to(nth);
                            results.extend(all(body(tx, &shared[range.clone()]).await?, &range)?);
                        }
                        Ok(results)
                    }),
                )
                .await
            }
            Body::Read(body) => {
                let range = ranges.into_iter().next().unwrap_or_default();
                db.read(body!(async |rx| all(body(rx, &shared[range.clone()]).await?, &range))).await
            }
        }
    };
    retrying(Patience { tries: TRIES, time: wait }, once).await
}

/// The results of a body, if there is one for each operation.
fn all<R>(results: Vec<R>, range: &Range<usize>) -> Result<Vec<R>> {
    if results.len() == range.len() {
        Ok(results)
    } else {
        Err(Error::Statement("a group lost results".into()))
    }
}
