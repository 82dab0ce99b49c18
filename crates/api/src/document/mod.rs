//! The API document as a whole: the annotations of the operations, and what all operations have in common.
//!
//! Some answers come from the middleware and not from a handler: a missing credential, a body that is no JSON, a
//! request beyond the limit. They are added here for every operation that can give them, so no annotation can forget
//! one.

mod answers;
mod conditions;
mod operation;
mod shared;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use utoipa::openapi::OpenApi;

use self::operation::operation_of;
use self::shared::add_shared;

use self::conditions::conditions;

/// How the names of answers about jobs begin. Their result is null until they are over, which the library forgets because
/// its type is a parameter.
const JOB: &str = "JobView_";

/// The document, completed; `base_url` is where this instance is reached.
pub(crate) fn complete(document: &OpenApi, base_url: &str) -> Value {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    document["servers"] = json!([{ "url": base_url }]);
    let mut used = BTreeSet::new();
    for (path, item) in entries(&mut document["paths"]) {
        for (method, operation) in entries(item) {
            operation_of(method, path, operation);
        }
    }
    for (name, condition) in conditions() {
        merge(&mut document["components"]["schemas"][name], condition);
    }
    for (name, schema) in entries(&mut document["components"]["schemas"]) {
        if name.starts_with(JOB) {
            let result = schema["properties"]["result"].take();
            schema["properties"]["result"] = json!({ "oneOf": [result, { "type": "null" }] });
        }
    }
    let schemas = document["components"]["schemas"].take();
    for (_, item) in entries(&mut document["paths"]) {
        for (_, operation) in entries(item) {
            ask_for_body(operation, &schemas);
        }
    }
    document["components"]["schemas"] = schemas;
    add_shared(&mut document["components"]);
    collect(&document["paths"], &document["components"], &mut used);
    collect(&document["components"]["responses"], &document["components"], &mut used);
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| used.contains(name));
    }
    document
}

/// Marks a body as optional if a missing body counts as `{}` and `{}` is valid.
fn ask_for_body(operation: &mut Value, schemas: &Value) {
    let Some(body) = operation.get_mut("requestBody") else { return };
    let path = body["content"]["application/json"]["schema"]["$ref"].as_str();
    let Some(name) = path.and_then(|path| path.rsplit('/').next()) else { return };
    let asks = ["required", "anyOf", "allOf"].iter().any(|part| schemas[name].get(part).is_some());
    body["required"] = asks.into();
}

/// Puts the members of one object into another; null takes a member away (RFC 7396).
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                if value.is_null() {
                    into.remove(&name);
                } else {
                    merge(into.entry(name).or_insert_with(|| json!({})), value);
                }
            }
        }
        (into, from) => *into = from,
    }
}

fn entries(value: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    value.as_object_mut().into_iter().flatten()
}

/// The names of the schemas that a part of the document leads to.
fn collect(part: &Value, components: &Value, used: &mut BTreeSet<String>) {
    match part {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(name) = reference.and_then(|path| path.strip_prefix("#/components/schemas/"))
                && used.insert(name.to_owned())
            {
                collect(&components["schemas"][name], components, used);
            }
            members.values().for_each(|member| collect(member, components, used));
        }
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, components, used)),
        _ => {}
    }
}
