//! What executions are told of what happened, and when that was.

use mailwright_core::ids::SignalId;
use mailwright_core::lost::Lost;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::execution::Execution;
use mailwright_core::workflow::run::Told;
use mailwright_core::workflow::world::Input;
use mailwright_store::automation::execution::Stored;
use mailwright_store::automation::signal::{News, Signal};
use mailwright_store::automation::version::Compiled;

/// What an execution is told of what happened to its contact.
pub(super) fn told<'s>(signals: &'s [Signal], stored: &Stored, compiled: &Compiled) -> Vec<Told<'s>> {
    let mut told: Vec<Told<'s>> = Vec::new();
    let mut changed = None;
    let is_for = |signal: &&Signal| {
        signal.contact == stored.execution.contact
            && signal.execution.is_none_or(|execution| execution == stored.execution.id)
    };
    for signal in signals.iter().filter(is_for) {
        changed = Some(signal.at);
        match &signal.news {
            News::Event(event) => told.push((event.at, Input::Event(event))),
            News::Answered(answered) => told.push((signal.at, Input::Answered(answered))),
            News::Changed => {}
        }
    }
    let event = |input: &Input<'_>| match input {
        Input::Event(event) => Some(event.id),
        Input::Answered(_) | Input::Changed | Input::Due => None,
    };
    told.sort_by_key(|(at, input)| (*at, event(input)));
    // what happened may have made the goal true
    told.extend(changed.filter(|_| compiled.has_filter_goal).map(|at| (at, Input::Changed)));
    told
}

/// When what an execution does now was done at the earliest, in a stretch that a restore lost; `None` if it does nothing.
/// Events have their own time; what was due, and answers to requests, came earlier than now by as much as it is behind.
pub(super) fn cause(
    lost: Lost,
    execution: &Execution,
    told: &[Told<'_>],
    until: Timestamp,
) -> Option<Timestamp> {
    let due = execution.due_at.filter(|_| execution.is_due(until)).map(|due| lost.then(due));
    let told = told.iter().map(|(at, input)| match input {
        Input::Answered(_) => lost.then(*at),
        Input::Event(_) | Input::Changed | Input::Due => *at,
    });
    due.into_iter().chain(told).min()
}

/// What an execution is told in a later batch: what it may wait for.
pub(super) fn kept((at, input): &Told<'_>, stored: &Stored, compiled: &Compiled) -> Option<Signal> {
    let news = match input {
        _ if !stored.execution.status.is_active() => return None,
        Input::Event(event) if !compiled.version.events().contains(event.name.as_str()) => return None,
        Input::Event(event) => News::Event((*event).clone()),
        Input::Answered(answered) => News::Answered((*answered).clone()),
        Input::Changed | Input::Due => News::Changed,
    };
    let (contact, execution) = (stored.execution.contact, Some(stored.execution.id));
    Some(Signal { id: SignalId::new(*at, rand::random()), contact, execution, news, at: *at })
}
