//! The API document as a whole: what the operations' own annotations say, and what all of them have in common.
//!
//! A credential that is missing, a body that is no JSON, a request beyond the limit: such answers come from the frame, not
//! from a handler. They are added here for every operation that can give them, so that no annotation can forget one.

use std::collections::BTreeSet;

use mailwright_core::{custom_data, filter};
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use crate::resources::{contact, segment};

/// The shared answers: name, status and what it means.
const SHARED: [(&str, &str, &str); 9] = [
    (
        "BadRequest",
        "400",
        "The request cannot be understood: a body that is no JSON, a header that is missing",
    ),
    (
        "Unauthorized",
        "401",
        "The credential is missing, unknown, or not of the kind that this endpoint takes",
    ),
    ("Forbidden", "403", "The credential does not allow this, or the project is disabled"),
    ("NotFound", "404", "There is no such thing in this project"),
    ("TooLarge", "413", "The request body is larger than this endpoint takes"),
    ("Invalid", "422", "The request is not valid; `errors` names every failing field"),
    ("RateLimited", "429", "Too many requests, or too many of this kind"),
    ("Failed", "500", "The service made a mistake, which is in its log under the request's id"),
    ("Unavailable", "503", "The service cannot do this now, and may soon"),
];

/// The bodies of the legacy shape (contract, Errors) belong to these operations alone, beside the envelope.
const LEGACY: [&str; 3] = ["upsertContact", "createTemplate", "createSegment"];

/// The document, completed; `base_url` is where this instance is reached.
pub(crate) fn complete(document: &OpenApi, base_url: &str) -> Value {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    document["servers"] = json!([{ "url": base_url }]);
    let mut used = BTreeSet::new();
    for (path, item) in entries(&mut document["paths"]) {
        for (_, operation) in entries(item) {
            operation_of(path, operation);
        }
    }
    for (name, condition) in conditions() {
        merge(&mut document["components"]["schemas"][name], condition);
    }
    add_shared(&mut document["components"]);
    collect(&document["paths"], &document["components"], &mut used);
    collect(&document["components"]["responses"], &document["components"], &mut used);
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| used.contains(name));
    }
    document
}

/// What the types of fields do not say: which fields need each other, and how many of something there are.
fn conditions() -> Vec<(&'static str, Value)> {
    let is = |field: &str, value: &str| json!({ "required": [field], "properties": { field: { "const": value } } });
    let has =
        |field: &str, kind: &str| json!({ "required": [field], "properties": { field: { "type": kind } } });
    let audience = json!({ "allOf": [
        { "if": is("audienceType", "FILTERED"), "then": has("audienceCondition", "object") },
        { "if": is("audienceType", "SEGMENT"), "then": has("segmentId", "string") },
    ] });
    let addresses = |most: usize| json!({ "properties": { "emails": { "minItems": 1, "maxItems": most } } });
    vec![
        (
            "SendRequest",
            json!({ "anyOf": [has("template", "string"), { "allOf": [
                has("subject", "string"), has("body", "string"),
                { "required": ["from"], "properties": { "from": { "type": ["string", "object"] } } },
            ] }] }),
        ),
        ("CreateCampaignRequest", audience),
        (
            "CreateSegmentRequest",
            json!({ "if": is("type", "STATIC"), "then": {}, "else": has("condition", "object") }),
        ),
        (
            "InternalTrack",
            json!({ "allOf": [
                { "anyOf": [has("email", "string"), has("contactId", "string")] },
                { "anyOf": [has("event", "string"), has("name", "string")] },
            ] }),
        ),
        ("LookupRequest", addresses(contact::MAX_LOOKUP)),
        ("AddMembersRequest", addresses(segment::MAX_EMAILS)),
        ("RemoveRequest", addresses(segment::MAX_EMAILS)),
        (
            "DataObject",
            json!({
                "maxProperties": custom_data::MAX_KEYS,
                "propertyNames": { "minLength": 1, "maxLength": custom_data::MAX_KEY, "pattern": r"^[^\u0000]*$" },
            }),
        ),
        (
            "UpdateSegmentRequest",
            json!({ "properties": { "condition": { "oneOf": [{ "$ref": "#/components/schemas/FilterTree" }] } } }),
        ),
        ("FilterTree", json!({ "properties": { "groups": { "minItems": 1 } } })),
        (
            "FilterGroup",
            json!({ "anyOf": [{ "properties": { "filters": { "minItems": 1 } } }, has("conditions", "object")] }),
        ),
        (
            "DomainText",
            json!({ "pattern": r"^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}\.?$" }),
        ),
        ("MailboxText", json!({ "pattern": crate::text::MAILBOX })),
        (
            "Filter",
            json!({ "properties": {
                "operator": { "enum": filter::operator_names().collect::<Vec<_>>() },
                "unit": { "enum": ["days", "hours", "minutes", null] },
            } }),
        ),
    ]
}

