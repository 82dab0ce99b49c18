//! The field of a condition, and the operators that it takes.

use super::operator::Operator;
use crate::custom_data::MAX_KEY;
use crate::event::Activity;
use crate::filter::tree::{DataPath, MAX_PATH_KEYS, TimeField};
use crate::ids::SegmentId;
use crate::issue::Issue;
use crate::reading::{Issues, nul, unknown};
use serde_json::Value;

/// What a filter looks at.
#[derive(Debug, Clone)]
pub(super) enum Field {
    Email,
    Subscribed,
    Time(TimeField),
    Data(DataPath),
    Context(DataPath),
    Event(String),
    Activity(Activity),
    Segment(SegmentId),
}

impl Field {
    /// Whether an operator can be used with this field.
    pub(super) fn takes(&self, operator: Operator) -> bool {
        use Operator as O;
        match self {
            Self::Email => matches!(operator, O::Equals | O::NotEquals | O::Contains | O::NotContains),
            Self::Subscribed => matches!(operator, O::Equals | O::NotEquals),
            Self::Time(_) => {
                matches!(operator, O::Equals | O::NotEquals | O::Compare(_) | O::Within | O::OlderThan)
            }
            Self::Data(_) | Self::Context(_) => !operator.is_for_events() && !operator.is_for_segments(),
            Self::Event(_) | Self::Activity(_) => operator.is_for_events(),
            Self::Segment(_) => operator.is_for_segments(),
        }
    }
}

pub(super) fn operator(issues: &mut Issues, json: Option<&Value>, at: &str) -> Option<Operator> {
    let name = issues.text(json, at)?;
    let operator = Operator::ALL.into_iter().find(|operator| operator.as_str() == name);
    if operator.is_none() {
        let names = Operator::ALL.map(Operator::as_str).join(", ");
        return issues.note(unknown(at, format!("Must be one of {names}."), name));
    }
    operator
}

/// The field; a name by itself is an event's when the operator is one for events. With a context, `event.<field>` is a
/// value of the event's data for the other operators.
pub(super) fn field(
    issues: &mut Issues,
    json: Option<&Value>,
    operator: Option<Operator>,
    has_context: bool,
    at: &str,
) -> Option<Field> {
    let name = issues.text(json, at)?;
    if name.contains('\0') {
        return issues.note(nul(at));
    }
    if let Some(path) = name.strip_prefix("data.") {
        return path_of(issues, path, at).map(Field::Data);
    }
    if let Some(event_name) = name.strip_prefix("event.") {
        if has_context && operator.is_some_and(|operator| !operator.is_for_events()) {
            return path_of(issues, event_name, at).map(Field::Context);
        }
        return issues.event_name(event_name, at).map(Field::Event);
    }
    let known = match name {
        "email" => Some(Field::Email),
        "subscribed" => Some(Field::Subscribed),
        "createdAt" => Some(Field::Time(TimeField::CreatedAt)),
        "updatedAt" => Some(Field::Time(TimeField::UpdatedAt)),
        _ => None,
    };
    let activity = || name.strip_prefix("email.").and_then(Activity::from_name).map(Field::Activity);
    let segment = || name.strip_prefix("segment.").and_then(|id| id.parse().ok()).map(Field::Segment);
    if let Some(field) = known.or_else(activity).or_else(segment) {
        return Some(field);
    }
    if operator.is_some_and(Operator::is_for_events) {
        return issues.event_name(name, at).map(Field::Event);
    }
    let message = "Must be email, subscribed, createdAt, updatedAt, data.<field>, event.<name>, \
                   segment.<id>, or one of email.sent, email.delivered, email.opened, email.clicked, \
                   email.bounced, email.complained.";
    issues.note(unknown(at, message, name))
}

fn path_of(issues: &mut Issues, path: &str, at: &str) -> Option<DataPath> {
    if path.is_empty() {
        return issues.note(Issue::new(at, "too_small", "The name of a field is missing after the dot."));
    }
    let path = DataPath::new(path);
    if path.is_too_long() {
        let message = format!("A path has at most {MAX_KEY} bytes and {MAX_PATH_KEYS} levels.");
        return issues.note(Issue::new(at, "too_big", message));
    }
    Some(path)
}
