//! Rust with the crate `reqwest`, inside an asynchronous function.

use super::super::request::{Credential, PROJECT, Payload, Request, example_file};
use super::{Dialect, literal};

const DIALECT: Dialect = Dialect { truth: ["false", "true"], null: "null", text: quoted, step: 4 };

/// Writes an example.
pub(super) fn write(request: &Request) -> String {
    let url = quoted(&request.url);
    let mut calls = vec![format!(".{}({url})", request.method.to_lowercase())];
    match &request.credential {
        Credential::Key => calls.push(".bearer_auth(std::env::var(\"API_KEY\")?)".into()),
        Credential::Session(cookie) => calls
            .push(format!(".header(\"Cookie\", format!(\"{cookie}={{}}\", std::env::var(\"SESSION\")?))")),
        Credential::Nothing => {}
    }
    if let Some(project) = &request.project {
        calls.push(format!(".header(\"{PROJECT}\", {})", quoted(project)));
    }
    match &request.payload {
        Payload::Nothing => {}
        Payload::Json(value) => {
            calls.push(format!(".json(&serde_json::json!({}))", literal(value, &DIALECT, 4)));
        }
        Payload::Form(fields) => {
            let pairs = fields.iter().map(|(name, value)| format!("({}, {})", quoted(name), quoted(value)));
            calls.push(format!(".form(&[{}])", pairs.collect::<Vec<_>>().join(", ")));
        }
        Payload::File(field) => {
            let (name, kind) = example_file(field);
            calls.push(format!(
                ".multipart(reqwest::multipart::Form::new().part(\n        {},\n        \
                 reqwest::multipart::Part::bytes(std::fs::read(\"{name}\")?)\n            \
                 .file_name(\"{name}\")\n            .mime_str(\"{kind}\")?,\n    ))",
                quoted(field)
            ));
        }
    }
    calls.push(".send()".into());
    calls.push(".await?".into());
    format!(
        "let response = reqwest::Client::new()\n    {};\nprintln!(\"{{}} {{}}\", response.status(), response.text().await?);",
        calls.join("\n    ")
    )
}

/// A text as a literal.
fn quoted(text: &str) -> String {
    let mut literal = String::from('"');
    for letter in text.chars() {
        match letter {
            // as `escape_debug` does, which also escapes an apostrophe
            '\'' => literal.push(letter),
            letter => literal.extend(letter.escape_debug()),
        }
    }
    literal.push('"');
    literal
}
