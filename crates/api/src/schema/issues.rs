//! The walk over a schema that collects every failing field of a body.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use mailwright_core::issue::{Issue, join, json_type};
use mailwright_core::short_text::counted;
use serde_json::Value;
use utoipa::ToSchema;

use crate::fields;

/// How many issues of one body are reported.
pub(super) const MAX_ISSUES: usize = 100;

/// A type's schema with everything it refers to.
pub(super) struct Document {
    pub(super) root: Value,
    definitions: BTreeMap<String, Value>,
}

type Documents = RwLock<HashMap<TypeId, Arc<Document>>>;
static DOCUMENTS: LazyLock<Documents> = LazyLock::new(Documents::default);

pub(super) fn document<T: ToSchema + Any>() -> Arc<Document> {
    let id = TypeId::of::<T>();
    if let Some(known) = DOCUMENTS.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
        return Arc::clone(known);
    }
    let mut definitions = Vec::new();
    T::schemas(&mut definitions);
    let json = |schema| serde_json::to_value(schema).unwrap_or_default();
    let document = Arc::new(Document {
        root: json(T::schema()),
        definitions: definitions.into_iter().map(|(name, schema)| (name, json(schema))).collect(),
    });
    DOCUMENTS.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&document));
    document
}

impl Document {
    pub(super) fn resolve<'s>(&'s self, schema: &'s Value) -> &'s Value {
        match schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            Some(name) => self.definitions.get(name).unwrap_or(&Value::Null),
            None => schema,
        }
    }

    /// Collects what is wrong with `value`, which stands at `at`, until there is enough to report.
    pub(super) fn walk(&self, schema: &Value, value: &Value, at: &str, out: &mut Vec<Issue>) {
        if out.len() >= MAX_ISSUES {
            return;
        }
        let schema = self.resolve(schema);
        if let Some(choices) = choices(schema) {
            return self.walk_choices(choices, value, at, out);
        }
        if let Some(parts) = schema["allOf"].as_array() {
            for part in parts {
                self.walk(part, value, at, out);
            }
            return;
        }
        if !has_type(schema, value) {
            out.push(wrong_type(schema, value, at));
            return;
        }
        match value {
            Value::String(text) => out.extend(fields::issue(schema, text, at)),
            Value::Array(items) => self.walk_array(schema, items, at, out),
            Value::Object(object) => self.walk_object(schema, object, at, out),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// One of several shapes: the issues of the shape that fits, if the value has a shape at all (reference 2.3).
    fn walk_choices(&self, choices: &[Value], value: &Value, at: &str, out: &mut Vec<Issue>) {
        let is_null = |choice: &&Value| choice["type"] == "null";
        if value.is_null() && choices.iter().any(|c| is_null(&c)) {
            return;
        }
        let choices: Vec<&Value> = choices.iter().filter(|c| !is_null(c)).collect();
        if let [only] = choices[..] {
            return self.walk(only, value, at, out);
        }
        let choices: Vec<&Value> = choices.into_iter().map(|choice| self.resolve(choice)).collect();
        let takes_name = choices.iter().any(|choice| choice["properties"]["email"].is_object());
        let mut best: Option<Vec<Issue>> = None;
        for choice in choices.iter().filter(|choice| has_type(choice, value)) {
            let mut issues = Vec::new();
            self.walk(choice, value, at, &mut issues);
            if issues.is_empty() {
                return;
            }
            let has_shape = !issues.iter().any(|i| i.received.as_deref() == Some("undefined"));
            if has_shape && best.as_ref().is_none_or(|b| issues.len() < b.len()) {
                best = Some(issues);
            }
        }
        if let Some(mut issues) = best {
            if takes_name && value.as_str().is_some_and(|text| text.contains('<')) {
                issues.iter_mut().for_each(suggest_named);
            }
            out.extend(issues);
        } else {
            let shapes = choices.iter().map(|choice| shape(choice)).collect::<Vec<_>>().join(", or ");
            out.push(Issue::new(at, "invalid_union", format!("Must be {shapes}.")));
        }
    }

    fn walk_array(&self, schema: &Value, items: &[Value], at: &str, out: &mut Vec<Issue>) {
        if let Some(most) = schema["maxItems"].as_u64().filter(|most| items.len() as u64 > *most) {
            out.push(Issue::new(at, "too_big", format!("Must have at most {}.", counted(most, "element"))));
        }
        if let Some(least) = schema["minItems"].as_u64().filter(|least| (items.len() as u64) < *least) {
            out.push(Issue::new(
                at,
                "too_small",
                format!("Must have at least {}.", counted(least, "element")),
            ));
        }
        for (index, item) in items.iter().enumerate() {
            if out.len() >= MAX_ISSUES {
                return;
            }
            self.walk(&schema["items"], item, &join(at, &index.to_string()), out);
        }
    }

    fn walk_object(
        &self,
        schema: &Value,
        object: &serde_json::Map<String, Value>,
        at: &str,
        out: &mut Vec<Issue>,
    ) {
        for name in required(schema) {
            if !object.contains_key(name) {
                out.push(self.missing(&schema["properties"][name], &join(at, name)));
            }
        }
        for (name, value) in object {
            if out.len() >= MAX_ISSUES {
                return;
            }
            let property = &schema["properties"][name];
            if property.is_null() && schema["additionalProperties"] == false {
                let known = schema["properties"].as_object().into_iter().flat_map(serde_json::Map::keys);
                out.push(unknown_field(&join(at, name), name, known.map(String::as_str)));
                continue;
            }
            let schema = if property.is_null() { &schema["additionalProperties"] } else { property };
            if schema.is_object() {
                self.walk(schema, value, &join(at, name), out);
            }
        }
    }

    /// A field that is not there: what its schema says about nothing.
    fn missing(&self, schema: &Value, at: &str) -> Issue {
        let schema = self.resolve(schema);
        if choices(schema).is_some() {
            return Issue::new(at, "invalid_union", "Required.");
        }
        Issue::new(at, "invalid_type", "Required.").received("undefined")
    }
}

/// Says which form is taken instead of a name and an address in one text.
fn suggest_named(issue: &mut Issue) {
    "Must be an email address without a name. Pass the name in an object: {\"name\": \"Ada\", \"email\": \
     \"ada@example.com\"}."
        .clone_into(&mut issue.message);
}

/// The issue of an unknown field in a body that takes no unknown fields. It names the field that was probably meant.
fn unknown_field<'k>(at: &str, name: &str, known: impl Iterator<Item = &'k str>) -> Issue {
    let known: Vec<_> = known.collect();
    // a name can be as long as a body; in the answer only its beginning is of use
    let (at, name) = (fields::clip(at), fields::clip(name));
    let hint = match known.iter().find(|other| is_near(&name, other)) {
        Some(meant) => format!("Did you mean {meant}?"),
        None => format!("Known fields: {}.", known.join(", ")),
    };
    Issue::new(at, "unrecognized_keys", format!("There is no field {name}. {hint}"))
}

