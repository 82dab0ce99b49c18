//! A server whose mail goes to a receiver, and what is read in a message.

use mailwright_testkit::python::{parse_mail, verify_dkim};
use mailwright_testkit::smtp::{Answer, Received, ScriptedServer, ServerBuilder};
use mailwright_testkit::{App, Engine, Value, json};
use mailwright_tests::{items, text, with};

use crate::delivery::txt_records;

/// A running server, and the host its mail goes to.
pub(super) struct Post {
    pub(super) app: App,
    pub(super) server: ScriptedServer,
}

impl Post {
    pub(super) async fn start() -> Self {
        Self::with(ScriptedServer::builder()).await
    }

    /// Mail goes to a host that takes content by BDAT.
    pub(super) async fn chunking() -> Self {
        Self::with(ScriptedServer::builder().chunking()).await
    }

    async fn with(server: ServerBuilder) -> Self {
        let server = server.start(|_, _| Answer::Accept).await;
        let app = App::builder(Engine::Sqlite).smtp(server.port).start().await;
        Self { app, server }
    }

    /// Sends a mail with these fields over a plain one, and returns the email and what the host received.
    pub(super) async fn deliver(&self, changes: Value) -> (Value, Received) {
        let plain = json!({
            "to": "ada@example.com", "subject": "Hello", "body": "<p>Hello there</p>", "from": self.app.from(),
        });
        self.send(with(plain, &changes)).await
    }

    pub(super) async fn send(&self, body: Value) -> (Value, Received) {
        let answer = self.app.send(body).await.assert_status(200).json();
        let email = self.app.email_in(text(&answer["data"]["emails"][0]["email"]), &["SENT"]).await;
        let received = self.server.received_for(text(&email["to"])).pop().expect("the message");
        assert_eq!(self.server.violations(), Vec::<String>::new(), "the message keeps to the protocol");
        (email, received)
    }

    /// Verifies the signatures of a message against the published records; returns the one of the sender domain.
    pub(super) async fn assert_signed(&self, message: &[u8]) -> Value {
        let records = txt_records(&self.app).await;
        let records: Vec<(&str, &str)> = records.iter().map(|(name, value)| (&**name, &**value)).collect();
        let signatures = verify_dkim(message, &records);
        let ours = items(&signatures).iter().find(|signature| signature["domain"] == self.app.domain());
        let ours = ours.unwrap_or_else(|| panic!("no signature of the sender domain: {signatures}")).clone();
        assert_eq!(ours["bodyLength"], json!(null), "the whole body is signed");
        let mut expected =
            vec!["from", "to", "subject", "date", "message-id", "mime-version", "content-type"];
        let signed: Vec<&str> = items(&ours["headers"]).iter().map(text).collect();
        expected.retain(|name| !signed.contains(name));
        assert!(expected.is_empty(), "not signed: {expected:?} in {ours}");
        ours
    }
}

/// A parsed message, checked for faults.
pub(super) fn parsed(received: &Received) -> Value {
    let parsed = parse_mail(&received.data);
    assert_eq!(parsed["defects"], json!([]), "a message without faults");
    let head = received.data.windows(4).position(|end| end == b"\r\n\r\n").expect("the end of the headers");
    assert!(received.data[..head].is_ascii(), "headers are ASCII unless SMTPUTF8 is offered");
    parsed
}

/// The decoded values of a header.
pub(super) fn values(parsed: &Value, name: &str) -> Vec<String> {
    let headers = items(&parsed["headers"]).iter();
    let named = headers.filter(|header| text(&header[0]).eq_ignore_ascii_case(name));
    named.map(|header| text(&header[1]).to_owned()).collect()
}

/// The types of a message's parts, nested as they are: `type(part, part)`.
pub(super) fn nesting(part: &Value) -> String {
    match part["parts"].as_array() {
        Some(parts) => {
            let inner: Vec<String> = parts.iter().map(nesting).collect();
            format!("{}({})", text(&part["type"]), inner.join(", "))
        }
        None => text(&part["type"]).to_owned(),
    }
}

/// The first part with this type, searched depth first.
pub(super) fn part<'a>(root: &'a Value, kind: &str) -> Option<&'a Value> {
    if root["type"] == kind {
        return Some(root);
    }
    root["parts"].as_array()?.iter().find_map(|inner| part(inner, kind))
}
