//! What the page shows, read from the API document.

use serde_json::Value;

use super::sample::{self, Side};
use super::shape::{Shape, plain_text, resolved};

/// The groups in the order of the contract, and after it what the contract does not have: tag, title, introduction.
const GROUPS: [(&str, &str, &str); 24] = [
    ("Public API", "Public API", "Sending mail and recording events. These answer with `{success, data}`."),
    (
        "Contacts",
        "Contacts",
        "The people whom a project writes to, their custom fields, imports and bulk operations.",
    ),
    ("Topics", "Topics", "What people can subscribe to, and who is in it."),
    ("Templates", "Templates", "Subjects, bodies and senders to be used again."),
    ("Uploads", "Uploads", "Pictures for mails: uploaded, made safe, and served to everybody."),
    ("Campaigns", "Campaigns", "One mail to many contacts, now or at a time, and what became of it."),
    ("Workflows", "Workflows", "What contacts are led through, step by step, when something happens."),
    ("Segments", "Segments", "Contacts chosen by conditions or by hand."),
    ("Events", "Events", "What happened to contacts: tracked by you, or recorded by the service."),
    ("Activity", "Activity", "Everything that happens in a project, in one feed."),
    ("Analytics", "Analytics", "Figures over time, as JSON or, with `Accept: text/csv`, as CSV."),
    (
        "Suppressions",
        "Suppressions",
        "Addresses and rules that keep mail from being sent, and the mails that were held back.",
    ),
    (
        "Erasure",
        "Export and erasure",
        "Everything that a project has about a person: as a document, and removed for good.",
    ),
    ("Domains", "Domains", "Domains to send from, verified through DNS."),
    ("Emails", "Mails", "The log of every mail with its attempts."),
    (
        "Mailbox",
        "Captured mailbox",
        "Where no mail server is configured, mail is kept here instead of being sent.",
    ),
    ("Service", "Service and configuration", "What this instance offers, and how it is. No key is needed."),
    (
        "Accounts",
        "Accounts and signing in",
        "People: signing up and in, passwords, second factors, sessions.",
    ),
    ("Projects", "Projects", "The projects of who is signed in, their settings, state and audit log."),
    ("Billing", "Billing", "What a project pays, and the limits on how much mail it may have in a month."),
    ("Members", "Members", "Who works in a project, in which role."),
    ("Keys", "Keys", "Keys with scopes of their own."),
    ("Requests", "Requests", "What keys and people asked of a project, and what they were answered."),
    (
        "Recipients",
        "Recipients",
        "What the links in mails lead to. The contact's id in the link is what opens it.",
    ),
];

/// Methods in the order in which one path shows them.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Operations that belong together.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) about: String,
    pub(super) operations: Vec<Operation>,
}

/// One method of one path.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) id: String,
    /// In capitals.
    pub(super) method: String,
    pub(super) path: String,
    pub(super) summary: String,
    pub(super) about: String,
    pub(super) callers: Callers,
    pub(super) parameters: Vec<Parameter>,
    pub(super) bodies: Vec<Body>,
    pub(super) body_required: bool,
    pub(super) body_about: String,
    pub(super) answers: Vec<Answer>,
}

/// What opens an operation.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a credential of its own")]
pub(super) struct Callers {
    pub(super) secret_key: bool,
    pub(super) public_key: bool,
    pub(super) session: bool,
    /// It is open to anybody.
    pub(super) nobody: bool,
}

impl Callers {
    pub(super) fn key(self) -> bool {
        self.secret_key || self.public_key
    }

    fn of(operation: &Value) -> Self {
        let mut callers = Self::default();
        let ways = operation["security"].as_array().map(Vec::as_slice).unwrap_or_default();
        callers.nobody = ways.is_empty();
        for way in ways.iter().filter_map(Value::as_object) {
            callers.nobody |= way.is_empty();
            callers.secret_key |= way.contains_key("secretKey");
            callers.public_key |= way.contains_key("publicKey");
            callers.session |= way.contains_key("session");
        }
        callers
    }
}

/// A parameter in the path, the query or a header.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) place: String,
    pub(super) required: bool,
    pub(super) shape: Shape,
    pub(super) example: String,
}

/// A body of one media type.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) media: String,
    pub(super) shape: Shape,
    pub(super) example: Value,
}

/// An answer with one status.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: String,
    pub(super) about: String,
    pub(super) bodies: Vec<Body>,
}

impl Answer {
    pub(super) fn is_error(&self) -> bool {
        self.status.starts_with(['4', '5'])
    }
}

