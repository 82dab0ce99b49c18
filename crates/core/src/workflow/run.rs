//! Runs an execution as far as it goes by itself: everything that is due, and the events of the contact, in the order in
//! which they happened.

use crate::time::Timestamp;
use crate::workflow::advance::{Advance, advance};
use crate::workflow::execution::Execution;
use crate::workflow::kind::ExecutionStatus;
use crate::workflow::version::Version;
use crate::workflow::world::{Effect, Happening, Input, World};

/// A world in which the effects of steps happen.
pub trait Stage: World {
    /// Applies what a step does, so that the next step sees it.
    fn apply(&mut self, version: &Version, execution: &mut Execution, effects: Vec<Effect>);
}

/// Runs an execution. `events` are those of the contact since it was last run, the oldest first.
///
/// An event that came before a wait was over ends the wait, even if both are looked at later. Returns how many steps were
/// taken.
pub fn run(
    version: &Version,
    execution: &mut Execution,
    events: &[Happening],
    stage: &mut impl Stage,
    now: Timestamp,
) -> usize {
    let mut steps = 0;
    for event in events {
        while comes_before(execution, event.at) {
            let at = execution.counted_now(event.at);
            steps += take(version, execution, Input::Due, stage, at);
        }
        steps += take(version, execution, Input::Event(event), stage, event.at);
    }
    while execution.is_due(now) {
        let at = execution.counted_now(now);
        steps += take(version, execution, Input::Due, stage, at);
    }
    steps
}

/// Whether what is due comes before an event. What ends a wait at the instant of its end is still in time.
fn comes_before(execution: &Execution, event: Timestamp) -> bool {
    let is_before = |due: Timestamp| match execution.status {
        ExecutionStatus::Running => due <= event,
        _ => due < event,
    };
    execution.status.is_active() && execution.due_at.is_some_and(is_before)
}

/// Gives an execution one input, and applies what follows.
pub fn take(
    version: &Version,
    execution: &mut Execution,
    input: Input<'_>,
    stage: &mut impl Stage,
    at: Timestamp,
) -> usize {
    let Advance { execution: after, effects } = advance(version, execution, input, stage, at);
    let is_step = after != *execution;
    *execution = after;
    if !effects.is_empty() {
        stage.apply(version, execution, effects);
    }
    usize::from(is_step)
}
