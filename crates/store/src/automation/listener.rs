//! Which events workflows are told of.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::ids::{ProjectNumber, WorkflowId};
use mailwright_core::workflow::definition::Workflow;
use mailwright_core::workflow::goal::Goal;
use mailwright_core::workflow::trigger::Trigger;
use mailwright_core::workflow::version::Version;

use super::version;
use crate::args;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// The name of no event: any change of a contact.
pub(crate) const ANY_CHANGE: &str = "";

/// A version of a workflow that is told of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(super) workflow: WorkflowId,
    pub(super) number: i64,
    /// Whether the event begins an execution. Otherwise executions wait for it.
    pub(super) enrols: bool,
    /// Whether the trigger has a filter.
    pub(super) has_filter: bool,
    pub(super) allow_reentry: bool,
}

/// Stores what executions of a version wait for.
pub(super) async fn of_version(
    tx: &Tx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    version: &Version,
) -> Result<()> {
    let goal = matches!(version.goal(), Some(Goal::Filter(_))).then_some(ANY_CHANGE);
    let events: Vec<&str> = version.events().into_iter().chain(goal).collect();
    let rows = events.iter().map(|event| (*event, false));
    insert(tx, project, workflow, version.number(), &rows.collect::<Vec<_>>()).await
}

/// Stores what begins executions of a workflow: nothing while it is not enabled.
pub async fn set_enrolling(tx: &Tx<'_>, project: ProjectNumber, workflow: &Workflow) -> Result<()> {
    tx.execute(
        "delete from workflow_listeners where project_id = $1 and workflow_id = $2 and enrols",
        args![project, workflow.id],
    )
    .await?;
    let (true, Some(number)) = (workflow.enabled, workflow.version) else { return Ok(()) };
    let definition = version::in_force(tx, project, workflow).await?;
    let Some(Ok(Trigger::Event { name, filter })) = definition.map(|found| found.trigger()) else {
        return Ok(());
    };
    tx.execute(
        "insert into workflow_listeners (project_id, event, workflow_id, number, enrols, has_filter) \
         values ($1, $2, $3, $4, $5, $6)",
        args![project, name, workflow.id, number, true, filter.is_some()],
    )
    .await?;
    Ok(())
}

async fn insert(
    tx: &Tx<'_>,
    project: ProjectNumber,
    workflow: WorkflowId,
    number: i64,
    events: &[(&str, bool)],
) -> Result<()> {
    tx.each(
        "insert into workflow_listeners (project_id, event, workflow_id, number, enrols, has_filter) \
         select $3, r.event, $4, $5, r.enrols, $6 from {rows r: event text, enrols bool} where true \
         on conflict (project_id, event, workflow_id, number, enrols) do nothing",
        &[
            Arg::Texts(events.iter().map(|(event, _)| Some((*event).into())).collect()),
            Arg::Bools(events.iter().map(|(_, enrols)| Some(*enrols)).collect()),
            project.into(),
            workflow.into(),
            number.into(),
            false.into(),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) type Listeners = BTreeMap<(ProjectNumber, String), Vec<Listener>>;

/// Who is told of some events.
pub(crate) async fn of(rx: &Rx<'_>, events: &BTreeSet<(ProjectNumber, &str)>) -> Result<Listeners> {
    let rows = rx
        .each_returning(
            "select l.project_id, l.event, l.workflow_id, l.number, l.enrols, l.has_filter, w.allow_reentry \
             from {rows r: project_id int, event text} \
             join workflow_listeners l on l.project_id = r.project_id and l.event = r.event \
             left join workflows w on w.project_id = l.project_id and w.id = l.workflow_id",
            &[
                Arg::Ints(events.iter().map(|(project, _)| Some(project.0)).collect()),
                Arg::Texts(events.iter().map(|(_, event)| Some((*event).into())).collect()),
            ],
            |r| {
                let listener = Listener {
                    workflow: r.get(2)?,
                    number: r.get(3)?,
                    enrols: r.get(4)?,
                    has_filter: r.get(5)?,
                    allow_reentry: r.get::<Option<bool>>(6)?.unwrap_or(false),
                };
                Ok(((r.get::<ProjectNumber>(0)?, r.get::<String>(1)?), listener))
            },
        )
        .await?;
    let mut listeners = Listeners::new();
    for (event, listener) in rows {
        listeners.entry(event).or_default().push(listener);
    }
    Ok(listeners)
}
