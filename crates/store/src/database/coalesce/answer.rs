//! Running a group and answering its callers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::by_part::{places, run_parts};
use super::call::Call;
use super::group::Body;
use crate::database::db::Db;
use crate::database::error::Error;

/// How long an operation that runs by itself is tried again while another transaction holds a lock that it needs.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let place = |project| places.as_ref()?.get(&project).map(|part| (part.server.group, part.number));
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
