//! The figures of workflows: counters with the names `<workflow>:<figure>` and `<workflow>:<step>:<figure>`.

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

/// Figures of a workflow, or of one of its steps.
pub type Figures = BTreeMap<Figure, i64>;

/// The figures of a workflow under `None`, and those of its steps. A figure that is missing is 0.
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
        if let Some(figure) = Figure::from_name(figure) {
            figures.entry(step).or_default().insert(figure, value);
        }
    }
    Ok(figures)
}
