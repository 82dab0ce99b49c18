//! The API document as a whole: the annotations of the operations, and what all operations have in common.
//!
//! Some answers come from the middleware and not from a handler: a missing credential, a body that is no JSON, a
//! request beyond the limit. They are added here for every operation that can give them, so no annotation can forget
//! one.

mod conditions;

use std::collections::BTreeSet;

use axum::http::Method;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use self::conditions::conditions;
use crate::middleware::Manner;

/// The shared answers: name, status and what it means.
const SHARED: [(&str, &str, &str); 13] = [
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
    ("TooSlow", "408", "The request body took too long to arrive"),
    ("TooLarge", "413", "The request body is larger than this endpoint takes"),
    ("PathTooLong", "414", "Path and query are longer than any that the service takes"),
    ("Misdirected", "421", "The service is not known under the name that the request was sent to"),
    ("Invalid", "422", "The request is not valid; `errors` names every failing field"),
    ("RateLimited", "429", "Too many requests, or too many of this kind"),
    ("HeaderTooLarge", "431", "The header of the request is larger than the service takes"),
    ("Failed", "500", "The service made a mistake, which is in its log under the request's id"),
    ("Unavailable", "503", "The service cannot do this now, and may soon"),
];

/// Where these happen to who wants a page, the answer is a page; from the frame itself it is the envelope.
const PAGES: [&str; 3] = ["429", "500", "503"];

/// Answers to what is no request yet: they have neither a body nor a request's id.
const BARE: [&str; 2] = ["414", "431"];

/// The bodies of the legacy shape (contract, Errors) belong to these operations alone, beside the envelope.
const LEGACY: [&str; 3] = ["upsertContact", "createTemplate", "createSegment"];

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

/// A body can be left out where it counts as `{}`, and that is as good as any other.
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

/// Says which form identifiers in a path and keys in a header have, and what becomes of numbers in a query that are out of
/// their bounds. What recipients' links carry is no identifier.
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
            "{told}: 1 to {most}, default {default}. More counts as {most}, less than 0 as 1, and 0 and what is no number as the default."
        )
    } else if let (Some(names), Some(default)) = (schema["enum"].as_array(), schema["default"].as_str()) {
        let names = names.iter().filter_map(Value::as_str).map(|name| format!("`{name}`"));
        let names = names.collect::<Vec<_>>().join(", ");
        format!("{told}: {names}; default `{default}`, and anything else counts as that.")
    } else {
        return;
    };
    parameter["description"] = text.into();
}

/// How an operation is reached, and what it takes.
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
struct Traits {
    opens: Opens,
    manner: Manner,
    /// The project is named by a header, where a session opens it.
    project_in_header: bool,
    /// Requests are counted by project.
    is_limited: bool,
    /// It reads a body, and fails when it cannot.
    takes_body: bool,
    /// It answers with pages for people, also when it fails.
    shows_pages: bool,
    has_path_parameter: bool,
    has_campaign_id: bool,
    id: String,
}

impl Traits {
    fn of(method: &str, path: &str, operation: &Value) -> Self {
        let opens = Opens::of(operation);
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap_or_default();
        let content = &operation["requestBody"]["content"];
        let manner = Manner::of(&method, path);
        let is_read =
            ["application/json", "multipart/form-data"].iter().any(|kind| content.get(kind).is_some());
        let names_project = path.contains("/projects/{id}") || path.contains("{projectId}");
        Self {
            project_in_header: opens.key && opens.session && !names_project,
            is_limited: opens.key || (opens.session && names_project),
            // what recipients send counts as empty when it cannot be read
            takes_body: is_read && !manner.is_for_recipients,
            manner,
            shows_pages: operation["responses"]["200"]["content"].get("text/html").is_some(),
            has_path_parameter: path.contains('{'),
            has_campaign_id: path.starts_with("/campaigns/{id}"),
            id: operation["operationId"].as_str().unwrap_or_default().to_owned(),
            opens,
        }
    }

    /// What the frame, the credential and the reading of the body can answer.
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
        when(self.takes_body, &["400", "408", "413", "422"]);
        when(self.project_in_header, &["400"]);
        when(self.has_path_parameter, &["404"]);
        // the form of these ids is part of the contract
        when(self.has_campaign_id, &["422"]);
        statuses
    }
}

