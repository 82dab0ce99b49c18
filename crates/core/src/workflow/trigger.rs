//! What starts the executions of a workflow.

use serde_json::Value;

use crate::filter::Filter;
use crate::ids::SegmentId;
use crate::issue::Issue;
use crate::reading::{Issues, join, member};
use crate::workflow::kind::TriggerType;
use crate::workflow::limits::MAX_CONFIG;
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
        issues.finish_within(trigger, config, AT, MAX_CONFIG)
    }
}

fn read(issues: &mut Issues, kind: TriggerType, config: &Value) -> Option<Trigger> {
    if kind == TriggerType::Manual {
        return Some(Trigger::Manual);
    }
    let object = issues.object(config, AT)?;
    let (value, place) = (|name| member(object, name), |name| join(AT, name));
    if kind == TriggerType::Schedule {
        let segment = issues.id(value("segmentId"), &place("segmentId"));
        let schedule = Schedule::read(issues, object, AT);
        return Some(Trigger::Schedule { segment: segment?, schedule: schedule? });
    }
    let at = place("eventName");
    let name = issues.text(value("eventName"), &at).and_then(|name| issues.event_name(name.trim(), &at));
    let filter = match value("filter") {
        None => None,
        Some(json) => Some(issues.part(Filter::parse_with_context(json), &place("filter"))?),
    };
    Some(Trigger::Event { name: name?, filter })
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
