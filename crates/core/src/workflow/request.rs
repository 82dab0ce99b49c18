//! The request of a WEBHOOK step, with its variables filled in (reference 1.4).
//!
//! Address, values of headers and texts in the body are templates. They see what a mail of the execution sees, and
//! `contact`, `workflow` and `execution`. A value in an address is percent-encoded, so that no value can add a parameter
//! or lead to another path.

use std::cell::Cell;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::contact::Contact;
use crate::custom_data::Data;
use crate::ids::WorkflowId;
use crate::template_language::{Budget, Escape, Scope, Template};
use crate::workflow::action::{Method, Webhook};
use crate::workflow::execution::Execution;
use crate::workflow::limits::{MAX_HEADER, MAX_REQUEST, MAX_URL};
use crate::workflow::scope::plain_context;

/// A request that is ready to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The address.
    pub url: String,
    /// The method.
    pub method: Method,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body, as JSON text; `None` for GET.
    pub body: Option<String>,
}

/// What a request tells of its workflow.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    /// The workflow.
    pub workflow: WorkflowId,
    /// Its name.
    pub name: &'a str,
}

impl Request {
    /// Fills the variables of a step in. Fails with the reason when the request would be larger than one may be.
    pub fn new(
        webhook: &Webhook,
        contact: &Contact,
        execution: &Execution,
        sender: Sender<'_>,
    ) -> Result<Self, String> {
        let limits = Limits { work: Budget::full(), room: Cell::new(2 * MAX_REQUEST) };
        let values = Values::new(contact, execution, sender, &limits);
        let url = values.url(&webhook.url)?;
        let headers =
            webhook.headers.iter().map(|(name, value)| Ok((name.clone(), values.header(name, value)?)));
        let headers = headers.collect::<Result<_, String>>()?;
        let body = match (&webhook.body, webhook.method) {
            (_, Method::Get) => None,
            (Some(body), _) => Some(values.filled(body)),
            (None, _) => Some(values.usual_body()),
        };
        if limits.work.is_spent() {
            return Err("Filling in the variables of the request takes too long.".to_owned());
        }
        let body = body.map(|body| body.to_string());
        if limits.room.get() == 0 || body.as_ref().is_some_and(|body| body.len() > MAX_REQUEST) {
            return Err(format!(
                "The body has more than {MAX_REQUEST} bytes once its variables are filled in."
            ));
        }
        Ok(Self { url, method: webhook.method, headers, body })
    }
}

/// What filling in all texts of a request may take together.
struct Limits {
    work: Budget,
    /// How many bytes they may have.
    room: Cell<usize>,
}

impl Limits {
    fn take(&self, text: &str) {
        self.room.set(self.room.get().saturating_sub(text.len()));
    }
}

/// The values that variables have.
struct Values<'l> {
    limits: &'l Limits,
    id: String,
    email: String,
    context: Data,
    contact: Data,
    /// What comes before context and contact.
    own: Data,
}

impl<'l> Values<'l> {
    fn new(contact: &Contact, execution: &Execution, sender: Sender<'_>, limits: &'l Limits) -> Self {
        let context = plain_context(&execution.context);
        let own = json!({
            "contact": { "id": contact.id, "email": contact.email, "subscribed": contact.subscribed, "data": contact.data },
            "data": contact.data,
            "event": context,
            "execution": { "id": execution.id, "startedAt": execution.started_at },
            "subscribed": contact.subscribed,
            "workflow": { "id": sender.workflow, "name": sender.name },
        });
        Self {
            limits,
            id: contact.id.to_string(),
            email: contact.email.to_string(),
            own: own.as_object().cloned().unwrap_or_default(),
            contact: contact.data.clone(),
            context,
        }
    }

    fn text(&self, source: &str) -> String {
        self.rendered(source, Escape::Text)
    }

    fn rendered(&self, source: &str, mode: Escape) -> String {
        if !source.contains('{') {
            self.limits.take(source);
            return source.to_owned();
        }
        let scope = Scope::new().fixed("id", self.id.as_str()).fixed("email", self.email.as_str());
        let scope = scope.layer(&self.own).layer(&self.context).layer(&self.contact);
        let (template, Limits { work, room }) = (Template::parse_lenient(source), self.limits);
        let Some(text) = template.render_sharing(&scope, mode, room.get(), work) else {
            room.set(0);
            return String::new();
        };
        self.limits.take(&text);
        text
    }

    fn url(&self, source: &str) -> Result<String, String> {
        let url = self.rendered(source.trim(), Escape::Url);
        if url.len() > MAX_URL {
            return Err(format!("The URL has more than {MAX_URL} bytes once its variables are filled in."));
        }
        if dot_segments(&url) > dot_segments(source) {
            return Err(
                "A variable of the URL has the value `.` or `..`, which leads to another path.".to_owned()
            );
        }
        Ok(url)
    }

    fn header(&self, name: &str, source: &str) -> Result<String, String> {
        let value = self.text(source).replace(['\r', '\n', '\0'], " ");
        if value.len() > MAX_HEADER {
            return Err(format!(
                "The header {name} has more than {MAX_HEADER} bytes once its variables are filled in."
            ));
        }
        Ok(value)
    }

    /// A body whose texts are templates. Where there is no room left, nothing more is filled in.
    fn filled(&self, body: &Value) -> Value {
        if self.limits.room.get() == 0 || self.limits.work.is_spent() {
            return Value::Null;
        }
        match body {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| (name.clone(), self.filled(value)));
                Value::Object(members.collect::<Map<_, _>>())
            }
            other => other.clone(),
        }
    }

    /// What a request says whose step has no body of its own.
    fn usual_body(&self) -> Value {
        let mut contact = self.own["contact"].clone();
        if let Some(contact) = contact.as_object_mut() {
            contact.remove("id");
        }
        json!({
            "contact": contact,
            "workflow": self.own["workflow"],
            "execution": self.own["execution"],
            "event": self.context,
        })
    }
}

