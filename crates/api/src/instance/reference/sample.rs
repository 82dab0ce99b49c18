//! Example values, made from the schemas and the examples in them.

use serde_json::{Map, Value, json};

use super::shape::resolved;

/// An id as the service makes them.
const ID: &str = "0199f0c2-7f4e-7a3b-9c1d-2e4f6a8b0c1d";
/// How deep an example goes; what is nested further is left empty.
const DEEPEST: usize = 8;

/// What an example is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// A request names what it must.
    Request,
    /// An answer holds all there is.
    Answer,
}

/// An example of a schema. The name is that of the field that holds it.
pub(super) fn of(schema: &Value, components: &Value, name: &str, side: Side) -> Value {
    example(schema, components, name, side, 0)
}

fn example(schema: &Value, components: &Value, name: &str, side: Side, depth: usize) -> Value {
    let (_, schema) = resolved(schema, components);
    if let Some(value) = given(schema).filter(|value| side == Side::Request || !value.is_object()) {
        return value.clone();
    }
    let deeper = |schema: &Value, name: &str| example(schema, components, name, side, depth + 1);
    if depth > DEEPEST {
        return Value::Null;
    }
    if schema.get("properties").is_none()
        && let Some(first) = ["oneOf", "anyOf"].iter().find_map(|key| schema[key].as_array()?.first())
    {
        return deeper(first, name);
    }
    if schema.get("properties").is_some() || schema.get("allOf").is_some() {
        return object(schema, side, deeper);
    }
    if let Some(element) = schema.get("items") {
        return if depth > DEEPEST / 2 { json!([]) } else { json!([deeper(element, name)]) };
    }
    scalar(schema, name)
}

/// The example that a schema brings, or the one value that it allows.
fn given(schema: &Value) -> Option<&Value> {
    schema["examples"]
        .as_array()
        .and_then(|examples| examples.first())
        .or_else(|| schema.get("example"))
        .or_else(|| schema.get("const"))
        .or_else(|| schema["enum"].as_array().and_then(|values| values.first()))
}

fn object(schema: &Value, side: Side, deeper: impl Fn(&Value, &str) -> Value) -> Value {
    let mut members = Map::new();
    if schema.get("properties").is_none() {
        for part in schema["allOf"].as_array().into_iter().flatten() {
            if let Value::Object(of_part) = deeper(part, "") {
                members.extend(of_part);
            }
        }
    }
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        if side == Side::Answer || required.contains(&name.as_str()) {
            members.insert(name.clone(), deeper(member, name));
        }
    }
    Value::Object(members)
}

fn scalar(schema: &Value, name: &str) -> Value {
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find_map(Value::as_str).unwrap_or_default(),
        kind => kind.as_str().unwrap_or_default(),
    };
    match kind {
        "boolean" => json!(!matches!(name, "inDoubt" | "hasMore" | "disabled" | "firstUser")),
        "integer" => json!(schema["minimum"].as_i64().unwrap_or(0).max(1)),
        "number" => json!(0.5),
        "object" => json!({}),
        "string" => json!(text(schema["format"].as_str().unwrap_or_default(), name)),
        _ => json!("pro"),
    }
}

/// A text that says what the field is for.
pub(super) fn text(format: &str, name: &str) -> String {
    let known = match (format, name) {
        ("uuid", _) => ID,
        ("date-time", _) | (_, "timestamp") => "2026-03-01T09:00:00.000Z",
        ("date", _) => "2026-03-01",
        ("email", _) | (_, "email" | "to" | "recipient") => "ada@example.org",
        (_, "from" | "replyTo") => "hello@example.com",
        (_, "fromName") => "Example Shop",
        (_, "body" | "html") => "<h1>Hello Ada</h1>",
        (_, "subject" | "text") => "Hello Ada",
        (_, "field") => "data.plan",
        (_, "eventName" | "event") => "order_placed",
        (_, "domain") => "example.com",
        (_, "name") => "Welcome",
        (_, "message") => "Scheduled for 2026-03-01T09:00:00.000Z",
        (_, "cursor") => "eyJhZnRlciI6MjB9",
        (_, "token") => "6f1d3c5b7a9e0f2d4c6b8a1e3f5d7c9b0a2e4f6d8c1b3a5e7f9d0c2b4a6e8f10",
        (_, "secret" | "key") => "sk_...",
        (_, "publicKey") => "pk_...",
        (_, "messageId") => "0199f0c2@example.com",
        (_, "id" | "projectId" | "contactId" | "jobId") => ID,
        _ => "text",
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_what_it_must_and_an_answer_all_there_is() {
        let components =
            json!({ "schemas": { "Email": { "type": "string", "examples": ["grace@example.org"] } } });
        let schema = json!({ "type": "object", "required": ["email"], "properties": {
            "email": { "$ref": "#/components/schemas/Email" },
            "createdAt": { "type": "string", "format": "date-time" },
            "state": { "enum": ["waiting", "active"] },
        } });
        assert_eq!(of(&schema, &components, "", Side::Request), json!({ "email": "grace@example.org" }));
        assert_eq!(
            of(&schema, &components, "", Side::Answer),
            json!({ "email": "grace@example.org", "createdAt": "2026-03-01T09:00:00.000Z", "state": "waiting" })
        );
    }

    #[test]
    fn a_schema_that_holds_itself_ends() {
        let components = json!({ "schemas": { "Tree": { "type": "object", "required": ["groups"], "properties": {
            "groups": { "type": "array", "items": { "$ref": "#/components/schemas/Tree" } } } } } });
        let tree = of(&json!({ "$ref": "#/components/schemas/Tree" }), &components, "", Side::Answer);
        assert_eq!(tree, json!({ "groups": [{ "groups": [{ "groups": [] }] }] }));
    }
}
