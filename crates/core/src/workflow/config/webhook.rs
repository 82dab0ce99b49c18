//! WEBHOOK.

use std::sync::Arc;

use serde_json::Value;

use super::{Reader, at};
use crate::issue::Issue;
use crate::reading::{Object, join, member, unknown, wrong_type};
use crate::template_language::Template;
use crate::workflow::action::{Action, Method, Webhook};
use crate::workflow::limits::{MAX_HEADERS, MAX_URL};

/// How deep the body can be nested.
const MAX_DEPTH: usize = 32;

impl Reader {
    pub(super) fn webhook(&mut self, object: &Object) -> Option<Action> {
        let url = self.url(object);
        let method = match self.optional_text(object, "method").ok()? {
            None => Some(Method::Post),
            Some(name) => Method::from_name(name).or_else(|| {
                let names = Method::ALL.map(Method::as_str).join(", ");
                self.issues.note(unknown(&at("method"), format!("Must be one of {names}."), name))
            }),
        };
        let headers = match member(object, "headers") {
            None => Some(Vec::new()),
            Some(Value::Object(headers)) => self.headers(headers),
            Some(other) => self.issues.note(wrong_type(&at("headers"), "an object", other)),
        };
        let body = member(object, "body");
        if let Some(body) = body {
            self.templates(body, &at("body"), 1);
        }
        let (url, method, headers) = (url?, method?, headers?);
        Some(Action::Webhook(Arc::new(Webhook { url, method, headers, body: body.cloned() })))
    }

    /// The address, whose beginning has to be there before it is rendered.
    fn url(&mut self, object: &Object) -> Option<String> {
        let place = at("url");
        let url = self.issues.text(member(object, "url"), &place)?.trim();
        if url.len() > MAX_URL {
            let message = format!("Must have at most {MAX_URL} bytes.");
            return self.issues.note(Issue::new(place, "too_big", message));
        }
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        if rest.is_none_or(str::is_empty) {
            let message = "Must be a complete http:// or https:// address.";
            return self.issues.note(Issue::new(place, "invalid_string", message));
        }
        self.template(url, &place)?;
        Some(url.to_owned())
    }

    fn headers(&mut self, headers: &Object) -> Option<Vec<(String, String)>> {
        let place = at("headers");
        if headers.len() > MAX_HEADERS {
            let message = format!("Must have at most {MAX_HEADERS}.");
            return self.issues.note(Issue::new(place, "too_big", message));
        }
        let mut read = Vec::new();
        for (name, value) in headers {
            let place = join(&place, name);
            let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            if name.is_empty() || !name.bytes().all(is_token) {
                let message = "The name of a header has letters, digits and hyphens.";
                self.issues.note::<()>(Issue::new(place, "invalid_string", message));
                continue;
            }
            let Some(value) = self.issues.text(Some(value), &place) else { continue };
            if value.contains(['\r', '\n']) {
                let message = "Must not contain line breaks.";
                self.issues.note::<()>(Issue::new(place, "invalid_string", message));
            } else if self.template(value, &place).is_some() {
                read.push((name.clone(), value.to_owned()));
            }
        }
        Some(read)
    }

    fn templates(&mut self, value: &Value, place: &str, depth: usize) {
        if depth > MAX_DEPTH {
            let message = format!("Must be nested at most {MAX_DEPTH} levels deep.");
            self.issues.note::<()>(Issue::new(place, "too_big", message));
            return;
        }
        match value {
            Value::String(text) => drop(self.template(text, place)),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.templates(item, &join(place, &index.to_string()), depth + 1);
                }
            }
            Value::Object(members) => {
                for (name, value) in members {
                    self.templates(value, &join(place, name), depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn template(&mut self, source: &str, place: &str) -> Option<()> {
        match Template::parse(source) {
            Ok(_) => Some(()),
            Err(error) => self.issues.note(Issue::new(place, "invalid_template", error.to_string())),
        }
    }
}
