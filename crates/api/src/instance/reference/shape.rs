//! The shape of a body, as a person reads it: what a JSON schema says, without its references and conditions.

use serde_json::Value;

/// What a value may be.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// Its type in words, such as `string (email)` or `array of object`.
    pub(super) kind: String,
    /// Whether it can be null.
    pub(super) nullable: bool,
    pub(super) about: String,
    /// What bounds it, in words.
    pub(super) limits: Vec<String>,
    /// All that it can be, where these are few.
    pub(super) values: Vec<String>,
    /// The members of an object, or of the elements of an array.
    pub(super) fields: Vec<Field>,
    /// What it can be instead, each with members of its own.
    pub(super) choices: Vec<Self>,
    /// The type that it repeats: it is within a value of the same type, which is described further out.
    pub(super) repeats: Option<String>,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) shape: Shape,
}

impl Shape {
    /// Reads a schema of the document.
    pub(super) fn of(schema: &Value, components: &Value) -> Self {
        read(schema, components, &mut Vec::new())
    }
}

/// What a reference leads to, with its name; or the part itself.
pub(super) fn resolved<'d>(part: &'d Value, components: &'d Value) -> (Option<&'d str>, &'d Value) {
    let path = part["$ref"].as_str().and_then(|path| path.strip_prefix("#/components"));
    let found = path.and_then(|path| components.pointer(path));
    match (path, found) {
        (Some(path), Some(found)) => (path.rsplit('/').next(), found),
        _ => (None, part),
    }
}

fn read(schema: &Value, components: &Value, within: &mut Vec<String>) -> Shape {
    let (name, target) = resolved(schema, components);
    let Some(name) = name else { return read_inline(schema, components, within) };
    let own = schema["description"].as_str();
    if within.iter().any(|outer| outer == name) {
        let about = own.unwrap_or_default().to_owned();
        return Shape { kind: "object".into(), about, repeats: Some(name.to_owned()), ..Shape::default() };
    }
    within.push(name.to_owned());
    let mut shape = read_inline(target, components, within);
    within.pop();
    if let Some(own) = own {
        own.clone_into(&mut shape.about);
    }
    shape
}

fn read_inline(schema: &Value, components: &Value, within: &mut Vec<String>) -> Shape {
    let mut shape = match alternatives(schema) {
        Some(alternatives) => any_of(alternatives, components, within),
        None => plain(schema, components, within),
    };
    if let Some(about) = schema["description"].as_str() {
        about.clone_into(&mut shape.about);
    }
    shape
}

/// The alternatives of a schema that says nothing else. Beside members of its own, alternatives are conditions on these,
/// and the descriptions say them better.
fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    if schema.get("properties").is_some() || schema.get("type").is_some() {
        return None;
    }
    ["oneOf", "anyOf"].iter().find_map(|key| schema[key].as_array())
}

fn any_of(alternatives: &[Value], components: &Value, within: &mut Vec<String>) -> Shape {
    let is_null = |schema: &&Value| schema["type"] == "null";
    let nullable = alternatives.iter().any(|schema| is_null(&schema));
    let mut shapes: Vec<Shape> = alternatives
        .iter()
        .filter(|schema| !is_null(schema))
        .map(|schema| read(schema, components, within))
        .collect();
    if shapes.len() == 1 {
        let shape = shapes.remove(0);
        return Shape { nullable: nullable || shape.nullable, ..shape };
    }
    let kinds: Vec<&str> = shapes.iter().map(|shape| shape.kind.as_str()).collect();
    Shape { kind: kinds.join(" or "), nullable, choices: shapes, ..Shape::default() }
}

fn plain(schema: &Value, components: &Value, within: &mut Vec<String>) -> Shape {
    let (mut kind, nullable) = kind(schema);
    let mut fields = fields(schema, components, within);
    let mut choices = Vec::new();
    let mut repeats = None;
    let mut limits = limits(schema);
    if let Some(element) = schema.get("items") {
        let element = read(element, components, within);
        kind = match element.choices.len() {
            0 => format!("array of {}", element.kind),
            _ => format!("array of ({})", element.kind),
        };
        limits.extend(element.limits.iter().map(|limit| format!("each {limit}")));
        (fields, choices, repeats) = (element.fields, element.choices, element.repeats);
    } else if let Some(member) = schema.get("additionalProperties").filter(|member| member.is_object())
        && fields.is_empty()
    {
        let member = read(member, components, within);
        if member.kind != "any" {
            kind = format!("object of {}", member.kind);
        }
    }
    let values = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    let values = values.filter(|value| !value.is_null()).map(plain_text).collect();
    Shape { kind, nullable, limits, values, fields, choices, repeats, about: String::new() }
}

/// A value as a person writes it: texts without quotation marks.
pub(super) fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The type in words, and whether it can be null.
fn kind(schema: &Value) -> (String, bool) {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ if schema.get("properties").is_some() || schema.get("allOf").is_some() => vec!["object"],
        _ if schema.get("enum").is_some() || schema.get("const").is_some() => vec!["string"],
        _ => vec!["any"],
    };
    let nullable = types.contains(&"null");
    let mut kind = types.into_iter().filter(|kind| *kind != "null").collect::<Vec<_>>().join(" or ");
    let shown = ["email", "uuid", "date-time", "date", "binary", "uri"];
    if let Some(format) = schema["format"].as_str().filter(|format| shown.contains(format)) {
        kind = format!("{kind} ({format})");
    }
    (kind, nullable)
}

