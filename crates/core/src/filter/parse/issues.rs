//! What is wrong with a filter.

use serde_json::{Map, Value};

use crate::issue::{Issue, json_type};

/// How many issues of one filter are reported.
const MAX_ISSUES: usize = 100;

/// The issues so far. What goes wrong is noted, and the reading goes on; `None` means that something was noted.
#[derive(Default)]
pub(super) struct Issues(Vec<Issue>);

impl Issues {
    /// All of them.
    pub(super) fn found(self) -> Vec<Issue> {
        self.0
    }

    /// Whether there are as many as are reported.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_ISSUES
    }

    pub(super) fn note<T>(&mut self, issue: Issue) -> Option<T> {
        if !self.is_full() {
            self.0.push(issue);
        }
        None
    }

    pub(super) fn object<'j>(&mut self, json: &'j Value, at: &str) -> Option<&'j Map<String, Value>> {
        match json {
            Value::Object(object) => Some(object),
            other => self.note(wrong_type(at, "an object", other)),
        }
    }

    pub(super) fn list<'j>(&mut self, json: Option<&'j Value>, at: &str) -> Option<&'j Vec<Value>> {
        match json {
            Some(Value::Array(list)) => Some(list),
            Some(other) => self.note(wrong_type(at, "an array", other)),
            None => self.note(missing(at, "Required.")),
        }
    }

    pub(super) fn text<'j>(&mut self, json: Option<&'j Value>, at: &str) -> Option<&'j str> {
        match json {
            Some(Value::String(text)) => Some(text),
            Some(other) => self.note(wrong_type(at, "a string", other)),
            None => self.note(missing(at, "Required.")),
        }
    }
}

pub(super) fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

pub(super) fn missing(at: &str, message: impl Into<String>) -> Issue {
    Issue::new(at, "invalid_type", message).received("undefined")
}

pub(super) fn wrong_type(at: &str, expected: &str, found: &Value) -> Issue {
    Issue::new(at, "invalid_type", format!("Must be {expected}.")).received(json_type(found))
}

pub(super) fn unknown(at: &str, message: impl Into<String>, found: &str) -> Issue {
    let short: String = found.chars().take(100).collect();
    Issue::new(at, "invalid_enum_value", message).received(short)
}

pub(super) fn holds_nul(json: &Value) -> bool {
    match json {
        Value::String(text) => text.contains('\0'),
        Value::Array(elements) => elements.iter().any(holds_nul),
        Value::Object(members) => members.iter().any(|(key, value)| key.contains('\0') || holds_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

pub(super) fn nul(at: &str) -> Issue {
    Issue::new(at, "invalid_string", "Must not contain the NUL character.")
}
