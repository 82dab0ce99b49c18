//! Moving an execution from one version of its workflow to another.
//!
//! It stands at the same step afterwards, and a wait ends when it would have ended. What comes next is that of the other
//! version. What it did stays told by the versions in which it was done.

use std::collections::BTreeSet;

use crate::ids::StepId;
use crate::names::names_in_json;
use crate::workflow::execution::Execution;
use crate::workflow::kind::StepStatus;
use crate::workflow::version::Version;

names_in_json! {
    /// Why an execution stays on its version.
    pub enum Stuck {
        /// The other version does not have its step, or another kind of step in its place.
        NoStep = "no_step",
        /// It would come to a step that it took before.
        WouldRepeat = "would_repeat",
        /// Its request is under way.
        Request = "request",
    }
}

/// An execution on another version of its workflow. `taken` are the steps that it took.
pub fn moved(
    execution: &Execution,
    from: &Version,
    to: &Version,
    taken: &BTreeSet<StepId>,
) -> Result<Execution, Stuck> {
    let step = execution.current.and_then(|place| from.steps().get(place)).ok_or(Stuck::NoStep)?;
    let place =
        to.place(step.id).filter(|place| to.steps()[*place].kind == step.kind).ok_or(Stuck::NoStep)?;
    let open = execution.open();
    if open.is_some_and(|record| record.status == StepStatus::Running) {
        return Err(Stuck::Request);
    }
    if to.reachable(place).iter().any(|next| taken.contains(&to.steps()[*next].id)) {
        return Err(Stuck::WouldRepeat);
    }
    let is_open = open.is_some();
    let mut moved = execution.clone();
    let last = moved.log.len().saturating_sub(1);
    for (index, record) in moved.log.iter_mut().enumerate() {
        if is_open && index == last {
            record.step = place;
        } else {
            record.of = record.of.or(Some(from.number()));
        }
    }
    moved.current = Some(place);
    Ok(moved)
}

/// The steps that an execution took of the version that it runs.
pub fn taken(execution: &Execution, version: &Version) -> BTreeSet<StepId> {
    let own = execution.log.iter().filter(|record| record.of.is_none() && record.completed_at.is_some());
    own.filter_map(|record| Some(version.steps().get(record.step)?.id)).collect()
}