fn operation_of(method: &str, path: &str, operation: &mut Value) {
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

fn add_headers(headers: &mut Value, status: &str, limited: bool) {
    if BARE.contains(&status) {
        return;
    }
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
    let number = |what: &str| json!({ "description": what, "schema": { "type": "integer", "minimum": 0 } });
    components["headers"] = json!({
        "X-Request-ID": {
            "description": "Identifier of the request: the client's own, where it sent one of up to 128 characters \
                            of `A-Z a-z 0-9 - _ . :`",
            "schema": { "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9_.:-]+$" },
        },
        "RateLimit-Limit": number("Requests a minute"),
        "RateLimit-Remaining": number("Requests left in this window"),
        "RateLimit-Reset": number("Seconds until the next window"),
        "Retry-After": number("Seconds to wait before the next try"),
    });
    components["parameters"] = json!({
        "ProjectId": {
            "name": "X-Project-Id", "in": "header", "required": false,
            "description": "The id of the project that the request is about. Needed with a session. A key has its own \
                            project, and this is not looked at.",
            "schema": { "type": "string", "format": "uuid" },
        },
    });
    let envelope = json!({ "schema": { "$ref": "#/components/schemas/ErrorEnvelope" } });
    let page = json!({ "schema": { "type": "string" } });
    let mut responses = Map::new();
    for (name, status, what) in SHARED {
        let mut headers = json!({});
        add_headers(&mut headers, status, status == "429");
        let mut response = json!({ "description": what, "headers": headers });
        if !BARE.contains(&status) {
            response["content"] = json!({ "application/json": envelope });
        }
        if PAGES.contains(&status) {
            let mut shown = response.clone();
            shown["content"]["text/html"] = page.clone();
            responses.insert(format!("{name}Page"), shown);
        }
        responses.insert(name.into(), response);
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
            let (method, path) = name.split_once(' ').unwrap();
            let traits = Traits::of(method, path, &operation);
            let opens = &traits.opens;
            assert_eq!(opens.anything(), has("401") && operation["security"] != json!([{}]), "{name}: 401");
            for (status, response) in operation["responses"].as_object().unwrap() {
                let referred = response.get("$ref").is_some();
                let told = response["description"].as_str().is_some_and(|text| !text.is_empty());
                assert!(referred || told, "{name}: {status} has no description");
            }
        }
    }

    #[test]
    fn what_the_frame_answers_depends_on_where_a_request_goes() {
        let document = document();
        let statuses = |path: &str, method: &str| {
            let responses = document["paths"][path][method]["responses"].as_object().unwrap();
            let named: BTreeSet<&str> = responses.keys().map(String::as_str).collect();
            named.into_iter().collect::<Vec<_>>().join(" ")
        };
        for (path, method, expected) in [
            ("/health", "get", "200 414 431 500 503"),
            ("/config", "get", "200 414 421 429 431 500 503"),
            ("/unsubscribe/{id}", "get", "200 404 414 431 500 503"),
            ("/unsubscribe/{id}", "post", "200 404 414 431 500 503"),
            ("/users/@me", "get", "200 401 403 414 421 431 500 503"),
            ("/users/@me/projects/{id}", "patch", "200 400 401 403 404 408 413 414 421 422 429 431 500 503"),
            ("/contacts/{id}", "get", "200 400 401 403 404 414 421 429 431 500 503"),
            ("/v1/track", "post", "200 400 401 403 408 409 413 414 421 422 429 431 500 503"),
        ] {
            assert_eq!(statuses(path, method), expected, "{method} {path}");
        }
    }

    /// These refuse what comes from other sites, whatever credential there is.
    #[test]
    fn who_signs_people_in_or_out_says_that_other_sites_cannot() {
        let document = document();
        let responses: Vec<_> = operations(&document)
            .into_iter()
            .map(|(_, operation)| (operation["operationId"].clone(), operation["responses"].clone()))
            .collect();
        let mut found = 0;
        for (file, text) in crate::tests::sources() {
            let handlers = text.split("operation_id = \"").skip(1);
            for handler in handlers.filter(|text| {
                let signature = text.split("async fn").nth(1).and_then(|rest| rest.split(" {\n").next());
                signature.is_some_and(|signature| signature.contains("_: SameSite"))
            }) {
                let id = handler.split('"').next().unwrap();
                let (_, given) = responses.iter().find(|(name, _)| name == id).unwrap();
                assert!(given.get("403").is_some(), "{file}: {id}");
                found += 1;
            }
        }
        assert_eq!(found, 7);
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
            let schema = &document["components"]["schemas"][name];
            assert!(schema["type"].is_string() || schema["oneOf"].is_array(), "{name}");
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