/// Puts the members of one object into another.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn entries(value: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    value.as_object_mut().into_iter().flatten()
}

/// What opens an operation.
struct Opens {
    key: bool,
    session: bool,
}

impl Opens {
    fn of(operation: &Value) -> Self {
        let schemes: Vec<&String> = operation["security"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .flat_map(Map::keys)
            .collect();
        let any = |wanted: &[&str]| schemes.iter().any(|name| wanted.contains(&name.as_str()));
        Self { key: any(&["secretKey", "publicKey"]), session: any(&["session"]) }
    }

    fn anything(&self) -> bool {
        self.key || self.session
    }
}

/// Names of path parameters that are identifiers.
const IDS: [&str; 8] =
    ["id", "jobId", "contactId", "projectId", "userId", "keyId", "invitationId", "sessionId"];

/// Says which form identifiers in a path and keys in a header have. What recipients' links carry is no identifier.
fn identify(operation: &mut Value) {
    if operation["tags"][0] == "Recipients" {
        return;
    }
    for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
        let is_id = parameter["name"].as_str().is_some_and(|name| IDS.contains(&name));
        if parameter["in"] == "path" && is_id {
            parameter["schema"]["format"] = "uuid".into();
        }
        if parameter["name"] == "Idempotency-Key" {
            parameter["schema"] = json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$" });
        }
    }
}

fn operation_of(path: &str, operation: &mut Value) {
    identify(operation);
    let opens = Opens::of(operation);
    let takes_body = operation.get("requestBody").is_some();
    let project_in_header = opens.key && opens.session && !path.contains("/project");
    if project_in_header {
        let parameters = operation["parameters"].take();
        let mut parameters = parameters.as_array().cloned().unwrap_or_default();
        parameters.push(json!({ "$ref": "#/components/parameters/ProjectId" }));
        operation["parameters"] = parameters.into();
    }
    let mut statuses = vec!["500", "503"];
    if opens.anything() {
        statuses.extend(["401", "403"]);
    }
    if opens.key {
        statuses.push("429");
    }
    if takes_body {
        statuses.extend(["400", "413", "422"]);
    } else if project_in_header {
        statuses.push("400");
    }
    if path.starts_with("/campaigns/{id}") {
        // the form of these ids is part of the contract
        statuses.push("422");
    }
    let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    for status in statuses {
        if !responses.contains_key(status)
            && let Some((name, ..)) = SHARED.iter().find(|(_, of, _)| *of == status)
        {
            responses.insert(status.into(), json!({ "$ref": format!("#/components/responses/{name}") }));
        }
    }
    for (status, response) in responses.iter_mut() {
        response_of(status, response, &opens, &id);
    }
}

fn response_of(status: &str, response: &mut Value, opens: &Opens, operation: &str) {
    let Some(response) = response.as_object_mut().filter(|response| !response.contains_key("$ref")) else {
        return;
    };
    let told = response.get("description").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if !told {
        let shared = SHARED.iter().find(|(_, of, _)| *of == status).map_or("Done", |(.., text)| text);
        response.insert("description".into(), shared.into());
    }
    if status == "400" && LEGACY.contains(&operation) {
        let either = json!({ "oneOf": [
            { "$ref": "#/components/schemas/LegacyError" }, { "$ref": "#/components/schemas/ErrorEnvelope" },
        ] });
        response.insert("content".into(), json!({ "application/json": { "schema": either } }));
    }
    let headers = response.entry("headers").or_insert_with(|| json!({}));
    add_headers(headers, status, opens.key);
}

fn add_headers(headers: &mut Value, status: &str, limited: bool) {
    let mut names = vec!["X-Request-ID"];
    if limited {
        names.extend(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]);
    }
    if matches!(status, "429" | "503") {
        names.push("Retry-After");
    }
    for name in names {
        headers[name] = json!({ "$ref": format!("#/components/headers/{name}") });
    }
}

