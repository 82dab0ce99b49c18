//! Stand-ins for the fields of a body that fail, so that the rules of [`Payload::check`](super::Payload::check) can be
//! applied to the others: an answer names every field that fails, whichever rule it breaks.

use mailwright_core::issue::Issue;
use serde_json::{Map, Value, json};

use super::issues::{Document, choices, has_type, required, types};
use crate::fields;

/// Texts of the kinds that fields take.
const TEXTS: [&str; 7] = [
    "x",
    "en",
    "ada@example.com",
    "example.com",
    "https://example.com/",
    "2100-01-01T00:00:00.000Z",
    "00000000-0000-7000-8000-000000000000",
];

/// Whether a field is one that failed, or lies within it.
pub(super) fn is_within(field: &str, failed: &[Issue]) -> bool {
    failed.iter().any(|issue| {
        field.strip_prefix(issue.field.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

impl Document {
    /// Puts a value that its schema allows in the place of every field that failed. False if there is one that has no
    /// such value, or that is not found.
    pub(super) fn stand_in(&self, body: &mut Value, failed: &[Issue]) -> bool {
        failed.iter().all(|issue| !issue.field.is_empty() && self.replace(&self.root, body, &issue.field))
    }

    fn replace(&self, schema: &Value, value: &mut Value, path: &str) -> bool {
        if path.is_empty() {
            return self.sample(schema).map(|sample| *value = sample).is_some();
        }
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let schema = self.fitting(schema, value);
        match value {
            Value::Object(object) => {
                let others = &schema["additionalProperties"];
                match &schema["properties"][first] {
                    Value::Null if *others == false => {
                        object.remove(first);
                        true
                    }
                    Value::Null => {
                        object.get_mut(first).is_some_and(|value| self.replace(others, value, rest))
                    }
                    property => self.replace(property, object.entry(first).or_insert(Value::Null), rest),
                }
            }
            Value::Array(items) => {
                let item = first.parse().ok().and_then(|index: usize| items.get_mut(index));
                // without it the array itself failed as well, and has a stand-in
                item.is_none_or(|item| self.replace(&schema["items"], item, rest))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    /// The schema itself, or of several shapes the first one for values of this kind.
    fn fitting<'s>(&'s self, schema: &'s Value, value: &Value) -> &'s Value {
        let schema = self.resolve(schema);
        let fitting = choices(schema).into_iter().flatten().map(|choice| self.fitting(choice, value));
        fitting.into_iter().find(|choice| has_type(choice, value)).unwrap_or(schema)
    }

    /// A value that a schema allows.
    fn sample(&self, schema: &Value) -> Option<Value> {
        let schema = self.resolve(schema);
        if let Some(choices) = choices(schema) {
            return choices
                .iter()
                .find(|choice| choice["type"] != "null")
                .and_then(|choice| self.sample(choice));
        }
        if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
            return Some(first.clone());
        }
        let kind = types(schema).into_iter().find(|kind| *kind != "null")?;
        Some(match kind {
            "string" => json!(TEXTS.iter().find(|text| fields::issue(schema, text, "").is_none())?),
            "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
            "boolean" => json!(false),
            "array" => {
                let least = schema["minItems"].as_u64().unwrap_or(0);
                (0..least).map(|_| self.sample(&schema["items"])).collect::<Option<_>>()?
            }
            "object" => {
                let sampled = |name: &str| Some((name.to_owned(), self.sample(&schema["properties"][name])?));
                Value::Object(required(schema).map(sampled).collect::<Option<Map<_, _>>>()?)
            }
            _ => return None,
        })
    }
}
