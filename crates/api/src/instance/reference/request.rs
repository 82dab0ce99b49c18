//! A request that can be sent as it is: the operation with its example values.

use mailwright_app::settings::BaseUrl;
use serde_json::Value;

use super::model::{Body, Operation, Parameter};
use super::shape::plain_text;

/// Parameters of a query that are part of the example though they can be left out: the links that people open carry
/// them.
const IN_LINKS: [&str; 3] = ["token", "code", "state"];

/// The header that names the project of a request with a session.
pub(super) const PROJECT: &str = "X-Project-Id";

/// What a request is sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credential {
    /// A key, from the environment variable `API_KEY`.
    Key,
    /// A session, from the environment variable `SESSION`, in the cookie of this name.
    Session(String),
    Nothing,
}

/// What a request carries.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Payload {
    Nothing,
    Json(Value),
    /// Names and values of a form.
    Form(Vec<(String, String)>),
    /// A file, in the field of this name.
    File(String),
}

/// Name and type of the file that an example puts into a field.
pub(super) fn example_file(field: &str) -> (&'static str, &'static str) {
    if field == "image" { ("logo.png", "image/png") } else { ("contacts.csv", "text/csv") }
}

/// One request, in no language yet.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) credential: Credential,
    /// The id of the project, for a session.
    pub(super) project: Option<String>,
    pub(super) payload: Payload,
    /// Whether the answer is JSON.
    pub(super) answers_json: bool,
}

/// What the examples name of the instance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Instance<'a> {
    pub(super) base_url: &'a BaseUrl,
    pub(super) cookie: &'a str,
}

impl Request {
    /// The example of an operation.
    pub(super) fn of(operation: &Operation, instance: Instance<'_>) -> Self {
        let callers = operation.callers;
        let credential = match () {
            () if callers.key() => Credential::Key,
            () if callers.session && !callers.nobody => Credential::Session(instance.cookie.to_owned()),
            () => Credential::Nothing,
        };
        let named = operation.parameters.iter().find(|parameter| parameter.name == PROJECT);
        let is_session = matches!(credential, Credential::Session(_));
        let success = operation.answers.iter().find(|answer| answer.status.starts_with('2'));
        Self {
            method: operation.method.clone(),
            url: instance.base_url.link(&path_and_query(operation)),
            credential,
            project: named.filter(|_| is_session).map(|parameter| parameter.example.clone()),
            payload: operation.bodies.first().map_or(Payload::Nothing, payload),
            answers_json: success
                .is_some_and(|answer| answer.bodies.iter().any(|body| body.media == "application/json")),
        }
    }
}

fn path_and_query(operation: &Operation) -> String {
    let mut path = operation.path.clone();
    for parameter in operation.parameters.iter().filter(|parameter| parameter.place == "path") {
        path = path.replace(&format!("{{{}}}", parameter.name), &percent(&parameter.example));
    }
    let wanted = |parameter: &&Parameter| {
        parameter.place == "query" && (parameter.required || IN_LINKS.contains(&parameter.name.as_str()))
    };
    let mut query = form_urlencoded::Serializer::new(String::new());
    for parameter in operation.parameters.iter().filter(wanted) {
        query.append_pair(&parameter.name, &parameter.example);
    }
    let query = query.finish();
    if query.is_empty() { path } else { format!("{path}?{query}") }
}

/// A text as a segment of a path.
fn percent(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn payload(body: &Body) -> Payload {
    let members = || body.example.as_object().into_iter().flatten();
    match body.media.as_str() {
        "application/json" => Payload::Json(body.example.clone()),
        "multipart/form-data" => {
            let file = members().next().map_or("file", |(name, _)| name.as_str());
            Payload::File(file.to_owned())
        }
        _ if members().next().is_none() => Payload::Nothing,
        _ => Payload::Form(members().map(|(name, value)| (name.clone(), plain_text(value))).collect()),
    }
}