/// Whether two names differ by case and marks between words, or by two letters at most.
fn is_near(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    strsim::osa_distance(&plain(one), &plain(other)) <= 2
}

/// The shapes that a schema allows, if it names several.
pub(super) fn choices(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("oneOf").or(schema.get("anyOf")).and_then(Value::as_array)
}

/// The members that an object must have.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

pub(super) fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn has_type(schema: &Value, value: &Value) -> bool {
    let types = types(schema);
    let is_integer = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    types.is_empty() || types.iter().any(|t| *t == json_type(value) || (*t == "integer" && is_integer))
}

fn wrong_type(schema: &Value, value: &Value, at: &str) -> Issue {
    let wanted = types(schema).into_iter().filter(|t| *t != "null").collect::<Vec<_>>().join(" or ");
    Issue::new(at, "invalid_type", format!("Expected {wanted}, received {}.", json_type(value)))
        .received(json_type(value))
}

/// What a schema allows, in words: `a string`, or `an object with email`.
fn shape(schema: &Value) -> String {
    let required = required(schema).collect::<Vec<_>>().join(" and ");
    let types = types(schema).into_iter().filter(|name| *name != "null").map(|name| match name {
        "object" if !required.is_empty() => format!("an object with {required}"),
        "array" | "integer" | "object" => format!("an {name}"),
        name => format!("a {name}"),
    });
    types.collect::<Vec<_>>().join(" or ")
}
