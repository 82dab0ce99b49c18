//! One operation: its parameters, and the answers that its annotation does not name.

use axum::http::Method;
use serde_json::{Map, Value, json};

use super::shared::{PAGES, SHARED, add_headers};
use crate::middleware::Manner;

/// The bodies of the legacy shape (contract, Errors) belong to these operations alone, beside the envelope.
const LEGACY: [&str; 8] = [
    "upsertContact",
    "createTemplate",
    "createSegment",
    "createWorkflow",
    "addStep",
    "insertStep",
    "addTransition",
    "startExecution",
];

/// What opens an operation.
pub(super) struct Opens {
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

    pub(super) fn anything(&self) -> bool {
        self.key || self.session
    }
}

/// Names of path parameters that are identifiers.
const IDS: [&str; 8] =
    ["id", "jobId", "contactId", "projectId", "userId", "keyId", "invitationId", "sessionId"];

/// Says which form identifiers in a path and keys in a header have, and what becomes of numbers in a query that are out
/// of their bounds. What recipients' links carry is no identifier.
fn describe_parameters(operation: &mut Value) {
    let is_for_recipients = operation["tags"][0] == "Recipients";
    for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
        let is_id = parameter["name"].as_str().is_some_and(|name| IDS.contains(&name));
        if parameter["in"] == "path" && is_id && !is_for_recipients {
            parameter["schema"]["format"] = "uuid".into();
        }
        if parameter["name"] == "Idempotency-Key" {
            parameter["schema"] = json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$" });
        }
        if parameter["in"] == "query" {
            describe_bounds(parameter);
        }
    }
}

/// Lists are read leniently (contract, Endpoints), which a schema cannot say.
fn describe_bounds(parameter: &mut Value) {
    let schema = &parameter["schema"];
    let told = parameter["description"].as_str().unwrap_or_default();
    let text = if let (Some(most), Some(default)) = (schema["maximum"].as_i64(), schema["default"].as_i64()) {
        format!(
            "{told}: 1 to {most}, default {default}. A greater number counts as {most}, a negative one as 1; \
             0 and text that is no number count as the default."
        )
    } else if let (Some(names), Some(default)) = (schema["enum"].as_array(), schema["default"].as_str()) {
        let names = names.iter().filter_map(Value::as_str).map(|name| format!("`{name}`"));
        let names = names.collect::<Vec<_>>().join(", ");
        format!("{told}: {names}. Default `{default}`, also for any other value.")
    } else {
        return;
    };
    parameter["description"] = text.into();
}

/// How an operation is reached, and what it takes.
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub(super) struct Traits {
    pub(super) opens: Opens,
    manner: Manner,
    /// The project is named by a header, where a session opens it.
    project_in_header: bool,
    /// Requests are counted by project or person.
    is_limited: bool,
    /// It reads a body, and fails when it cannot.
    takes_body: bool,
    /// It answers with pages for people, also when it fails.
    shows_pages: bool,
    /// Its path names something that there has to be. Whoever removes fields and events may name some that are gone.
    names_something: bool,
    takes_json: bool,
    has_campaign_id: bool,
    id: String,
}

impl Traits {
    pub(super) fn of(method: &str, path: &str, operation: &Value) -> Self {
        let opens = Opens::of(operation);
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap_or_default();
        let content = &operation["requestBody"]["content"];
        let manner = Manner::of(&method, path);
        let is_read =
            ["application/json", "multipart/form-data"].iter().any(|kind| content.get(kind).is_some());
        let names_project = path.contains("/projects/{id}") || path.contains("{projectId}");
        // no key opens these, and yet they are about a project
        let erases = path.starts_with("/erasures") || path.ends_with("/erase") || path == "/held/decide";
        Self {
            project_in_header: (opens.key || erases) && opens.session && !names_project,
            is_limited: opens.key || opens.session,
            // what recipients send counts as empty when it cannot be read
            takes_body: is_read && !manner.is_for_recipients,
            manner,
            // what a key opens is for programs, and pages of its answers are what they asked for
            shows_pages: !opens.key && operation["responses"]["200"]["content"].get("text/html").is_some(),
            names_something: path.contains('{')
                && !(method == Method::DELETE
                    && (path.ends_with("{field}") || path.ends_with("{eventName}"))),
            takes_json: content.get("application/json").is_some(),
            has_campaign_id: path.starts_with("/campaigns/{id}"),
            id: operation["operationId"].as_str().unwrap_or_default().to_owned(),
            opens,
        }
    }

    /// The statuses with which the middleware, the check of the credential and the reading of the body can answer.
    fn statuses(&self) -> Vec<&'static str> {
        let mut statuses = vec!["414", "431", "500", "503"];
        let mut when = |is_so: bool, more: &[&'static str]| {
            if is_so {
                statuses.extend(more);
            }
        };
        when(self.opens.anything(), &["401", "403"]);
        when(self.manner.minds_its_host(), &["421"]);
        when(self.is_limited || self.manner.is_counted, &["429"]);
        when(self.takes_body, &["400", "408", "413"]);
        // a form that cannot be read is refused with 400
        when(self.takes_body && self.takes_json, &["422"]);
        when(self.project_in_header, &["400"]);
        when(self.names_something, &["404"]);
        // the form of these ids is part of the contract
        when(self.has_campaign_id, &["422"]);
        statuses
    }
}

pub(super) fn operation_of(method: &str, path: &str, operation: &mut Value) {
    describe_parameters(operation);
    let traits = Traits::of(method, path, operation);
    if traits.project_in_header {
        let parameters = operation["parameters"].take();
        let mut parameters = parameters.as_array().cloned().unwrap_or_default();
        parameters.push(json!({ "$ref": "#/components/parameters/ProjectId" }));
        operation["parameters"] = parameters.into();
    }
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    for status in traits.statuses() {
        if !responses.contains_key(status)
            && let Some((name, ..)) = SHARED.iter().find(|(_, of, _)| *of == status)
        {
            let is_page = traits.shows_pages && PAGES.contains(&status);
            let name = if is_page { format!("{name}Page") } else { (*name).to_owned() };
            responses.insert(status.into(), json!({ "$ref": format!("#/components/responses/{name}") }));
        }
    }
    for (status, response) in responses.iter_mut() {
        response_of(status, response, &traits);
    }
}

fn response_of(status: &str, response: &mut Value, traits: &Traits) {
    let Some(response) = response.as_object_mut().filter(|response| !response.contains_key("$ref")) else {
        return;
    };
    let told = response.get("description").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if !told {
        let shared = SHARED.iter().find(|(_, of, _)| *of == status).map_or("Done", |(.., text)| text);
        response.insert("description".into(), shared.into());
    }
    if status == "400" && LEGACY.contains(&traits.id.as_str()) {
        let either = json!({ "oneOf": [
            { "$ref": "#/components/schemas/LegacyError" }, { "$ref": "#/components/schemas/ErrorEnvelope" },
        ] });
        response.insert("content".into(), json!({ "application/json": { "schema": either } }));
    }
    let headers = response.entry("headers").or_insert_with(|| json!({}));
    add_headers(headers, status, traits.is_limited || (status == "429" && traits.manner.is_counted));
}
