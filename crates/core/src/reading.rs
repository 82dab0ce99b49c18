//! Reading JSON of a shape that depends on itself, such as filters and the configuration of steps: everything that is wrong
//! with it is found, and named by its path.

use std::str::FromStr;

use serde_json::{Map, Value};

use crate::custom_data;
use crate::event::{MAX_EVENT_NAME, is_too_long};
pub(crate) use crate::issue::join;
use crate::issue::{Issue, json_type};

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// A member of an object; null counts as missing.
pub(crate) fn member<'j>(object: &'j Object, name: &str) -> Option<&'j Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// How many issues of one text are reported.
const MAX_ISSUES: usize = 100;

/// How deep JSON is nested that is stored as it was given, members included that are not looked at. What stores it within
/// other JSON must be able to read it again.
pub(crate) const MAX_LEVELS: usize = 64;

/// An issue was noted, where `None` has a sense of its own.
pub(crate) struct Noted;

/// The issues so far. What goes wrong is noted, and the reading goes on; `None` means that something was noted.
#[derive(Default)]
pub(crate) struct Issues(Vec<Issue>);

impl Issues {
    /// What was read from `json`, or everything that is wrong with it. What is stored as it was given, with members that
    /// are not looked at, must not hold the NUL character anywhere.
    pub(crate) fn finish<T>(self, read: Option<T>, json: &Value, at: &str) -> Result<T, Vec<Issue>> {
        if !self.0.is_empty() {
            return Err(self.0);
        }
        if custom_data::holds_nul(json) {
            return Err(vec![nul(at)]);
        }
        if custom_data::is_deeper(json, MAX_LEVELS) {
            let message = format!("Must be nested at most {MAX_LEVELS} levels deep.");
            return Err(vec![Issue::new(at, "too_big", message)]);
        }
        read.ok_or_else(Vec::new)
    }

    /// The same for what has a limit to its size, in bytes of JSON.
    pub(crate) fn finish_within<T>(
        self,
        read: Option<T>,
        json: &Value,
        at: &str,
        most: usize,
    ) -> Result<T, Vec<Issue>> {
        let read = self.finish(read, json, at)?;
        if custom_data::value_size(json) > most {
            return Err(vec![Issue::new(at, "too_big", format!("Must be at most {most} bytes of JSON."))]);
        }
        Ok(read)
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

    pub(crate) fn object<'j>(&mut self, json: &'j Value, at: &str) -> Option<&'j Object> {
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

    /// A text that may be missing.
    pub(crate) fn optional_text<'j>(
        &mut self,
        json: Option<&'j Value>,
        at: &str,
    ) -> Result<Option<&'j str>, Noted> {
        match json {
            None => Ok(None),
            found => self.text(found, at).map(Some).ok_or(Noted),
        }
    }

    /// A number that must be there.
    pub(crate) fn number(&mut self, json: Option<&Value>, at: &str) -> Option<f64> {
        match json {
            Some(Value::Number(number)) => number.as_f64(),
            Some(other) => self.note(wrong_type(at, "a number", other)),
            None => self.note(missing(at, "Required.")),
        }
    }

    /// An identifier that must be there.
    pub(crate) fn id<T: FromStr>(&mut self, json: Option<&Value>, at: &str) -> Option<T> {
        let text = self.text(json, at)?;
        text.parse().ok().or_else(|| self.note(Issue::new(at, "invalid_string", "Must be a UUID.")))
    }

    /// The name of an event.
    pub(crate) fn event_name(&mut self, name: &str, at: &str) -> Option<String> {
        if name.is_empty() {
            return self.note(Issue::new(at, "too_small", "Name an event."));
        }
        if is_too_long(name) {
            let message = format!("The name of an event has at most {MAX_EVENT_NAME} characters.");
            return self.note(Issue::new(at, "too_big", message));
        }
        Some(name.to_owned())
    }

    /// What was read of the part at `at`, whose issues are noted as those of the whole.
    pub(crate) fn part<T>(&mut self, read: Result<T, Vec<Issue>>, at: &str) -> Option<T> {
        let found = match read {
            Ok(read) => return Some(read),
            Err(found) => found,
        };
        for issue in found {
            self.note::<()>(issue.within(at));
        }
        None
    }
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

pub(crate) fn nul(at: &str) -> Issue {
    Issue::new(at, "invalid_string", "Must not contain the NUL character.")
}
