//! One operation: what it says, and how it is called.

use maud::{Markup, html};

use super::codes;
use super::fields;
use super::language::LANGUAGES;
use super::model::{Answer, Body, Operation};
use super::prose::{inline, paragraphs};
use super::request::{Instance, Payload, Request};

/// Parts of a request that have parameters, with their headings.
const PLACES: [(&str, &str); 3] = [("path", "Path"), ("query", "Query"), ("header", "Headers")];

/// What an operation does to what there is, for those who try it here.
fn effect(operation: &Operation) -> &'static str {
    let path = operation.path.as_str();
    let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
    match operation.method.as_str() {
        "GET" if ends(&["/logout", "/verify", "/outbound", "/callback"]) => "changes",
        "GET" => "reads",
        "DELETE" => "destroys",
        _ if ends(&["/reset", "/bulk-delete", "/regenerate-keys", "/cancel"]) => "destroys",
        _ if ends(&["/send", "/test", "/retry"]) => "sends",
        _ => "changes",
    }
}

/// The section of an operation.
pub(super) fn section(operation: &Operation, instance: Instance<'_>) -> Markup {
    let request = Request::of(operation, instance);
    let title = format!("{}-title", operation.id);
    let credential = if operation.callers.key() { "key" } else { "session" };
    html! {
        section.operation id=(operation.id) aria-labelledby=(title) data-method=(operation.method) data-path=(operation.path)
            data-effect=(effect(operation)) data-credential=(credential) {
            div.told {
                h3 id=(title) { a href={ "#" (operation.id) } { (operation.summary) } }
                p.route { (method(&operation.method)) " " code { (operation.path) } }
                p.callers { (callers(operation)) }
                (paragraphs(&operation.about))
                @for (place, heading) in PLACES {
                    (parameters(operation, place, heading))
                }
                (body(operation))
                (answers(operation))
            }
            div.shown {
                (examples(operation, &request))
                (sample(operation))
            }
        }
    }
}

/// The parameters in one place. The header that names the project is in nearly every operation, and folded.
fn parameters(operation: &Operation, place: &str, heading: &str) -> Markup {
    let names: Vec<&str> = operation
        .parameters
        .iter()
        .filter(|parameter| parameter.place == place)
        .map(|parameter| parameter.name.as_str())
        .collect();
    let table = || fields::parameters(&operation.parameters, place);
    html! {
        @if names == ["X-Project-Id"] {
            details.headers { summary { "Header " code { "X-Project-Id" } ", with a session" } (table()) }
        } @else if !names.is_empty() {
            h4 { (heading) }
            (table())
        }
    }
}

/// The method, in a colour of its kind.
pub(super) fn method(method: &str) -> Markup {
    html! { span.method.{ (method.to_lowercase()) } { (method) } }
}

fn callers(operation: &Operation) -> Markup {
    let callers = operation.callers;
    let mut names = Vec::new();
    if callers.secret_key {
        names.push("a secret key");
    }
    if callers.public_key {
        names.push("a public key");
    }
    if callers.session && !callers.nobody {
        names.push("a session");
    }
    let names_project = operation.parameters.iter().any(|parameter| parameter.name == "X-Project-Id");
    html! {
        @if callers.nobody {
            "Open to anybody" @if callers.session { "; a session is looked at where there is one" }
        } @else {
            "Called with " (names.join(" or ")) @if names_project { " and " code { "X-Project-Id" } }
        }
        ". " a href="#authentication" { "Authentication" }
    }
}

fn body(operation: &Operation) -> Markup {
    let required = if operation.body_required { "required" } else { "can be left out" };
    html! {
        @for (at, body) in operation.bodies.iter().enumerate() {
            h4 {
                @if at == 0 { "Body" } @else { "Or" }
                " " span.media { (body.media) ", " (required) }
            }
            @if at == 0 { (paragraphs(&operation.body_about)) }
            (fields::body(&body.shape))
        }
    }
}

fn answers(operation: &Operation) -> Markup {
    let (errors, others): (Vec<&Answer>, Vec<&Answer>) =
        operation.answers.iter().partition(|answer| answer.is_error());
    html! {
        h4 { "Answers" }
        @for answer in others {
            p.answer { span.status { (answer.status) } " " (inline(&answer.about)) }
            @for body in &answer.bodies { (answer_body(body)) }
        }
        details.errors {
            summary { "Errors: " (errors.iter().map(|answer| answer.status.as_str()).collect::<Vec<_>>().join(", ")) }
            table.fields {
                thead { tr { th scope="col" { "Status" } th scope="col" { "When" } th scope="col" { a href="#errors" { "Code" } } } }
                tbody {
                    @for answer in errors {
                        tr {
                            th scope="row" { (answer.status) }
                            td { (inline(&answer.about)) }
                            td { @for (at, code) in codes::of(&answer.status, operation).enumerate() { @if at > 0 { ", " } code { (code) } } }
                        }
                    }
                }
            }
        }
    }
}

fn answer_body(body: &Body) -> Markup {
    html! {
        @if body.media == "application/json" {
            details { summary { "Shape of the answer" } (fields::body(&body.shape)) }
        } @else {
            p.kind { (body.media) }
        }
    }
}

/// The request in every language. Without JavaScript the tabs are radio buttons, which the style sheet reads.
fn examples(operation: &Operation, request: &Request) -> Markup {
    let name = format!("language-{}", operation.id);
    let (kind, body) = match &request.payload {
        Payload::Nothing => ("", String::new()),
        Payload::Json(value) => ("json", serde_json::to_string_pretty(value).unwrap_or_default()),
        Payload::Form(fields) => {
            let lines = fields.iter().map(|(name, value)| format!("{name}={value}"));
            ("form", lines.collect::<Vec<_>>().join("\n"))
        }
        Payload::File(field) => ("file", field.clone()),
    };
    html! {
        fieldset.examples data-kind=(kind) data-body=(body) {
            legend { "Example" }
            @for (at, language) in LANGUAGES.iter().enumerate() {
                @let id = format!("{}-{}", operation.id, language.id);
                input type="radio" name=(name) id=(id) value=(language.id) checked[at == 0];
                label for=(id) { (language.title) }
            }
            @for language in &LANGUAGES {
                pre.{ (language.id) } data-language=(language.id) tabindex="0" aria-label={ "Example in " (language.title) } {
                    code { ((language.write)(request)) }
                }
            }
        }
    }
}

/// What the first good answer looks like.
fn sample(operation: &Operation) -> Markup {
    let good = operation.answers.iter().find(|answer| answer.status.starts_with('2'));
    let body = good.and_then(|answer| answer.bodies.iter().find(|body| body.media == "application/json"));
    html! {
        @if let (Some(answer), Some(body)) = (good, body) {
            details.sample {
                summary { "Example of an answer with " (answer.status) }
                pre tabindex="0" aria-label={ "Example of an answer with " (answer.status) } {
                    code { (serde_json::to_string_pretty(&body.example).unwrap_or_default()) }
                }
            }
        }
    }
}
