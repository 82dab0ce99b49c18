//! What starts a workflow, as it changes.

use mailwright_core::ids::ProjectNumber;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::definition::Workflow;
use mailwright_core::workflow::kind::TriggerType;
use mailwright_store::automation::{listener, period, version};
use mailwright_store::{Result, Tx};
use serde_json::Value;

use super::schedule;

/// Has what starts the workflow start it, or not any more: it was enabled or disabled, or has another version in force.
pub(super) async fn change(
    tx: &Tx<'_>,
    project: ProjectNumber,
    before: &Workflow,
    workflow: &Workflow,
    now: Timestamp,
) -> Result<()> {
    listener::set_enrolling(tx, project, workflow).await?;
    let (old, new) = (started_by(tx, project, before).await?, started_by(tx, project, workflow).await?);
    // a time that is due is not lost because something else changed
    if old == new {
        return Ok(());
    }
    let event = new.as_ref().map(|(kind, config)| {
        let config = config.as_ref().filter(|_| *kind == TriggerType::Event);
        config.and_then(|config| config["eventName"].as_str())
    });
    period::change(tx, project, workflow.id, event, now).await?;
    schedule::plan(tx, project, workflow, now).await
}

/// What starts a workflow; `None` if it is not enabled.
async fn started_by(
    tx: &Tx<'_>,
    project: ProjectNumber,
    workflow: &Workflow,
) -> Result<Option<(TriggerType, Option<Value>)>> {
    if !workflow.enabled {
        return Ok(None);
    }
    let definition = version::in_force(tx, project, workflow).await?;
    Ok(definition.map(|definition| (definition.trigger_type, definition.trigger_config)))
}
