//! JavaScript with `fetch`, as Node and other runtimes on servers have it.

use serde_json::{Map, Value};

use super::super::request::{Credential, PROJECT, Payload, Request, example_file};
use super::{Dialect, literal, quoted};

const DIALECT: Dialect = Dialect { truth: ["false", "true"], null: "null", text: quoted, step: 2 };

/// Writes an example.
pub(super) fn write(request: &Request) -> String {
    let mut before = String::new();
    let mut headers = Vec::new();
    match &request.credential {
        Credential::Key => headers.push("Authorization: `Bearer ${process.env.API_KEY}`".to_owned()),
        Credential::Session(cookie) => headers.push(format!("Cookie: `{cookie}=${{process.env.SESSION}}`")),
        Credential::Nothing => {}
    }
    if let Some(project) = &request.project {
        headers.push(format!("\"{PROJECT}\": {}", quoted(project)));
    }
    let body = match &request.payload {
        Payload::Nothing => None,
        Payload::Json(value) => {
            headers.push("\"Content-Type\": \"application/json\"".into());
            Some(format!("JSON.stringify({})", literal(value, &DIALECT, 2)))
        }
        Payload::Form(fields) => {
            let fields: Map<String, Value> =
                fields.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
            Some(format!("new URLSearchParams({})", literal(&fields.into(), &DIALECT, 2)))
        }
        Payload::File(field) => {
            let (name, kind) = example_file(field);
            before = format!(
                "import {{ readFile }} from \"node:fs/promises\";\n\nconst form = new FormData();\n\
                 const file = new Blob([await readFile(\"{name}\")], {{ type: \"{kind}\" }});\n\
                 form.append({}, file, \"{name}\");\n",
                quoted(field)
            );
            Some("form".to_owned())
        }
    };
    let mut options = Vec::new();
    if request.method != "GET" {
        options.push(format!("method: {}", quoted(&request.method)));
    }
    if !headers.is_empty() {
        options.push(format!("headers: {{\n    {},\n  }}", headers.join(",\n    ")));
    }
    options.extend(body.map(|body| format!("body: {body}")));
    let url = quoted(&request.url);
    let call = if options.is_empty() {
        format!("fetch({url})")
    } else {
        format!("fetch({url}, {{\n  {},\n}})", options.join(",\n  "))
    };
    let read = if request.answers_json { "json" } else { "text" };
    format!("{before}const response = await {call};\nconsole.log(response.status, await response.{read}());")
}