/// Reads a document; `order` has its paths in the order in which they are shown within a group.
pub(super) fn groups(document: &Value, order: &[String]) -> Vec<Group> {
    let mut groups: Vec<Group> = GROUPS.map(|(_, title, about)| group(title, about)).into();
    groups.push(group("Other", ""));
    for path in order {
        for method in METHODS {
            let operation = &document["paths"][path][method];
            if operation.is_object() {
                let tag = operation["tags"][0].as_str().unwrap_or_default();
                let at = GROUPS.iter().position(|(name, ..)| *name == tag).unwrap_or(GROUPS.len());
                groups[at].operations.push(read(path, method, operation, &document["components"]));
            }
        }
    }
    groups.retain(|group| !group.operations.is_empty());
    groups
}

fn group(title: &str, about: &str) -> Group {
    let id = format!("group-{}", title.to_lowercase().replace(' ', "-"));
    Group { id, title: title.to_owned(), about: about.to_owned(), operations: Vec::new() }
}

fn read(path: &str, method: &str, operation: &Value, components: &Value) -> Operation {
    let word = |key: &str| operation[key].as_str().unwrap_or_default().to_owned();
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let body = &operation["requestBody"];
    let answers = operation["responses"].as_object().into_iter().flatten();
    Operation {
        id: word("operationId"),
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: word("summary"),
        about: word("description"),
        callers: Callers::of(operation),
        parameters: parameters.map(|parameter| parameter_of(parameter, components)).collect(),
        bodies: bodies(body, components, Side::Request),
        body_required: body["required"].as_bool().unwrap_or(false),
        body_about: body["description"].as_str().unwrap_or_default().to_owned(),
        answers: answers.map(|(status, answer)| answer_of(status, answer, components)).collect(),
    }
}

fn parameter_of(parameter: &Value, components: &Value) -> Parameter {
    let (_, parameter) = resolved(parameter, components);
    let word = |key: &str| parameter[key].as_str().unwrap_or_default().to_owned();
    let (name, schema) = (word("name"), &parameter["schema"]);
    let mut shape = Shape::of(schema, components);
    shape.about = word("description");
    // then the description says the bounds, and what becomes of values beyond them
    if shape.about.contains("default") {
        (shape.limits, shape.values) = (Vec::new(), Vec::new());
    }
    let example = sample::of(schema, components, &name, Side::Request);
    Parameter {
        place: word("in"),
        required: parameter["required"].as_bool().unwrap_or(false),
        shape,
        example: plain_text(&example),
        name,
    }
}

fn bodies(holder: &Value, components: &Value, side: Side) -> Vec<Body> {
    let content = holder["content"].as_object().into_iter().flatten();
    content
        .map(|(media, content)| Body {
            media: media.clone(),
            shape: Shape::of(&content["schema"], components),
            example: sample::of(&content["schema"], components, "", side),
        })
        .collect()
}

fn answer_of(status: &str, answer: &Value, components: &Value) -> Answer {
    let (_, answer) = resolved(answer, components);
    let mut about = answer["description"].as_str().unwrap_or_default().to_owned();
    let alternatives =
        answer["content"]["application/json"]["schema"]["oneOf"].as_array().into_iter().flatten();
    if alternatives.filter_map(|schema| schema["$ref"].as_str()).any(|path| path.ends_with("/LegacyError")) {
        about.push_str(". The body can be `{error: message}`");
    }
    // errors all have one shape, which the page describes once
    let is_error = status.starts_with(['4', '5']);
    let bodies = if is_error { Vec::new() } else { bodies(answer, components, Side::Answer) };
    Answer { status: status.to_owned(), about, bodies }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_in_a_group_of_its_own_once() {
        let (document, order) = crate::document_and_order("http://127.0.0.1:8080");
        let groups = groups(&document, &order);
        assert!(groups.iter().all(|group| group.title != "Other"), "a tag has no group");
        assert_eq!(groups.len(), GROUPS.len(), "a group has no operations");
        let shown: usize = groups.iter().map(|group| group.operations.len()).sum();
        let items = document["paths"].as_object().unwrap().values();
        assert_eq!(shown, items.map(|item| item.as_object().unwrap().len()).sum::<usize>());
        let legacy = |answer: &Answer| answer.about.contains("{error: message}");
        let operations = groups.iter().flat_map(|group| &group.operations);
        assert_eq!(operations.filter(|operation| operation.answers.iter().any(legacy)).count(), 8);
        let paths: Vec<&str> = groups[1].operations.iter().map(|operation| operation.path.as_str()).collect();
        assert_eq!(paths[..3], ["/contacts", "/contacts", "/contacts/{id}"], "as the contract has them");
    }
}
