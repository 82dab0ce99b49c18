//! The figures of workflows: counters with the names `<workflow>:<figure>`, `<workflow>:<step>:<figure>` and
//! `<workflow>:<step>:branch:<branch>`.

use std::collections::BTreeMap;

use mailwright_core::ids::{ProjectNumber, StepId, WorkflowId};
use mailwright_core::workflow::figures::{Change, Figure};

use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::insight::counter::{self, Counter, Sums};

fn name(workflow: WorkflowId, step: Option<StepId>, figure: Figure) -> String {
    match step {
        None => format!("{workflow}:{figure}"),
        Some(step) => format!("{workflow}:{step}:{figure}"),
    }
}

/// Counts changes of a workflow's figures.
pub fn add(sums: &mut Sums, project: ProjectNumber, workflow: WorkflowId, changes: &[Change]) {
    for (step, figure, by) in changes {
        sums.add(project, Counter::Workflow, &name(workflow, *step, *figure), *by);
    }
}

/// Counts a mail of a step, for the step and for its workflow.
pub(crate) fn add_mail(
    sums: &mut Sums,
    project: ProjectNumber,
    (workflow, step): (WorkflowId, StepId),
    figure: Figure,
    by: i64,
) {
    add(sums, project, workflow, &[(None, figure, by), (Some(step), figure, by)]);
}

/// What stands before the name of a branch.
const BRANCH: &str = "branch:";

/// Counts the branches and outcomes that an execution took.
pub fn add_ways(sums: &mut Sums, project: ProjectNumber, workflow: WorkflowId, ways: &[(StepId, &str)]) {
    for (step, way) in ways {
        sums.add(project, Counter::Workflow, &format!("{workflow}:{step}:{BRANCH}{way}"), 1);
    }
}

/// Figures of a workflow, or of one of its steps.
#[derive(Debug, Default)]
pub struct Figures {
    counted: BTreeMap<Figure, i64>,
    /// How often each branch, or each outcome of a wait, was taken. One that is missing never was.
    pub branches: BTreeMap<String, i64>,
}

impl Figures {
    /// A figure, 0 where nothing was counted.
    pub fn of(&self, figure: Figure) -> i64 {
        self.counted.get(&figure).copied().unwrap_or(0)
    }
}

/// The figures of a workflow under `None`, and those of its steps.
pub async fn read(
    rx: &Rx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
) -> Result<BTreeMap<Option<StepId>, Figures>> {
    let counted = counter::beginning(rx, project, Counter::Workflow, &format!("{workflow}:")).await?;
    let mut figures: BTreeMap<Option<StepId>, Figures> = BTreeMap::new();
    for (name, value) in counted {
        let Some((_, rest)) = name.split_once(':') else { continue };
        let (step, figure) = match rest.split_once(':') {
            None => (None, rest),
            Some((step, figure)) => (step.parse().ok(), figure),
        };
        let of = figures.entry(step).or_default();
        if let Some(branch) = figure.strip_prefix(BRANCH) {
            of.branches.insert(branch.to_owned(), value);
        } else if let Some(figure) = Figure::from_name(figure) {
            of.counted.insert(figure, value);
        }
    }
    Ok(figures)
}
