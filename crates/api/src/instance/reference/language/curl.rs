//! curl, for a POSIX shell.

use super::super::request::{Credential, PROJECT, Payload, Request, example_file};

/// Writes an example.
pub(super) fn write(request: &Request) -> String {
    let mut parts = vec![match request.method.as_str() {
        "GET" => format!("curl {}", quoted(&request.url)),
        method => format!("curl -X {method} {}", quoted(&request.url)),
    }];
    match &request.credential {
        Credential::Key => parts.push("-H \"Authorization: Bearer $API_KEY\"".into()),
        Credential::Session(cookie) => parts.push(format!("-b \"{cookie}=$SESSION\"")),
        Credential::Nothing => {}
    }
    if let Some(project) = &request.project {
        parts.push(format!("-H {}", quoted(&format!("{PROJECT}: {project}"))));
    }
    match &request.payload {
        Payload::Nothing => {}
        Payload::Json(value) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            parts.push("-H 'Content-Type: application/json'".into());
            parts.push(format!("-d {}", quoted(&text)));
        }
        Payload::Form(fields) => {
            let field = |(name, value): &(String, String)| {
                format!("--data-urlencode {}", quoted(&format!("{name}={value}")))
            };
            parts.extend(fields.iter().map(field));
        }
        Payload::File(field) => {
            let (name, kind) = example_file(field);
            parts.push(format!("-F {}", quoted(&format!("{field}=@{name};type={kind}"))));
        }
    }
    parts.join(" \\\n  ")
}

/// A text as one word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