/// How many segments of the path of an address lead up, or nowhere, written plainly or encoded.
fn dot_segments(url: &str) -> usize {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let is_dots =
        |segment: &&str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    path.split(['/', '\\']).filter(is_dots).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::EmailAddress;
    use crate::ids::{ContactId, ExecutionId};
    use crate::time::Timestamp;
    use crate::workflow::lifecycle::{Beginning, begin};

    fn request(webhook: &Webhook) -> Result<Request, String> {
        let (workflow, at) = (WorkflowId::first_of(Timestamp(1)), Timestamp(1000));
        let contact = Contact {
            id: ContactId::first_of(Timestamp(1)),
            email: EmailAddress::parse("ada+x@example.com").unwrap(),
            subscribed: true,
            data: json!({ "plan": "pro & more", "home": "https://example.com/a", "n": 3, "dots": "..", "dot": ".", "nested": { "../..": "x" } })
                .as_object()
                .cloned()
                .unwrap(),
            created_at: at,
            updated_at: at,
        };
        let context = json!({ "order": { "value": "A 1", "persistent": false }, "plan": null });
        let execution = begin(Beginning {
            id: ExecutionId::first_of(Timestamp(1)),
            workflow,
            contact: contact.id,
            source: None,
            context: context.as_object().cloned().unwrap(),
            at,
        });
        Request::new(webhook, &contact, &execution, Sender { workflow, name: "Welcome" })
    }

    fn webhook(url: &str, method: Method, body: Option<Value>) -> Webhook {
        let headers = vec![("X-Order".to_owned(), "{{event.order}}".to_owned())];
        Webhook { url: url.to_owned(), method, headers, body }
    }

    #[test]
    fn values_in_an_address_are_encoded() {
        for (url, expected) in [
            ("https://a.example/x", "https://a.example/x"),
            (
                "https://a.example/{{email}}?p={{contact.data.plan}}",
                "https://a.example/ada%2Bx%40example.com?p=pro%20%26%20more",
            ),
            ("https://a.example/{{ order }}/{{ n }}", "https://a.example/A%201/3"),
            (
                "https://a.example/../{{data.home | raw}}",
                "https://a.example/../https%3A%2F%2Fexample.com%2Fa",
            ),
            ("https://a.example/{{data.nested}}", "https://a.example/%7B%22..%2F..%22%3A%22x%22%7D"),
            ("https://a.example/?x={{data.dots}}&v=1.{{data.dots}}", "https://a.example/?x=..&v=1..."),
            (
                "https://a.example/{% capture x %}/{{data.home}}{% endcapture %}{{x}}",
                "https://a.example/%2Fhttps%3A%2F%2Fexample.com%2Fa",
            ),
        ] {
            let made = request(&webhook(url, Method::Get, None)).unwrap();
            assert_eq!((made.url.as_str(), made.body), (expected, None));
            assert_eq!(made.headers, [("X-Order".to_owned(), "A 1".to_owned())]);
        }
        let long = format!("https://a.example/{}", "{{data.home}}".repeat(1000));
        for url in [
            "https://a.example/{{data.dots}}",
            "https://a.example/x/{{data.dots}}/y",
            "https://a.example/{{data.dot}}{{data.dot}}/y",
            "https://a.example/%2e{{data.dot}}/y",
            &long,
        ] {
            assert!(request(&webhook(url, Method::Get, None)).is_err(), "{url}");
        }
    }

    #[test]
    fn texts_of_a_body_are_templates() {
        let body =
            json!({ "to": "{{email}}", "list": ["{{workflow.name}}", 5], "{{n}}": "{{data.n}} {{missing}}" });
        let made = request(&webhook("https://a.example", Method::Delete, Some(body))).unwrap();
        let expected = json!({ "to": "ada+x@example.com", "list": ["Welcome", 5], "{{n}}": "3 " });
        assert_eq!(serde_json::from_str::<Value>(&made.body.unwrap()).unwrap(), expected);
    }

    #[test]
    fn a_request_without_a_body_of_its_own_tells_the_usual() {
        let made = request(&webhook("https://a.example", Method::Post, None)).unwrap();
        let body: Value = serde_json::from_str(&made.body.unwrap()).unwrap();
        let keys: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["contact", "event", "execution", "workflow"]);
        assert_eq!(body["contact"]["email"], "ada+x@example.com");
        assert_eq!(body["event"], json!({ "order": "A 1", "plan": null }));
        assert_eq!(body["execution"]["startedAt"], "1970-01-01T00:00:01.000Z");
    }

    #[test]
    fn a_request_is_bounded() {
        let long = "{% for i in (1..60000) %}{% for j in (1..60000) %}{% endfor %}{% endfor %}";
        let texts: Map<String, Value> = (0..600).map(|n| (n.to_string(), long.into())).collect();
        let error = request(&webhook("https://a.example", Method::Post, Some(texts.into()))).unwrap_err();
        assert!(error.contains("takes too long"), "{error}");
        let grows = "{% for i in (1..1000) %}{{data.home}}{{data.home}}{% endfor %}";
        let texts: Map<String, Value> = (0..600).map(|n| (n.to_string(), grows.into())).collect();
        let error = request(&webhook("https://a.example", Method::Post, Some(texts.into()))).unwrap_err();
        assert!(error.contains("262144 bytes"), "{error}");
        let big = json!(vec!["{{data.home}}".repeat(2000); 100]);
        let error = request(&webhook("https://a.example", Method::Post, Some(big))).unwrap_err();
        assert!(error.contains("262144 bytes"), "{error}");
    }
}
