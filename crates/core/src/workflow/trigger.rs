//! What starts the executions of a workflow.

use serde_json::Value;

use crate::event::{MAX_EVENT_NAME, is_too_long};
use crate::filter::Filter;
use crate::ids::SegmentId;
use crate::issue::Issue;
use crate::reading::{Issues, holds_nul, join, missing, nul};
use crate::workflow::kind::TriggerType;
use crate::workflow::schedule::Schedule;

/// What starts the executions of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// An event of a contact.
    Event {
        /// The name of the event.
        name: String,
        /// What must be true of contact and event.
        filter: Option<Filter>,
    },
    /// Nothing by itself.
    Manual,
    /// A schedule.
    Schedule {
        /// Whose members are enrolled.
        segment: SegmentId,
        /// When.
        schedule: Schedule,
    },
}

/// The path of a trigger in a request.
const AT: &str = "triggerConfig";

impl Trigger {
    /// Reads a trigger from its configuration, which may be missing for a manual one. Every issue names its path, from
    /// `triggerConfig` on.
    pub fn parse(kind: TriggerType, config: &Value) -> Result<Self, Vec<Issue>> {
        let mut issues = Issues::default();
        let trigger = read(&mut issues, kind, config);
        let issues = issues.found();
        if !issues.is_empty() {
            return Err(issues);
        }
        // a configuration is stored as it was given, with what is not looked at
        if holds_nul(config) {
            return Err(vec![nul(AT)]);
        }
        trigger.ok_or_else(Vec::new)
    }
}

fn read(issues: &mut Issues, kind: TriggerType, config: &Value) -> Option<Trigger> {
    if kind == TriggerType::Manual {
        return Some(Trigger::Manual);
    }
    let object = issues.object(config, AT)?;
    let text = |issues: &mut Issues, name: &str| {
        let value = object.get(name).filter(|value| !value.is_null());
        issues.text(value, &join(AT, name)).map(str::to_owned)
    };
    if kind == TriggerType::Schedule {
        let segment = text(issues, "segmentId").and_then(|text| {
            let message = "Must be a UUID.";
            let place = join(AT, "segmentId");
            text.parse().ok().or_else(|| issues.note(Issue::new(place, "invalid_string", message)))
        });
        let schedule = Schedule::read(issues, object, AT);
        return Some(Trigger::Schedule { segment: segment?, schedule: schedule? });
    }
    let name = text(issues, "eventName").and_then(|name| event_name(issues, name.trim()));
    let filter = match object.get("filter").filter(|filter| !filter.is_null()) {
        None => None,
        Some(json) => match Filter::parse_with_context(json) {
            Ok(filter) => Some(filter),
            Err(found) => {
                let at = join(AT, "filter");
                for issue in found {
                    let field = join(&at, &issue.field).trim_end_matches('.').to_owned();
                    issues.note::<()>(Issue { field, ..issue });
                }
                return None;
            }
        },
    };
    Some(Trigger::Event { name: name?, filter })
}

fn event_name(issues: &mut Issues, name: &str) -> Option<String> {
    let place = join(AT, "eventName");
    if name.is_empty() {
        return issues.note(missing(&place, "Name an event."));
    }
    if is_too_long(name) {
        let message = format!("The name of an event has at most {MAX_EVENT_NAME} characters.");
        return issues.note(Issue::new(place, "too_big", message));
    }
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn triggers_are_read_by_their_type() {
        let segment = "01a20000-0000-7000-8000-000000000001";
        let name = |trigger: Result<Trigger, Vec<Issue>>| match trigger {
            Ok(Trigger::Event { name, filter }) => format!("{name} {}", filter.is_some()),
            Ok(Trigger::Manual) => "manual".to_owned(),
            Ok(Trigger::Schedule { .. }) => "schedule".to_owned(),
            Err(issues) => issues.into_iter().map(|issue| issue.field).collect::<Vec<_>>().join(" "),
        };
        let filter = json!({ "logic": "AND", "groups": [{ "filters": [
            { "field": "event.total", "operator": "greaterThan", "value": 3 }] }] });
        for (kind, config, expected) in [
            (TriggerType::Event, json!({ "eventName": " paid " }), "paid false"),
            (TriggerType::Event, json!({ "eventName": "paid", "filter": filter }), "paid true"),
            (TriggerType::Event, json!({ "eventName": " " }), "triggerConfig.eventName"),
            (TriggerType::Event, json!({ "eventName": "a".repeat(256) }), "triggerConfig.eventName"),
            (
                TriggerType::Event,
                json!({ "eventName": "paid", "filter": {} }),
                "triggerConfig.filter.logic triggerConfig.filter.groups",
            ),
            (TriggerType::Event, json!(null), "triggerConfig"),
            (TriggerType::Event, json!({ "eventName": "paid", "note": "\0" }), "triggerConfig"),
            (TriggerType::Manual, json!(null), "manual"),
            (TriggerType::Schedule, json!({ "segmentId": segment, "start": "2026-01-31T09:00" }), "schedule"),
            (
                TriggerType::Schedule,
                json!({ "segmentId": "all" }),
                "triggerConfig.segmentId triggerConfig.start",
            ),
        ] {
            assert_eq!(name(Trigger::parse(kind, &config)), expected, "{config}");
        }
    }
}
