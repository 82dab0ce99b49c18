//! What is wrong with an input: one element of the contract's `errors` array.

use serde::Serialize;
use serde_json::Value;

/// One failing field of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Issue {
    /// Path of the field, joined by dots; empty for the body itself.
    pub field: String,
    /// What is wrong and what to do.
    pub message: String,
    /// Machine-readable code, such as `invalid_type` or `reserved_event`.
    pub code: &'static str,
    /// What was received: the JSON type for `invalid_type`, the name for `reserved_event`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<String>,
}

/// The type of a JSON value, as `received` of `invalid_type` names it.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The path of a member of what is at `at`; `at` is empty for the body itself.
pub fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

impl Issue {
    /// An issue without `received`.
    pub fn new(field: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), code, received: None }
    }

    /// The issue of a part, as one of the whole in which the part is at `at`.
    #[must_use]
    pub fn within(mut self, at: &str) -> Self {
        self.field = if self.field.is_empty() { at.to_owned() } else { join(at, &self.field) };
        self
    }

    /// The same issue with the received value.
    #[must_use]
    pub fn received(mut self, what: impl Into<String>) -> Self {
        self.received = Some(what.into());
        self
    }
}
