//! Filters as the API document shows them. They are read and checked by `mailwright_core::filter`.

use mailwright_core::issue::Issue;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Refuses a condition that is no object; what an object says is looked at by the use case.
pub(crate) fn check_object(condition: Option<&Value>) -> Option<Issue> {
    let is_other = condition.is_some_and(|condition| !condition.is_object());
    is_other.then(|| Issue::new("condition", "invalid_type", "Must be an object."))
}

/// Conditions on a contact.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FilterTree {
    /// How the groups are combined.
    logic: FilterLogic,
    /// At least one group.
    groups: Vec<FilterGroup>,
}

/// How groups are combined.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum FilterLogic {
    /// All must hold.
    And,
    /// At least one group must hold.
    Or,
}

/// Filters that must all hold, with the nested conditions.
#[derive(Debug, Serialize, ToSchema)]
struct FilterGroup {
    /// May be empty when there are nested conditions.
    filters: Vec<Filter>,
    /// Nested conditions, at most 10 levels deep.
    #[schema(no_recursion)]
    conditions: Option<Box<FilterTree>>,
}

/// One condition.
#[derive(Debug, Serialize, ToSchema)]
struct Filter {
    /// `email`, `subscribed`, `createdAt`, `updatedAt`, `data.<field>`, `event.<name>`, `segment.<id>`, or `email.`
    /// with one of `sent`, `delivered`, `opened`, `clicked`, `bounced`, `complained`.
    field: String,
    /// Such as `equals`, `greaterThan`, `within`, `triggered` or `memberOfSegment`.
    operator: String,
    /// What the field is compared with, or a number of units.
    #[schema(value_type = Option<Value>)]
    value: Option<Value>,
    /// `days`, `hours` or `minutes`.
    unit: Option<String>,
}
