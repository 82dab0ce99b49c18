//! What a step did, as the API tells it (reference 1.3). An execution stores only what its configuration does not say.

use serde_json::{Map, Value, json};

use crate::workflow::execution::{Execution, StepRecord};
use crate::workflow::graph::Step;
use crate::workflow::kind::{StepStatus, StepType, WaitOutcome};

/// The output of a step; `None` for one that is not done and has nothing to tell yet.
pub fn shown(execution: &Execution, step: &Step, record: &StepRecord) -> Option<Value> {
    let mut shown = match record.status {
        StepStatus::Completed => of_completed(execution, step, record),
        StepStatus::Waiting => of_waiting(step, record),
        StepStatus::Running | StepStatus::Skipped | StepStatus::Failed => Map::new(),
    };
    if let Value::Object(noted) = &record.output {
        for (name, value) in noted {
            shown.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    (!shown.is_empty()).then_some(Value::Object(shown))
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn of_waiting(step: &Step, record: &StepRecord) -> Map<String, Value> {
    let config = &step.config;
    match step.kind {
        StepType::Delay => delay(config, record),
        StepType::WaitForEvent => object([("eventName", config["eventName"].clone())]),
        StepType::WaitUntil => object([("resumeAt", json!(record.until))]),
        _ => Map::new(),
    }
}

fn delay(config: &Value, record: &StepRecord) -> Map<String, Value> {
    object([
        ("delayAmount", config["amount"].clone()),
        ("delayUnit", config["unit"].clone()),
        ("resumeAt", json!(record.until)),
    ])
}

fn of_completed(execution: &Execution, step: &Step, record: &StepRecord) -> Map<String, Value> {
    let (config, noted) = (&step.config, &record.output);
    match step.kind {
        StepType::Trigger => {
            let name = execution.source.map_or_else(|| "manual".into(), |_| config["eventName"].clone());
            object([("triggered", true.into()), ("eventName", name), ("timestamp", json!(record.started_at))])
        }
        StepType::SendEmail => {
            let kind = config["recipient"]["type"].as_str().unwrap_or("CONTACT");
            object([("sentAt", json!(record.completed_at)), ("recipientType", kind.into())])
        }
        StepType::Delay => delay(config, record),
        StepType::WaitForEvent if noted["waitOutcome"] == WaitOutcome::Event.as_str() => object([
            ("eventReceived", true.into()),
            ("eventName", config["eventName"].clone()),
            ("receivedAt", json!(record.completed_at)),
        ]),
        StepType::WaitForEvent => {
            object([("timedOut", true.into()), ("eventName", config["eventName"].clone())])
        }
        StepType::WaitUntil => object([("resumeAt", json!(record.until))]),
        StepType::Condition => condition(config, noted),
        StepType::UpdateContact => {
            let action = config["subscriptionAction"].as_str().unwrap_or("none");
            let updates = config["updates"].clone();
            object([("updated", true.into()), ("updates", updates), ("subscriptionAction", action.into())])
        }
        StepType::AddToSegment => {
            object([("added", true.into()), ("segmentId", config["segmentId"].clone())])
        }
        StepType::RemoveFromSegment => {
            object([("removed", true.into()), ("segmentId", config["segmentId"].clone())])
        }
        StepType::Exit => {
            let reason = execution.exit_reason.as_deref();
            object([("exited", true.into()), ("reason", json!(reason))])
        }
        StepType::RandomSplit | StepType::Webhook => Map::new(),
    }
}

fn condition(config: &Value, noted: &Value) -> Map<String, Value> {
    let (field, actual, branch) = (config["field"].clone(), noted["value"].clone(), &noted["branch"]);
    if config["branches"].is_array() {
        let branches = config["branches"].as_array().into_iter().flatten();
        let matched = branches.clone().find(|one| one["id"] == *branch).map(|one| one["name"].clone());
        return object([
            ("field", field),
            ("mode", "multi".into()),
            ("matchedBranch", matched.unwrap_or_default()),
            ("actualValue", actual),
        ]);
    }
    let result = Value::from(branch == "yes");
    if config["condition"].is_object() && field.is_null() {
        return object([("mode", "filter".into()), ("result", result)]);
    }
    object([
        ("field", field),
        ("operator", config["operator"].clone()),
        ("expectedValue", config["value"].clone()),
        ("actualValue", actual),
        ("result", result),
    ])
}