fn add_shared(components: &mut Value) {
    let number = json!({ "type": "integer", "minimum": 0 });
    components["headers"] = json!({
        "X-Request-ID": {
            "description": "Identifier of the request: the client's own, where it sent one of up to 128 characters \
                            of `A-Z a-z 0-9 - _ . :`",
            "schema": { "type": "string" },
        },
        "RateLimit-Limit": { "description": "Requests a minute", "schema": number },
        "RateLimit-Remaining": { "description": "Requests left in this window", "schema": number },
        "RateLimit-Reset": { "description": "Seconds until the next window", "schema": number },
        "Retry-After": { "description": "Seconds to wait before the next try", "schema": number },
    });
    components["parameters"] = json!({
        "ProjectId": {
            "name": "X-Project-Id", "in": "header", "required": false,
            "description": "The id of the project that the request is about. Needed with a session. A key has its own \
                            project, and this is not looked at.",
            "schema": { "type": "string" },
        },
    });
    let mut responses = Map::new();
    for (name, status, what) in SHARED {
        let mut headers = json!({});
        add_headers(&mut headers, status, false);
        responses.insert(
            name.into(),
            json!({
                "description": what,
                "headers": headers,
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ErrorEnvelope" } } },
            }),
        );
    }
    components["responses"] = responses.into();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        serde_json::from_str(&crate::openapi()).unwrap()
    }

    fn operations(document: &Value) -> Vec<(String, Value)> {
        let items = document["paths"].as_object().unwrap().iter();
        items
            .flat_map(|(path, item)| {
                let methods = item.as_object().unwrap().iter();
                methods.map(move |(method, operation)| (format!("{method} {path}"), operation.clone()))
            })
            .collect()
    }

    #[test]
    fn every_operation_names_what_its_frame_can_answer() {
        let document = document();
        for (name, operation) in operations(&document) {
            let has = |status: &str| operation["responses"].get(status).is_some();
            let opens = Opens::of(&operation);
            assert_eq!(opens.anything(), has("401") && operation["security"] != json!([{}]), "{name}: 401");
            assert!(!opens.anything() || has("403"), "{name}: 403");
            assert!(!opens.key || has("429"), "{name}: 429");
            assert!(
                operation.get("requestBody").is_none() || (has("400") && has("413") && has("422")),
                "{name}"
            );
            for (status, response) in operation["responses"].as_object().unwrap() {
                let referred = response.get("$ref").is_some();
                let told = response["description"].as_str().is_some_and(|text| !text.is_empty());
                assert!(referred || told, "{name}: {status} has no description");
            }
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_schema_is_used() {
        let document = document();
        let mut used = BTreeSet::new();
        collect(&document["paths"], &document["components"], &mut used);
        collect(&document["components"]["responses"], &document["components"], &mut used);
        let schemas: BTreeSet<String> =
            document["components"]["schemas"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(used, schemas);
    }

    /// A condition of a schema that got another name would be left out without a word.
    #[test]
    fn every_condition_is_about_a_schema() {
        let document = document();
        for (name, _) in conditions() {
            assert!(document["components"]["schemas"][name]["type"].is_string(), "{name}");
        }
    }

    /// Two types with one name would be one schema, and the document of one of them wrong.
    #[test]
    fn no_two_types_share_the_name_of_a_schema() {
        let mut names: Vec<(String, String)> = Vec::new();
        for (file, text) in crate::tests::sources() {
            let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
            for block in shipped.split("ToSchema").skip(1) {
                let mut given = None;
                for line in block.lines().skip(1).map(str::trim) {
                    if let Some(rest) = line.split("schema(as = ").nth(1) {
                        given = rest.split([')', ',']).next().map(str::to_owned);
                    }
                    let line = line.trim_start_matches("pub(crate) ");
                    let declared = line.strip_prefix("struct ").or(line.strip_prefix("enum "));
                    if let Some(rest) = declared {
                        let own = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                        names.push((given.take().unwrap_or_else(|| own.to_owned()), file.clone()));
                    }
                    if !line.starts_with("#[") && !line.starts_with("///") && !line.starts_with("reason") {
                        break;
                    }
                }
            }
        }
        assert!(names.len() > 100, "{}", names.len());
        names.sort();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0].0 == pair[1].0).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