/// The members of an object, also of one that is put together from parts; those that are required come first.
fn fields(schema: &Value, components: &Value, within: &mut Vec<String>) -> Vec<Field> {
    let mut found = Vec::new();
    if schema.get("properties").is_none() {
        for part in schema["allOf"].as_array().into_iter().flatten() {
            found.extend(read(part, components, within).fields);
        }
    }
    let is_required = |name: &str| {
        let required = schema["required"].as_array().into_iter().flatten();
        required.filter_map(Value::as_str).any(|required| required == name)
    };
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let mut shape = read(member, components, within);
        // a member that has a type under a condition only
        if let Some(typed) = conditional(schema, name).filter(|_| shape.kind == "any") {
            shape = Shape { about: shape.about, ..read(typed, components, within) };
        }
        found.push(Field { name: name.clone(), required: is_required(name), shape });
    }
    found.sort_by_key(|field| !field.required);
    found
}

/// What a condition says that a member is.
fn conditional<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let branches = schema["anyOf"].as_array().into_iter().flatten().chain(schema.get("then"));
    branches.map(|branch| &branch["properties"][name]).find(|member| member.get("$ref").is_some())
}

/// What bounds a value, in words.
fn limits(schema: &Value) -> Vec<String> {
    let number = |key: &str| schema[key].as_i64();
    let between = |least: Option<i64>, most: Option<i64>, what: &str| match (least, most) {
        (Some(least), Some(most)) if least == most => Some(format!("{}{what}", grouped(most))),
        (Some(least), Some(most)) if least > 0 => {
            Some(format!("{} to {}{what}", grouped(least), grouped(most)))
        }
        (_, Some(most)) => Some(format!("at most {}{what}", grouped(most))),
        (Some(least), None) if least > 0 => Some(format!("at least {}{what}", grouped(least))),
        _ => None,
    };
    let range = match (number("minimum"), number("maximum")) {
        (Some(least), Some(most)) => Some(format!("{} to {}", grouped(least), grouped(most))),
        (Some(least), None) => Some(format!("at least {}", grouped(least))),
        (None, most) => most.map(|most| format!("at most {}", grouped(most))),
    };
    let default = schema.get("default").map(|default| format!("default {}", plain_text(default)));
    [
        between(number("minLength"), number("maxLength"), " characters"),
        between(number("minItems"), number("maxItems"), " elements"),
        between(number("minProperties"), number("maxProperties"), " members"),
        range,
        default,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A number with its thousands apart.
pub(super) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (40_000_000, "40,000,000"), (-1234, "-1,234")]
        {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_schema_is_read_through_its_references() {
        let components = json!({ "schemas": {
            "Email": { "type": "string", "format": "email", "maxLength": 254 },
            "Tree": { "type": "object", "required": ["groups"], "properties": {
                "depth": { "type": ["integer", "null"], "minimum": 1, "maximum": 1000 },
                "groups": { "type": "array", "minItems": 1, "items": { "$ref": "#/components/schemas/Tree" } },
                "owner": { "oneOf": [{ "$ref": "#/components/schemas/Email", "description": "Whose it is." }, { "type": "null" }] },
            } },
        } });
        let shape = Shape::of(&json!({ "$ref": "#/components/schemas/Tree" }), &components);
        let names: Vec<&str> = shape.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["groups", "depth", "owner"], "what is required comes first");
        let [groups, depth, owner] = &shape.fields[..] else { panic!("three") };
        assert_eq!(
            (groups.shape.kind.as_str(), groups.shape.repeats.as_deref()),
            ("array of object", Some("Tree"))
        );
        assert_eq!((depth.shape.nullable, depth.shape.limits.join(", ")), (true, "1 to 1,000".into()));
        assert_eq!((owner.shape.kind.as_str(), owner.shape.nullable), ("string (email)", true));
        assert_eq!(
            (owner.shape.about.as_str(), owner.shape.limits.join(", ")),
            ("Whose it is.", "at most 254 characters".into())
        );
    }

    #[test]
    fn conditions_on_members_are_no_alternatives() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } },
            "anyOf": [{ "required": ["a"] }, { "properties": { "b": {} } }] });
        let shape = Shape::of(&schema, &json!({}));
        assert!(shape.choices.is_empty());
        assert_eq!(shape.fields.len(), 1);
        let components = json!({ "schemas": { "Tree": { "type": "object" } } });
        let schema = json!({ "type": "object", "properties": { "tree": { "description": "Needed then." } },
            "then": { "properties": { "tree": { "$ref": "#/components/schemas/Tree" } } } });
        let shape = Shape::of(&schema, &components);
        assert_eq!(
            (shape.fields[0].shape.kind.as_str(), shape.fields[0].shape.about.as_str()),
            ("object", "Needed then.")
        );
    }
}
