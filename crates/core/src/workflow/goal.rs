//! What ends an execution because the contact got where the workflow wants it.

use serde_json::Value;

use crate::filter::Filter;
use crate::issue::Issue;
use crate::reading::{Issues, join, member, missing};
use crate::workflow::limits::MAX_CONFIG;

/// What ends an execution because the contact got where the workflow wants it.
#[derive(Debug, Clone, PartialEq)]
pub enum Goal {
    /// An event of the contact.
    Event(String),
    /// What is true of the contact.
    Filter(Box<Filter>),
}

/// The path of a goal in a request.
const AT: &str = "goal";

impl Goal {
    /// Reads a goal: `{ eventName }` or `{ filter }`. Every issue names its path, from `goal` on.
    pub fn parse(json: &Value) -> Result<Self, Vec<Issue>> {
        let mut issues = Issues::default();
        let goal = read(&mut issues, json);
        issues.finish_within(goal, json, AT, MAX_CONFIG)
    }
}

fn read(issues: &mut Issues, json: &Value) -> Option<Goal> {
    let object = issues.object(json, AT)?;
    match (member(object, "eventName"), member(object, "filter")) {
        (Some(_), Some(_)) => {
            let message = "A goal is an eventName or a filter, not both.";
            issues.note(Issue::new(AT, "custom", message))
        }
        (None, None) => issues.note(missing(AT, "Name an eventName or a filter.")),
        (name, None) => {
            let place = join(AT, "eventName");
            let name = issues.text(name, &place)?;
            issues.event_name(name.trim(), &place).map(Goal::Event)
        }
        (None, Some(filter)) => {
            let filter = issues.part(Filter::parse(filter), &join(AT, "filter"))?;
            Some(Goal::Filter(Box::new(filter)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_goal_is_an_event_or_a_filter() {
        let filter = json!({ "logic": "AND", "groups": [{ "filters": [
            { "field": "data.plan", "operator": "equals", "value": "pro" }] }] });
        assert_eq!(Goal::parse(&json!({ "eventName": " paid " })), Ok(Goal::Event("paid".to_owned())));
        assert!(matches!(Goal::parse(&json!({ "filter": filter })), Ok(Goal::Filter(_))));
        for (json, field) in [
            (json!({}), "goal"),
            (json!([]), "goal"),
            (json!({ "eventName": "paid", "filter": filter }), "goal"),
            (json!({ "eventName": "" }), "goal.eventName"),
            (json!({ "filter": { "logic": "AND" } }), "goal.filter.groups"),
        ] {
            let issues = Goal::parse(&json).unwrap_err();
            assert_eq!(issues[0].field, field, "{json}");
        }
    }
}
