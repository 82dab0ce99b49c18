//! Runs an execution as far as it goes by itself: everything that is due, and the events of the contact, in the order in
//! which they happened.

use crate::time::Timestamp;
use crate::workflow::advance::{Advance, advance};
use crate::workflow::execution::Execution;
use crate::workflow::kind::ExecutionStatus;
use crate::workflow::version::Version;
use crate::workflow::world::{Effect, Input, World};

/// A world in which the effects of steps happen.
pub trait Stage: World {
    /// Applies what a step does, so that the next step sees it.
    fn apply(&mut self, version: &Version, execution: &mut Execution, effects: Vec<Effect>);
    /// Whether there is time for another step.
    fn has_time(&self) -> bool {
        true
    }
}

/// The most steps that an execution takes at a time by itself; the next are due at once. So a long way without waits does
/// not make one transaction large.
const AT_ONCE: usize = 10;

/// Something that happened, and when.
pub type Told<'a> = (Timestamp, Input<'a>);

/// How far an execution ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ran {
    /// The steps that were taken.
    pub steps: usize,
    /// How much of what happened the execution was told; there was no time for the rest.
    pub told: usize,
}

/// Runs an execution. `told` is what happened since it was last run, the oldest first.
///
/// An event that came before a wait was over ends the wait, even if both are looked at later. What is told to an execution
/// that ran before came after that, whatever its time says: clocks differ, and are set. To one that did not run yet, what
/// came before it may be told as well, which is nothing to it.
pub fn run(
    version: &Version,
    execution: &mut Execution,
    told: &[Told<'_>],
    stage: &mut impl Stage,
    now: Timestamp,
) -> Ran {
    let mut ran = Ran::default();
    let is_new = execution.log.is_empty();
    for (at, input) in told {
        if is_new && matches!(input, Input::Event(event) if execution.begins_after(event)) {
            ran.told += 1;
            continue;
        }
        while stage.has_time() && comes_before(execution, *at) {
            let at = execution.counted_now(*at);
            ran.steps += take(version, execution, Input::Due, stage, at);
        }
        if !stage.has_time() {
            return ran;
        }
        let at = (*at).max(execution.changed_at());
        ran.steps += take(version, execution, *input, stage, at);
        ran.told += 1;
    }
    let mut left = AT_ONCE;
    while left > 0 && stage.has_time() && execution.is_due(now) {
        left -= 1;
        let at = execution.counted_now(now);
        ran.steps += take(version, execution, Input::Due, stage, at);
    }
    ran
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
