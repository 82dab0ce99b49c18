//! Python with the library `requests`.

use serde_json::{Map, Value};

use super::super::request::{Credential, PROJECT, Payload, Request, example_file};
use super::{Dialect, literal, quoted};

const DIALECT: Dialect = Dialect { truth: ["False", "True"], null: "None", text: quoted, step: 4 };

/// Writes an example.
pub(super) fn write(request: &Request) -> String {
    let mut arguments = vec![quoted(&request.url)];
    match &request.credential {
        Credential::Key => {
            arguments.push("headers={\"Authorization\": f\"Bearer {os.environ['API_KEY']}\"}".into());
        }
        Credential::Session(cookie) => {
            arguments.push(format!("cookies={{{}: os.environ[\"SESSION\"]}}", quoted(cookie)));
        }
        Credential::Nothing => {}
    }
    if let Some(project) = &request.project {
        arguments.push(format!("headers={{\"{PROJECT}\": {}}}", quoted(project)));
    }
    match &request.payload {
        Payload::Nothing => {}
        Payload::Json(value) => arguments.push(format!("json={}", literal(value, &DIALECT, 4))),
        Payload::Form(fields) => {
            let fields: Map<String, Value> =
                fields.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
            arguments.push(format!("data={}", literal(&fields.into(), &DIALECT, 4)));
        }
        Payload::File(field) => {
            let (name, kind) = example_file(field);
            let file = format!("(\"{name}\", open(\"{name}\", \"rb\"), \"{kind}\")");
            arguments.push(format!("files={{{}: {file}}}", quoted(field)));
        }
    }
    let imports = if request.credential == Credential::Nothing { "" } else { "import os\n" };
    let read = if request.answers_json { "json()" } else { "text" };
    format!(
        "{imports}import requests\n\nresponse = requests.{}(\n    {},\n)\nprint(response.status_code, response.{read})",
        request.method.to_lowercase(),
        arguments.join(",\n    ")
    )
}
