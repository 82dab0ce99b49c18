//! Reading JSON of a shape that depends on itself, such as filters and the configuration of steps: everything that is wrong
//! with it is found, and named by its path.

use serde_json::{Map, Value};

use crate::issue::{Issue, json_type};

/// How many issues of one text are reported.
const MAX_ISSUES: usize = 100;

/// An issue was noted, where `None` has a sense of its own.
pub(crate) struct Noted;

/// The issues so far. What goes wrong is noted, and the reading goes on; `None` means that something was noted.
#[derive(Default)]
pub(crate) struct Issues(Vec<Issue>);

impl Issues {
    /// All of them.
    pub(crate) fn found(self) -> Vec<Issue> {
        self.0
    }

    /// Whether there are as many as are reported.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_ISSUES
    }

    pub(crate) fn note<T>(&mut self, issue: Issue) -> Option<T> {
        if !self.is_full() {
            self.0.push(issue);
        }
        None
    }

    pub(crate) fn object<'j>(&mut self, json: &'j Value, at: &str) -> Option<&'j Map<String, Value>> {
        match json {
            Value::Object(object) => Some(object),
            other => self.note(wrong_type(at, "an object", other)),
        }
    }

    pub(crate) fn list<'j>(&mut self, json: Option<&'j Value>, at: &str) -> Option<&'j Vec<Value>> {
        match json {
            Some(Value::Array(list)) => Some(list),
            Some(other) => self.note(wrong_type(at, "an array", other)),
            None => self.note(missing(at, "Required.")),
        }
    }

    pub(crate) fn text<'j>(&mut self, json: Option<&'j Value>, at: &str) -> Option<&'j str> {
        match json {
            Some(Value::String(text)) => Some(text),
            Some(other) => self.note(wrong_type(at, "a string", other)),
            None => self.note(missing(at, "Required.")),
        }
    }
}

pub(crate) fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

pub(crate) fn missing(at: &str, message: impl Into<String>) -> Issue {
    Issue::new(at, "invalid_type", message).received("undefined")
}

pub(crate) fn wrong_type(at: &str, expected: &str, found: &Value) -> Issue {
    Issue::new(at, "invalid_type", format!("Must be {expected}.")).received(json_type(found))
}

pub(crate) fn unknown(at: &str, message: impl Into<String>, found: &str) -> Issue {
    let short: String = found.chars().take(100).collect();
    Issue::new(at, "invalid_enum_value", message).received(short)
}

pub(crate) fn holds_nul(json: &Value) -> bool {
    match json {
        Value::String(text) => text.contains('\0'),
        Value::Array(elements) => elements.iter().any(holds_nul),
        Value::Object(members) => members.iter().any(|(key, value)| key.contains('\0') || holds_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

pub(crate) fn nul(at: &str) -> Issue {
    Issue::new(at, "invalid_string", "Must not contain the NUL character.")
}
